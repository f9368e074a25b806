"""Text into vectors: the protocol, the local model, models behind HTTP, and how one is chosen."""

from recollect.embed.base import Embedder, TokenEmbedder, TokenVectors, checked, checked_tokens, known_dim
from recollect.embed.batch_api import Batching
from recollect.embed.cache import Cached
from recollect.embed.gemini import GeminiEmbedder
from recollect.embed.http import Patience
from recollect.embed.ollama import OllamaEmbedder
from recollect.embed.onnx_model import OnnxEmbedder
from recollect.embed.openai import OpenAIEmbedder
from recollect.embed.refusals import encode_most
from recollect.embed.select import Choice, choose, resolve
from recollect.embed.token_sketch import encode

__all__ = [
    "Batching",
    "Cached",
    "Choice",
    "Embedder",
    "GeminiEmbedder",
    "OllamaEmbedder",
    "OnnxEmbedder",
    "OpenAIEmbedder",
    "Patience",
    "TokenEmbedder",
    "TokenVectors",
    "checked",
    "checked_tokens",
    "choose",
    "encode",
    "encode_most",
    "known_dim",
    "resolve",
]
