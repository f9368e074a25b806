"""Rerankers on this machine: late interaction of tokens, and a cross-encoder in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.embed import TokenEmbedder, TokenVectors
from recollect.embed.onnx import find_weights, open_session
from recollect.errors import InvalidInput
from recollect.rerank.base import RerankError, Scores
from recollect.text.stopwords import ENGLISH

TokenWeight = Callable[[str], float]  # of a token of the query


def content_weight(token: str) -> float:
    """1 for a content word, 0.3 for a stop word, 0 for punctuation.

    Measured on the first 20 results of 171 questions: like equal weights on LoCoMo, better on RealTalk and VehicleMem.
    The idf among those results alone was worse; an idf over the whole collection was better, if you have one.
    """
    if not any(letter.isalnum() for letter in token):
        return 0.0
    return 0.3 if token in ENGLISH else 1.0


class LateInteraction:
    """Σ weight(q) × max over d of cos(q, d) ÷ Σ weight(q), for the tokens q of the query and d of the text.

    A score of 1 means that every token of the query is in the text, in the same sense.
    """

    def __init__(self, embedder: TokenEmbedder | None = None, weight: TokenWeight = content_weight) -> None:
        if embedder is None:
            from recollect.embed.local import LocalEmbedder

            embedder = LocalEmbedder()
        self.embedder = embedder
        self.weight = weight
        self.name = f"late interaction, {embedder.name}"

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        (query_tokens,) = self.embedder.token_vectors([query])
        weights = np.array([self.weight(token) for token in query_tokens.tokens])
        if not weights.any():  # nothing but punctuation
            weights = np.ones(len(weights))
        return np.array([_similarity(query_tokens, weights, each) for each in self.embedder.token_vectors(texts)])

    def __repr__(self) -> str:
        return f"LateInteraction({self.embedder.name!r})"


def _similarity(query: TokenVectors, weights: Scores, text: TokenVectors) -> float:
    if not query.tokens or not text.tokens:
        return 0.0
    nearest = (query.vectors @ text.vectors.T).max(axis=1)
    return float(nearest @ weights / weights.sum())


PADDING_TOKENS = ("[PAD]", "<pad>")


class CrossEncoder:
    """A sequence classifier with one logit, or two (the second means yes): scores from 0 to 1.

    The folder has ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``, as model hubs offer them. Both are
    loaded with the first query.
    """

    def __init__(self, folder: str | os.PathLike[str], *, name: str = "", tokens: int = 512, batch: int = 16) -> None:
        if tokens < 8 or batch < 1:
            raise InvalidInput(f"tokens must be at least 8 and batch at least 1, not {tokens} and {batch}.")
        self.folder = Path(folder)
        self.name = name or self.folder.resolve().name
        self.tokens = tokens  # of query and text together; the longer of them is truncated first
        self.batch = batch
        self._weights = find_weights(self.folder)
        self._loading = Lock()
        self._loaded: tuple[Any, Any] | None = None

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        model, tokenizer = self._load()
        scores = np.empty(len(texts))
        # Texts of similar length share a batch, to save padding.
        by_length = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        for start in range(0, len(texts), self.batch):
            batch = by_length[start : start + self.batch]
            scores[batch] = _probabilities(_logits(model, tokenizer.encode_batch([(query, texts[at]) for at in batch])))
        return scores

    def __repr__(self) -> str:
        return f"CrossEncoder({str(self.folder)!r})"

    def _load(self) -> tuple[Any, Any]:
        with self._loading:
            if self._loaded is None:
                self._loaded = open_session(self._weights), self._tokenizer()
            return self._loaded

    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.enable_truncation(self.tokens, strategy="longest_first")
        token = next((each for each in PADDING_TOKENS if tokenizer.token_to_id(each) is not None), PADDING_TOKENS[0])
        padding = tokenizer.padding or {"pad_id": tokenizer.token_to_id(token) or 0, "pad_token": token}
        tokenizer.enable_padding(**{**padding, "length": None})  # to the longest of a batch, never a fixed length
        return tokenizer


def _logits(model: Any, pairs: Sequence[Any]) -> NDArray[Any]:
    available = {
        "input_ids": lambda: [pair.ids for pair in pairs],
        "attention_mask": lambda: [pair.attention_mask for pair in pairs],
        "token_type_ids": lambda: [pair.type_ids for pair in pairs],
    }
    inputs = [each.name for each in model.get_inputs()]
    unknown = [name for name in inputs if name not in available]
    if unknown:
        raise RerankError(f"The model has the inputs {', '.join(unknown)}; a cross-encoder has {', '.join(available)}.")
    outputs = [each.name for each in model.get_outputs()]
    output = "logits" if "logits" in outputs else outputs[0]
    (logits,) = model.run([output], {name: np.array(available[name](), dtype=np.int64) for name in inputs})
    return np.asarray(logits)


def _probabilities(logits: NDArray[Any]) -> Scores:
    """sigmoid(logit); of two logits, sigmoid(yes − no), which is their softmax."""
    wide = logits.astype(np.float64).reshape(len(logits), -1)
    if wide.shape[1] > 2:
        raise RerankError(
            f"The model returns {wide.shape[1]} numbers per pair; a reranker returns one logit, or two for no and yes."
        )
    logit = wide[:, 0] if wide.shape[1] == 1 else wide[:, 1] - wide[:, 0]
    return np.asarray(np.exp(-np.logaddexp(0.0, -logit)))
