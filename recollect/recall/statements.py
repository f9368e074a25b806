"""The rule by which two memories state the same thing: same owner and speaker, near in meaning, a value of the same kind.

It is used to put the present value first (``stages/statements.py``) and to report possible conflicts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recollect.recall.run import Run
from recollect.store.base import Floats, Rows
from recollect.text.statements import find_values, is_correction, is_question

NOT_STATED = frozenset({"assistant", "system", "tool"})  # roles that repeat what a user stated
MINUTE = 60e6  # microseconds
OWNER_FIELDS = ("collection", "user", "speaker")


@dataclass(frozen=True, slots=True)
class Statements:
    """Some memories, compared as statements.

    Nearness is the cosine above what two of these memories have in common anyway: (cosine − median) ÷ (1 − median).
    The median differs between languages and models: .15 for English, .4 for German, .6 for Chinese with the local one.
    """

    texts: list[str]
    moments: Floats  # microseconds
    sessions: list[str]
    owners: list[tuple[str, ...]]
    stated: list[bool]  # neither a question, nor an assistant's, nor a part of a file
    nearness: NDArray[np.float64]
    near: float = 0.3
    correction_minutes: float = 30.0
    _values: dict[int, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run, rows: Rows, moments: Floats) -> Statements:
        snapshot = run.snapshot
        texts = run.texts(rows)
        owners = list(zip(*(snapshot.strings(name, rows) for name in OWNER_FIELDS), strict=True))
        stated = [
            role not in NOT_STATED and not path and not is_question(text)
            for role, path, text in zip(snapshot.strings("role", rows), snapshot.strings("path", rows), texts, strict=True)
        ]
        return cls(texts, moments, snapshot.strings("session", rows), owners, stated, nearness(snapshot.vectors(rows)))

    def best(self, scores: Floats) -> int | None:
        """The statement with the highest score."""
        return next((at for at in np.argsort(-scores, kind="stable").tolist() if self.stated[at]), None)

    def values(self, at: int) -> frozenset[str]:
        if at not in self._values:
            self._values[at] = find_values(self.texts[at])
        return self._values[at]

    def same_thing(self, at: int, other: int) -> bool:
        """Do both state the same thing at different times? Where the other gives a value, this one has to give one."""
        return (
            self.stated[at]
            and self.owners[at] == self.owners[other]
            and self.moments[at] != self.moments[other]
            and bool(self.nearness[at, other] >= self.near)
            and (not self.values(other) or bool(self.values(at)))
        )

    def corrects(self, at: int, other: int) -> bool:
        """Does it correct the other, shortly after it in the same session?"""
        return (
            self.stated[at]
            and self.owners[at] == self.owners[other]
            and self.sessions[at] == self.sessions[other] != ""
            and 0 < self.moments[at] - self.moments[other] <= self.correction_minutes * MINUTE
            and is_correction(self.texts[at])
        )


def nearness(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """By pair: (cosine − median) ÷ (1 − median); −1 where one has no vector."""
    count = len(vectors)
    if not vectors.size:
        return np.full((count, count), -1.0)
    cosines = (vectors @ vectors.T).astype(np.float64)
    known = cosines[np.triu_indices(count, 1)]
    known = known[~np.isnan(known)]
    median = min(float(np.median(known)), 0.95) if len(known) else 0.0
    near = (cosines - median) / (1 - median)
    return np.where(np.isnan(near), -1.0, near)
