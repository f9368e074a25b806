"""The query cache: a question asked again is answered from memory, as long as nothing has changed (O18).

An answer is good for one version of the file, so a write, of whichever process, ends it. Time is that of the mind's
clock: an answer lasts ``max_age`` seconds, and never beyond a moment at which a memory begins or ceases to hold or
expires. Until then its scores are those of the moment when it was found; the trace says how long ago that was.

What depends on more than that is not kept: answers into which the use of memories went (every recall changes it), and
those that a failing or hurried step left incomplete. A repeated answer leaves its mark of use like any other.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from threading import Lock
from typing import Any, cast

import numpy as np

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.model.filter import All, AnyFilter, Filter, Not
from recollect.model.memory import STATUSES
from recollect.recall.pipeline import Answer, Request, answered, checked, given, recall
from recollect.recall.recipe import Recipe
from recollect.recall.results import Recall
from recollect.recall.trace import Step, Trace
from recollect.store.base import Floats, Snapshot, Store

TURNS = ("valid_from", "valid_to", "expires")  # moments at which the same question gets another answer
OF_USE = ("uses", "use_numbers")


@dataclass(frozen=True, slots=True)
class QueryCache:
    """Whether answers are kept, how many, and for how long."""

    enabled: bool = True
    max_entries: int = 256
    max_age: float = 60.0  # seconds

    def __post_init__(self) -> None:
        if check.whole(self.max_entries, "max_entries") < 1:
            raise InvalidInput(f"max_entries must be at least 1, not {self.max_entries}.")
        check.number(self.max_age, "max_age", low=0.0)


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer, and the time in which it is good: from one moment to before another, in microseconds."""

    answer: Answer
    since: int
    until: float


class Answers:
    """The answers of one mind, the latest used last."""

    def __init__(self, settings: QueryCache) -> None:
        self.settings = settings
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._version = -1
        self._turns: tuple[int, Floats] = (-1, np.empty(0))  # of which version
        self._lock = Lock()

    def recall(self, store: Store, request: Request, recipe: str | Recipe, settings: Mapping[str, Any]) -> Recall:
        """As ``pipeline.recall``; ``recipe`` and ``settings`` are what the request's recipe was made of."""
        start = time.perf_counter()
        checked(request)
        try:
            key = _key([id(recipe) if isinstance(recipe, Recipe) else recipe, settings, request.query, request.k])
            key = (
                key,
                _key([request.filter, request.as_of, request.abstain, request.embedder and request.embedder.name]),
            )
        except TypeError:  # a setting that cannot be compared
            return recall(store, request)
        again = self._again(store, request, key)
        if again is not None:
            return given(store, request, again, start)
        watched = _Watched(store, request, self._turn)
        answer = answered(cast(Store, watched), request, start)
        if not watched.use_was_read and _whole(answer.run.trace):
            self._keep(key, answer, check.micros(request.now), watched.turn)
        return given(store, request, answer, start)

    def _again(self, store: Store, request: Request, key: Hashable) -> Answer | None:
        """The kept answer, with its memories read anew: their use may have changed."""
        now = check.micros(request.now)
        with store.snapshot() as snapshot:
            with self._lock:
                kept = self._kept.get(key) if self._version == snapshot.version else None
                if kept is None or not kept.since <= now < kept.until:
                    return None
                self._kept.move_to_end(key)
            told = Step("cache", "query", detail={"seconds ago": round((now - kept.since) / 1e6, 3)})
            run, shown = kept.answer.run, kept.answer.shown
            trace = replace(run.trace, steps=[told, *(step for step in run.trace.steps if step.kind != "after")])
            run = replace(run, trace=trace, snapshot=snapshot, asked=request.now, _read={})
            return replace(kept.answer, run=run, memories=run.memories(shown.keys))

    def _turn(self, snapshot: Snapshot, now: datetime) -> float:
        """The next moment, in microseconds, at which a memory begins or ceases to hold, or expires."""
        version, turns = self._turns
        if version != snapshot.version:
            rows = snapshot.all_rows(snapshot.scope(None, STATUSES, now, hidden=True))
            moments = np.concatenate([snapshot.numbers(name, rows) for name in TURNS])
            turns = np.sort(moments[~np.isnan(moments)])
            self._turns = snapshot.version, turns
        at = int(np.searchsorted(turns, check.micros(now), side="right"))
        return float(turns[at]) if at < len(turns) else np.inf

    def _keep(self, key: Hashable, answer: Answer, now: int, turn: float) -> None:
        with self._lock:
            if self._version != answer.run.trace.version:  # none of the others is good any longer
                self._kept.clear()
                self._version = answer.run.trace.version
            self._kept[key] = Kept(answer, now, min(now + self.settings.max_age * 1e6, turn))
            while len(self._kept) > self.settings.max_entries:
                self._kept.popitem(last=False)


class _Watched:
    """A store whose view notes whether the use of memories was asked for, and when the next one turns."""

    def __init__(self, store: Store, request: Request, turn: Callable[[Snapshot, datetime], float]) -> None:
        self._store = store
        self._turn_of = turn
        self._now = request.now
        self.use_was_read = _fades(request.filter) or _fades(request.recipe.filter)
        self.turn = np.inf

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        with self._store.snapshot() as snapshot:
            self.turn = self._turn_of(snapshot, self._now)
            yield _WatchedSnapshot(snapshot, self)


class _WatchedSnapshot:
    def __init__(self, snapshot: Snapshot, watched: _Watched) -> None:
        self._snapshot, self._watched = snapshot, watched

    def __getattr__(self, name: str) -> Any:
        if name in OF_USE:
            self._watched.use_was_read = True
        return getattr(self._snapshot, name)


def _whole(trace: Trace) -> bool:
    return not trace.failures and not any("deadline" in step.reason for step in trace.steps)


def _fades(filter: AnyFilter | None) -> bool:
    """Does a filter ask when memories were last used?"""
    match filter:
        case Filter():
            return filter.confidence_decay is not None
        case Not():
            return _fades(filter.of)
        case All():
            return any(map(_fades, filter.of))
        case _:
            return False


def _key(value: Any) -> Hashable:
    """A value as something to look up; a TypeError for one that cannot be. True is not 1 here."""
    if isinstance(value, Mapping):
        return ("mapping", *sorted(((str(name), _key(held)) for name, held in value.items()), key=lambda pair: pair[0]))
    if isinstance(value, list | tuple):
        return ("list", *map(_key, value))
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value), *(_key(getattr(value, each.name)) for each in fields(value)))
    hash(value)
    return (type(value), value)
