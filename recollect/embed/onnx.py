"""Running a sentence encoder with ONNX: sessions, batches, and what it makes of every token."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BATCH = 32  # texts at most
TOKENS = 2048  # at most, padding included: what a model needs for one grows with its square


def session(model: bytes | Path) -> Any:
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # it would write a device id and call home otherwise
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(4, os.cpu_count() or 1)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def of_like_length(encoded: Sequence[Any]) -> Iterator[list[int]]:
    """Batches of places: texts of like length share one, so that little of it is padding; of long ones fewer do."""
    batch: list[int] = []
    for at in sorted(range(len(encoded)), key=lambda at: len(encoded[at].ids)):
        if len(batch) == BATCH or (batch and (len(batch) + 1) * len(encoded[at].ids) > TOKENS):
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def hidden(
    model: Any, ids: list[list[int]], output: str = "last_hidden_state"
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """What the model makes of every token (text × token × dimension), and which tokens are no padding."""
    width = max(map(len, ids))
    tokens = np.zeros((len(ids), width), dtype=np.int64)
    mask = np.zeros((len(ids), width), dtype=np.int64)
    for row, each in enumerate(ids):
        tokens[row, : len(each)] = each
        mask[row, : len(each)] = 1
    feeds = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
    wanted = {each.name for each in model.get_inputs()}
    (states,) = model.run([output], {k: v for k, v in feeds.items() if k in wanted})
    return states, mask


def mean(states: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """The mean of the tokens that are no padding."""
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((states * weights).sum(axis=1) / weights.sum(axis=1))
