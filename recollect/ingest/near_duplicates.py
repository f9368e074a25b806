"""Near-duplicates: memories that say the same, so that one of them is enough.

A wrong match loses knowledge, a missed one costs a line, so doubtful pairs stay separate. An embedding model takes
"from the left" for "from the right" (cosine 0.998 with the packaged one) and "put the cup on the plate" for "put the
plate on the cup" (0.993), and sees no difference in scripts that it does not know (1.0). So a high cosine counts only
when the numbers, the words that reverse a meaning and the word order agree.
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
from recollect.model.filter import Filter
from recollect.model.matching import equal
from recollect.recall.bm25 import Bm25Query, search
from recollect.recall.similarity import cosines, nearest
from recollect.store.base import Floats, Rows, Scope, Snapshot, Store, Term
from recollect.text.words import stem, words

Vector = NDArray[np.float32]
MIN_COSINE = 0.95  # of two texts that mean the same
MIN_JACCARD = 0.9  # of their words, when there are no vectors to compare
FETCH_LIMIT, COMPARE_LIMIT = 500, 20  # candidates by words, and as many by vectors; those whose texts are compared
NUMBER = re.compile(r"(?<!\w)[-−+]?\d+(?:[.,]\d+)*|\d+")
ARTICLES = frozenset(("a", "an", "the"))
# Words that reverse a meaning: texts that differ in one of them are no near-duplicates, however similar.
REVERSING = frozenset(
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


class ComparedText:
    """A text as it is compared: its words, their stems without articles, and its numbers."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = words(text)
        self.stems = [stem(word) for word in self.words if word not in ARTICLES]
        self.numbers = find_numbers(text)
        self.word_set, self.stem_set = frozenset(self.words), frozenset(self.stems)


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A stored memory that says the same, and how it was recognised."""

    memory: Memory
    reason: str


def compare_texts(a: ComparedText, b: ComparedText, cosine: float = np.nan) -> tuple[float, str]:
    """The similarity of two texts (0 when they are no near-duplicates), and its reason.

    By their words or, when the cosine of their vectors is known, by their meaning.
    """
    if a.numbers != b.numbers:
        return 0.0, "other figures"
    if a.words == b.words:
        return (1.0, "the same words") if a.words or a.text == b.text else (0.0, "no words")
    if np.isnan(cosine):
        similarity = len(a.word_set & b.word_set) / len(a.word_set | b.word_set)
        minimum, reason = MIN_JACCARD, f"{similarity:.0%} of the words in common"
    else:
        similarity, minimum, reason = cosine, MIN_COSINE, f"cosine {cosine:.3f}"
    difference = _difference(a, b) if similarity >= minimum else "not alike enough"
    return (0.0, difference) if difference else (similarity, reason)


def _difference(a: ComparedText, b: ComparedText) -> str:
    """What distinguishes two texts however similar they look, or an empty string."""
    if any(word in REVERSING or not word.isascii() for word in a.stem_set ^ b.stem_set):
        return "a word that reverses the meaning"
    shared = a.stem_set & b.stem_set
    if [word for word in a.stems if word in shared] != [word for word in b.stems if word in shared]:
        return "another order"
    return ""


def find_numbers(text: str) -> list[str]:
    """The numbers in a text, with sign and decimals: 10 N is not 12 N.

    >>> find_numbers("10 N, then -2.5 mm")
    ['-2.5', '10']
    """
    return sorted(each.replace("−", "-") for each in NUMBER.findall(unicodedata.normalize("NFKC", text)))


def is_subset(context: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Does the other context contain everything that this one says?"""
    return all(name in other and equal(other[name], value) for name, value in context.items())


def find_near_duplicate(store: Store, memory: Memory, now: datetime, vector: Vector | None) -> NearDuplicate | None:
    """The active memory of the same collection, user, agent and kind that already says all of this."""
    with store.snapshot() as snapshot:
        same = Filter(collection=memory.collection, user=memory.user, agent=memory.agent, kind=memory.kind)
        scope = snapshot.scope(same, ("active",), now)
        rows, cosines = _candidates(snapshot, scope, memory, vector)
        others = snapshot.memories(rows)
    text, best, duplicate = ComparedText(memory.text), 0.0, None
    for other, cosine in zip(others, cosines.tolist(), strict=True):
        similarity, reason = compare_texts(text, ComparedText(other.text), cosine)
        if similarity > best:
            best, duplicate = similarity, NearDuplicate(other, reason)
    return duplicate


def find_redundant(memories: Sequence[Memory], vectors: NDArray[np.float32] | None) -> dict[str, NearDuplicate]:
    """The memories that another one of these makes redundant, by id. Those that stay say more, or are more certain."""
    texts = [ComparedText(memory.text) for memory in memories]
    kept: list[int] = []
    redundant: dict[str, NearDuplicate] = {}
    for at in sorted(range(len(memories)), key=lambda at: _precedence(memories[at]), reverse=True):
        cosines = np.full(len(kept), np.nan) if vectors is None else vectors[kept] @ vectors[at]
        for other, cosine in zip(kept, cosines.tolist(), strict=True):
            similarity, reason = compare_texts(texts[at], texts[other], cosine)
            if similarity and covers(memories[other], memories[at]):
                redundant[memories[at].id] = NearDuplicate(memories[other], reason)
                break
        else:
            kept.append(at)
    return redundant


def covers(memory: Memory, other: Memory) -> bool:
    """Does a memory whose text says the same make the other one superfluous?"""
    alike = all(getattr(memory, name) == getattr(other, name) for name in ("user", "agent", "kind"))
    return alike and is_subset(other.context, memory.context)


def _precedence(memory: Memory) -> tuple[int, float, float]:
    """Which of two near-duplicates stays: the one with the richer context, then the more certain, then the older."""
    created = memory.created.timestamp() if memory.created else 0.0
    return len(repr(memory.context)), memory.confidence or 0.0, -created


def _candidates(snapshot: Snapshot, scope: Scope, memory: Memory, vector: Vector | None) -> tuple[Rows, Floats]:
    """Memories with the same words, or near by vector, that have all of the context; and their cosines, NaN without a
    vector."""

    def with_context(rows: Rows) -> Rows:
        matches = [is_subset(memory.context, context) for context in snapshot.contexts(rows)]
        return rows[np.array(matches, dtype=np.bool_)][:COMPARE_LIMIT]

    terms = tuple(Term(word, match="exact") for word in dict.fromkeys(words(memory.text)))
    rows = with_context(search(snapshot, scope, Bm25Query(terms, {"text": 1.0}), FETCH_LIMIT).rows)
    near = np.empty(0, np.int64) if vector is None else with_context(nearest(snapshot, vector, scope, FETCH_LIMIT)[0])
    if vector is None or not len(near):
        return rows, np.full(len(rows), np.nan)
    both = np.unique(np.concatenate([rows, near]))
    return both, cosines(snapshot, vector, both)
