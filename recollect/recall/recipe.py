"""A recipe: readings, cues, a fusion, stages and what happens after, in order, with their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from recollect.model.filter import AnyFilter
from recollect.store.base import Rows, Store

if TYPE_CHECKING:
    from recollect.recall.confidence import Confidence
    from recollect.recall.expressions import Expr
    from recollect.recall.hits import Found, Hits, Operation
    from recollect.recall.query_parsing import Question
    from recollect.recall.run import Run
    from recollect.recall.trace import Trace

Depth = Callable[[int], int]  # how many candidates a cue brings when k results are asked for


def fixed(count: int) -> Depth:
    """Always so many."""
    return lambda k: count


def times(factor: int) -> Depth:
    """So many a result."""
    return lambda k: k * factor


def paged(size: int) -> Depth:
    """Whole pages, as many as k results need: the first page is the same whatever is asked for."""
    return lambda k: size * max(1, -(-k // size))


class Reading(Protocol):
    """Understands a part of the question."""

    def read(self, question: Question, run: Run) -> Question: ...


@runtime_checkable
class Cue(Protocol):
    """Finds candidates, and can score given ones."""

    @property
    def name(self) -> str: ...

    def find(self, run: Run) -> Found: ...

    def score(self, run: Run, rows: Rows) -> Expr: ...


class Plan(Protocol):
    """Runs cues, one or many, and says what they found."""

    def gather(self, run: Run) -> list[Found]: ...

    def cues(self) -> list[Cue]: ...


class Fusion(Protocol):
    """Several ranked lists into one."""

    @property
    def name(self) -> str: ...

    def fuse(self, run: Run, found: list[Found]) -> Hits: ...


class Stage(Protocol):
    """Changes the hits: it returns operations, and the runner applies, times and logs them."""

    @property
    def name(self) -> str: ...

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]: ...


class After(Protocol):
    """What remains of a recall once it is answered."""

    @property
    def name(self) -> str: ...

    def record(self, run: Run, store: Store, rows: list[int]) -> None: ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """A way of recalling."""

    name: str
    cues: Plan
    fuse: Fusion
    read: Sequence[Reading] = ()
    stages: Sequence[Stage] = ()
    after: Sequence[After] = ()
    statuses: Sequence[str] = ("active",)
    filter: AnyFilter | None = None  # beside the caller's: both must let a memory through
    k: int = 10  # results when the caller does not say
    clamp: tuple[int, int] | None = None  # k is brought into this range
    about: str = ""
    confidence: Confidence | None = None  # how sure it is that something here is about the question
    report: Callable[[Trace], dict[str, Any]] | None = None  # facts for the trace, under the recipe's own names

    def but(self, **changes: Any) -> Recipe:
        """A copy with some parts exchanged."""
        return replace(self, **changes)
