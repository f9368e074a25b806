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
from recollect.rerank.local import CrossEncoder, LateInteraction
from recollect.rerank.services import ChatReranker, HttpReranker

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
