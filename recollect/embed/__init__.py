"""Embedders turn text into vectors: the protocols, the local model, services behind HTTP, and the cache.

Embedders of services are imported when they are first used: most programs use none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recollect.embed.base import (
    CachedByDefault,
    Embedder,
    GlossaryEmbedder,
    IdentifiedEmbedder,
    LanguageAwareEmbedder,
    ScriptAwareEmbedder,
    TokenEmbedder,
    TokenSpan,
    TokenSpanEmbedder,
    TokenVectors,
    VersionedEmbedder,
    VocabularyEmbedder,
    embed_texts,
    embed_with_tokens,
    known_dim,
    model_name,
    preferred_batch_size,
    provider_name,
    version_named,
)
from recollect.embed.cache import CachedEmbedder, cache_embeddings
from recollect.embed.select import EmbedderChoice, choose_embedder, resolve_embedder
from recollect.embed.token_sketch import embed_accepted, embed_with_sketches, sketched_tokens

if TYPE_CHECKING:
    from recollect.embed.gguf import GgufEmbedder
    from recollect.embed.http import RetryPolicy
    from recollect.embed.local import LocalEmbedder
    from recollect.embed.onnx import OnnxEmbedder
    from recollect.embed.remote import BatchSettings, RemoteEmbedder
    from recollect.embed.services import GeminiEmbedder, OllamaEmbedder, OpenAIEmbedder

_MODULE = {
    "BatchSettings": "remote",
    "GeminiEmbedder": "services",
    "GgufEmbedder": "gguf",
    "LocalEmbedder": "local",
    "OllamaEmbedder": "services",
    "OnnxEmbedder": "onnx",
    "OpenAIEmbedder": "services",
    "RemoteEmbedder": "remote",
    "RetryPolicy": "http",
}

__all__ = [
    "BatchSettings",
    "CachedByDefault",
    "CachedEmbedder",
    "Embedder",
    "EmbedderChoice",
    "GeminiEmbedder",
    "GgufEmbedder",
    "GlossaryEmbedder",
    "IdentifiedEmbedder",
    "LanguageAwareEmbedder",
    "LocalEmbedder",
    "OllamaEmbedder",
    "OnnxEmbedder",
    "OpenAIEmbedder",
    "RemoteEmbedder",
    "RetryPolicy",
    "ScriptAwareEmbedder",
    "TokenEmbedder",
    "TokenSpan",
    "TokenSpanEmbedder",
    "TokenVectors",
    "VersionedEmbedder",
    "VocabularyEmbedder",
    "cache_embeddings",
    "choose_embedder",
    "embed_accepted",
    "embed_texts",
    "embed_with_sketches",
    "embed_with_tokens",
    "known_dim",
    "model_name",
    "preferred_batch_size",
    "provider_name",
    "resolve_embedder",
    "sketched_tokens",
    "version_named",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'recollect.embed' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"recollect.embed.{_MODULE[name]}"), name)
    return value
