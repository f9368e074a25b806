"""A recipe lists the parts of a recall: query readers, cues, a fusion, stages, and steps after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from recollect.model.filter import FilterExpression
from recollect.store.base import Rows, Store

if TYPE_CHECKING:
    from recollect.recall.confidence import Confidence
    from recollect.recall.expressions import Expression
    from recollect.recall.hits import Candidates, HitOperation, Hits
    from recollect.recall.query_parsing import ParsedQuery
    from recollect.recall.run import Run
    from recollect.recall.trace import Trace

Depth = Callable[[int], int]  # how many candidates a cue returns when k results are requested


def fixed(count: int) -> Depth:
    """A fixed number of candidates."""
    return lambda k: count


def times(factor: int) -> Depth:
    """A number of candidates for each result."""
    return lambda k: k * factor


def paged(size: int) -> Depth:
    """Whole pages, as many as k results need: the first page is the same for every k."""
    return lambda k: size * max(1, -(-k // size))


class QueryReader(Protocol):
    """Parses a part of the query: corrects it, splits it into terms."""

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery: ...


@runtime_checkable
class Cue(Protocol):
    """Finds candidates, and can score given memories."""

    @property
    def name(self) -> str: ...

    def find(self, run: Run) -> Candidates: ...

    def score(self, run: Run, rows: Rows) -> Expression: ...


class CuePlan(Protocol):
    """Runs one or several cues and returns their candidates."""

    def gather(self, run: Run) -> list[Candidates]: ...

    def cues(self) -> list[Cue]: ...


class Fusion(Protocol):
    """Merges several ranked lists into one."""

    @property
    def name(self) -> str: ...

    def fuse(self, run: Run, found: list[Candidates]) -> Hits: ...


class Stage(Protocol):
    """Changes the hits by returning operations, which the pipeline applies, times and logs."""

    @property
    def name(self) -> str: ...

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]: ...


@runtime_checkable
class EmbeddingCue(Protocol):
    """A cue that needs the vector of the query, which may then be computed in a thread beforehand."""

    @property
    def needs_vector(self) -> bool: ...


@runtime_checkable
class MandatoryStage(Protocol):
    """A stage that runs even when the deadline has passed, such as a budget or a minimum score."""

    @property
    def ignores_deadline(self) -> bool: ...


class AfterRecall(Protocol):
    """A step after the answer, such as recording the use."""

    @property
    def name(self) -> str: ...

    def record(self, run: Run, store: Store, rows: list[int]) -> None: ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """A named way of recalling, with all of its parts."""

    name: str
    cues: CuePlan
    fuse: Fusion
    read: Sequence[QueryReader] = ()
    stages: Sequence[Stage] = ()
    after: Sequence[AfterRecall] = ()
    statuses: Sequence[str] = ("active",)
    filter: FilterExpression | None = None  # in addition to the caller's filter
    k: int = 10  # the default number of results
    clamp: tuple[int, int] | None = None  # the range of k
    about: str = ""
    confidence: Confidence | None = None  # how likely a result is about the query
    report: Callable[[Trace], dict[str, Any]] | None = None  # a summary of the trace, under the recipe's own names

    def but(self, **changes: Any) -> Recipe:
        """A copy with some parts replaced."""
        return replace(self, **changes)
