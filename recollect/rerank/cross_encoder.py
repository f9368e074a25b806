"""A cross-encoder: a model that reads question and text together, from a folder, on the CPU."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.rerank.base import RerankError, Scores

MODELS = ("model.onnx", "onnx/model.onnx")  # where exporters put the weights
PADDING = ("[PAD]", "<pad>")


class CrossEncoder:
    """A sequence classifier with one logit, or two (of which the second means yes): scores from 0 to 1.

    The folder holds ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``, as model hubs offer them. Both are
    loaded with the first question.
    """

    def __init__(self, folder: str | os.PathLike[str], *, name: str = "", tokens: int = 512, batch: int = 16) -> None:
        if tokens < 8 or batch < 1:
            raise InvalidInput(f"tokens must be at least 8 and batch at least 1, not {tokens} and {batch}.")
        self.folder = Path(folder)
        self.name = name or self.folder.resolve().name
        self.tokens = tokens  # of question and text together; the longer of them is cut first
        self.batch = batch
        self._model_file = next((self.folder / each for each in MODELS if (self.folder / each).is_file()), None)
        if self._model_file is None or not (self.folder / "tokenizer.json").is_file():
            raise InvalidInput(f"{self.folder} must hold tokenizer.json and model.onnx or onnx/model.onnx.")
        self._loading = Lock()
        self._loaded: tuple[Any, Any] | None = None

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        model, tokenizer = self._load()
        scores = np.empty(len(texts))
        # Texts of like length share a batch, so that little of it is padding.
        by_length = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        for start in range(0, len(texts), self.batch):
            batch = by_length[start : start + self.batch]
            scores[batch] = _yes(_logits(model, tokenizer.encode_batch([(query, texts[at]) for at in batch])))
        return scores

    def __repr__(self) -> str:
        return f"CrossEncoder({str(self.folder)!r})"

    def _load(self) -> tuple[Any, Any]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._session(), self._tokenizer()
            return self._loaded

    def _session(self) -> Any:
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # nothing calls home
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(4, os.cpu_count() or 1)
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(self._model_file, options, providers=["CPUExecutionProvider"])

    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.enable_truncation(self.tokens, strategy="longest_first")
        mark = next((each for each in PADDING if tokenizer.token_to_id(each) is not None), PADDING[0])
        padding = tokenizer.padding or {"pad_id": tokenizer.token_to_id(mark) or 0, "pad_token": mark}
        tokenizer.enable_padding(**{**padding, "length": None})  # to the longest of a batch, never a fixed length
        return tokenizer


def _logits(model: Any, pairs: Sequence[Any]) -> NDArray[Any]:
    known = {
        "input_ids": lambda: [pair.ids for pair in pairs],
        "attention_mask": lambda: [pair.attention_mask for pair in pairs],
        "token_type_ids": lambda: [pair.type_ids for pair in pairs],
    }
    wanted = [each.name for each in model.get_inputs()]
    strange = [name for name in wanted if name not in known]
    if strange:
        raise RerankError(f"The model wants {', '.join(strange)}; a cross-encoder reads {', '.join(known)}.")
    outputs = [each.name for each in model.get_outputs()]
    output = "logits" if "logits" in outputs else outputs[0]
    (logits,) = model.run([output], {name: np.array(known[name](), dtype=np.int64) for name in wanted})
    return np.asarray(logits)


def _yes(logits: NDArray[Any]) -> Scores:
    """sigmoid(logit); of two logits, sigmoid(yes − no), which is their softmax."""
    wide = logits.astype(np.float64).reshape(len(logits), -1)
    if wide.shape[1] > 2:
        raise RerankError(f"The model gives {wide.shape[1]} numbers a pair; a reranker gives one logit, or no and yes.")
    logit = wide[:, 0] if wide.shape[1] == 1 else wide[:, 1] - wide[:, 0]
    return np.asarray(np.exp(-np.logaddexp(0.0, -logit)))
