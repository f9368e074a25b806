"""The search by terms, against scoring every memory."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.store.sqlite import top_terms
from recollect.store.sqlite.top_terms import SegmentTerms, TermSearch, WordEntries

Counts = NDArray[np.int64]  # by word, slot and field
Frequencies = NDArray[np.float64]
FIELDS = 3


class Corpus:
    """Random segments: how often each word occurs in each field of each slot."""

    def __init__(self, seed: int, sizes: Sequence[int], words: int) -> None:
        chance = np.random.default_rng(seed)
        shares = 0.5 ** np.arange(words)[:, None, None] * np.array([1.0, 0.1, 0.05])
        self.counts: list[Counts] = [
            (chance.random((words, size, FIELDS)) < shares) * chance.geometric(0.6, (words, size, FIELDS))
            for size in sizes
        ]
        self.lengths = [each.sum(axis=(0, 2)) + chance.integers(0, 40, each.shape[1]) for each in self.counts]
        self.allowed = [chance.random(size) < chance.choice([0.02, 0.5, 1.0]) for size in sizes]

    def entries(self, segment: int, word: int) -> WordEntries:
        slots, fields = np.nonzero(self.counts[segment][word])
        times = self.counts[segment][word][slots, fields].astype(np.uint16)
        return WordEntries(slots.astype(np.int32), fields.astype(np.uint8), times)

    def terms(self, segment: int, terms: Sequence[Sequence[int]], fields: Sequence[float]) -> SegmentTerms:
        return SegmentTerms([[self.entries(segment, word) for word in term] for term in terms], np.array(fields))

    def frequencies(self, segment: int, terms: Sequence[Sequence[int]], fields: Sequence[float]) -> list[Frequencies]:
        return [(self.counts[segment][list(term)].sum(axis=0) * np.array(fields)).sum(axis=1) for term in terms]

    def exhaustive(self, search: TermSearch, segment: int, frequencies: list[Frequencies]) -> NDArray[np.float64]:
        """The score of every slot; −1 where it does not match."""
        lengths = self.lengths[segment]
        parts = [search.parts(number, each, lengths) for number, each in enumerate(frequencies)]
        scores = np.sum(parts, axis=0)
        matching = scores > 0
        if search.require_all:
            matching &= np.all(np.array(frequencies) > 0, axis=0)
        return np.where(matching & self.allowed[segment], scores, -1.0)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.sampled_from([0, 1, 30, 400, 1500]), min_size=1, max_size=3),
    terms=st.lists(st.sampled_from([(0,), (1,), (2, 3), (4,), (5, 6, 7), (8,), (9,)]), min_size=1, unique=True),
    n=st.sampled_from([0, 1, 5, 50, 10_000]),
    fields=st.sampled_from([(1.0, 1.0, 1.0), (1.0, 0.0, 2.5), (0.0, 0.0, 1.0)]),
    require_all=st.booleans(),
    frequent=st.sampled_from([0, 20, 200, 1 << 13]),
)
def test_the_best_are_those_of_an_exhaustive_search(
    seed: int,
    sizes: list[int],
    terms: list[tuple[int, ...]],
    n: int,
    fields: tuple[float, ...],
    require_all: bool,
    frequent: int,
) -> None:
    corpus = Corpus(seed, sizes, words=10)
    weights = [0.0 if seed % 5 == 0 and number == 1 else 0.3 + 1.7 * term[0] for number, term in enumerate(terms)]
    search = TermSearch(weights, 25.0, 1.2, 0.75, n, require_all)
    with patch.object(top_terms, "FREQUENT", frequent):
        for segment in range(len(sizes)):
            found = corpus.terms(segment, terms, fields)
            search.add(found, corpus.lengths[segment], corpus.allowed[segment])
            expected = np.array(corpus.frequencies(segment, terms, fields))
            among = np.random.default_rng(seed).random(sizes[segment]) < 0.5
            assert found.counts(among).tolist() == np.count_nonzero((expected > 0) & among, axis=1).tolist()
            some = np.flatnonzero(among)
            assert found.at(some[::-1]) == pytest.approx(expected.reshape(len(terms), -1)[:, some[::-1]])
            assert all(found.frequencies(at, some) == pytest.approx(expected[at][some]) for at in range(len(terms)))
    every = [
        corpus.exhaustive(search, segment, corpus.frequencies(segment, terms, fields)) for segment in range(len(sizes))
    ]
    ranked = np.sort(np.concatenate(every))
    matching = int(np.count_nonzero(ranked >= 0))
    assert search.total == matching
    floor = ranked[-n] if 0 < n <= matching else np.inf if n == 0 else 0.0
    for (slots, scores), expected in zip(search.best(), every, strict=True):
        assert set(np.flatnonzero(expected >= max(floor, 1e-300))) <= set(slots.tolist())
        assert len(set(slots.tolist())) == len(slots)
        assert scores == pytest.approx(expected[slots], rel=1e-12)
    if n < matching:
        returned = sum(len(slots) for slots, _ in search.best())
        assert returned == np.count_nonzero(ranked >= floor * (1 - 1e-9))


def test_slots_that_fulfil_a_query_tree_match_whether_they_have_a_term_or_not() -> None:
    corpus = Corpus(3, [500], words=4)
    corpus.allowed = [np.ones(500, np.bool_)]
    matching, terms, fields = np.arange(500) % 7 == 0, [(1,), (2,)], [1.0] * FIELDS
    search = TermSearch([1.0, 2.0], 20.0, 1.2, 0.75, 1000)
    search.add(corpus.terms(0, terms, fields), corpus.lengths[0], corpus.allowed[0], matching)
    ((slots, scores),) = search.best()
    assert slots.tolist() == np.flatnonzero(matching).tolist()
    assert search.total == len(slots)
    expected = np.maximum(corpus.exhaustive(search, 0, corpus.frequencies(0, terms, fields)), 0)[slots]
    assert scores == pytest.approx(expected, rel=1e-12)


def test_frequent_words_are_not_scored_where_rare_ones_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[int] = []
    parts = TermSearch.parts

    def count(self: TermSearch, number: int, frequencies: NDArray[np.float64], lengths: NDArray[np.int64]) -> object:
        scored.append(len(frequencies))
        return parts(self, number, frequencies, lengths)

    slots = np.arange(100_000, dtype=np.int32)
    ones = np.ones(100_000, np.uint16)
    text = np.zeros(100_000, np.uint8)
    rare, frequent = (WordEntries(each, text[: len(each)], ones[: len(each)]) for each in (slots[::500], slots[::2]))
    search = TermSearch([6.0, 0.7], 20.0, 1.2, 0.75, 10)
    monkeypatch.setattr(TermSearch, "parts", count)
    search.add(SegmentTerms([[rare], [frequent]], np.ones(FIELDS)), np.full(100_000, 20), np.ones(100_000, np.bool_))
    assert search.total == 50_000
    assert sum(scored) < 1_000
    assert len(search.best()[0][0]) == 200  # equals, all of them


def test_a_frequent_word_alone_can_be_the_best_by_a_little() -> None:
    """The shortest slot has the frequent word often, in two fields: it gets as much as a term can give."""
    count, best = 20_000, 7_001
    lengths = np.full(count, 60)
    lengths[best] = 2
    slots = np.arange(1, count, 2, dtype=np.int32)
    slots = np.insert(slots, np.searchsorted(slots, best), best)
    fields, times = (np.where(slots == best, value, other) for value, other in ((1, 0), (3, 1)))
    fields[np.searchsorted(slots, best)] = 0
    frequent = WordEntries(slots, fields.astype(np.uint8), times.astype(np.uint16))
    rare = WordEntries(np.arange(0, 200, 2, dtype=np.int32), np.zeros(100, np.uint8), np.ones(100, np.uint16))
    search = TermSearch([1.0, 1.9], 20.0, 1.2, 0.75, 1)
    most, usual = search.parts(1, np.array([6.0]), np.array([2])), search.parts(0, np.array([1.0]), np.array([60]))
    search.weights = [0.999 * float(most[0] / usual[0]), 1.9]
    search.add(SegmentTerms([[rare], [frequent]], np.ones(FIELDS)), lengths, np.ones(count, np.bool_))
    ((slots_found, scores),) = search.best()
    assert slots_found.tolist() == [best]
    assert scores == pytest.approx(most)


def test_a_phrase_has_frequencies_that_are_weighted_already() -> None:
    phrase = WordEntries(np.array([3, 8]), None, np.array([2.5, 1.0]))
    word = WordEntries(np.array([1, 3], np.int32), np.array([0, 2], np.uint8), np.array([1, 2], np.uint16))
    terms = SegmentTerms([[phrase], [word]], np.array([1.0, 0.0, 3.0]))
    assert terms.counts(np.ones(9, np.bool_)).tolist() == [2, 2]
    assert terms.frequencies(0, np.array([1, 3, 8])).tolist() == [0.0, 2.5, 1.0]
    slots, owners, frequencies = terms.rare_pairs
    assert list(zip(slots.tolist(), owners.tolist(), frequencies.tolist(), strict=True)) == [
        (1, 1, 1.0),
        (3, 0, 2.5),
        (3, 1, 6.0),
        (8, 0, 1.0),
    ]
