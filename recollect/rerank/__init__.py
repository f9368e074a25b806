"""A second opinion on the head of the list: the protocol, and those who can give one."""

from recollect.rerank.base import Reranker, RerankError, checked, resolve
from recollect.rerank.chat import ChatReranker
from recollect.rerank.cross_encoder import CrossEncoder
from recollect.rerank.http import HttpReranker
from recollect.rerank.late_interaction import LateInteraction

__all__ = [
    "ChatReranker",
    "CrossEncoder",
    "HttpReranker",
    "LateInteraction",
    "RerankError",
    "Reranker",
    "checked",
    "resolve",
]
