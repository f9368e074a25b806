"""Embedders turn text into vectors: the protocols, the local model, services behind HTTP, and the cache."""

from recollect.embed.base import (
    Embedder,
    IdentifiedEmbedder,
    ScriptAwareEmbedder,
    TokenEmbedder,
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
from recollect.embed.gemini import GeminiEmbedder
from recollect.embed.http import RetryPolicy
from recollect.embed.ollama import OllamaEmbedder
from recollect.embed.onnx import OnnxEmbedder
from recollect.embed.openai import OpenAIEmbedder
from recollect.embed.remote import BatchSettings, RemoteEmbedder
from recollect.embed.select import EmbedderChoice, choose_embedder, resolve_embedder
from recollect.embed.token_sketch import embed_accepted, embed_with_sketches

__all__ = [
    "BatchSettings",
    "CachedEmbedder",
    "Embedder",
    "EmbedderChoice",
    "GeminiEmbedder",
    "IdentifiedEmbedder",
    "OllamaEmbedder",
    "OnnxEmbedder",
    "OpenAIEmbedder",
    "RemoteEmbedder",
    "RetryPolicy",
    "ScriptAwareEmbedder",
    "TokenEmbedder",
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
    "version_named",
]
