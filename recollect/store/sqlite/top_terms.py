"""The best memories by BM25, without scoring every memory that has a frequent word.

The method is MaxScore. No memory gets more from a term than the term's weight × the highest saturation that its
frequencies and the shortest memory allow. Rare terms are scored in full. Where those bounds of all frequent terms
together are below the n-th best score so far, a memory that has none of the rare terms cannot be among the best: the
frequent ones are only looked up for candidates that they can still bring to the n-th best. Of their other memories it
is only counted how many there are. Otherwise the frequent term with the highest bound is scored in full, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Flags, Floats

Slots = NDArray[np.int64]
FREQUENT = 1 << 13  # entries: terms with fewer are scored together
ROUNDING = 1e-9  # relative; more than sums of a few float64 in different orders differ
NO_SLOTS: Slots = np.empty(0, dtype=np.int64)
NONE: Floats = np.empty(0)


@dataclass(frozen=True)
class WordEntries:
    """Where one word occurs in a segment: ascending slots, each once for every field that has the word, and how often.

    Without ``fields`` (a phrase) each slot is there once, and ``times`` are weighted already.
    """

    slots: NDArray[Any]
    fields: NDArray[np.uint8] | None
    times: NDArray[Any]

    def amounts(self, field_weights: Floats, at: Any = slice(None)) -> Floats:
        """Weight of the field × times, for all entries or some."""
        return np.asarray(self.times[at] * (1.0 if self.fields is None else field_weights[self.fields[at]]))

    def most(self, field_weights: Floats) -> float:
        """No slot has more of the word."""
        if self.fields is None or not len(self.fields):
            return self.highest
        return self.highest * float(field_weights.max()) * self._most_fields

    @cached_property
    def once(self) -> bool:
        """Is each slot there once?"""
        return bool((self.slots[1:] > self.slots[:-1]).all())

    @cached_property
    def highest(self) -> float:
        """How often the word occurs in a field at most."""
        return float(self.times.max(initial=0))

    @cached_property
    def _most_fields(self) -> int:
        """No slot is there more often."""
        return 1 if self.once or self.fields is None else int(np.count_nonzero(np.bincount(self.fields)))


class SegmentTerms:
    """The terms of a query in one segment. A term has one word, or several that count as one.

    A term's *frequency* in a slot is Σ weight of a field × how often any of its words occurs there.
    """

    def __init__(self, terms: Sequence[Sequence[WordEntries]], field_weights: Floats) -> None:
        self.terms = [[word for word in term if len(word.slots)] for term in terms]
        self.field_weights = field_weights
        self._all_weighted = bool((field_weights > 0).all())
        self._unweighted = bool((field_weights == 1).all())
        sizes = [sum(len(word.slots) for word in term) for term in self.terms]
        self.sizes = sizes
        self.rare = [number for number, size in enumerate(sizes) if size <= FREQUENT]
        self.frequent = [number for number, size in enumerate(sizes) if size > FREQUENT]

    def counts(self, among: Flags, numbers: Sequence[int] | None = None) -> NDArray[np.int64]:
        """By term: how many of these slots have it; of frequent terms only those with these numbers are counted."""
        slots, owners, _ = self.rare_pairs
        every = bool(among.all())
        counts = np.bincount(owners if every else owners[among[slots]], minlength=len(self.terms))
        for number in self.frequent:
            if numbers is not None and number not in numbers:
                continue
            words = self.terms[number]
            if every and len(words) == 1 and words[0].once and self._all_weighted:
                counts[number] = len(words[0].slots)
            else:
                counts[number] = np.count_nonzero(self.having([number], len(among)) & among)
        return counts

    def at(self, slots: Slots) -> Floats:
        """By term and slot: its frequency, 0 where it does not occur."""
        found = np.zeros((len(self.terms), len(slots)))
        having, owners, frequencies = self.rare_pairs
        first = having.searchsorted(slots)
        counts = having.searchsorted(slots, "right") - first
        entries = np.arange(int(counts.sum())) + (first - (counts.cumsum() - counts)).repeat(counts)
        found[owners[entries], np.arange(len(slots)).repeat(counts)] = frequencies[entries]
        for number in self.frequent:
            found[number] = self.frequencies(number, slots)
        return found

    def having(self, numbers: Sequence[int], size: int) -> Flags:
        """By slot of a segment of this size: has it one of these terms?"""
        flags = np.zeros(size, dtype=np.bool_)
        weighted = self.field_weights > 0
        for word in (word for number in numbers for word in self.terms[number]):
            all_count = word.fields is None or self._all_weighted
            flags[word.slots if all_count else word.slots[weighted[word.fields]]] = True
        return flags

    def having_all(self, among: Flags) -> Slots:
        """Those of these slots that have all terms, ascending: the rarest term first, so that few are looked up."""
        if not self.terms:
            return NO_SLOTS
        first, *others = sorted(range(len(self.terms)), key=self.sizes.__getitem__)
        slots = self.pairs([first])[0]
        slots = slots[among[slots]]
        for number in others:
            if not len(slots):
                break
            slots = slots[self.frequencies(number, slots) > 0]
        return slots

    def frequencies(self, number: int, slots: Slots) -> Floats:
        """The frequency of a term in each of these slots; 0 where it does not occur."""
        found = np.zeros(len(slots))
        for word in self.terms[number]:
            wanted = slots.astype(word.slots.dtype)
            if word.once:
                at = np.minimum(word.slots.searchsorted(wanted), len(word.slots) - 1)
                here = np.flatnonzero(word.slots[at] == wanted)
                found[here] += word.amounts(self.field_weights, at[here])
                continue
            at, end = (word.slots.searchsorted(wanted, side) for side in ("left", "right"))
            while len(here := np.flatnonzero(at < end)):  # once for each field that has the word
                found[here] += word.amounts(self.field_weights, at[here])
                at[here] += 1
        return found

    @cached_property
    def rare_pairs(self) -> tuple[Slots, NDArray[np.int64], Floats]:
        return self.pairs(self.rare)

    def pairs(self, numbers: Sequence[int]) -> tuple[Slots, NDArray[np.int64], Floats]:
        """Each slot with each of these terms that it has, ascending by slot and term, and the frequency of the term.

        Slot, term and the place of the entry are sorted as one number: several times as fast as an indirect sort.
        """
        words = [(number, word) for number in numbers for word in self.terms[number]]
        if not words:
            return NO_SLOTS, NO_SLOTS, NONE
        if self._unweighted and all(word.fields is not None for _, word in words):
            return self._count_pairs(words)
        owners = np.repeat([number for number, _ in words], [len(word.slots) for _, word in words])
        slots = np.concatenate([word.slots for _, word in words], dtype=np.int64)
        amounts = np.concatenate([word.amounts(self.field_weights) for _, word in words])
        if not self._all_weighted:
            owners, slots, amounts = owners[amounts > 0], slots[amounts > 0], amounts[amounts > 0]
        if len(words) == 1 and words[0][1].once:
            return slots, owners, amounts
        term_bits, place_bits = len(self.terms).bit_length(), len(slots).bit_length()
        ordered = np.sort((((slots << term_bits) | owners) << place_bits) | np.arange(len(slots)))
        amounts = amounts[ordered & ((1 << place_bits) - 1)]
        ordered >>= place_bits
        starts = _starts(ordered)
        ordered = ordered[starts]
        return ordered >> term_bits, ordered & ((1 << term_bits) - 1), _sums(amounts, starts)

    def _count_pairs(self, words: Sequence[tuple[int, WordEntries]]) -> tuple[Slots, NDArray[np.int64], Floats]:
        """The same where all fields have the weight 1: how often a word occurs is sorted with the slot and the term,
        which mostly fits into 32 bits."""
        slot_bits = max(int(word.slots[-1]) for _, word in words).bit_length()
        term_bits, times_bits = len(self.terms).bit_length(), int(max(word.highest for _, word in words)).bit_length()
        kind: Any = np.uint32 if slot_bits + term_bits + times_bits <= 32 else np.uint64
        owners = np.array([number for number, _ in words], dtype=kind).repeat([len(word.slots) for _, word in words])
        ordered: NDArray[Any] = np.concatenate([word.slots for _, word in words], dtype=kind, casting="unsafe")
        ordered <<= kind(term_bits)
        ordered |= owners
        ordered <<= kind(times_bits)
        ordered |= np.concatenate([word.times for _, word in words], dtype=kind, casting="unsafe")
        if len(words) > 1 or not words[0][1].once:
            ordered.sort()
        amounts = (ordered & kind((1 << times_bits) - 1)).astype(np.float64)
        ordered >>= kind(times_bits)
        starts = _starts(ordered)
        if len(starts) < len(ordered):
            ordered, amounts = ordered[starts], _sums(amounts, starts)
        owners = ordered & kind((1 << term_bits) - 1)
        ordered >>= kind(term_bits)
        return ordered.astype(np.int64), owners.astype(np.int64), amounts


@dataclass
class TermSearch:
    """A search by terms in one segment after another. ``weights`` are those of the terms, idf included.

    The score of a slot is Σ weight × tf × (k1 + 1) ÷ (tf + k1 × (1 − b + b × length ÷ average)), tf being frequencies.
    """

    weights: Sequence[float]
    average_length: float
    k1: float
    b: float
    n: int
    require_all: bool = False  # a slot must have all terms
    total: int = 0  # slots that matched so far
    _floor: float = 0.0  # the n-th best score so far; 0 while there are fewer
    _best: Floats = field(default_factory=lambda: np.empty(0))  # the best n scores so far
    _found: list[tuple[Slots, Floats]] = field(default_factory=list)  # by segment: slots and scores
    _weights: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._weights = np.asarray(self.weights, dtype=np.float64)

    def add(self, terms: SegmentTerms, lengths: NDArray[Any], allowed: Flags, matching: Flags | None = None) -> None:
        """Search a segment, with the length of each slot in words, and whether it may be found.

        With ``matching``, those slots match, and no others, whether they have a term or not.
        """
        if matching is not None:
            among = allowed & matching
            slots = terms.having_all(among) if self.require_all and terms.terms else np.flatnonzero(among)
            slots, scores = self._score(terms, lengths, slots)
        elif self.require_all:
            slots, scores = self._score(terms, lengths, terms.having_all(allowed), positive=True)
        else:
            slots, scores = self._search(terms, lengths, allowed)
        if self.n > 0:
            self._best = np.append(self._best, scores[scores >= self._floor])
            if len(self._best) >= self.n:
                self._best = np.partition(self._best, len(self._best) - self.n)[-self.n :]
                self._floor = max(0.0, float(self._best.min()))
        self._found.append((slots, scores))

    def best(self) -> list[tuple[Slots, Floats]]:
        """By segment: slots with at least the n best scores and all that equal the last of them, and their scores."""
        if self.n <= 0:
            return [(NO_SLOTS, NONE) for _ in self._found]
        floor = self._floor * (1 - ROUNDING)
        return [(slots[scores >= floor], scores[scores >= floor]) for slots, scores in self._found]

    def parts(self, number: int | NDArray[np.int64], frequencies: Floats, lengths: NDArray[Any]) -> Floats:
        """What a term, or a term for each slot, adds to scores."""
        damped = frequencies + self.k1 * (1 - self.b + self.b * lengths / self.average_length)
        return np.asarray(self._weights[number] * (frequencies * (self.k1 + 1) / damped))

    def _search(self, terms: SegmentTerms, lengths: NDArray[Any], allowed: Flags) -> tuple[Slots, Floats]:
        """Slots that may be among the best, and their scores."""
        slots, scores = self._score_rare(terms, lengths, allowed)
        bounds = {number: self._bound(terms, number, lengths) for number in terms.frequent}
        frequent = sorted(bounds, key=lambda number: -bounds[number])
        floor, others = self._floor_with(scores), sum(bounds.values()) * (1 + ROUNDING)
        if frequent and others >= floor:
            every = np.zeros(len(allowed))
            every[slots] = scores
            while frequent and others >= floor:
                number = frequent.pop(0)
                some, _, frequencies = terms.pairs([number])
                inside = allowed[some]
                some, frequencies = some[inside], frequencies[inside]
                every[some] += self.parts(number, frequencies, lengths[some])
                others = sum(bounds[each] for each in frequent) * (1 + ROUNDING)
                if frequent:
                    floor = self._floor_with(every[every > floor])
            slots = np.flatnonzero(every)
            scores = every[slots]
        self.total += self._count(terms, slots, frequent, allowed)
        for at, number in enumerate(frequent):
            others = sum(bounds[each] for each in frequent[at:]) * (1 + ROUNDING)
            high = scores + others >= floor
            slots, scores = slots[high], scores[high]
            scores = scores + self.parts(number, terms.frequencies(number, slots), lengths[slots])
        high = scores >= floor * (1 - ROUNDING)
        return slots[high], scores[high]

    def _score_rare(self, terms: SegmentTerms, lengths: NDArray[Any], allowed: Flags) -> tuple[Slots, Floats]:
        """All allowed slots that have a rare term, ascending, and their scores from those terms alone."""
        slots, owners, frequencies = terms.rare_pairs
        if not allowed.all():
            inside = allowed[slots]
            slots, owners, frequencies = slots[inside], owners[inside], frequencies[inside]
        parts = self.parts(owners, frequencies, lengths[slots])
        starts = _starts(slots)
        slots, scores = slots[starts], _sums(parts, starts)
        return (slots, scores) if (scores > 0).all() else (slots[scores > 0], scores[scores > 0])

    def _score(
        self, terms: SegmentTerms, lengths: NDArray[Any], slots: Slots, positive: bool = False
    ) -> tuple[Slots, Floats]:
        """These slots, and their scores; with ``positive`` only those that have one."""
        scores = np.zeros(len(slots))
        for number in range(len(terms.terms)) if len(slots) else ():
            scores += self.parts(number, terms.frequencies(number, slots), lengths[slots])
        keep = scores > 0 if positive else np.ones(len(slots), dtype=np.bool_)
        self.total += int(np.count_nonzero(keep))
        return slots[keep], scores[keep]

    def _bound(self, terms: SegmentTerms, number: int, lengths: NDArray[Any]) -> float:
        """No slot gets more from a term."""
        most = sum(word.most(terms.field_weights) for word in terms.terms[number])
        return float(self.parts(number, np.array([most]), lengths.min(keepdims=True))[0]) if most > 0 else 0.0

    def _floor_with(self, scores: Floats) -> float:
        """The n-th best score if these are further ones."""
        every = np.append(self._best, scores[scores >= self._floor])
        return float(np.partition(every, len(every) - self.n)[len(every) - self.n]) if 0 < self.n <= len(every) else 0.0

    def _count(self, terms: SegmentTerms, slots: Slots, numbers: Sequence[int], allowed: Flags) -> int:
        """How many allowed slots there are among these and those that have one of these terms."""
        numbers = [number for number in numbers if self.weights[number] > 0]
        if not numbers:
            return len(slots)
        having = terms.having(numbers, len(allowed))
        having[slots] = True
        return int(np.count_nonzero(having & allowed))


def _starts(ordered: NDArray[Any]) -> NDArray[np.int64]:
    """Where each group of equal numbers begins."""
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])


def _sums(values: Floats, starts: NDArray[np.int64]) -> Floats:
    """The sum of each group."""
    return np.add.reduceat(values, starts) if len(starts) else NONE
