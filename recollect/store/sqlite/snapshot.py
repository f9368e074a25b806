"""One version of the file for one recall: scopes, candidates, columns and edges that agree with each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial, reduce
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.model import EntityEdge, JsonObject, Memory, Use
from recollect.model.filter import FilterExpression
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
from recollect.store.sqlite.connections import fetch, fetch_value
from recollect.store.sqlite.erasing import last_erasure
from recollect.store.sqlite.index import Index, IndexUpdater
from recollect.store.sqlite.rows import SELECT_USE, from_row, read_use, select_columns
from recollect.store.sqlite.scope import ScopeBuilder, SlotScope
from recollect.store.sqlite.session_order import SessionOrder
from recollect.store.sqlite.signatures import signatures
from recollect.store.sqlite.vocabulary import (
    StemIndex,
    Vocabulary,
    phrase_frequencies,
    word_numbers,
    written_numbers,
)
from recollect.store.text_fields import TEXT_FIELDS
from recollect.store.told_times import Interval, tells_of
from recollect.text.query_language import And, AndNot, Or, QueryTree, format_query
from recollect.text.signatures import hamming_similarity
from recollect.text.slugs import SlugIndex, path_or_name
from recollect.text.words import fold, has_stems, stem, words

ROUNDING = 1e-5  # more than a float32 product of unit vectors is ever off
SPARSE = 8  # a scope with fewer than 1 in so many slots is scanned alone
NO_SLOTS: NDArray[np.int32] = np.empty(0, dtype=np.int32)
NO_ROWS: Rows = np.empty(0, dtype=np.int64)
AMONG = "IN (SELECT value FROM json_each(?1))"
UNUSED = Use()
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
        self._statistics: dict[tuple[int, int], tuple[SlotScope, TermStatistics]] = {}
        self._stem_indexes: dict[str, StemIndex] = {}  # by language, with all words of this version
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
        builder = ScopeBuilder(self._index, self._column, self._last_accessed, self._bound)
        return builder.build(filter, statuses, now, as_of, hidden)

    def excluding(self, tree: QueryTree, fields: Mapping[str, float], scope: Scope) -> SlotScope:
        scope = _own(scope)
        others = ~self._fulfilling(tree, fields)
        return scope.restricted(f"the query excludes it: NOT {format_query(tree)}", others)

    def during(self, intervals: Sequence[Interval], scope: Scope, told: bool = True) -> SlotScope:
        index, created = self._index, self._column("created")
        valid_from, valid_to = self._column("valid_from"), self._column("valid_to")
        dated = ~np.isnan(valid_from) | ~np.isnan(valid_to)
        begins, ends = np.fmax(valid_from, -np.inf), np.fmin(valid_to, np.inf)
        flags = np.zeros(len(index.rows), dtype=np.bool_)
        for start, end in intervals:
            flags |= (created >= start) & (created < end)
            if told:
                flags |= dated & (begins < end) & (ends > start)
                tells = tells_of(index.told_times[:, 0], index.told_times[:, 1], (start, end))
                flags[index.told_slots[tells]] = True
        return _own(scope).restricted("it is not of that time", flags)

    def told_times(self, rows: Rows) -> list[list[Interval]]:
        index = self._index
        slots = self._slots(rows)
        first, last = (np.searchsorted(index.told_slots, slots, side=side) for side in ("left", "right"))
        return [
            [(float(start), float(end)) for start, end in index.told_times[begin:stop]] if slot >= 0 else []
            for slot, begin, stop in zip(slots.tolist(), first.tolist(), last.tolist(), strict=True)
        ]

    def _slots(self, rows: Rows) -> NDArray[np.int64]:
        """The slot of each row, −1 for a row that does not exist or is outside the bound."""
        slots = self._index.slots(rows)
        if self._bound.values and len(self._index.rows):
            slots = np.where((slots >= 0) & self._bound_slots()[slots], slots, -1)
        return slots

    def _bound_slots(self) -> Flags:
        """By slot: is it inside the bound?"""
        return ScopeBuilder(self._index, self._column, self._last_accessed, self._bound).bound_slots()

    # Candidates.

    def lexical_candidates(self, query: LexicalQuery, scope: Scope, n: int) -> Proposal:
        scope = _own(scope)
        index, count = self._index, len(self._index.rows)
        postings = self._postings(query.terms, query.fields)
        length = self._lengths(query.fields)[postings.slots]
        frequency = postings.frequencies
        damped = frequency + query.k1 * (1 - query.b + query.b * length / query.average_length)
        weights = np.asarray(query.weights)[postings.term_numbers]
        parts = weights * (frequency * (query.k1 + 1) / damped)
        scores = np.bincount(postings.slots, parts, count).astype(np.float64, copy=False)
        passing = scores > 0 if query.where is None else self._fulfilling(query.where, query.fields)
        if query.require_all:
            passing &= np.bincount(postings.slots, minlength=count) == len(query.terms)
        found = np.flatnonzero(passing & scope.slots)
        return Proposal(index.rows[found[_at_least_best(scores[found], n)]], len(found))

    def nearest(self, vector: NDArray[np.float32], scope: Scope, n: int) -> Proposal:
        scope = _own(scope)
        index = self._index
        allowed = scope.slots & index.has_vector
        count = int(np.count_nonzero(allowed))
        if not count or n <= 0:
            return Proposal(NO_ROWS, count)
        if count * SPARSE < len(index.rows):
            slots = np.flatnonzero(allowed)
            rough = index.matrix[slots] @ vector
        else:
            slots = None
            # Beyond the cache twice as fast as BLAS at 384 dimensions.
            rough = np.einsum("ij,j->i", index.matrix, vector)
            if count < len(rough):
                rough[~allowed] = -np.inf
        floor = np.partition(rough, len(rough) - n)[len(rough) - n] - ROUNDING if n < count else -2.0
        near = np.flatnonzero(rough >= floor)
        return Proposal(index.rows[near if slots is None else slots[near]], count)

    def signature_candidates(self, signature: NDArray[np.uint8], scope: Scope, min_similarity: float) -> Rows:
        scope = _own(scope)
        slots = np.flatnonzero(scope.slots)
        bits = len(signature) * 8
        agreeing = hamming_similarity(signature, signatures(self._index, self._connection, bits)[slots], bits)
        return np.asarray(self._index.rows[slots[agreeing >= min_similarity]])

    def slug_candidates(self, tokens: Sequence[str], scope: Scope, min_similarity: float) -> Rows:
        scope = _own(scope)
        if not tokens:
            return NO_ROWS
        rows, slugs = self._derived(("slugs", self._bound), self._read_slugs)
        similar = np.max([slugs.similar(token) for token in tokens], axis=0)
        near = rows[similar >= min_similarity]
        return np.asarray(near[scope.contains(near)])

    def _read_slugs(self) -> tuple[Rows, SlugIndex]:
        rows = np.sort(self._index.rows[self._bound_slots()])
        return rows, SlugIndex(self.paths(rows))

    def similar_words(self, word: str, scope: Scope, min_similarity: float, n: int) -> list[tuple[str, float]]:
        scope = _own(scope)
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
        scope = _own(scope)
        slots = np.flatnonzero(scope.slots)
        rows = self._index.rows[slots]
        if order == "stored":
            return np.sort(rows)[offset : offset + limit]
        created = self._column("created")[slots]
        places = np.lexsort((rows, created))
        return rows[places[::-1] if order == "newest" else places][offset : offset + limit]

    # Words.

    def term_statistics(self, terms: Sequence[Term], fields: Mapping[str, float], scope: Scope) -> TermStatistics:
        scope = _own(scope)
        postings = self._postings(terms, fields)
        key = (id(postings), id(scope))  # both live as long as the snapshot: the scope is kept beside the result
        if key not in self._statistics:
            documents, average = self._average_length(fields, scope)
            frequencies = postings.count(scope.bound_slots)
            occurs = [count > 0 for count in postings.count(scope.slots)]
            self._statistics[key] = scope, TermStatistics(documents, average, frequencies, occurs)
        return self._statistics[key][1]

    def term_frequencies(self, terms: Sequence[Term], fields: Mapping[str, float], rows: Rows) -> Floats:
        return self._postings(terms, fields).at(self._slots(rows))

    def field_lengths(self, fields: Mapping[str, float], rows: Rows) -> Floats:
        slots = self._slots(rows)
        return np.where(slots < 0, 0.0, self._lengths(fields)[slots]) if len(self._index.rows) else np.zeros(len(rows))

    def matches(self, tree: QueryTree, fields: Mapping[str, float], rows: Rows) -> Flags:
        slots = self._slots(rows)
        if not len(self._index.rows):
            return np.zeros(len(rows), dtype=np.bool_)
        return np.asarray((slots >= 0) & self._fulfilling(tree, fields)[slots])

    def _postings(self, terms: Sequence[Term], fields: Mapping[str, float]) -> TermPostings:
        last = self._last_postings
        if last is not None and last[0] is terms and last[1] is fields:  # quicker than the hashes of all terms
            return last[2]
        key = (tuple(terms), tuple(fields.items()))
        if key not in self._postings_of:
            weights = np.array([fields.get(name, 0.0) for name in TEXT_FIELDS])
            postings = TermPostings(*self._index.postings.times(self._numbers(terms), weights))
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
        runs = TermPostings(*self._index.postings.times(written_numbers(self._connection, folded), weights)).runs()
        if len(runs) < 2:
            return runs[0] if runs else (NO_SLOTS, np.empty(0))
        slots = reduce(partial(np.intersect1d, assume_unique=True), [having for having, _ in runs])
        slots = slots[self._bound_slots()[slots]]
        if not len(slots):
            return NO_SLOTS, np.empty(0)
        frequencies = phrase_frequencies(self._connection, self._index.rows[slots], folded, weights)
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
        fulfilling = np.zeros(len(self._index.rows), dtype=np.bool_)
        fulfilling[self._postings((leaf_term(tree),), fields).slots] = True
        return fulfilling

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

    def _lengths(self, fields: Mapping[str, float]) -> Floats:
        """By slot: its words in the fields that count."""
        counted = tuple(at for at, name in enumerate(TEXT_FIELDS) if fields.get(name, 0.0) > 0)
        return self._derived(
            ("lengths", counted), lambda: self._index.lengths[:, list(counted)].sum(axis=1).astype(np.float64)
        )

    def _average_length(self, fields: Mapping[str, float], scope: SlotScope) -> tuple[int, float]:
        """How many memories the bound has, and their average length."""

        def compute() -> tuple[int, float]:
            documents = int(np.count_nonzero(scope.bound_slots))
            average = float(self._lengths(fields)[scope.bound_slots].mean()) if documents else 0.0
            return documents, average or 1.0

        names = tuple(name for name in TEXT_FIELDS if fields.get(name, 0.0) > 0)
        return self._derived(("average length", names, scope.bound_key), compute)

    # Vectors, sketches and signatures.

    def vectors(self, rows: Rows) -> NDArray[np.float32]:
        slots = self._slots(rows)
        known = slots >= 0
        known[known] = self._index.has_vector[slots[known]]
        vectors = np.full((len(rows), self._index.matrix.shape[1]), np.nan, dtype=np.float32)
        vectors[known] = self._index.matrix[slots[known]]
        return vectors

    def token_sketches(self, rows: Rows) -> TokenSketches:
        return self._updater.sketches(self._index, self._connection).select(self._slots(rows))

    def signatures(self, bits: int, rows: Rows) -> NDArray[np.uint8]:
        slots = self._slots(rows)
        found = signatures(self._index, self._connection, bits)
        return np.where((slots >= 0)[:, None], found[slots], 0) if len(found) else found[:0]

    # Columns.

    def neighbours(self, rows: Rows, reach: int) -> NDArray[np.int64]:
        index = self._index

        def compute() -> SessionOrder:
            columns = (self._column(name) for name in ("user", "session", "position"))
            return SessionOrder.of(index, self._bound_slots(), *columns)

        slots = self._derived(("session order", self._bound), compute).neighbours(self._slots(rows), reach)
        return np.where(slots >= 0, index.rows[slots], -1) if len(index.rows) else slots

    def numbers(self, name: str, rows: Rows) -> Floats:
        slots = self._slots(rows)
        if not len(self._index.rows):
            return np.full(len(rows), np.nan)
        return np.where(slots < 0, np.nan, self._column(name)[slots])

    def strings(self, name: str, rows: Rows) -> list[str]:
        slots = self._slots(rows)
        if not len(self._index.rows):
            return [""] * len(rows)
        codes = np.where(slots < 0, -1, self._column(name)[slots])
        strings = self._derived(("strings", name), lambda: [*self._index.codes[name], ""])
        return [strings[code] for code in codes.tolist()]

    def contexts(self, rows: Rows) -> list[JsonObject]:
        contexts: dict[int, JsonObject] = self._column("context")
        return [contexts.get(slot, {}) for slot in self._slots(rows).tolist()]

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
        if kinds is not None and not set(kinds) & self._derived("kinds of edges", self._edge_kinds):
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
        def compute() -> Floats:
            inside = self._index.alive & self._bound_slots() if self._bound.values else self._index.alive
            moments = np.concatenate([self._column(name)[inside] for name in ("valid_from", "valid_to", "expires")])
            return np.sort(moments[~np.isnan(moments)])

        moments = self._derived(("validity changes", self._bound), compute)
        at = int(np.searchsorted(moments, micros(now), side="right"))
        return float(moments[at]) if at < len(moments) else np.inf

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

    def _column(self, name: str) -> Any:
        return self._updater.column(self._index, self._connection, name)

    def _read(self, name: str, rows: Rows) -> list[str]:
        """A column of the file that the index does not hold."""
        found = dict(self._fetch(f"SELECT row, {name} FROM memories WHERE row {AMONG}", rows))
        return [found.get(row, "") for row in rows.tolist()]

    def _fetch(self, sql: str, rows: Rows) -> list[Any]:
        """What a query says about rows; nothing about those outside the bound."""
        inside = rows[self._slots(rows) >= 0] if self._bound.values else rows
        return fetch(self._connection, sql, (json.dumps(inside.tolist()),))


def _own(scope: Scope) -> SlotScope:
    if not isinstance(scope, SlotScope):
        raise TypeError("A scope can be used only with the snapshot that made it.")
    return scope


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
