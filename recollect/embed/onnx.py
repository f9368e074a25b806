"""Sentence encoders in ONNX format on the CPU: sessions and batches, and a model from a folder.

The folder has the layout of sentence-transformers, as model hubs offer it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbeddingError, InvalidInput

BATCH = 32  # texts at most
BATCH_TOKENS = 2048  # at most, including padding: the memory for a batch grows with its square
MAX_TOKENS = 512  # read of a text when the folder does not say
MODEL_FILES = ("model.onnx", "onnx/model.onnx")  # where exporters put the weights
OUTPUTS = ("last_hidden_state", "token_embeddings")  # names that exporters give the token vectors
SAMPLE = 1 << 16  # bytes at either end of the weights: enough to tell models apart, and quick to read


def open_session(model: bytes | Path, threads: int | None = None, optimise: bool = True) -> Any:
    """``threads`` work on one run; by default up to four. Without ``optimise`` the graph is run as it is."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # it would write a device id and send data otherwise
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # the host program may have imported it before the variable was set
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or min(4, os.cpu_count() or 1)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def find_weights(folder: Path) -> Path:
    """The model file of a folder that has a tokenizer, too."""
    weights = next((folder / each for each in MODEL_FILES if (folder / each).is_file()), None)
    if weights is None or not (folder / "tokenizer.json").is_file():
        raise InvalidInput(f"{folder} must contain tokenizer.json and model.onnx or onnx/model.onnx.")
    return weights


def sample_file(path: Path) -> bytes:
    """The size of a file and its two ends."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - SAMPLE))
        end = file.read()
        file.seek(0)
        return size.to_bytes(8) + file.read(SAMPLE) + end


def batches_by_length(encoded: Sequence[Any]) -> Iterator[list[int]]:
    """Indexes of the texts of each batch: texts of similar length, to save padding, and fewer when they are long."""
    batch: list[int] = []
    for at in sorted(range(len(encoded)), key=lambda at: len(encoded[at].ids)):
        if len(batch) == BATCH or (batch and (len(batch) + 1) * len(encoded[at].ids) > BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def hidden_states(
    model: Any, ids: list[list[int]], output: str = "last_hidden_state"
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The model's vector for every token (text × token × dimension), and a mask that is 0 for padding."""
    width = max(map(len, ids))
    tokens = np.zeros((len(ids), width), dtype=np.int64)
    mask = np.zeros((len(ids), width), dtype=np.int64)
    for row, each in enumerate(ids):
        tokens[row, : len(each)] = each
        mask[row, : len(each)] = 1
    feeds = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
    inputs = {each.name for each in model.get_inputs()}
    (states,) = model.run([output], {name: value for name, value in feeds.items() if name in inputs})
    return states, mask


def mean_pooling(states: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """The mean over the tokens that are not padding."""
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((states * weights).sum(axis=1) / weights.sum(axis=1))


class OnnxEmbedder:
    """A folder with ``tokenizer.json`` and ``model.onnx`` (or ``onnx/model.onnx``). Loaded with the first text.

    Optional files: ``1_Pooling/config.json`` says how tokens become one vector (mean, or the first token),
    ``sentence_bert_config.json`` how many tokens are read, and ``config_sentence_transformers.json`` the prefixes of
    queries and texts. The name has a fingerprint of the weights, so another model in the same place is noticed.
    """

    provider = "onnx"

    def __init__(self, folder: str | os.PathLike[str], *, name: str = "", tokens: int | None = None) -> None:
        self.folder = Path(folder)
        self._weights = find_weights(self.folder)
        if any(str(each.get("type", "")).endswith(".Dense") for each in self._read_json("modules.json", [])):
            raise InvalidInput(
                f"{self.folder} has a dense layer after its pooling; only encoders without one are supported."
            )
        pooling = self._read_json("1_Pooling/config.json", {})
        modes = [mode for mode, on in pooling.items() if mode.startswith("pooling_mode_") and on is True]
        if modes not in ([], ["pooling_mode_mean_tokens"], ["pooling_mode_cls_token"]):
            raise InvalidInput(
                f"{self.folder} pools by {', '.join(modes)}; only the mean or the first token are supported."
            )
        self._first_token = modes == ["pooling_mode_cls_token"]
        self.tokens = tokens or self._read_json("sentence_bert_config.json", {}).get("max_seq_length") or MAX_TOKENS
        self._prompts = self._read_json("config_sentence_transformers.json", {}).get("prompts") or {}
        settings = json.dumps([self._prompts, modes, self.tokens], sort_keys=True).encode()
        self.fingerprint = hashlib.sha256(sample_file(self._weights) + b"\0" + settings).hexdigest()
        self.name = name or f"onnx:{self.folder.resolve().name}-{self.fingerprint[:8]}"
        self._loading = Lock()

    @property
    def known_dim(self) -> int | None:
        dim: int | None = self._read_json("1_Pooling/config.json", {}).get("word_embedding_dimension")
        return dim or self._read_json("config.json", {}).get("hidden_size")

    @cached_property
    def dim(self) -> int:
        return self.known_dim or self.embed([" "]).shape[1]

    def embed(self, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        with self._loading:
            model, tokenizer, output = self._loaded
        prompt = self._prompts.get("query" if query else "document") or ""
        encoded = tokenizer.encode_batch([prompt + text for text in texts])
        vectors: list[Any] = [None] * len(texts)
        for batch in batches_by_length(encoded):
            states, mask = hidden_states(model, [encoded[at].ids for at in batch], output)
            pooled = states[:, 0] if self._first_token else mean_pooling(states, mask)
            for at, vector in zip(batch, pooled, strict=True):
                vectors[at] = vector
        return np.array(vectors, dtype=np.float32)

    def __repr__(self) -> str:
        return f"OnnxEmbedder({str(self.folder)!r})"

    @cached_property
    def _loaded(self) -> tuple[Any, Any, str]:
        from tokenizers import Tokenizer

        try:
            model = open_session(self._weights)
            tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        except Exception as problem:  # both libraries raise plain Exceptions
            raise EmbeddingError(f"The model in {self.folder} cannot be loaded: {problem}") from problem
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.tokens)
        outputs = [each.name for each in model.get_outputs()]
        output = next((each for each in OUTPUTS if each in outputs), None)
        if output is None:
            raise EmbeddingError(
                f"The model in {self.folder} has the outputs {', '.join(outputs)}; one must be {' or '.join(OUTPUTS)}."
            )
        return model, tokenizer, output

    def _read_json(self, file: str, default: Any) -> Any:
        path = self.folder / file
        try:
            return json.loads(path.read_text("utf-8")) if path.is_file() else default
        except ValueError as problem:
            raise InvalidInput(f"{path} is not valid JSON: {problem}.") from None
