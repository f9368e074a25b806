"""Probes: whether it can embed, search vectors and search words, tried and not merely looked up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from recollect.embed import Embedder, checked
from recollect.errors import RecollectError
from recollect.store.base import Space, Store, Term, View, WordQuery

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
        with store.view() as view:
            embedding, vector = _embed(embedder)
            return Probes(embedding, _vectors(view, embedder, vector, now), _words(view, now))
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


def _vectors(view: View, embedder: Embedder | None, vector: np.ndarray | None, now: datetime) -> Probe:
    if embedder is None or vector is None:
        return Probe(False, "a question cannot be embedded")
    view.check_space(Space(embedder.name, len(vector)))
    mask = view.mask(None, ("active",), now)
    rows, cosines = view.nearest(vector, mask, limit=1)
    if not len(rows):
        return Probe(True, "there are no vectors yet" if not mask.count else "no memory has a vector")
    return Probe(True, f"the nearest memory has a cosine of {cosines[0]:.2f}")


def _words(view: View, now: datetime) -> Probe:
    asked = WordQuery((Term("found"),), {"text": 1.0})
    matches = view.lexicon.search(asked, view.mask(None, ("active",), now), 1)
    return Probe(True, f"{matches.documents:,} memories are searched")
