"""What the reference store answers to one recall: every question is a loop over all memories of the bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from recollect.model import EntityEdge, FilterExpression, JsonObject, Memory, Use, micros
from recollect.store.base import (
    Bound,
    EdgeArrays,
    Exclusion,
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
    leaf_term,
)
from recollect.store.filters import first_exclusion, positive_values, scope_conditions
from recollect.store.reference.state import State, WordCounts, created_of, ends_of
from recollect.store.told_times import Interval, tells_of, told_times
from recollect.text.compounds import compound_ends, is_compound
from recollect.text.query_language import And, AndNot, Or, QueryTree, format_query
from recollect.text.signatures import hamming_similarity, text_signature
from recollect.text.slugs import path_or_name, slug_grams
from recollect.text.trigrams import is_one_edit_apart, word_trigrams
from recollect.text.words import fold, stems, words

COHERENT = 0.1  # how much nearer memories that follow one another are than any two, if their order says something
COHERENCE_SAMPLE = 2000  # memories


@dataclass(frozen=True, slots=True)
class ReferenceScope:
    """Why each memory of the bound is left out; None for those in scope."""

    exclusions: Mapping[int, Exclusion | None]
    documents: list[int]  # rows that statistics are about

    @property
    def rows(self) -> list[int]:
        return [row for row, exclusion in self.exclusions.items() if exclusion is None]

    @property
    def count(self) -> int:
        return len(self.rows)

    def contains(self, rows: Rows) -> Flags:
        return np.array([self.exclusion(row) is None for row in rows.tolist()], dtype=np.bool_)

    def knows(self, row: int) -> bool:
        return row in self.exclusions

    def exclusion(self, row: int) -> Exclusion | None:
        return self.exclusions.get(row, Exclusion("it is not in the store"))


class ReferenceSnapshot:
    """One state of the store, as far as it lies inside a bound."""

    def __init__(self, state: State, bound: Bound, zone: tzinfo | None = None) -> None:
        self._state = state
        self._zone = zone
        self._bound = bound
        self._memories = state.within(bound)
        self._forms: dict[Term, set[str]] = {}

    @property
    def version(self) -> str:
        return str(self._state.version)

    @property
    def space(self) -> Space | None:
        return self._state.active

    def scope(
        self,
        filter: FilterExpression | None,
        statuses: Sequence[str],
        now: datetime,
        as_of: bool = False,
        hidden: bool = False,
    ) -> ReferenceScope:
        conditions = scope_conditions(filter, statuses, now, as_of, hidden)
        collections = positive_values(filter, "collection")
        documents = [
            row
            for row, memory in self._memories.items()
            if memory.status != "forgotten" and (not collections or memory.collection in collections)
        ]
        exclusions = {row: first_exclusion(conditions, memory) for row, memory in self._memories.items()}
        return ReferenceScope(exclusions, documents)

    def excluding(self, tree: QueryTree, fields: Mapping[str, float], scope: Scope) -> ReferenceScope:
        own, excluded = _reference_scope(scope), Exclusion(f"the query excludes it: NOT {format_query(tree)}")
        fulfilling = {row: excluded for row in own.exclusions if self._fulfils(tree, row, fields)}
        return replace(own, exclusions={row: own.exclusions[row] or fulfilling.get(row) for row in own.exclusions})

    def during(self, intervals: Sequence[Interval], scope: Scope, told: bool = True) -> ReferenceScope:
        own, excluded = _reference_scope(scope), Exclusion("it is not of that time")
        inside = {row for row in own.exclusions if any(self._is_of(row, each, told) for each in intervals)}
        exclusions = {row: own.exclusions[row] or (None if row in inside else excluded) for row in own.exclusions}
        return replace(own, exclusions=exclusions)

    def _is_of(self, row: int, interval: Interval, told: bool) -> bool:
        """Was it created or valid in the interval, or does its text tell of it?"""
        memory, (start, end) = self._memories[row], interval
        if memory.created and start <= micros(memory.created) < end:
            return True
        begins = micros(memory.valid_from) if memory.valid_from else -np.inf
        ends = micros(memory.valid_to) if memory.valid_to else np.inf
        valid = (memory.valid_from or memory.valid_to) and begins < end and ends > start
        (times,) = self.told_times(_rows([row]))
        return told and (bool(valid) or any(tells_of(np.array([a]), np.array([b]), interval).any() for a, b in times))

    def told_times(self, rows: Rows) -> list[list[Interval]]:
        memories = [self._memories.get(row) for row in rows.tolist()]
        return [told_times(each.text, each.created, self._zone) if each and each.created else [] for each in memories]

    # Candidates.

    def lexical_candidates(self, query: LexicalQuery, scope: Scope, n: int) -> Proposal:
        scores: dict[int, float] = {}
        for row in _reference_scope(scope).rows:
            frequencies = [self._frequency(term, row, query.fields) for term in query.terms]
            norm = query.k1 * (1 - query.b + query.b * self._length(row, query.fields) / query.average_length)
            parts = zip(query.weights, frequencies, strict=True)
            score = sum(weight * tf * (query.k1 + 1) / (tf + norm) for weight, tf in parts if tf > 0)
            matches = score > 0 if query.where is None else self._fulfils(query.where, row, query.fields)
            if matches and not (query.require_all and min(frequencies, default=0.0) == 0):
                scores[row] = score
        return _best(scores, n)

    def nearest(self, vector: NDArray[np.float32], scope: Scope, n: int) -> Proposal:
        cosines: dict[int, float] = {}
        for row in _reference_scope(scope).rows:
            stored = self._vector(row)
            if stored is not None:
                cosines[row] = float(np.dot(stored.astype(np.float64), vector.astype(np.float64)))
        return _best(cosines, n)

    def signature_candidates(self, signature: NDArray[np.uint8], scope: Scope, min_similarity: float) -> Rows:
        bits = 8 * len(signature)
        rows = _rows(_reference_scope(scope).rows)
        return rows[hamming_similarity(signature, self.signatures(bits, rows), bits) >= min_similarity]

    def slug_candidates(self, tokens: Sequence[str], scope: Scope, min_similarity: float) -> Rows:
        found = []
        for row in _reference_scope(scope).rows:
            (path,) = self.paths(_rows([row]))
            if any(_jaccard(slug_grams(token), slug_grams(path)) >= min_similarity for token in tokens):
                found.append(row)
        return _rows(found)

    def similar_words(self, word: str, scope: Scope, min_similarity: float, n: int) -> list[tuple[str, float]]:
        query, known = fold(word), set()
        for row in _reference_scope(scope).rows:
            known |= {fold(other) for counts in self._words[row].values() for other in counts}
        found = []
        for other in known:
            similarity = _jaccard(word_trigrams(query), word_trigrams(other))
            if query in other:  # a part of a word counts by how much of the word it is
                similarity = max(similarity, min_similarity, len(query) / len(other))
            if len(query) >= 3 and other[0] in query[:2] and is_one_edit_apart(query, other):
                similarity = max(similarity, 1 - 1 / max(len(query), len(other)))
            if similarity >= min_similarity:
                found.append((other, similarity))
        return sorted(found, key=lambda each: (-each[1], each[0]))[:n]

    def page(self, scope: Scope, order: PageOrder, limit: int, offset: int = 0) -> Rows:
        rows = sorted(_reference_scope(scope).rows)
        if order != "stored":
            rows.sort(key=lambda row: (created_of(self._memories[row]), row), reverse=order == "newest")
        return _rows(rows[offset : offset + limit])

    # Values of rows.

    def term_statistics(self, terms: Sequence[Term], fields: Mapping[str, float], scope: Scope) -> TermStatistics:
        own = _reference_scope(scope)

        def having(term: Term, rows: Sequence[int]) -> int:
            return sum(self._frequency(term, row, fields) > 0 for row in rows)

        lengths = [self._length(row, fields) for row in own.documents]
        return TermStatistics(
            documents=len(own.documents),
            average_length=sum(lengths) / len(lengths) if sum(lengths) else 1.0,
            frequencies=[having(term, own.documents) for term in terms],
            occurs=[having(term, own.rows) > 0 for term in terms],
        )

    def term_frequencies(self, terms: Sequence[Term], fields: Mapping[str, float], rows: Rows) -> Floats:
        found = [self._by_row(rows, partial(self._frequency, term, fields=fields), 0.0) for term in terms]
        return np.array(found, dtype=np.float64).reshape(len(terms), len(rows))

    def field_lengths(self, fields: Mapping[str, float], rows: Rows) -> Floats:
        return np.array(self._by_row(rows, lambda row: self._length(row, fields), 0.0), dtype=np.float64)

    def matches(self, tree: QueryTree, fields: Mapping[str, float], rows: Rows) -> Flags:
        return np.array(self._by_row(rows, lambda row: self._fulfils(tree, row, fields), False), dtype=np.bool_)

    def vectors(self, rows: Rows) -> NDArray[np.float32]:
        dim = self.space.dim if self.space else 0
        missing = np.full(dim, np.nan, dtype=np.float32)
        found = [missing if (vector := self._vector(row)) is None else vector for row in rows.tolist()]
        return np.array(found, dtype=np.float32).reshape(len(rows), dim)

    def token_sketches(self, rows: Rows) -> TokenSketches:
        dim = self.space.dim if self.space else 0
        width = max(1, -(-dim // 8))  # bytes of a token
        sketches = []
        for row in rows.tolist():
            sketch = self._state.sketches.get((self.space, row), b"") if self.space and row in self._memories else b""
            sketches.append(sketch if len(sketch) % width == 0 else b"")  # a damaged one counts as none
        bits = np.frombuffer(b"".join(sketches), dtype=np.uint8).reshape(-1, width)
        return TokenSketches(bits, np.array([len(each) // width for each in sketches], dtype=np.int64), dim)

    def signatures(self, bits: int, rows: Rows) -> NDArray[np.uint8]:
        nothing = np.zeros(bits // 8, dtype=np.uint8)
        found = self._values(rows, lambda memory: text_signature(words(memory.text), bits), nothing)
        return np.array(found, dtype=np.uint8).reshape(len(rows), bits // 8)

    def neighbours(self, rows: Rows, reach: int) -> NDArray[np.int64]:
        sessions: dict[tuple[str, str, str], list[int]] = {}
        for row in sorted(self._memories, key=self._session_order):
            memory = self._memories[row]
            sessions.setdefault((memory.collection, memory.user, memory.session), []).append(row)
        found = np.full((len(rows), 2 * reach), -1, dtype=np.int64)
        for (_, _, session), members in sessions.items():
            if not session and not self._neighbours_are_similar(members):
                continue
            places = {row: place for place, row in enumerate(members)}
            for at, row in enumerate(rows.tolist()):
                for step in range(1, reach + 1) if row in places else ():
                    if places[row] >= step:
                        found[at, step - 1] = members[places[row] - step]
                    if places[row] + step < len(members):
                        found[at, reach + step - 1] = members[places[row] + step]
        return found

    def _session_order(self, row: int) -> tuple[float, datetime, int]:
        memory = self._memories[row]
        return float(memory.position or 0), created_of(memory), row

    def _neighbours_are_similar(self, rows: Sequence[int]) -> bool:
        """Are memories that follow one another nearer in meaning than any two of them?"""
        found = [vector for row in rows if (vector := self._vector(row)) is not None][:COHERENCE_SAMPLE]
        if len(found) < 8:
            return False
        vectors = np.array(found)
        following = np.einsum("ij,ij->i", vectors[1:], vectors[:-1]).mean()
        mean = vectors.mean(axis=0)
        return bool(following - mean @ mean > COHERENT)

    def numbers(self, name: str, rows: Rows) -> Floats:
        return _numbers(self._values(rows, lambda memory: getattr(memory, name), None))

    def strings(self, name: str, rows: Rows) -> list[str]:
        return self._values(rows, lambda memory: str(getattr(memory, name)), "")

    def contexts(self, rows: Rows) -> list[JsonObject]:
        return self._values(rows, lambda memory: memory.context, {})

    def uses(self, rows: Rows) -> list[Use]:
        return self._values(rows, lambda memory: memory.use, Use())

    def use_numbers(self, name: str, rows: Rows) -> Floats:
        used = [self._state.uses.get(row) if row in self._memories else None for row in rows.tolist()]
        return _numbers([None if use is None else getattr(use, name) for use in used])

    def uses_by_day(self, rows: Rows) -> dict[int, int]:
        total: Counter[int] = Counter()
        for row in set(rows.tolist()) & self._memories.keys():
            total.update(self._state.uses_by_day.get(row, {}))
        return dict(sorted(total.items()))

    def ids(self, rows: Rows) -> list[str]:
        return self._values(rows, lambda memory: memory.id, "")

    def texts(self, rows: Rows) -> list[str]:
        return self._values(rows, lambda memory: memory.text, "")

    def paths(self, rows: Rows) -> list[str]:
        return self._values(rows, lambda memory: path_or_name(memory.path, memory.title, memory.id), "")

    def memories(self, rows: Rows) -> list[Memory]:
        return [self._memories[row] for row in rows.tolist() if row in self._memories]

    def row(self, id: str) -> int | None:
        return next((row for row, memory in self._memories.items() if memory.id == id), None)

    def _values(self, rows: Rows, value: Callable[[Memory], Any], missing: Any) -> list[Any]:
        return self._by_row(rows, lambda row: value(self._memories[row]), missing)

    def _by_row(self, rows: Rows, value: Callable[[int], Any], missing: Any) -> list[Any]:
        return [value(row) if row in self._memories else missing for row in rows.tolist()]

    def _vector(self, row: int) -> NDArray[np.float32] | None:
        known = self.space is not None and row in self._memories
        return self._state.vectors.get((self.space, row)) if known and self.space else None

    # Words.

    @cached_property
    def _words(self) -> dict[int, WordCounts]:
        """By row and text field: how often each word occurs."""
        return {row: self._state.words_of(row) for row in self._memories}

    @cached_property
    def _vocabulary(self) -> set[str]:
        return {word for fields in self._words.values() for counts in fields.values() for word in counts}

    def _forms_of(self, term: Term) -> set[str]:
        """The words that a term stands for."""
        if term not in self._forms:
            phrase = [fold(word) for word in words(term.word, whole=True)] if term.match == "phrase" else []
            self._forms[term] = {word for word in self._vocabulary if _is_form(word, term, phrase)}
        return self._forms[term]

    def _frequency(self, term: Term, row: int, fields: Mapping[str, float]) -> float:
        """Σ field weight × how often the term occurs in that field."""
        phrase = [fold(word) for word in words(term.word, whole=True)] if term.match == "phrase" else []
        forms = self._forms_of(term)
        total = 0.0
        for name, counts in self._words[row].items():
            weight = fields.get(name, 0.0)
            if weight > 0 and len(phrase) > 1:
                total += weight * sum(_phrase_count(phrase, piece) for piece in _pieces(self._memories[row], name))
            elif weight > 0:
                total += weight * sum(counts[word] for word in counts.keys() & forms)
        return total

    def _length(self, row: int, fields: Mapping[str, float]) -> float:
        return float(sum(counts.total() for name, counts in self._words[row].items() if fields.get(name, 0.0) > 0))

    def _fulfils(self, tree: QueryTree, row: int, fields: Mapping[str, float]) -> bool:
        match tree:
            case And(of):
                return all(self._fulfils(each, row, fields) for each in of)
            case Or(of):
                return any(self._fulfils(each, row, fields) for each in of)
            case AndNot(these, those):
                return self._fulfils(these, row, fields) and not self._fulfils(those, row, fields)
        return self._frequency(leaf_term(tree), row, fields) > 0

    # Connections and time.

    def edges(self, rows: Rows, kinds: Sequence[str] | None = None) -> EdgeArrays:
        chosen = set(rows.tolist())
        found = [
            (key, edge)
            for key, edge in self._state.edges_within(self._bound)
            if chosen & ends_of(key) and (kinds is None or edge.kind in kinds)
        ]
        return EdgeArrays(
            _rows([key[1] for key, _ in found]),
            _rows([key[3] for key, _ in found]),
            np.array([edge.weight for _, edge in found], dtype=np.float64),
            [edge.kind for _, edge in found],
            _numbers([edge.created for _, edge in found]),
        )

    def relations(self, names: Sequence[str]) -> list[EntityEdge]:
        wanted = {name.casefold() for name in names}
        relations = self._state.relations_within(self._bound)
        return [each for each in relations if wanted & {each.subject.casefold(), each.object.casefold()}]

    def next_validity_change(self, now: datetime) -> float:
        moments = [at for m in self._memories.values() for at in (m.valid_from, m.valid_to, m.expires)]
        return min((float(micros(at)) for at in moments if at is not None and at > now), default=np.inf)


def _reference_scope(scope: Scope) -> ReferenceScope:
    return cast(ReferenceScope, scope)


def _rows(rows: Sequence[int]) -> Rows:
    return np.array(rows, dtype=np.int64)


def _numbers(values: Sequence[Any]) -> Floats:
    return np.array([micros(each) if isinstance(each, datetime) else each for each in values], dtype=np.float64)


def _best(scores: Mapping[int, float], n: int) -> Proposal:
    """The rows with a score of at least the n-th highest."""
    if n <= 0 or not scores:
        return Proposal(_rows([]), len(scores))
    floor = sorted(scores.values(), reverse=True)[min(n, len(scores)) - 1]
    return Proposal(_rows([row for row, score in scores.items() if score >= floor]), len(scores))


def _jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / max(1, len(a | b))


def _is_form(word: str, term: Term, phrase: list[str]) -> bool:
    match term.match:
        case "stem":
            return not set(stems(word, term.language)).isdisjoint(stems(term.word, term.language))
        case "exact":
            return word == term.word
        case "prefix":
            return fold(word).startswith(fold(term.word))
        case "compound":
            ends = compound_ends(term.word, term.language)
            return any(is_compound(stem, ends) for stem in stems(word, term.language))
        case "phrase":
            return [fold(word)] == phrase


def _pieces(memory: Memory, name: str) -> Sequence[str]:
    """The parts of a field that a phrase does not cross: it does not begin in one tag and end in the next."""
    if name == "path":
        return [memory.path, *memory.files]
    value = getattr(memory, name)
    return [value] if isinstance(value, str) else value


def _phrase_count(phrase: list[str], text: str) -> int:
    """How often the words follow one another in a text, without overlaps."""
    found, count, at = [fold(word) for word in words(text, whole=True)], 0, 0
    while at + len(phrase) <= len(found):
        same = found[at : at + len(phrase)] == phrase
        count += same
        at += len(phrase) if same else 1
    return count
