"""Text into vectors: the protocol, the local model, and how one is chosen."""

from recollect.embed.base import Embedder, checked, resolve

__all__ = ["Embedder", "checked", "resolve"]
