"""One version of the file for one recall: scopes, candidates, columns and edges that agree with each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache, partial, reduce
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.model import EntityEdge, JsonObject, Memory, Use
from recollect.model.filter import FilterExpression
from recollect.model.memory import FIELDS, UNUSED
from recollect.model.validation import from_micros, micros
from recollect.store.base import (
    Bound,
    EdgeArrays,
    Flags,
    Floats,
    LexicalQuery,
    PageOrder,
    Proposal,
    Rows,
    Scope,
    Space,
    Term,
    TermStatistics,
    TokenSketches,
    Version,
    leaf_term,
)
from recollect.store.rows import SELECT_USE, from_row, read_use
from recollect.store.sqlite.connections import fetch, fetch_value
from recollect.store.sqlite.erasing import last_erasure
from recollect.store.sqlite.index import Index, IndexUpdater, View
from recollect.store.sqlite.nearest import FEW, nearest
from recollect.store.sqlite.part import NUMBERS, Part
from recollect.store.sqlite.postings import word_entries
from recollect.store.sqlite.scope import (
    DATED,
    ScopeBuilder,
    SlotScope,
    TermCount,
    find_bound_slots,
    has_validity_periods,
)
from recollect.store.sqlite.session_order import SessionOrder
from recollect.store.sqlite.signatures import signatures
from recollect.store.sqlite.statements import select_columns
from recollect.store.sqlite.token_sketches import token_sketches
from recollect.store.sqlite.top_terms import SegmentTerms, TermSearch
from recollect.store.sqlite.vocabulary import (
    StemIndex,
    Vocabulary,
    exact_word_numbers,
    phrase_frequencies,
    word_numbers,
)
from recollect.store.text_fields import TEXT_FIELDS
from recollect.store.told_times import Interval, tells_of
from recollect.text.query_language import And, AndNot, Or, QueryTree, format_query
from recollect.text.signatures import hamming_similarity
from recollect.text.slugs import SlugIndex, path_or_name
from recollect.text.words import fold, has_stems, stem, words

MAX_COUNTED = 4096  # terms whose counts are kept for a scope
MAX_KNOWN = 4096  # rows whose strings are kept as long as a snapshot
MANY = 256  # rows that are asked for at once: their strings are not kept
MAX_NUMBERS = 1 << 15  # rows whose numbers that the index does not hold are kept as long as a version
NO_SLOTS: NDArray[np.int32] = np.empty(0, dtype=np.int32)
NO_ROWS: Rows = np.empty(0, dtype=np.int64)
AMONG = "IN (SELECT value FROM json_each(?1))"
T = TypeVar("T")


@dataclass(frozen=True)
class TermPostings:
    """The slots that have each of some terms: a run of slots for each term, ascending, all runs in one array."""

    slots: NDArray[np.int32]
    frequencies: Floats  # Σ field weight × occurrences
    ends: list[int]  # of each term's run

    def runs(self) -> list[tuple[NDArray[np.int32], Floats]]:
        """The slots and frequencies of each term."""
        return [(self.slots[start:end], self.frequencies[start:end]) for start, end in pairwise([0, *self.ends])]

    @cached_property
    def term_numbers(self) -> NDArray[np.int64]:
        """For each entry, the position of its term."""
        sizes = [end - start for start, end in pairwise([0, *self.ends])]
        return np.repeat(np.arange(len(sizes)), sizes)

    @cached_property
    def _entries(self) -> NDArray[np.int64]:
        """Term and slot of each entry as one number, ascending."""
        return (self.term_numbers << 32) + self.slots

    def count(self, slots: Flags) -> list[int]:
        """For each term: how many of these slots have it."""
        spans = list(pairwise([0, *self.ends]))
        if slots.all():
            return [end - start for start, end in spans]
        inside = slots[self.slots]
        return [int(np.count_nonzero(inside[start:end])) for start, end in spans]

    def at(self, slots: NDArray[np.int64]) -> Floats:
        """By term and slot: its frequency, 0 where the term does not occur."""
        if not len(self.slots):
            return np.zeros((len(self.ends), len(slots)))
        entries = self._entries
        wanted = (np.arange(len(self.ends))[:, None] << 32) + slots
        place = np.minimum(np.searchsorted(entries, wanted), len(entries) - 1)
        return np.where(entries[place] == wanted, self.frequencies[place], 0.0)


class SqliteSnapshot:
    """A read transaction and the in-memory index of the same version."""

    def __init__(
        self, path: str, index: Index, connection: apsw.Connection, updater: IndexUpdater, bound: Bound
    ) -> None:
        self.path = path
        self._index = index
        self._connection = connection
        self._updater = updater
        self._bound = bound
        # One recall asks for the same terms several times: for statistics, for candidates, and for scores.
        self._postings_of: dict[Hashable, TermPostings] = {}
        self._last_postings: tuple[Sequence[Term], Mapping[str, float], TermPostings] | None = None
        self._groups_of: dict[tuple[Term, ...], list[tuple[int, ...]]] = {}
        self._last_groups: tuple[Sequence[Term], list[tuple[int, ...]]] | None = None
        self._terms_of: dict[Hashable, list[SegmentTerms]] = {}
        self._statistics: dict[Hashable, tuple[SlotScope, TermStatistics]] = {}
        self._last_statistics: tuple[Sequence[Term], Mapping[str, float], SlotScope, TermStatistics] | None = None
        self._stem_indexes: dict[str, StemIndex] = {}  # by language, with all words of this version
        self._strings: dict[str, dict[int, str]] = {}  # by column and row
        self._similar: dict[Hashable, tuple[SlotScope, list[tuple[str, float]]]] = {}

    @property
    def version(self) -> Version:
        return str(self._index.version)

    @property
    def space(self) -> Space | None:
        return self._index.space

    # What may come back.

    def scope(
        self,
        filter: FilterExpression | None,
        statuses: Sequence[str],
        now: datetime,
        as_of: bool = False,
        hidden: bool = False,
    ) -> SlotScope:
        builder = ScopeBuilder(self._index, self._last_accessed, self._bound)
        return builder.build(filter, statuses, now, as_of, hidden)

    def excluding(self, tree: QueryTree, fields: Mapping[str, float], scope: Scope) -> SlotScope:
        scope = _slot_scope(scope)
        others = ~self._fulfilling(tree, fields)
        passing = self._index.split_mask(others)
        return scope.restricted(f"the query excludes it: NOT {format_query(tree)}", passing)

    def during(self, intervals: Sequence[Interval], scope: Scope, told: bool = True) -> SlotScope:
        passing = [_part_during(view.part, intervals, told) for view in self._index.views]
        return _slot_scope(scope).restricted("it is not of that time", passing)

    def told_times(self, rows: Rows) -> list[list[Interval]]:
        found: list[list[Interval]] = [[] for _ in rows]
        for view, places, local in self._index.split(self._slots(rows)):
            slots, times = view.part.arrays["told.slots"], view.part.arrays["told.times"]
            first, last = (np.searchsorted(slots, local, side=side).tolist() for side in ("left", "right"))
            for place, begin, end in zip(places.tolist(), first, last, strict=True):
                found[place] = [(start, stop) for start, stop in times[begin:end].tolist()]
        return found

    def _slots(self, rows: Rows) -> NDArray[np.int64]:
        """The slot of each row, −1 for a row that does not exist or is outside the bound."""
        slots = self._index.slots(rows)
        if self._bound.values and self._index.size:
            slots = np.where((slots >= 0) & self._bound_slots()[slots], slots, -1)
        return slots

    def _bound_slots(self) -> Flags:
        """By slot: is it inside the bound?"""
        masks = [find_bound_slots(view, self._bound) for view in self._index.views]
        return self._derived(("bound", self._bound), lambda: self._index.join(masks))

    # Candidates.

    def lexical_candidates(self, query: LexicalQuery, scope: Scope, n: int) -> Proposal:
        scope = _slot_scope(scope)
        if any(term.match == "phrase" for term in query.terms):
            return self._phrase_candidates(query, scope, n)
        counted, every = _counted(query.fields), self._segment_terms(self._groups(query.terms), query.fields)
        search = TermSearch(query.weights, query.average_length, query.k1, query.b, n, query.require_all)
        where = query.where and self._index.split_mask(self._fulfilling(query.where, query.fields))
        for at, (part_scope, view, terms) in enumerate(zip(scope.parts, self._index.views, every, strict=True)):
            search.add(terms, view.part.lengths(counted), part_scope.slots, where[at] if where else None)
        found = zip(search.best(), self._index.views, strict=True)
        return Proposal(np.concatenate([NO_ROWS, *(view.part.rows[slots] for (slots, _), view in found)]), search.total)

    def _phrase_candidates(self, query: LexicalQuery, scope: SlotScope, n: int) -> Proposal:
        """Phrases are read from texts: every memory that has the terms is scored."""
        index, count = self._index, self._index.size
        postings = self._postings(query.terms, query.fields)
        length = self._lengths(query.fields, postings.slots)
        frequency = postings.frequencies
        damped = frequency + query.k1 * (1 - query.b + query.b * length / query.average_length)
        weights = np.asarray(query.weights)[postings.term_numbers]
        parts = weights * (frequency * (query.k1 + 1) / damped)
        scores = np.bincount(postings.slots, parts, count).astype(np.float64, copy=False)
        passing = scores > 0 if query.where is None else self._fulfilling(query.where, query.fields)
        if query.require_all:
            passing &= np.bincount(postings.slots, minlength=count) == len(query.terms)
        found = np.flatnonzero(passing & scope.slots)
        return Proposal(index.rows(found[_at_least_best(scores[found], n)]), len(found))

    def nearest(self, vector: NDArray[np.float32], scope: Scope, n: int) -> Proposal:
        views = self._index.views
        blocks = [scope.block(view.part) for scope, view in zip(_slot_scope(scope).parts, views, strict=True)]
        total = sum(block.count for block in blocks)
        approximate = total > max(self._updater.limits.max_exact, FEW)
        found = zip(nearest(blocks, vector, n, approximate), views, strict=True)
        rows = np.concatenate([NO_ROWS, *(view.part.rows[slots] for slots, view in found)])
        return Proposal(rows, total, approximate)

    def signature_candidates(self, signature: NDArray[np.uint8], scope: Scope, min_similarity: float) -> Rows:
        bits = len(signature) * 8
        found = [NO_ROWS]
        for part_scope, view in zip(_slot_scope(scope).parts, self._index.views, strict=True):
            slots = np.flatnonzero(part_scope.slots)
            agreeing = hamming_similarity(signature, signatures(view.part, self._connection, bits)[slots], bits)
            found.append(view.part.rows[slots[agreeing >= min_similarity]])
        return np.concatenate(found)

    def slug_candidates(self, tokens: Sequence[str], scope: Scope, min_similarity: float) -> Rows:
        scope = _slot_scope(scope)
        if not tokens:
            return NO_ROWS
        rows, slugs = self._derived(("slugs", self._bound), self._read_slugs)
        similar = np.max([slugs.similar(token) for token in tokens], axis=0)
        near = rows[similar >= min_similarity]
        return np.asarray(near[scope.contains(near)])

    def _read_slugs(self) -> tuple[Rows, SlugIndex]:
        rows = np.sort(self._index.rows(np.flatnonzero(self._bound_slots())))
        return rows, SlugIndex(self.paths(rows))

    def similar_words(self, word: str, scope: Scope, min_similarity: float, n: int) -> list[tuple[str, float]]:
        scope = _slot_scope(scope)
        key = (word, id(scope), min_similarity, n)
        if key not in self._similar:  # with the scope, so that no other one gets its id
            self._similar[key] = scope, self._similar_words(word, scope, min_similarity, n)
        return self._similar[key][1]

    def _similar_words(self, word: str, scope: SlotScope, min_similarity: float, n: int) -> list[tuple[str, float]]:
        vocabulary = self._vocabulary()
        similar = vocabulary.similar(word, min_similarity)
        found: list[tuple[str, float]] = []
        for start in range(0, len(similar), n):
            some = similar[start : start + n]
            occurs = self._index.postings.occur([vocabulary.numbers[other] for other, _ in some], scope.slots)
            found += [each for each, here in zip(some, occurs, strict=True) if here]
            if len(found) >= n:
                break
        return found[:n]

    def page(self, scope: Scope, order: PageOrder, limit: int, offset: int = 0) -> Rows:
        slots = np.flatnonzero(_slot_scope(scope).slots)
        rows = self._index.rows(slots)
        if order == "stored":
            return np.sort(rows)[offset : offset + limit]
        places = np.lexsort((rows, self._index.column("created", slots)))
        return rows[places[::-1] if order == "newest" else places][offset : offset + limit]

    # Words.

    def term_statistics(self, terms: Sequence[Term], fields: Mapping[str, float], scope: Scope) -> TermStatistics:
        scope, last = _slot_scope(scope), self._last_statistics
        if last is not None and last[0] is terms and last[1] is fields and last[2] is scope:
            return last[3]
        key = (tuple(terms), tuple(fields.items()), id(scope))  # it lives as long as the snapshot: it is kept here
        known = self._statistics.get(key)
        if known is None:
            documents, average = self._average_length(fields, scope)
            counts = self._counts(self._groups(terms), fields, scope)
            if any(term.match == "phrase" for term in terms):
                postings = self._postings(terms, fields)
                found = zip(postings.count(scope.bound_slots), postings.count(scope.slots), strict=True)
                counts = [(having, occurs > 0) for having, occurs in found]
            statistics = TermStatistics(documents, average, [each[0] for each in counts], [each[1] for each in counts])
            known = self._statistics[key] = scope, statistics
        if isinstance(terms, tuple):  # a list may change
            self._last_statistics = terms, fields, scope, known[1]
        return known[1]

    def _counts(self, groups: list[tuple[int, ...]], fields: Mapping[str, float], scope: SlotScope) -> list[TermCount]:
        """By group: how many memories of the bound have one of these words, and whether one in scope has."""
        counted = _counted(fields)
        having, occurs = [0] * len(groups), [False] * len(groups)
        for number, part_scope in enumerate(scope.parts):
            counts = part_scope.terms.setdefault(counted, {})
            if unknown := [group for group in dict.fromkeys(groups) if group not in counts]:
                if len(counts) + len(unknown) > MAX_COUNTED:
                    counts = part_scope.terms[counted] = {group: counts[group] for group in groups if group in counts}
                place = {group: at for at, group in enumerate(groups)}
                found, places = self._segment_terms(groups, fields)[number], [place[group] for group in unknown]
                in_bound = in_scope = found.counts(part_scope.bound_slots, places).tolist()
                if not (part_scope.bound_slots.all() and part_scope.slots.all()):
                    in_scope = found.counts(part_scope.slots, places).tolist()
                counts |= {groups[at]: (in_bound[at], in_scope[at] > 0) for at in places}
            for at, group in enumerate(groups):
                count, occurring = counts[group]
                having[at] += count
                occurs[at] |= occurring
        return list(zip(having, occurs, strict=True))

    def term_frequencies(self, terms: Sequence[Term], fields: Mapping[str, float], rows: Rows) -> Floats:
        slots = self._slots(rows)
        if any(term.match == "phrase" for term in terms):
            return self._postings(terms, fields).at(slots)
        found = np.zeros((len(terms), len(slots)))
        every = self._segment_terms(self._groups(terms), fields)
        for segment, (start, end) in zip(every, pairwise(self._index.offsets), strict=True):
            places = np.flatnonzero((slots >= start) & (slots < end))
            if len(places):
                found[:, places] = segment.at(slots[places] - start)
        return found

    def field_lengths(self, fields: Mapping[str, float], rows: Rows) -> Floats:
        return self._lengths(fields, self._slots(rows))

    def matches(self, tree: QueryTree, fields: Mapping[str, float], rows: Rows) -> Flags:
        slots = self._slots(rows)
        if not self._index.size:
            return np.zeros(len(rows), dtype=np.bool_)
        return np.asarray((slots >= 0) & self._fulfilling(tree, fields)[slots])

    def _postings(self, terms: Sequence[Term], fields: Mapping[str, float]) -> TermPostings:
        last = self._last_postings
        if last is not None and last[0] is terms and last[1] is fields:  # quicker than the hashes of all terms
            return last[2]
        key = (tuple(terms), tuple(fields.items()))
        if key not in self._postings_of:
            weights = _field_weights(fields)
            postings = TermPostings(*self._index.postings.times(self._groups(terms), weights))
            if any(term.match == "phrase" for term in terms):
                postings = self._with_phrases(postings, terms, weights)
            self._postings_of[key] = postings
        if isinstance(terms, tuple):  # a list may change
            self._last_postings = terms, fields, self._postings_of[key]
        return self._postings_of[key]

    def _with_phrases(self, postings: TermPostings, terms: Sequence[Term], weights: Floats) -> TermPostings:
        runs = [
            self._phrase(words(term.word, whole=True), weights) if term.match == "phrase" else run
            for term, run in zip(terms, postings.runs(), strict=True)
        ]
        slots, frequencies = (np.concatenate(parts) for parts in zip(*runs, strict=True))
        return TermPostings(slots, frequencies, list(accumulate(len(slots) for slots, _ in runs)))

    def _phrase(self, phrase: list[str], weights: Floats) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The slots of the bound where these words occur in this order, ascending, and Σ weight × how often."""
        folded = [fold(word) for word in phrase]
        runs = TermPostings(*self._index.postings.times(exact_word_numbers(self._connection, folded), weights)).runs()
        if len(runs) < 2:
            return runs[0] if runs else (NO_SLOTS, np.empty(0))
        slots = reduce(partial(np.intersect1d, assume_unique=True), [having for having, _ in runs])
        slots = slots[self._bound_slots()[slots]]
        if not len(slots):
            return NO_SLOTS, np.empty(0)
        frequencies = phrase_frequencies(self._connection, self._index.rows(slots.astype(np.int64)), folded, weights)
        return slots[frequencies > 0], frequencies[frequencies > 0]

    def _fulfilling(self, tree: QueryTree, fields: Mapping[str, float]) -> Flags:
        """By slot: does it fulfil a query tree?"""
        match tree:
            case And(of):
                return reduce(np.logical_and, [self._fulfilling(each, fields) for each in of])
            case Or(of):
                return reduce(np.logical_or, [self._fulfilling(each, fields) for each in of])
            case AndNot(these, those):
                return self._fulfilling(these, fields) & ~self._fulfilling(those, fields)
        fulfilling = np.zeros(self._index.size, dtype=np.bool_)
        fulfilling[self._postings((leaf_term(tree),), fields).slots] = True
        return fulfilling

    def _groups(self, terms: Sequence[Term]) -> list[tuple[int, ...]]:
        """For each term, the numbers of its words. One recall asks for the same terms several times."""
        last = self._last_groups
        if last is not None and last[0] is terms:  # quicker than the hashes of all terms
            return last[1]
        key = tuple(terms)
        known = self._groups_of.get(key)
        if known is None:
            known = self._groups_of[key] = [tuple(numbers) for numbers in self._numbers(key)]
        if terms is key:  # a list may change
            self._last_groups = terms, known
        return known

    def _segment_terms(self, groups: list[tuple[int, ...]], fields: Mapping[str, float]) -> list[SegmentTerms]:
        """Where these words are, by part. Statistics, candidates and scores of one query need the same."""
        key = (tuple(groups), *fields.items())
        known = self._terms_of.get(key)
        if known is None:
            weights = _field_weights(fields)
            known = [SegmentTerms(word_entries(view.part, groups), weights) for view in self._index.views]
            self._terms_of[key] = known
        return known

    def _numbers(self, terms: Sequence[Term]) -> list[list[int]]:
        """The numbers, in the vocabulary, of every word that each term stands for."""
        exact = word_numbers(self._connection, "exact", [term.word for term in terms if term.match == "exact"])
        english = [stem(term.word) for term in terms if term.match == "stem" and not has_stems(term.language)]
        by_stem = word_numbers(self._connection, "stem", english)

        def numbers(term: Term) -> list[int]:
            match term.match:
                case "exact":
                    return exact.get(term.word, [])
                case "stem" if not has_stems(term.language):
                    return by_stem.get(stem(term.word), [])
                case "stem":
                    return self._stems(term.language).having(term.word)
                case "prefix":
                    return self._vocabulary().starting_with(fold(term.word))
                case "compound":
                    return self._stems(term.language).compounds(term.word)
                case "phrase":
                    return []  # needs the texts

        return [numbers(term) for term in terms]

    def _stems(self, language: str) -> StemIndex:
        if language not in self._stem_indexes:
            known = self._updater.stems.setdefault(language, StemIndex(language))
            self._stem_indexes[language] = known.update(self._connection)
        return self._stem_indexes[language]

    def _vocabulary(self) -> Vocabulary:
        last = (fetch_value(self._connection, "SELECT max(term) FROM vocabulary") or 0, last_erasure(self._connection))
        known = self._updater.vocabulary  # other threads may be at another version
        if known is None or known[0] != last:
            known = last, Vocabulary(fetch(self._connection, "SELECT term, word FROM vocabulary"))
            self._updater.vocabulary = known
        return known[1]

    def _lengths(self, fields: Mapping[str, float], slots: NDArray[Any]) -> Floats:
        """The words of slots in the fields that count; 0 for −1."""
        counted = _counted(fields)
        return np.asarray(
            self._index.gather(slots, lambda part, local: part.lengths(counted)[local], np.zeros(len(slots)))
        )

    def _average_length(self, fields: Mapping[str, float], scope: SlotScope) -> tuple[int, float]:
        """How many memories the bound has, and their average length. Sums of whole numbers are exact in any order."""
        counted, documents, words = _counted(fields), 0, 0
        for part_scope, view in zip(scope.parts, self._index.views, strict=True):
            key = ("words", counted, scope.bound_key)
            known: tuple[int, int] | None = view.cache.get(key)
            if known is None:
                lengths = view.part.lengths(counted)[part_scope.bound_slots]
                known = view.cache[key] = len(lengths), int(lengths.sum(dtype=np.int64))
            documents, words = documents + known[0], words + known[1]
        return documents, (words / documents if documents else 0.0) or 1.0

    # Vectors, sketches and signatures.

    def vectors(self, rows: Rows) -> NDArray[np.float32]:
        return self._index.vectors(self._slots(rows))

    def token_sketches(self, rows: Rows) -> TokenSketches:
        return token_sketches(self._index, self._connection, self._slots(rows))

    def signatures(self, bits: int, rows: Rows) -> NDArray[np.uint8]:
        empty = np.zeros((len(rows), bits // 8), dtype=np.uint8)
        read = lambda part, local: signatures(part, self._connection, bits)[local]  # noqa: E731
        return np.asarray(self._index.gather(self._slots(rows), read, empty))

    # Columns.

    def neighbours(self, rows: Rows, reach: int) -> NDArray[np.int64]:
        order = self._derived(("session order", self._bound), lambda: SessionOrder(self._index, self._bound))
        return order.neighbours(self._slots(rows), rows, reach)

    def numbers(self, name: str, rows: Rows) -> Floats:
        if name in NUMBERS:
            return self._index.column(name, self._slots(rows))
        if name not in FIELDS:
            raise KeyError(name)
        key, wanted = (name, self._bound), rows.tolist()
        known: dict[int, float | None] = self._derived(key, dict)  # one recall after another asks for the same ones
        if missing := [row for row in wanted if row not in known]:
            if len(known) + len(missing) > MAX_NUMBERS:  # other threads may use the one that was full
                known = self._index.derived["derived", key] = {row: known[row] for row in wanted if row in known}
            found = dict(self._fetch(f"SELECT row, {name} FROM memories WHERE row {AMONG}", np.array(missing)))
            known.update((row, found.get(row)) for row in missing)
        return np.array([known[row] for row in wanted], dtype=np.float64)

    def strings(self, name: str, rows: Rows) -> list[str]:
        for constant in self._derived(("constant", name), lambda: self._index.constant(name)):
            if not constant or (self._slots(rows) >= 0).all():
                return [constant] * len(rows)
        if len(rows) > MANY:
            return self._index.strings(name, self._slots(rows))
        wanted = rows.tolist()
        known = self._strings.setdefault(name, {})  # one step of a recall after another asks about the same rows
        if missing := [row for row in wanted if row not in known]:
            if len(known) + len(missing) > MAX_KNOWN:
                known.clear()
                missing = wanted
            unknown = rows if len(missing) == len(wanted) else np.array(missing)  # the same rows: known slots
            known.update(zip(missing, self._index.strings(name, self._slots(unknown)), strict=True))
        return [known[row] for row in wanted]

    def contexts(self, rows: Rows) -> list[JsonObject]:
        found = dict(self._fetch(f"SELECT row, context FROM memories WHERE row {AMONG} AND context <> '{{}}'", rows))
        return [json.loads(found[row]) if row in found else {} for row in rows.tolist()]

    def uses(self, rows: Rows) -> list[Use]:
        sql = f"SELECT u.row, {SELECT_USE} FROM use u WHERE u.row {AMONG}"
        found = {row: read_use(values) for row, *values in self._fetch(sql, rows)}
        return [found.get(row, UNUSED) for row in rows.tolist()]

    def use_numbers(self, name: str, rows: Rows) -> Floats:
        sql = f"SELECT u.row, u.{name} FROM json_each(?1) wanted CROSS JOIN use u ON u.row = wanted.value"
        found = dict(self._fetch(sql, rows))
        return np.array([found.get(row) for row in rows.tolist()], dtype=np.float64)

    def uses_by_day(self, rows: Rows) -> dict[int, int]:
        if not self._connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'use_by_day'").get:
            return {}  # an older file that is opened read-only
        sql = (
            "SELECT d.day, sum(d.uses) FROM json_each(?1) wanted CROSS JOIN use_by_day d ON d.row = wanted.value "
            "GROUP BY d.day ORDER BY d.day"
        )
        return dict(self._fetch(sql, rows))

    def ids(self, rows: Rows) -> list[str]:
        """Ties are broken by ids, so that one recall after another asks for the same ones."""
        known = self._derived(("ids", self._bound), dict[int, str])
        unknown = [row for row in rows.tolist() if row not in known]
        if unknown:
            known.update(zip(unknown, self._read("id", np.array(unknown)), strict=True))
        return [known[row] for row in rows.tolist()]

    def texts(self, rows: Rows) -> list[str]:
        return self._read("text", rows)

    def paths(self, rows: Rows) -> list[str]:
        # Where there is neither path nor title, the id is the path, and no slug need be made.
        path = "iif(path = '' AND title = '', id, path)"
        stored = self._fetch(f"SELECT row, {path}, title, id FROM memories WHERE row {AMONG}", rows)
        found = {row: path or path_or_name(path, title, id) for row, path, title, id in stored}
        return [found.get(row, "") for row in rows.tolist()]

    def memories(self, rows: Rows) -> list[Memory]:
        sql = (
            f"SELECT m.row, {select_columns(self._connection)}, {SELECT_USE} FROM memories m "
            f"LEFT JOIN use u ON u.row = m.row WHERE m.row {AMONG}"
        )
        found = {row: from_row(values) for row, *values in self._fetch(sql, rows)}
        return [found[row] for row in rows.tolist() if row in found]

    def row(self, id: str) -> int | None:
        row: int | None = fetch_value(self._connection, "SELECT row FROM memories WHERE id = ?", (id,))
        return row if row is not None and self._slots(np.array([row]))[0] >= 0 else None

    # Connections and time.

    def edges(self, rows: Rows, kinds: Sequence[str] | None = None) -> EdgeArrays:
        known = self._derived("kinds of edges", self._edge_kinds)
        if known.isdisjoint(known - {""} if kinds is None else kinds):
            return EdgeArrays(NO_ROWS, NO_ROWS, np.empty(0), [], np.empty(0))
        columns = "source, target, weight, kind, created"
        sql = f"SELECT {columns} FROM edges WHERE source {AMONG} "
        sql += f"UNION SELECT {columns} FROM edges WHERE target {AMONG} ORDER BY 1, 4, 2"
        found = [each for each in self._fetch(sql, rows) if kinds is None or each[3] in kinds]
        ends = np.array([each[:2] for each in found], dtype=np.int64).reshape(-1, 2)
        if self._bound.values and len(found):
            inside = np.asarray((self._slots(ends.ravel()) >= 0).reshape(ends.shape).all(axis=1))
            ends, found = ends[inside], [each for each, here in zip(found, inside.tolist(), strict=True) if here]
        weights, created = (np.array([each[at] for each in found], dtype=np.float64) for at in (2, 4))
        return EdgeArrays(ends[:, 0], ends[:, 1], weights, [each[3] for each in found], created)

    def _edge_kinds(self) -> set[str]:
        return {kind for (kind,) in fetch(self._connection, "SELECT DISTINCT kind FROM edges")} | {""}

    def relations(self, names: Sequence[str]) -> list[EntityEdge]:
        edges, by_name = self._derived(("relations", self._bound), self._read_relations)
        places = {at for name in names for at in by_name.get(name.casefold(), ())}
        return [edges[at] for at in sorted(places)]

    def _read_relations(self) -> tuple[list[EntityEdge], dict[str, list[int]]]:
        """All relations of the bound, and their places by the names that they connect."""
        edges = read_relations(self._connection, self._bound)
        by_name: dict[str, list[int]] = {}
        for at, edge in enumerate(edges):
            for name in {edge.subject.casefold(), edge.object.casefold()}:
                by_name.setdefault(name, []).append(at)
        return edges, by_name

    def next_validity_change(self, now: datetime) -> float:
        moment, found = micros(now), np.inf
        for view in self._index.views:
            if has_validity_periods(view.part):
                moments = self._validity_changes(view)
                at = int(np.searchsorted(moments, moment, side="right"))
                found = min(found, float(moments[at]) if at < len(moments) else np.inf)
        return found

    def _validity_changes(self, view: View) -> Floats:
        """The moments at which memories of a part become valid, cease to be, or expire."""
        key = ("validity changes", self._bound)
        known: Floats | None = view.cache.get(key)
        if known is None:
            inside = find_bound_slots(view, self._bound)
            moments = np.concatenate([view.part.column(name)[inside] for name in DATED])
            known = view.cache[key] = np.sort(moments[~np.isnan(moments)])
        return known

    # Reading.

    def _derived(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What was computed under this key for this version of the file; other threads may clear it at any time."""
        known: T | None = self._index.derived.get(("derived", key))
        if known is None:
            known = self._index.derived["derived", key] = compute()
        return known

    def _last_accessed(self) -> tuple[Rows, Floats]:
        """All rows that were ever accessed, and when."""
        found = fetch(self._connection, "SELECT row, last_accessed FROM use WHERE last_accessed IS NOT NULL")
        pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1].astype(np.float64)

    def _read(self, name: str, rows: Rows) -> list[str]:
        """A column of the file that the index does not hold."""
        found = dict(self._fetch(f"SELECT row, {name} FROM memories WHERE row {AMONG}", rows))
        return [found.get(row, "") for row in rows.tolist()]

    def _fetch(self, sql: str, rows: Rows) -> list[Any]:
        """What a query says about rows; nothing about those outside the bound."""
        inside = rows[self._slots(rows) >= 0] if self._bound.values else rows
        return fetch(self._connection, sql, (json.dumps(inside.tolist()),))


def _slot_scope(scope: Scope) -> SlotScope:
    if not isinstance(scope, SlotScope):
        raise TypeError("A scope can be used only with the snapshot that made it.")
    return scope


def _counted(fields: Mapping[str, float]) -> tuple[int, ...]:
    """The numbers of the text fields with a weight."""
    return _with_weight(tuple(fields.items()))


@lru_cache(maxsize=64)
def _with_weight(fields: tuple[tuple[str, float], ...]) -> tuple[int, ...]:
    weights = dict(fields)
    return tuple(at for at, name in enumerate(TEXT_FIELDS) if weights.get(name, 0.0) > 0)


def _part_during(part: Part, intervals: Sequence[Interval], told: bool) -> Flags:
    """The slots of a part that are of one of these times."""
    created, valid_from, valid_to = (part.column(name) for name in ("created", "valid_from", "valid_to"))
    dated = ~np.isnan(valid_from) | ~np.isnan(valid_to)
    begins, ends = np.fmax(valid_from, -np.inf), np.fmin(valid_to, np.inf)
    flags = np.zeros(part.size, dtype=np.bool_)
    for start, end in intervals:
        flags |= (created >= start) & (created < end)
        if told:
            flags |= dated & (begins < end) & (ends > start)
            times = part.arrays["told.times"]
            flags[part.arrays["told.slots"][tells_of(times[:, 0], times[:, 1], (start, end))]] = True
    return flags


def _field_weights(fields: Mapping[str, float]) -> Floats:
    return np.array([fields.get(name, 0.0) for name in TEXT_FIELDS])


def _at_least_best(scores: Floats, n: int) -> NDArray[np.int64]:
    """Positions of the n highest scores and of all that are as high as the last of them."""
    if n <= 0 or not len(scores):
        return np.empty(0, dtype=np.int64)
    if n >= len(scores):
        return np.arange(len(scores))
    floor = np.partition(scores, len(scores) - n)[len(scores) - n]
    return np.flatnonzero(scores >= floor * (1 - 1e-12))


def read_relations(connection: apsw.Connection, bound: Bound) -> list[EntityEdge]:
    names = ("subject", "relation", "object", "weight", "collection", "user", "classification", "source")
    sql = f"SELECT created, {', '.join(names)} FROM entity_edges ORDER BY collection, user, subject, relation, object"
    edges = (
        EntityEdge(**dict(zip(names, values, strict=True)), created=from_micros(at))
        for at, *values in fetch(connection, sql)
    )
    return [edge for edge in edges if bound.contains_relation(edge)]
