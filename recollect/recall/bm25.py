"""BM25: rows by the words of a query. The store proposes candidates; every term's part of a score is computed here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.recall.ordering import best_first
from recollect.store.base import Floats, LexicalQuery, Rows, Scope, Snapshot, Term
from recollect.text.query_language import QueryTree

NO_ROWS: Rows = np.empty(0, dtype=np.int64)
NO_SATURATION: Floats = np.empty(0)


def idf(documents: int, frequency: int) -> float:
    """ln(1 + (N − n + ½) ÷ (n + ½)) for a term that n of N memories have. Never negative."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def saturation(frequency: Floats, length: Floats, average: float, k1: float, b: float) -> Floats:
    """tf × (k1 + 1) ÷ (tf + k1 × (1 − b + b × length ÷ average)): further occurrences add less and less."""
    damped = frequency + k1 * (1 - b + b * length / average)
    return np.divide(frequency * (k1 + 1), damped, out=np.zeros_like(damped), where=frequency > 0)


@dataclass(frozen=True, slots=True)
class Bm25Query:
    """Terms to look up in weighted text fields."""

    terms: tuple[Term, ...]
    fields: Mapping[str, float]
    k1: float = 1.2
    b: float = 0.75
    require_all: bool = False  # a memory must have all terms
    where: QueryTree | None = None  # a memory must fulfil this query tree


@dataclass(slots=True)  # frozen ones take three times as long to make
class TermScores:
    """One term's part in the scores: weight × idf × saturation, row by row."""

    term: Term
    frequency: int  # memories of the bound that have the term
    occurs: bool  # in a memory in scope
    idf: float
    saturation: Floats

    def with_saturation(self, saturation: Floats) -> TermScores:
        return TermScores(self.term, self.frequency, self.occurs, self.idf, saturation)


@dataclass(frozen=True, slots=True)
class Bm25Scores:
    """Rows with their scores, and every term's part in them."""

    rows: Rows
    scores: Floats
    terms: list[TermScores]
    documents: int  # memories in the bound
    total: int  # memories that matched, before the cut


def search(snapshot: Snapshot, scope: Scope, query: Bm25Query, n: int) -> Bm25Scores:
    """The best n rows in scope, best first; ties by creation and id."""
    known = statistics(snapshot, scope, query)
    lexical = LexicalQuery(
        query.terms,
        tuple(each.term.weight * each.idf for each in known.terms),
        query.fields,
        known.average_length,
        query.k1,
        query.b,
        query.require_all,
        query.where,
    )
    proposal = snapshot.lexical_candidates(lexical, scope, n)
    parts = _saturations(snapshot, query, known, proposal.rows)
    scores = known.scores(parts)
    best = best_first(snapshot, proposal.rows, scores, n)
    return Bm25Scores(
        proposal.rows[best], scores[best], known.with_saturations(parts[:, best]), known.documents, proposal.total
    )


def score(snapshot: Snapshot, scope: Scope, query: Bm25Query, rows: Rows) -> Bm25Scores:
    """The same scores for given rows, in their order; 0 where nothing matches."""
    known = statistics(snapshot, scope, query)
    parts = _saturations(snapshot, query, known, rows)
    return Bm25Scores(rows, known.scores(parts), known.with_saturations(parts), known.documents, len(rows))


@dataclass(frozen=True, slots=True)
class _Statistics:
    documents: int
    average_length: float
    terms: list[TermScores]  # without saturations

    def with_saturations(self, parts: Floats) -> list[TermScores]:
        return [each.with_saturation(part) for each, part in zip(self.terms, parts, strict=True)]

    def scores(self, parts: Floats) -> Floats:
        """Σ weight × idf × saturation, by row."""
        scores = np.zeros(parts.shape[1])
        for each, part in zip(self.terms, parts, strict=True):
            scores += each.term.weight * each.idf * part
        return scores


def statistics(snapshot: Snapshot, scope: Scope, query: Bm25Query) -> _Statistics:
    """Frequency and idf of each term."""
    known = snapshot.term_statistics(query.terms, query.fields, scope)
    terms = [
        TermScores(term, frequency, occurs, idf(known.documents, frequency), NO_SATURATION)
        for term, frequency, occurs in zip(query.terms, known.frequencies, known.occurs, strict=True)
    ]
    return _Statistics(known.documents, known.average_length, terms)


def frequencies(snapshot: Snapshot, scope: Scope, terms: Sequence[Term], fields: Mapping[str, float]) -> list[int]:
    """How many memories of the bound have each term."""
    return snapshot.term_statistics(terms, fields, scope).frequencies


def _saturations(snapshot: Snapshot, query: Bm25Query, known: _Statistics, rows: Rows) -> Floats:
    """By term (down) and row (across): its saturation; 0 where a row does not fulfil the query."""
    if not len(rows):
        return np.zeros((len(query.terms), 0))
    counts = snapshot.term_frequencies(query.terms, query.fields, rows)
    lengths = snapshot.field_lengths(query.fields, rows)
    parts = saturation(counts, lengths, known.average_length, query.k1, query.b)
    if query.where is not None:
        parts = parts * snapshot.matches(query.where, query.fields, rows)
    if query.require_all:
        parts = parts * (parts > 0).all(axis=0)
    return parts
