"""GGUF models in this process, by llama.cpp: the extra ``gguf``."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from recollect.embed.onnx import sample_file
from recollect.errors import EmbeddingError, InvalidInput
from recollect.model import check

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_ENTRIES = 100_000  # of metadata; real files have a few dozen
MAX_KEY_BYTES = 65_535
STRING, ARRAY = 8, 9
NUMBERS = dict(enumerate(["<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?"])) | {10: "<Q", 11: "<q", 12: "<d"}
# https://github.com/ggml-org/ggml/blob/master/docs/gguf.md


def read_metadata(path: Path, enough: Callable[[dict[str, Any]], bool] = lambda found: False) -> dict[str, Any]:
    """Numbers and texts by key, without arrays; reading stops as soon as ``enough`` was found."""
    try:
        with path.open("rb") as file:
            return _Reader(file).read(enough)
    except FileNotFoundError:
        raise InvalidInput(f"There is no file {path}. Name a model file, as in 'gguf:models/embed.gguf'.") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path} is a folder. Name a model file in it, as in 'gguf:{path}/embed.gguf'.") from None
    except _Malformed as problem:
        raise InvalidInput(f"{path} is not a GGUF model: {problem}.") from None


class _Malformed(Exception):
    pass


class _Reader:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def read(self, enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        if self._file.read(len(MAGIC)) != MAGIC:
            raise _Malformed("it does not begin with 'GGUF'")
        version = self._number("<I")
        if version not in VERSIONS:
            raise _Malformed(f"its version is {version}, and {' and '.join(map(str, VERSIONS))} are supported")
        self._number("<Q")  # tensors
        entries = self._number("<Q")
        if entries > MAX_ENTRIES:
            raise _Malformed(f"it claims to have {entries:,} entries of metadata")
        found: dict[str, Any] = {}
        for _ in range(entries):
            key = self._bytes(MAX_KEY_BYTES).decode("utf-8", "replace")
            kind = self._number("<I")
            if kind == ARRAY:
                self._skip_array()
            else:
                found[key] = self._bytes(self._size).decode("utf-8", "replace") if kind == STRING else self._value(kind)
                if enough(found):
                    break
        return found

    def _skip_array(self) -> None:
        kind, count = self._number("<I"), self._number("<Q")
        if kind == STRING:
            if count > self._size:
                raise _Malformed(f"it claims to have an array of {count:,} texts")
            for _ in range(count):
                self._skip(self._number("<Q"))
        elif kind in NUMBERS:
            self._skip(count * struct.calcsize(NUMBERS[kind]))
        else:
            raise _Malformed(f"it has an array of the unknown type {kind}")

    def _skip(self, length: int) -> None:
        if length > self._size - self._file.tell():
            raise _Malformed("it ends too early")
        self._file.seek(length, os.SEEK_CUR)

    def _value(self, kind: int) -> Any:
        if kind not in NUMBERS:
            raise _Malformed(f"it has a value of the unknown type {kind}")
        return self._number(NUMBERS[kind])

    def _bytes(self, most: int) -> bytes:
        length = self._number("<Q")
        if length > min(most, self._size - self._file.tell()):
            raise _Malformed("it ends too early")
        return self._file.read(length)

    def _number(self, form: str) -> Any:
        content = self._file.read(struct.calcsize(form))
        if len(content) < struct.calcsize(form):
            raise _Malformed("it ends too early")
        return struct.unpack(form, content)[0]


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
