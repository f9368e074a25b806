"""Tests of embedding and searching (O20), and a note about languages that the embedder was not trained on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from recollect.embed import Embedder, embed_texts
from recollect.embed.base import knows_language, language_note
from recollect.errors import RecollectError
from recollect.store.base import Snapshot, Space, Store, Term, check_space
from recollect.text.languages import detect_language

QUERY = "Can this be found?"


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether it works, and what was found, or why it fails."""

    works: bool
    told: str


@dataclass(frozen=True, slots=True)
class Probes:
    embedding: Probe
    vectors: Probe
    words: Probe


def probe(store: Store, embedder: Embedder | None, now: datetime) -> Probes:
    """Embed a query and search by vectors and by words; nothing is written."""
    try:
        with store.snapshot() as snapshot:
            embedding, vector = _embed(embedder)
            return Probes(embedding, _vectors(snapshot, embedder, vector, now), _words(snapshot, now))
    except RecollectError as error:
        failed = Probe(False, str(error))
        return Probes(_embed(embedder)[0], failed, failed)


def _embed(embedder: Embedder | None) -> tuple[Probe, np.ndarray | None]:
    if embedder is None:
        return Probe(False, "there is no embedder"), None
    try:
        (vector,) = embed_texts(embedder, [QUERY], query=True)
    except RecollectError as error:
        return Probe(False, str(error)), None
    return Probe(True, f"{embedder.name} makes vectors of {len(vector)} dimensions"), vector


def _vectors(snapshot: Snapshot, embedder: Embedder | None, vector: np.ndarray | None, now: datetime) -> Probe:
    if embedder is None or vector is None:
        return Probe(False, "a query cannot be embedded")
    from recollect.recall.similarity import nearest

    check_space(snapshot.space, Space(embedder.name, len(vector)), "this memory")
    scope = snapshot.scope(None, ("active",), now)
    found = nearest(snapshot, vector, scope, 1)
    if not len(found.rows):
        return Probe(True, "there are no vectors yet" if not scope.count else "no memory has a vector")
    return Probe(True, f"the nearest memory has a cosine of {found.cosines[0]:.2f}")


def _words(snapshot: Snapshot, now: datetime) -> Probe:
    from recollect.recall.bm25 import Bm25Query, search

    query = Bm25Query((Term("found"),), {"text": 1.0})
    matches = search(snapshot, snapshot.scope(None, ("active",), now), query, 1)
    return Probe(True, f"{matches.documents:,} memories are searched")


SAMPLE = 64  # memories, the newest
MIN_SHARE = 0.2  # of the sample in other languages, for a note


def memory_language_note(store: Store, embedder: Embedder | None, now: datetime) -> str:
    """A sentence about the most frequent language of the memories that the embedder was not trained on, or none."""
    if knows_language(embedder, "") or embedder is None:  # it knows all, or cannot say
        return ""
    try:
        with store.snapshot() as snapshot:
            texts = snapshot.texts(snapshot.page(snapshot.scope(None, ("active",), now), "newest", SAMPLE))
    except RecollectError:  # of a damaged file; status is there to tell about it
        return ""
    languages = Counter(map(detect_language, texts))
    others = {language: count for language, count in languages.items() if not knows_language(embedder, language)}
    if sum(others.values()) < MIN_SHARE * len(texts) or not others:
        return ""
    return language_note(embedder, max(others, key=lambda language: (others[language], language)))
