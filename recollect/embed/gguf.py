"""GGUF models in this process, by llama.cpp: the extra ``gguf``."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.embed.gguf_file import read_metadata
from recollect.embed.onnx import sample_file
from recollect.errors import EmbeddingError, InvalidInput
from recollect.model import check

PACKAGE = "llama_cpp"
POOLING = {"mean": 1, "cls": 2, "last": 3}  # as llama.cpp numbers them; 4 is a reranker
RERANKER = 4
MAX_TOKENS = 2048  # read of a text, unless the model reads fewer; the memory that it needs grows with this


class GgufEmbedder:
    """An embedding model in a GGUF file, such as ``embeddinggemma-300M-Q8_0.gguf``. Loaded with the first text.

    The file says how tokens become one vector; ``pooling`` ("mean", "cls" or "last") overrides it, and is needed for a
    model that was made to generate text. ``query_prefix`` and ``text_prefix`` are for models that were trained with
    them. The name has a fingerprint of the file, so another model in the same place is noticed. Every text is computed
    alone, so its vector does not depend on the texts beside it.
    """

    provider = "gguf"
    cached_by_default = True  # a model of this kind takes 10 to 100 times as long as the included one

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        name: str = "",
        pooling: str | None = None,
        tokens: int | None = None,
        query_prefix: str = "",
        text_prefix: str = "",
    ) -> None:
        self.path = Path(path)
        metadata = read_metadata(self.path, _has_all)
        self._pooling = self._check_pooling(metadata, pooling)
        architecture = metadata.get("general.architecture")
        self.dim = int(metadata.get(f"{architecture}.embedding_length") or 0)
        if self.dim < 1:
            raise InvalidInput(f"{self.path} is not an embedding model: it does not say how many dimensions it has.")
        longest = int(metadata.get(f"{architecture}.context_length") or MAX_TOKENS)
        self.tokens = min(longest, MAX_TOKENS if tokens is None else check.integer(tokens, "tokens", low=8))
        self._prefixes = check.string(text_prefix, "text_prefix"), check.string(query_prefix, "query_prefix")
        if find_spec(PACKAGE) is None:
            raise InvalidInput(f"The model {self.path.name} needs the package llama-cpp-python: pip install '.[gguf]'.")
        settings = json.dumps([self._pooling, self.tokens, self._prefixes]).encode()
        self.fingerprint = hashlib.sha256(sample_file(self.path) + b"\0" + settings).hexdigest()
        self.name = name or f"gguf:{self.path.stem}-{self.fingerprint[:8]}"
        self._in_use = Lock()  # a llama.cpp context serves one caller at a time

    @property
    def distinguishes_queries(self) -> bool:
        return len(set(self._prefixes)) > 1

    def embed(self, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        prefix = self._prefixes[query]
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        with self._in_use:
            model = self._loaded
            for at, text in enumerate(texts):
                vectors[at] = model.embed(prefix + text, truncate=True)
        return vectors

    def __repr__(self) -> str:
        return f"GgufEmbedder({str(self.path)!r})"

    def _check_pooling(self, metadata: dict[str, Any], pooling: str | None) -> int:
        if pooling is not None:
            if pooling not in POOLING:
                raise InvalidInput(f"pooling must be one of {', '.join(POOLING)}, not {check.short_repr(pooling)}.")
            return POOLING[pooling]
        architecture = metadata.get("general.architecture")
        found = metadata.get(f"{architecture}.pooling_type", 0)
        if found == RERANKER:
            raise InvalidInput(f"{self.path} is a reranker. Name a model that embeds texts.")
        if found not in POOLING.values():
            raise InvalidInput(
                f"{self.path} does not say how tokens become one vector, as models that generate text do not. Name an "
                "embedding model, or use GgufEmbedder(path, pooling='mean' or 'last')."
            )
        return int(found)

    @cached_property
    def _loaded(self) -> Any:
        import llama_cpp

        try:
            return llama_cpp.Llama(
                str(self.path),
                embedding=True,
                pooling_type=self._pooling,
                n_ctx=self.tokens,
                n_batch=self.tokens,
                n_ubatch=self.tokens,
                verbose=False,
            )
        except Exception as problem:  # the library raises ValueError, AssertionError and RuntimeError
            raise EmbeddingError(f"The model {self.path} cannot be loaded: {problem}") from problem


def _has_all(metadata: dict[str, Any]) -> bool:
    architecture = metadata.get("general.architecture")
    keys = ("embedding_length", "context_length", "pooling_type")
    return all(f"{architecture}.{key}" in metadata for key in keys)
