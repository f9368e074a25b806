"""Spending a budget of tokens on what is worth most: small and telling first, nothing twice."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.text.words import words

CHARACTERS = 4  # a token
# Worth is score ÷ tokens^⅛: of two that score alike, the shorter leaves more room for others. Chosen on four open sets;
# docs/quality.md has the curve for all of them, and says where plain order holds as much.
THRIFT = 1 / 8
FAINT = 0.1  # of the best score: less is not worth a token
SAME = 0.9  # share of words in common


def tokens(text: str, characters: int = CHARACTERS) -> int:
    """characters ÷ 4, rounded up."""
    return -(-len(text) // characters)


def affordable(budget: object, name: str) -> int:
    """A budget, if anything could be bought for it."""
    size = check.whole(budget, name)
    if size < 1:
        raise InvalidInput(f"{name} must be at least 1, not {size}.")
    return size


class Purse:
    """Tokens, and what they were spent on: nothing twice."""

    def __init__(self, budget: int) -> None:
        self.left = budget
        self._said: list[set[str]] = []

    def spend(self, line: str) -> bool:
        """Buy a line, if it fits and is not there already."""
        size = tokens(line + "\n")
        if size > self.left:
            return False
        said = set(words(line))
        if any(_same(said, other) for other in self._said):
            return False
        self._said.append(said)
        self.left -= size
        return True


def pack(texts: Sequence[str], scores: Sequence[float], budget: int) -> list[int]:
    """The places of what is worth most within the budget, ascending; what does not fit makes room for what does."""
    worth = [max(0.0, score) / tokens(text + "\n") ** THRIFT for text, score in zip(texts, scores, strict=True)]
    purse, least = Purse(budget), max(scores, default=0.0) * FAINT
    dearest = sorted(range(len(texts)), key=lambda at: (-worth[at], at))
    return sorted(at for at in dearest if scores[at] > least and purse.spend(texts[at]))


def _same(one: set[str], other: set[str]) -> bool:
    return len(one & other) >= SAME * max(1, len(one | other))
