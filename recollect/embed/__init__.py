"""Text into vectors: the protocol, the local model, and how one is chosen."""

from recollect.embed.base import Embedder, TokenEmbedder, TokenVectors, checked, resolve

__all__ = ["Embedder", "TokenEmbedder", "TokenVectors", "checked", "resolve"]
