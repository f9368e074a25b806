"""The query cache: a repeated query is answered from memory as long as nothing has changed (O18).

An entry is valid for one version of the store, so any write, of any process, ends it. It lasts ``max_age`` seconds of
the mind's clock, and never beyond a moment at which a memory becomes valid, ceases to be valid or expires. Its scores
are those of the moment when it was computed; the trace tells how long ago that was.

Not cached are answers that depend on use counters (every recall changes them), and those that a failed step or the
deadline left incomplete. A cached answer records use like any other.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from threading import Lock
from typing import Any, cast

import numpy as np

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.model.filter import FilterExpression, any_filter
from recollect.recall.pipeline import Request, SearchOutcome, build_recall, check_request, recall, search
from recollect.recall.recipe import Recipe
from recollect.recall.results import Recall
from recollect.recall.trace import Step, Trace
from recollect.store.base import Snapshot, Store

USE_METHODS = ("uses", "use_numbers", "uses_by_day")


@dataclass(frozen=True, slots=True)
class QueryCache:
    """Settings: whether answers are cached, how many, and for how long."""

    enabled: bool = True
    max_entries: int = 256
    max_age: float = 60.0  # seconds

    def __post_init__(self) -> None:
        if check.integer(self.max_entries, "max_entries") < 1:
            raise InvalidInput(f"max_entries must be at least 1, not {self.max_entries}.")
        check.number(self.max_age, "max_age", low=0.0)


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """An outcome and the interval in which it is valid, in microseconds; the end is exclusive."""

    outcome: SearchOutcome
    since: int
    until: float


class RecallCache:
    """The cached answers of one mind, least recently used first."""

    def __init__(self, settings: QueryCache) -> None:
        self.settings = settings
        self._entries: OrderedDict[Hashable, CacheEntry] = OrderedDict()
        self._version = ""
        self._lock = Lock()

    def recall(self, store: Store, request: Request, recipe: str | Recipe, settings: Mapping[str, Any]) -> Recall:
        """As ``pipeline.recall``; ``recipe`` and ``settings`` are what the request's recipe was built from."""
        start = time.perf_counter()
        check_request(request)
        try:
            key = _key([id(recipe) if isinstance(recipe, Recipe) else recipe, settings, request.query, request.k])
            embedder = request.embedder and request.embedder.name
            day = [f"{each:%Y-%m-%d %z}" for each in (request.now, request.as_of) if each]  # of “yesterday”
            key = (key, _key([request.filter, request.as_of, request.abstain, request.history, embedder, day]))
        except TypeError:  # a setting that cannot be hashed
            return recall(store, request)
        cached = self._lookup(store, request, key)
        if cached is not None:
            return build_recall(store, request, cached, start)
        tracked = _TrackedStore(store, request)
        outcome = search(cast(Store, tracked), request, start)
        if not tracked.use_was_read and _is_complete(outcome.run.trace):
            self._add(key, outcome, check.micros(request.now), tracked.next_moment)
        return build_recall(store, request, outcome, start)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def _lookup(self, store: Store, request: Request, key: Hashable) -> SearchOutcome | None:
        """The cached outcome, with its memories fetched again: their use may have changed."""
        now = check.micros(request.now)
        with store.snapshot() as snapshot:
            with self._lock:
                if self._version != snapshot.version:
                    self._entries.clear()  # also for what was erased: it must not stay in memory
                entry = self._entries.get(key)
                if entry is None or not entry.since <= now < entry.until:
                    return None
                self._entries.move_to_end(key)
            step = Step("cache", "query", detail={"seconds ago": round((now - entry.since) / 1e6, 3)})
            run, shown = entry.outcome.run, entry.outcome.shown
            trace = replace(run.trace, steps=[step, *(each for each in run.trace.steps if each.kind != "after")])
            run, memories = run.repeated(snapshot, trace, request.now, request.called_at or request.now, shown.keys)
            return replace(entry.outcome, run=run, memories=memories)

    def _add(self, key: Hashable, outcome: SearchOutcome, now: int, next_moment: float) -> None:
        with self._lock:
            if self._version != outcome.run.trace.version:  # all other entries are outdated
                self._entries.clear()
                self._version = outcome.run.trace.version
            self._entries[key] = CacheEntry(outcome, now, min(now + self.settings.max_age * 1e6, next_moment))
            while len(self._entries) > self.settings.max_entries:
                self._entries.popitem(last=False)


class _TrackedStore:
    """A store that notes whether use counters were read, and when the validity of a memory changes next."""

    def __init__(self, store: Store, request: Request) -> None:
        self._store = store
        self.bound = store.bound
        self._now = request.now
        self.use_was_read = _depends_on_use(request.filter) or _depends_on_use(request.recipe.filter)
        self.next_moment = np.inf

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        with self._store.snapshot() as snapshot:
            self.next_moment = snapshot.next_validity_change(self._now)
            yield _TrackedSnapshot(snapshot, self)


class _TrackedSnapshot:
    def __init__(self, snapshot: Snapshot, store: _TrackedStore) -> None:
        self._snapshot, self._store = snapshot, store

    def __getattr__(self, name: str) -> Any:
        if name in USE_METHODS:
            self._store.use_was_read = True
        return getattr(self._snapshot, name)


def _is_complete(trace: Trace) -> bool:
    return not trace.failures and not any("deadline" in step.reason for step in trace.steps)


def _depends_on_use(filter: FilterExpression | None) -> bool:
    """Whether a filter depends on when memories were last used."""
    return any_filter(filter, lambda part: part.confidence_decay is not None)


def _key(value: Any) -> Hashable:
    """A value as a dictionary key, with its type, so that True and 1 differ; a TypeError where it has no hash."""
    if isinstance(value, Mapping):
        return ("mapping", *sorted(((str(name), _key(item)) for name, item in value.items()), key=lambda pair: pair[0]))
    if isinstance(value, list | tuple):
        return ("list", *map(_key, value))
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value), *(_key(getattr(value, each.name)) for each in fields(value)))
    hash(value)
    return (type(value), value)
