"""The local embedder: all-MiniLM-L6-v2 on the CPU, without a download.

``LocalEmbedder`` computes in int8, and reads German and Chinese texts word by word in English (``minilm/glossary.py``).
Files that an earlier version made keep its vectors: ``LocalEmbedderV2`` has no glossary, ``LocalEmbedderV1``
computes in float32.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import groupby
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.embed.base import Embedder, TokenSpan, TokenVectors, Vectors
from recollect.embed.minilm.build import TokenEmbeddings, build_model, packaged_model
from recollect.embed.minilm.glossary import LANGUAGES as GLOSSARY_LANGUAGES
from recollect.embed.minilm.glossary import VOCABULARY, Gloss, gloss, reads_chinese
from recollect.embed.onnx import batches_by_length, hidden_states, mean_pooling, open_session

MAX_TOKENS = 256  # what the model was trained to read; the rest of a longer text is ignored
LAST_LATIN = "\u0250"
MAX_CHARACTERS = MAX_TOKENS * 16  # more characters never add a token that is read (words are cut at 100)
MAX_THREADS = 16  # each needs some memory, and Python runs one at a time between the products

Encoding = Any  # tokenizers.Encoding
TextStates = tuple[int, Vectors, Vectors]  # index of the text, a vector per token, and their mean


class _MiniLM:
    """What both versions share: the tokenizer, and what is made of the vectors of tokens."""

    dim = 384
    distinguishes_queries = False
    has_glossary = False

    def embed(self, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for at, _, text_vector in self._run(_tokenize(self.english(texts))):
            vectors[at] = text_vector
        return vectors

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        by_index: dict[int, TokenVectors] = {}
        encoded = _tokenize(self.english(texts))
        for at, states, text_vector in self._run(encoded):
            tokens = tuple(encoded[at].tokens[1:-1])  # without [CLS] and [SEP]
            vectors = states[1 : 1 + len(tokens)]
            unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
            by_index[at] = TokenVectors(tokens, unit, text_vector, self._words(texts[at], encoded[at]))
        return [by_index[at] for at in range(len(texts))]

    def token_spans(self, texts: Sequence[str]) -> list[list[TokenSpan]]:
        return [
            [TokenSpan(token, *span) for token, span in zip(each.tokens[1:-1], self._spans(text, each), strict=True)]
            for text, each in zip(texts, _tokenize(self.english(texts)), strict=True)
        ]

    def can_read(self, text: str) -> bool:
        """Is the text mostly in Latin letters, or Chinese in words of the glossary? The model's vectors of others mean
        little."""
        if text.isascii():
            return any(map(str.isalnum, text))
        letters = [letter for letter in text if letter.isalnum()]
        latin = bool(letters) and 2 * sum(letter < LAST_LATIN for letter in letters) >= len(letters)
        return latin or (self.has_glossary and reads_chinese(text))

    def _gloss(self, text: str) -> Gloss | None:
        return gloss(text) if self.has_glossary else None

    def english(self, texts: Sequence[str]) -> list[str]:
        """What the model reads of each text."""
        return [text if (found := self._gloss(text)) is None else found.english for text in texts]

    def words_of(self, text: str) -> tuple[tuple[str, int], ...] | None:
        """The ``words`` of its token vectors, without running the model."""
        return self._words(text, _tokenize(self.english([text]))[0]) if self._gloss(text) else None

    def _words(self, text: str, encoded: Encoding) -> tuple[tuple[str, int], ...] | None:
        """The words of a text that is read in English, and how many tokens each has; None for others."""
        if (found := self._gloss(text)) is None:
            return None
        places = [found.word_at(start) for start, _ in encoded.offsets[1:-1]]
        return tuple((found.words[at].text.lower(), len([*same])) for at, same in groupby(places))

    def _spans(self, text: str, encoded: Encoding) -> list[tuple[int, int]]:
        """Where each token is in the text; that of a word that is read in English is where the word is."""
        if (found := self._gloss(text)) is not None:
            words = [found.words[found.word_at(start)] for start, _ in encoded.offsets[1:-1]]
            return [(word.start, word.end) for word in words]
        skipped = len(text) - len(text.lstrip())  # by _tokenize
        return [(start + skipped, end + skipped) for start, end in encoded.offsets[1:-1]]

    def knows_language(self, language: str) -> bool:
        return language == "en"

    def translates(self, language: str) -> bool:
        return self.has_glossary and language in GLOSSARY_LANGUAGES

    def knows_word(self, word: str) -> bool:
        """Is the word a token of the model, and so no typo?"""
        return _load(_tokenizer).token_to_id(word) is not None

    def _run(self, encoded: Sequence[Encoding]) -> Iterator[TextStates]:
        raise NotImplementedError


class _Int8MiniLM(_MiniLM):
    """The weights are verified and loaded with the first text, once per process.

    A text always runs alone, so its vector is the same in any batch. Several texts run on several threads, one text on
    each: threads never wait for each other, so a busy machine costs no CPU time beyond the work itself.
    """

    def _run(self, encoded: Sequence[Encoding]) -> Iterator[TextStates]:
        model, embeddings = _load(_int8_model)

        def run(at: int) -> TextStates:
            (states,) = model.run(None, {"embeddings": embeddings.of(encoded[at].ids)})
            return at, states[0], states[0].mean(axis=0)

        threads = min(len(encoded), _available_cores(), MAX_THREADS)
        if threads < 2:
            yield from map(run, range(len(encoded)))
            return
        longest_first = sorted(range(len(encoded)), key=lambda at: -len(encoded[at].ids))
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(run, longest_first)


class LocalEmbedder(_Int8MiniLM):
    """384 dimensions. What is not German or Chinese has the same vectors as from ``LocalEmbedderV2``."""

    name = "all-MiniLM-L6-v2-int8-glossed"  # another glossary needs another name: tests/embed/test_glossary.py
    has_glossary = True

    @property
    def earlier_versions(self) -> Sequence[Embedder]:
        return (LocalEmbedderV2(), LocalEmbedderV1())


class LocalEmbedderV2(_Int8MiniLM):
    """Reads every text as if it were English."""

    name = "all-MiniLM-L6-v2-int8-dynamic"


class LocalEmbedderV1(_MiniLM):
    """The packaged file as it is. Texts of similar length run together, padded to the longest."""

    name = "all-MiniLM-L6-v2-int8"

    def _run(self, encoded: Sequence[Encoding]) -> Iterator[TextStates]:
        model = _load(_float32_session)
        for batch in batches_by_length(encoded):
            hidden, mask = hidden_states(model, [encoded[at].ids for at in batch])
            yield from zip(batch, hidden, mean_pooling(hidden, mask), strict=True)


def _available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tokenize(texts: Sequence[str]) -> list[Encoding]:
    encoded: list[Encoding] = _load(_tokenizer).encode_batch([text.lstrip()[:MAX_CHARACTERS] for text in texts])
    return encoded


_loading = Lock()


def _load(part: Any) -> Any:
    """What a cached function returns; it is called by one thread at a time."""
    with _loading:
        return part()


@lru_cache(maxsize=1)
def _int8_model() -> tuple[Any, TokenEmbeddings]:
    packaged = packaged_model()
    return open_session(build_model(packaged), threads=1, optimise=False), TokenEmbeddings(packaged)


@lru_cache(maxsize=1)
def _float32_session() -> Any:
    return open_session(packaged_model()[:])


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import BertProcessing

    model = WordPiece.from_file(str(VOCABULARY), unk_token="[UNK]", max_input_chars_per_word=100)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = BertProcessing(("[SEP]", 102), ("[CLS]", 101))
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
