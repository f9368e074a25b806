"""Short ways to write to a store and to look at it, for tests that only know the protocol."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from recollect.model import STATUSES, Edge, EntityEdge, Memory
from recollect.model.filter import FilterExpression
from recollect.store.base import (
    EncodedText,
    LexicalQuery,
    Rows,
    Scope,
    Snapshot,
    Space,
    Store,
    Term,
    UndoResult,
    WriteResult,
)

NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)  # where the clock of the tests begins
TEXT = {"text": 1.0}
SPACE = Space("model", 8)
K1, B = 1.2, 0.75


def remember(store: Store, text: str, id: str = "", verb: str = "remember", **fields: Any) -> WriteResult:
    with store.transaction(verb) as transaction:
        return transaction.remember(Memory(text, id=id, **fields))


def revise(store: Store, id: str, verb: str = "edit", **fields: Any) -> WriteResult:
    with store.transaction(verb) as transaction:
        return transaction.revise(id, lambda memory: replace(memory, **fields))


def link(store: Store, source: str, target: str, kind: str = "supports", weight: float = 1.0) -> None:
    with store.transaction("link") as transaction:
        transaction.link(Edge(source, target, kind, weight))


def relate(store: Store, subject: str, relation: str, object: str, **fields: Any) -> None:
    with store.transaction("relate") as transaction:
        transaction.relate(EntityEdge(subject, relation, object, **fields))


def undo(store: Store) -> UndoResult | None:
    with store.transaction("undo") as transaction:
        return transaction.undo()


def encoded(*numbers: float, sketch: bytes = b"") -> EncodedText:
    """A vector of unit length that begins with these numbers."""
    vector = np.zeros(SPACE.dim, dtype=np.float32)
    vector[: len(numbers)] = numbers
    return (vector / np.linalg.norm(vector)).astype(np.float32), sketch


def embed(store: Store, id: str, *numbers: float, sketch: bytes = b"", space: Space = SPACE) -> None:
    with store.transaction("embed") as transaction:
        transaction.embed([transaction.row(id)], [encoded(*numbers, sketch=sketch)], space)


def row(snapshot: Snapshot, id: str) -> int:
    found = snapshot.row(id)
    assert found is not None
    return found


def rows(snapshot: Snapshot, *ids: str) -> Rows:
    return np.array([row(snapshot, id) for id in ids], dtype=np.int64)


def everything(snapshot: Snapshot) -> Scope:
    """All memories, forgotten and expired ones too."""
    return snapshot.scope(None, STATUSES, NOON, hidden=True)


def ids_in(snapshot: Snapshot, scope: Scope) -> list[str]:
    return snapshot.ids(snapshot.page(scope, "oldest", 1000))


def in_scope(
    store: Store,
    filter: FilterExpression | None = None,
    statuses: Sequence[str] = ("active",),
    now: datetime = NOON,
    **options: bool,
) -> list[str]:
    """The ids in a scope, sorted."""
    with store.snapshot() as snapshot:
        return sorted(ids_in(snapshot, snapshot.scope(filter, statuses, now, **options)))


def bm25_query(
    snapshot: Snapshot, terms: Sequence[Term], scope: Scope, fields: Any = TEXT, **options: Any
) -> LexicalQuery:
    """The query that recall makes of terms: their weights are ln(1 + (N − n + ½) ÷ (n + ½))."""
    statistics = snapshot.term_statistics(terms, fields, scope)
    weights = tuple(
        term.weight * math.log(1 + (statistics.documents - having + 0.5) / (having + 0.5))
        for term, having in zip(terms, statistics.frequencies, strict=True)
    )
    return LexicalQuery(tuple(terms), weights, fields, statistics.average_length, K1, B, **options)


def bm25_scores(snapshot: Snapshot, query: LexicalQuery, rows: Rows) -> list[float]:
    frequencies = snapshot.term_frequencies(query.terms, query.fields, rows)
    lengths = snapshot.field_lengths(query.fields, rows)
    norm = query.k1 * (1 - query.b + query.b * lengths / query.average_length)
    scores = np.zeros(len(rows))
    for weight, times in zip(query.weights, frequencies, strict=True):
        scores += weight * times * (query.k1 + 1) / (times + norm)
    return [float(score) for score in scores]


def best(snapshot: Snapshot, rows: Rows, scores: Sequence[float], n: int) -> list[tuple[str, float]]:
    """The n best ids with their scores; ties by (created, id)."""
    created, ids = snapshot.numbers("created", rows).tolist(), snapshot.ids(rows)
    ranked = sorted(zip(scores, created, ids, strict=True), key=lambda each: (-each[0], each[1], each[2]))
    return [(id, score) for score, _, id in ranked[:n]]


def lexical(snapshot: Snapshot, terms: Sequence[Term], scope: Scope, n: int = 10, **options: Any) -> list[str]:
    """The ids of the n best lexical candidates, scored exactly."""
    query = bm25_query(snapshot, terms, scope, **options)
    found = snapshot.lexical_candidates(query, scope, n).rows
    return [id for id, _ in best(snapshot, found, bm25_scores(snapshot, query, found), n)]


def cosines(snapshot: Snapshot, vector: Any, rows: Rows) -> list[float]:
    stored = snapshot.vectors(rows).astype(np.float64)
    return [float(each) for each in np.einsum("ij,j->i", stored, vector.astype(np.float64))]
