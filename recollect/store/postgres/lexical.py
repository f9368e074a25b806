"""The words of a snapshot: where terms occur, how long texts are, and what BM25 needs of both.

A *slot* is the place of a memory among those of the bound, in the order of rows. The server returns the postings of the
words that are asked for; everything else is computed from them with the same arithmetic as in a file.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Flags, Floats, LexicalQuery, Rows, Term, TermStatistics, leaf_term
from recollect.store.postgres.scope import PostgresScope
from recollect.store.postgres.words import WordCache, delimited, keys_of, phrase_count
from recollect.store.text_fields import TEXT_FIELDS
from recollect.text.query_language import And, AndNot, Or, QueryTree
from recollect.text.words import fold, has_stems, stem, words

if TYPE_CHECKING:
    from recollect.store.postgres.snapshot import PostgresSnapshot

Slots = NDArray[np.int64]
NO_SLOTS: Slots = np.empty(0, dtype=np.int64)
NOTHING: tuple[Slots, Floats] = (NO_SLOTS, np.empty(0))
WordKey = tuple[int, int]  # tenant and number
POSTINGS = (  # of the word {0}, by field
    "SELECT q.field, string_agg(int8send(q.row), '') AS rows, string_agg(int4send(q.times), '') AS times "
    "FROM postings q WHERE q.tenant = {0}.tenant AND q.word = {0}.word AND q.field = ANY(%s::smallint[]) "
    "GROUP BY q.field"
)


@dataclass(frozen=True)
class BoundColumns:
    """The memories of a bound, by slot."""

    rows: Rows  # ascending
    changed: NDArray[np.int64]  # the last change of each
    remembered: Flags  # not forgotten
    tenant: NDArray[np.int32]
    lengths: NDArray[np.int32]  # words by text field
    dated: bool  # has any of them a validity period or an expiry?

    @classmethod
    def read(cls, snapshot: PostgresSnapshot) -> BoundColumns:
        sql = (
            "SELECT string_agg(int8send(row), ''), string_agg(int8send(changed), ''), "
            "string_agg(int4send(remembered), ''), "
            "string_agg(int4send(tenant), ''), string_agg(lengths, ''), coalesce(bool_or(dated), false) FROM (SELECT "
            "m.row, m.changed, (m.status <> 'forgotten')::integer AS remembered, m.tenant, m.lengths, "
            "m.valid_from IS NOT NULL OR m.valid_to IS NOT NULL OR m.expires IS NOT NULL AS dated FROM memories m "
            f"WHERE {snapshot.bound.text} ORDER BY m.row) t"
        )
        ((rows, changed, remembered, tenant, lengths, dated),) = snapshot.scan(sql, snapshot.bound.values)
        return cls(
            np.frombuffer(rows or b"", ">i8").astype(np.int64),
            np.frombuffer(changed or b"", ">i8").astype(np.int64),
            np.frombuffer(remembered or b"", ">i4").astype(np.bool_),
            np.frombuffer(tenant or b"", ">i4").astype(np.int32),
            np.frombuffer(lengths or b"", "<i4").reshape(-1, len(TEXT_FIELDS)),
            dated,
        )

    def slots(self, rows: Rows) -> Slots:
        """The slot of each row, −1 for one that is not here."""
        if not len(self.rows):
            return np.full(len(rows), -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[places] == rows, places, -1)

    def total_lengths(self, fields: Mapping[str, float]) -> Floats:
        """By slot: its words in the fields that count."""
        counted = [at for at, name in enumerate(TEXT_FIELDS) if fields.get(name, 0.0) > 0]
        return np.asarray(self.lengths[:, counted].sum(axis=1).astype(np.float64))


@dataclass(frozen=True)
class SlotPostings:
    """The slots that have each of some terms: a run of slots for each term, ascending, all runs in one array."""

    slots: Slots
    frequencies: Floats  # Σ field weight × occurrences
    ends: list[int]  # of each term's run

    @classmethod
    def joined(cls, runs: Sequence[tuple[Slots, Floats]]) -> SlotPostings:
        slots = np.concatenate([NO_SLOTS, *(slots for slots, _ in runs)])
        frequencies = np.concatenate([np.empty(0), *(each for _, each in runs)])
        return cls(slots, frequencies, list(accumulate(len(slots) for slots, _ in runs)))

    def runs(self) -> list[tuple[Slots, Floats]]:
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
        inside = slots[self.slots]
        return [int(np.count_nonzero(inside[start:end])) for start, end in pairwise([0, *self.ends])]

    def at(self, slots: Slots) -> Floats:
        """By term and slot: its frequency, 0 where the term does not occur."""
        if not len(self.slots):
            return np.zeros((len(self.ends), len(slots)))
        entries = self._entries
        wanted = (np.arange(len(self.ends))[:, None] << 32) + slots
        place = np.minimum(np.searchsorted(entries, wanted), len(entries) - 1)
        return np.where(entries[place] == wanted, self.frequencies[place], 0.0)


class Lexicon:
    """Terms and words of one snapshot."""

    def __init__(self, snapshot: PostgresSnapshot, cache: WordCache) -> None:
        self._snapshot = snapshot
        self._cache = cache
        self._postings: dict[Hashable, SlotPostings] = {}

    def postings(self, terms: Sequence[Term], fields: Mapping[str, float]) -> SlotPostings:
        key = (tuple(terms), tuple(fields.items()))
        if key not in self._postings:
            weights = np.array([fields.get(name, 0.0) for name in TEXT_FIELDS])
            self._postings[key] = SlotPostings.joined(self._term_runs(terms, weights))
        return self._postings[key]

    def statistics(self, terms: Sequence[Term], fields: Mapping[str, float], scope: PostgresScope) -> TermStatistics:
        columns, postings = self._snapshot.columns, self.postings(terms, fields)
        documents = columns.remembered
        if scope.documents:
            names = {number: state.name for number, state in self._snapshot.tenants.items()}
            chosen = [number for number, name in names.items() if name in scope.documents]
            documents = documents & np.isin(columns.tenant, chosen)
        lengths = columns.total_lengths(fields)[documents]
        inside = np.zeros(len(columns.rows), dtype=np.bool_)
        inside[columns.slots(scope.rows)] = True
        return TermStatistics(
            documents=int(np.count_nonzero(documents)),
            average_length=(float(lengths.mean()) if len(lengths) else 0.0) or 1.0,
            frequencies=postings.count(documents),
            occurs=[count > 0 for count in postings.count(inside)],
        )

    def scores(self, query: LexicalQuery) -> tuple[Floats, NDArray[np.int64]]:
        """By slot: its rough score, and how many of the terms it has."""
        columns, postings = self._snapshot.columns, self.postings(query.terms, query.fields)
        count, frequency = len(columns.rows), postings.frequencies
        length = columns.total_lengths(query.fields)[postings.slots]
        damped = frequency + query.k1 * (1 - query.b + query.b * length / query.average_length)
        weights = np.asarray(query.weights)[postings.term_numbers]
        parts = weights * (frequency * (query.k1 + 1) / damped)
        scores = np.bincount(postings.slots, parts, count).astype(np.float64, copy=False)
        return scores, np.bincount(postings.slots, minlength=count)

    def fulfilling(self, tree: QueryTree, fields: Mapping[str, float]) -> Flags:
        """By slot: does it fulfil a query tree?"""
        match tree:
            case And(of):
                return reduce(np.logical_and, [self.fulfilling(each, fields) for each in of])
            case Or(of):
                return reduce(np.logical_or, [self.fulfilling(each, fields) for each in of])
            case AndNot(these, those):
                return self.fulfilling(these, fields) & ~self.fulfilling(those, fields)
        fulfilling = np.zeros(len(self._snapshot.columns.rows), dtype=np.bool_)
        fulfilling[self.postings((leaf_term(tree),), fields).slots] = True
        return fulfilling

    def similar_words(self, word: str, scope: PostgresScope, min_similarity: float, n: int) -> list[tuple[str, float]]:
        """Words of memories in scope that are spelled like this one, most similar first."""
        numbers: dict[str, list[WordKey]] = {}
        similar: dict[str, float] = {}
        for tenant, state in self._snapshot.tenants.items():
            vocabulary = self._cache.vocabulary(self._snapshot.connection, tenant, state.last_word, state.last_erasure)
            for other, similarity in vocabulary.similar(word, min_similarity) if vocabulary.words else ():
                numbers.setdefault(other, []).extend((tenant, number) for number in vocabulary.numbers[other])
                similar[other] = similarity
        ranked = sorted(similar.items(), key=lambda each: (-each[1], each[0]))
        found: list[tuple[str, float]] = []
        everywhere = np.ones(len(TEXT_FIELDS))
        for start in range(0, len(ranked), n):
            some = ranked[start : start + n]
            runs = self._runs([numbers[other] for other, _ in some], everywhere)
            rows = self._snapshot.columns.rows
            found += [each for each, (slots, _) in zip(some, runs, strict=True) if scope.contains(rows[slots]).any()]
            if len(found) >= n:
                break
        return found[:n]

    # Words of the server.

    def _term_runs(self, terms: Sequence[Term], weights: Floats) -> list[tuple[Slots, Floats]]:
        """The slots of each term, see ``_runs``. Those of exact words and English stems are one statement each."""
        exact = [term.word for term in terms if term.match == "exact"]
        english = [stem(term.word) for term in terms if _is_english(term)]
        by_form = {
            name: self._form_runs(name, forms, weights) for name, forms in (("spelling", exact), ("stem", english))
        }
        known = [at for at, term in enumerate(terms) if term.match not in ("exact", "phrase") and not _is_english(term)]
        by_number = dict(zip(known, self._runs([self._known_words(terms[at]) for at in known], weights), strict=True))

        def runs(at: int, term: Term) -> tuple[Slots, Floats]:
            match term.match:
                case "exact":
                    return by_form["spelling"].get(term.word, NOTHING)
                case "phrase":
                    return self._phrase(words(term.word, whole=True), weights)
            return by_form["stem"].get(stem(term.word), NOTHING) if _is_english(term) else by_number[at]

        return [runs(at, term) for at, term in enumerate(terms)]

    def _known_words(self, term: Term) -> list[WordKey]:
        """Every word that a term stands for, found in what this process knows of the vocabulary."""
        connection = self._snapshot.connection

        def numbers(tenant: int, last: int, erasure: int) -> list[int]:
            if term.match == "prefix":
                return self._cache.vocabulary(connection, tenant, last, erasure).starting_with(fold(term.word))
            index = self._cache.stems(connection, tenant, last, erasure, term.language)
            return index.having(term.word) if term.match == "stem" else index.compounds(term.word)

        return [
            (tenant, number)
            for tenant, state in self._snapshot.tenants.items()
            for number in numbers(tenant, state.last_word, state.last_erasure)
        ]

    def _look_up(self, column: str, forms: Sequence[str]) -> dict[str, list[tuple[WordKey, str]]]:
        """The words with these spellings or English stems, by form."""
        found: dict[str, list[tuple[WordKey, str]]] = {}
        sql = (
            f"SELECT {column}, tenant, word, spelling FROM vocabulary WHERE tenant = ANY(%s) "
            f"AND md5({column}) = ANY(%s) AND {column} = ANY(%s) ORDER BY tenant, word"
        )
        values = (list(self._snapshot.tenants), *keys_of([*{*forms}]))
        for form, tenant, number, spelling in self._snapshot.fetch(sql, values) if forms else ():
            found.setdefault(form, []).append(((tenant, number), spelling))
        return found

    def _form_runs(self, column: str, forms: Sequence[str], weights: Floats) -> dict[str, tuple[Slots, Floats]]:
        """The slots of the words with these spellings or English stems, by form."""
        if not forms:
            return {}
        sql = (
            f"SELECT v.{column}, p.field, p.rows, p.times FROM vocabulary v "
            f"CROSS JOIN LATERAL ({POSTINGS.format('v')}) p "
            f"WHERE v.tenant = ANY(%s) AND md5(v.{column}) = ANY(%s) AND v.{column} = ANY(%s) "
            "ORDER BY v.tenant, v.word, p.field"
        )
        values = (_counted(weights), list(self._snapshot.tenants), *keys_of([*{*forms}]))
        parts: dict[str, list[tuple[Slots, Floats]]] = {}
        for form, *posting in self._snapshot.fetch(sql, values):
            parts.setdefault(form, []).append(self._amounts(posting, weights))
        return {form: _summed(each) for form, each in parts.items()}

    def _runs(self, groups: Sequence[Sequence[WordKey]], weights: Floats) -> list[tuple[Slots, Floats]]:
        """For each group of words: the slots that have one in a field with weight, ascending, and Σ weight × times."""
        flat = [(at, tenant, number) for at, group in enumerate(groups) for tenant, number in group]
        if not flat:
            return [NOTHING for _ in groups]
        sql = (  # one look-up for each word, whatever the planner expects
            "SELECT w.place, p.field, p.rows, p.times "
            "FROM unnest(%s::integer[], %s::integer[]) WITH ORDINALITY AS w(tenant, word, place) "
            f"CROSS JOIN LATERAL ({POSTINGS.format('w')}) p ORDER BY w.place, p.field"
        )
        _, tenants, numbers = zip(*flat, strict=True)
        parts: list[list[tuple[Slots, Floats]]] = [[] for _ in groups]
        for place, *posting in self._snapshot.fetch(sql, (list(tenants), list(numbers), _counted(weights))):
            parts[flat[place - 1][0]].append(self._amounts(posting, weights))
        return [_summed(each) for each in parts]

    def _amounts(self, posting: Sequence[Any], weights: Floats) -> tuple[Slots, Floats]:
        """The slots of one word in one field, and weight × times."""
        field, rows, times = posting
        slots = self._snapshot.columns.slots(np.frombuffer(rows, ">i8").astype(np.int64))
        amounts = weights[field] * np.frombuffer(times, ">i4").astype(np.float64)
        inside = slots >= 0
        return slots[inside], amounts[inside]

    def _phrase(self, phrase: list[str], weights: Floats) -> tuple[Slots, Floats]:
        """The slots where these words occur in this order, ascending, and Σ weight × how often."""
        folded = [fold(word) for word in phrase]
        by_stem = self._look_up("stem", [stem(word) for word in folded])
        groups = [[key for key, spelling in by_stem.get(stem(word), []) if fold(spelling) == word] for word in folded]
        runs = self._runs(groups, weights)
        if len(runs) < 2:
            return runs[0] if runs else NOTHING
        slots = reduce(partial(np.intersect1d, assume_unique=True), [having for having, _ in runs])
        if not len(slots):
            return NOTHING
        memories = self._snapshot.memories(self._snapshot.columns.rows[slots])
        counted = [(name, weight) for name, weight in zip(TEXT_FIELDS, weights.tolist(), strict=True) if weight > 0]
        wanted = delimited(folded)
        frequencies = np.array([phrase_count(memory, wanted, counted) for memory in memories], dtype=np.float64)
        return slots[frequencies > 0], frequencies[frequencies > 0]


def _is_english(term: Term) -> bool:
    return term.match == "stem" and not has_stems(term.language)


def _counted(weights: Floats) -> list[int]:
    """The fields with a weight."""
    return [int(field) for field in np.flatnonzero(weights > 0)]


def _summed(parts: Sequence[tuple[Slots, Floats]]) -> tuple[Slots, Floats]:
    """Slots once each, ascending, with the sum of their amounts in the order of the parts."""
    if not parts:
        return NOTHING
    slots = np.concatenate([slots for slots, _ in parts])
    amounts = np.concatenate([amounts for _, amounts in parts])
    if not len(slots):
        return NOTHING
    order = np.argsort(slots, kind="stable")
    slots, amounts = slots[order], amounts[order]
    starts = np.flatnonzero(np.append(True, slots[1:] != slots[:-1]))
    return slots[starts], np.add.reduceat(amounts, starts)


def at_least_best(scores: Floats, n: int) -> NDArray[np.int64]:
    """Positions of the n highest scores and of all that are as high as the last of them."""
    if n <= 0 or not len(scores):
        return np.empty(0, dtype=np.int64)
    if n >= len(scores):
        return np.arange(len(scores))
    floor = np.partition(scores, len(scores) - n)[len(scores) - n]
    return np.flatnonzero(scores >= floor * (1 - 1e-12))
