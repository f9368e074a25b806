"""Probes: whether it can embed, search vectors and search words, tried and not merely looked up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from recollect.embed import Embedder, checked
from recollect.errors import RecollectError
from recollect.store.base import Snapshot, Space, Store, Term, WordQuery

QUESTION = "Can this be found?"


@dataclass(frozen=True, slots=True)
class Probe:
    """Does it work? And what was seen, or why not."""

    works: bool
    told: str


@dataclass(frozen=True, slots=True)
class Probes:
    embedding: Probe
    vectors: Probe
    words: Probe


def probe(store: Store, embedder: Embedder | None, now: datetime) -> Probes:
    """Embed a question, and search by it and by its words; nothing is written."""
    try:
        with store.snapshot() as snapshot:
            embedding, vector = _embed(embedder)
            return Probes(embedding, _vectors(snapshot, embedder, vector, now), _words(snapshot, now))
    except RecollectError as problem:
        failed = Probe(False, str(problem))
        return Probes(_embed(embedder)[0], failed, failed)


def _embed(embedder: Embedder | None) -> tuple[Probe, np.ndarray | None]:
    if embedder is None:
        return Probe(False, "there is no embedder"), None
    try:
        (vector,) = checked(embedder, [QUESTION], query=True)
    except RecollectError as problem:
        return Probe(False, str(problem)), None
    return Probe(True, f"{embedder.name} gives {len(vector)} dimensions"), vector


def _vectors(snapshot: Snapshot, embedder: Embedder | None, vector: np.ndarray | None, now: datetime) -> Probe:
    if embedder is None or vector is None:
        return Probe(False, "a question cannot be embedded")
    snapshot.check_space(Space(embedder.name, len(vector)))
    scope = snapshot.scope(None, ("active",), now)
    rows, cosines = snapshot.nearest(vector, scope, limit=1)
    if not len(rows):
        return Probe(True, "there are no vectors yet" if not scope.count else "no memory has a vector")
    return Probe(True, f"the nearest memory has a cosine of {cosines[0]:.2f}")


def _words(snapshot: Snapshot, now: datetime) -> Probe:
    asked = WordQuery((Term("found"),), {"text": 1.0})
    matches = snapshot.lexicon.search(asked, snapshot.scope(None, ("active",), now), 1)
    return Probe(True, f"{matches.documents:,} memories are searched")
