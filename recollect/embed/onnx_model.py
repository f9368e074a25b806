"""A sentence encoder from a folder, as model hubs offer them (the layout of sentence-transformers), on the CPU."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.embed import onnx
from recollect.errors import EmbeddingError, InvalidInput

MODELS = ("model.onnx", "onnx/model.onnx")  # where exporters put the weights
OUTPUTS = ("last_hidden_state", "token_embeddings")  # what exporters call a vector for every token
TOKENS = 512  # read of a text when the folder does not say
SAMPLE = 1 << 16  # bytes at either end of the weights: enough to tell models apart, and read in no time


class OnnxEmbedder:
    """A folder with ``tokenizer.json`` and ``model.onnx`` (or ``onnx/model.onnx``). Loaded with the first text.

    Where they are there, ``1_Pooling/config.json`` says how tokens become one vector (mean, or the first token),
    ``sentence_bert_config.json`` how many are read, and ``config_sentence_transformers.json`` what stands before
    questions and texts. The name holds a fingerprint of the weights, so another model in the same place is noticed.
    """

    provider = "onnx"

    def __init__(self, folder: str | os.PathLike[str], *, name: str = "", tokens: int | None = None) -> None:
        self.folder = Path(folder)
        weights = next((self.folder / each for each in MODELS if (self.folder / each).is_file()), None)
        if weights is None or not (self.folder / "tokenizer.json").is_file():
            raise InvalidInput(f"{self.folder} must hold tokenizer.json and model.onnx or onnx/model.onnx.")
        self._weights = weights
        if any(str(each.get("type", "")).endswith(".Dense") for each in self._said("modules.json", [])):
            raise InvalidInput(f"{self.folder} has a dense layer after its pooling; only plain encoders can be used.")
        pooling = self._said("1_Pooling/config.json", {})
        modes = [mode for mode, on in pooling.items() if mode.startswith("pooling_mode_") and on is True]
        if modes not in ([], ["pooling_mode_mean_tokens"], ["pooling_mode_cls_token"]):
            raise InvalidInput(
                f"{self.folder} pools by {', '.join(modes)}; only the mean or the first token can be used."
            )
        self._first_token = modes == ["pooling_mode_cls_token"]
        self.tokens = tokens or self._said("sentence_bert_config.json", {}).get("max_seq_length") or TOKENS
        self._prompts = self._said("config_sentence_transformers.json", {}).get("prompts") or {}
        settings = [self._prompts, modes, self.tokens]
        self.fingerprint = _digest(self._sampled(), json.dumps(settings, sort_keys=True).encode())
        self.name = name or f"onnx:{self.folder.resolve().name}-{self.fingerprint[:8]}"
        self._loading = Lock()

    @property
    def known_dim(self) -> int | None:
        said: int | None = self._said("1_Pooling/config.json", {}).get("word_embedding_dimension")
        return said or self._said("config.json", {}).get("hidden_size")

    @cached_property
    def dim(self) -> int:
        return self.known_dim or self.embed([" "]).shape[1]

    def embed(self, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        with self._loading:
            model, tokenizer, output = self._loaded
        prompt = self._prompts.get("query" if query else "document") or ""
        encoded = tokenizer.encode_batch([prompt + text for text in texts])
        vectors: list[Any] = [None] * len(texts)
        for batch in onnx.of_like_length(encoded):
            states, mask = onnx.hidden(model, [encoded[at].ids for at in batch], output)
            pooled = states[:, 0] if self._first_token else onnx.mean(states, mask)
            for at, vector in zip(batch, pooled, strict=True):
                vectors[at] = vector
        return np.array(vectors, dtype=np.float32)

    def __repr__(self) -> str:
        return f"OnnxEmbedder({str(self.folder)!r})"

    @cached_property
    def _loaded(self) -> tuple[Any, Any, str]:
        from tokenizers import Tokenizer

        try:
            model = onnx.session(self._weights)
            tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        except Exception as problem:  # both libraries raise plain Exceptions
            raise EmbeddingError(f"The model in {self.folder} cannot be loaded: {problem}") from problem
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.tokens)
        has = [each.name for each in model.get_outputs()]
        output = next((each for each in OUTPUTS if each in has), None)
        if output is None:
            raise EmbeddingError(
                f"The model in {self.folder} gives {', '.join(has)}, and none of {', '.join(OUTPUTS)}."
            )
        return model, tokenizer, output

    def _said(self, file: str, otherwise: Any) -> Any:
        """What a settings file of the folder says, if it is there."""
        path = self.folder / file
        try:
            return json.loads(path.read_text("utf-8")) if path.is_file() else otherwise
        except ValueError as problem:
            raise InvalidInput(f"{path} is no JSON: {problem}.") from None

    def _sampled(self) -> bytes:
        with self._weights.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - SAMPLE))
            end = file.read()
            file.seek(0)
            return size.to_bytes(8) + file.read(SAMPLE) + end


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
