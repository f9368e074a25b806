"""Twins: memories that say the same, so that one of them is enough.

A false twin loses knowledge, a missed one costs a line; so the doubtful are kept apart. A model that reads
meaning takes "from the left" for "from the right" (cosine 0.998 with the packaged one), "put the cup on the plate" for
"put the plate on the cup" (0.993), and sees no difference in scripts that it does not know (1.0). So it is heard only
when nothing else speaks against: figures, words that turn a sentence round, the order of what both say.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.model import Memory
from recollect.model.conditions import equal
from recollect.model.filter import Filter
from recollect.store.base import Floats, Rows, Snapshot, Store, Term, WordQuery
from recollect.text.words import stem, words

Vector = NDArray[np.float32]
COSINE = 0.95  # of two texts that mean the same
JACCARD = 0.9  # of their words, where no vectors are there to compare
FETCHED, READ = 500, 20  # candidates by words, and as many by vectors; those of them whose texts are compared
FIGURES = re.compile(r"(?<!\w)[-−+]?\d+(?:[.,]\d+)*|\d+")
ARTICLES = frozenset(("a", "an", "the"))
# Words that turn a sentence round: texts that differ in one of them are no twins, however alike.
TURNING = frozenset(
    stem(word)
    for word in """
    no not never none nothing without cannot t neither nor yes true false left right up down upper lower top bottom
    above below over under front back behind before after first last inside outside in out on off into onto from to
    open close shut start stop begin end push pull pick place lift drop raise release hold grasp slow slowly fast
    quick quickly high low hot cold warm cool light heavy soft hard firm firmly gentle gently tight loose big small
    large little long short wide narrow thick thin near far close distant more less fewer most least many few minimum
    maximum min max increase decrease add remove enable disable allow forbid accept reject always sometimes often
    rarely success fail failure succeed work break worked broke broken slip crush full empty clean dirty wet dry
    smooth rough clockwise counterclockwise anticlockwise forward forwards backward backwards horizontal vertical
    safe unsafe possible impossible can real simulated simulation sim old new same different with
    """.split()
)


class Said:
    """A text as it is compared: its words, their stems without articles, and its figures."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = words(text)
        self.stems = [stem(word) for word in self.words if word not in ARTICLES]
        self.figures = figures(text)
        self.vocabulary, self.roots = frozenset(self.words), frozenset(self.stems)


@dataclass(frozen=True, slots=True)
class Twin:
    """A memory that was there already, and how it was recognised."""

    memory: Memory
    because: str


def likeness(mine: Said, theirs: Said, cosine: float = np.nan) -> tuple[float, str]:
    """How alike two texts are (0 for no twins), and by what: their words, or their meaning when a cosine is known."""
    if mine.figures != theirs.figures:
        return 0.0, "other figures"
    if mine.words == theirs.words:
        return (1.0, "the same words") if mine.words or mine.text == theirs.text else (0.0, "no words")
    if np.isnan(cosine):
        alike = len(mine.vocabulary & theirs.vocabulary) / len(mine.vocabulary | theirs.vocabulary)
        least, because = JACCARD, f"{alike:.0%} of the words in common"
    else:
        alike, least, because = cosine, COSINE, f"cosine {cosine:.3f}"
    difference = _difference(mine, theirs) if alike >= least else "not alike enough"
    return (0.0, difference) if difference else (alike, because)


def _difference(mine: Said, theirs: Said) -> str:
    """What keeps two texts apart however alike they look, or an empty string."""
    if any(word in TURNING or not word.isascii() for word in mine.roots ^ theirs.roots):
        return "a word that turns it round"
    shared = mine.roots & theirs.roots
    if [word for word in mine.stems if word in shared] != [word for word in theirs.stems if word in shared]:
        return "another order"
    return ""


def figures(text: str) -> list[str]:
    """The numbers in a text, with sign and decimals: 10 N is not 12 N.

    >>> figures("10 N, then -2.5 mm")
    ['-2.5', '10']
    """
    return sorted(each.replace("−", "-") for each in FIGURES.findall(unicodedata.normalize("NFKC", text)))


def adds_nothing(context: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Is all of a context already in another one?"""
    return all(name in known and equal(known[name], value) for name, value in context.items())


def twin_of(store: Store, memory: Memory, now: datetime, vector: Vector | None) -> Twin | None:
    """The active memory of the same collection and kind that already says all this."""
    with store.snapshot() as snapshot:
        scope = snapshot.scope(Filter(collection=memory.collection, kind=memory.kind), ("active",), now)
        rows, cosines = _candidates(snapshot, scope, memory, vector)
        others = snapshot.memories(rows)
    mine, best, found = Said(memory.text), 0.0, None
    for other, cosine in zip(others, cosines.tolist(), strict=True):
        alike, because = likeness(mine, Said(other.text), cosine)
        if alike > best:
            best, found = alike, Twin(other, because)
    return found


def merges(memories: Sequence[Memory], vectors: NDArray[np.float32] | None) -> dict[str, Twin]:
    """Which of these memories another one makes superfluous, by id. The ones that stay tell more, or are surer."""
    said = [Said(memory.text) for memory in memories]
    staying: list[int] = []
    going: dict[str, Twin] = {}
    for at in sorted(range(len(memories)), key=lambda at: _worth(memories[at]), reverse=True):
        cosines = np.full(len(staying), np.nan) if vectors is None else vectors[staying] @ vectors[at]
        for kept, cosine in zip(staying, cosines.tolist(), strict=True):
            alike, because = likeness(said[at], said[kept], cosine)
            if alike and _covers(memories[kept], memories[at]):
                going[memories[at].id] = Twin(memories[kept], because)
                break
        else:
            staying.append(at)
    return going


def _covers(kept: Memory, other: Memory) -> bool:
    return kept.kind == other.kind and adds_nothing(other.context, kept.context)


def _worth(memory: Memory) -> tuple[int, float, float]:
    """What stays of two twins: the one with the richer context, then the surer, then the older."""
    created = memory.created.timestamp() if memory.created else 0.0
    return len(repr(memory.context)), memory.confidence or 0.0, -created


def _candidates(snapshot: Snapshot, scope: Any, memory: Memory, vector: Vector | None) -> tuple[Rows, Floats]:
    """What shares the words or lies near and has all of the context; its cosines, NaN where a vector is missing."""

    def having_it_all(rows: Rows) -> Rows:
        known = [adds_nothing(memory.context, context) for context in snapshot.contexts(rows)]
        return rows[np.array(known, dtype=np.bool_)][:READ]

    terms = tuple(Term(word, match="exact") for word in dict.fromkeys(words(memory.text)))
    rows = having_it_all(snapshot.lexicon.search(WordQuery(terms, {"text": 1.0}), scope, FETCHED).rows)
    near = np.empty(0, np.int64) if vector is None else having_it_all(snapshot.nearest(vector, scope, FETCHED)[0])
    if vector is None or not len(near):
        return rows, np.full(len(rows), np.nan)
    both = np.unique(np.concatenate([rows, near]))
    return both, snapshot.cosines(vector, both)
