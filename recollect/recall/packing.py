"""Choosing results for a budget of tokens: highest score per size first, no near duplicates."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.text.words import words

CHARACTERS_PER_TOKEN = 4
# The value of a text is score ÷ tokens^⅛: of two with equal scores, the shorter leaves more room for others. Chosen on
# four open sets; docs/quality.md has the curve for all of them, and says where plain order does as well.
LENGTH_EXPONENT = 1 / 8
MIN_SHARE_OF_BEST = 0.1  # results below this share of the best score are left out
DUPLICATE_OVERLAP = 0.9  # share of words in common


def tokens(text: str, characters: int = CHARACTERS_PER_TOKEN) -> int:
    """characters ÷ 4, rounded up."""
    return -(-len(text) // characters)


def nothing_fits(budget: int, best_needs: int) -> str:
    """What to say where the best result is larger than the budget."""
    return f"Nothing fits into {budget:,} {'token' if budget == 1 else 'tokens'}: the best memory needs {best_needs:,}."


def check_budget(budget: object, name: str) -> int:
    """A budget of at least one token."""
    size = check.integer(budget, name)
    if size < 1:
        raise InvalidInput(f"{name} must be at least 1, not {size}.")
    return size


class TokenBudget:
    """A number of tokens and the lines they were spent on."""

    def __init__(self, budget: int) -> None:
        self.left = budget
        self._added: list[set[str]] = []

    def add(self, line: str) -> bool:
        """Add a line if it fits and is not a near duplicate; whether it was added."""
        size = tokens(line + "\n")
        if size > self.left:
            return False
        line_words = set(words(line))
        if any(_is_duplicate(line_words, other) for other in self._added):
            return False
        self._added.append(line_words)
        self.left -= size
        return True


def pack(
    texts: Sequence[str], scores: Sequence[float], budget: int, leaders: Sequence[int | None] | None = None
) -> list[int]:
    """The positions of the texts with the highest value that fit into the budget, ascending. A text with a leader is
    taken only after that one, however much shorter it is."""
    values = [
        max(0.0, score) / tokens(text + "\n") ** LENGTH_EXPONENT for text, score in zip(texts, scores, strict=True)
    ]
    room, lowest = TokenBudget(budget), max(scores, default=0.0) * MIN_SHARE_OF_BEST
    waiting = sorted(range(len(texts)), key=lambda at: (-values[at], at))
    leader = leaders or [None] * len(texts)
    chosen: dict[int, bool] = {}
    for at in waiting:
        for each in (leader[at], at):
            if each is not None and each not in chosen:
                led = leader[at] if each == at else None
                allowed = led is None or chosen[led]
                chosen[each] = allowed and scores[each] > lowest and room.add(texts[each])
    return sorted(at for at, fits in chosen.items() if fits)


def _is_duplicate(one: set[str], other: set[str]) -> bool:
    return len(one & other) >= DUPLICATE_OVERLAP * max(1, len(one | other))
