"""Rerankers score the first results of a recall again: the protocol and four implementations."""

from recollect.rerank.base import (
    AnyReranker,
    DocumentReranker,
    RerankDocument,
    Reranker,
    RerankError,
    rerank_documents,
    rerank_texts,
    resolve_reranker,
)
from recollect.rerank.chat import ChatReranker
from recollect.rerank.cross_encoder import CrossEncoder
from recollect.rerank.http import HttpReranker
from recollect.rerank.late_interaction import LateInteraction

__all__ = [
    "AnyReranker",
    "ChatReranker",
    "CrossEncoder",
    "DocumentReranker",
    "HttpReranker",
    "LateInteraction",
    "RerankDocument",
    "RerankError",
    "Reranker",
    "rerank_documents",
    "rerank_texts",
    "resolve_reranker",
]
