"""Analytics of use: which memories are used most, least or never, and how much over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

import numpy as np

from recollect.errors import InvalidInput
from recollect.model import STATUSES, FilterExpression, Memory, check, micros
from recollect.store.base import Flags, Floats, Rows, Scope, Snapshot, Store
from recollect.store.retrying import retried
from recollect.store.use_days import day_begins
from recollect.text.times.phrases import with_moments

Counter = Literal["uses", "access_count", "return_count", "recall_count"]
UseMoment = Literal["last_accessed", "last_recalled"]
SortOrder = Literal["newest", "oldest"] | Counter | UseMoment
UsagePeriodName = Literal["day", "week", "month"]
COUNTERS: tuple[str, ...] = get_args(Counter)
USE_MOMENTS: tuple[str, ...] = get_args(UseMoment)
SORT_ORDERS: tuple[str, ...] = ("newest", "oldest", *COUNTERS, *USE_MOMENTS)
PERIODS: tuple[str, ...] = get_args(UsagePeriodName)
COMPARISONS: Mapping[str, Callable[[Floats, float], Flags]] = {
    "$lt": np.less,
    "$lte": np.less_equal,
    "$gt": np.greater,
    "$gte": np.greater_equal,
    "$ne": np.not_equal,
}
COUNTS = ("memories", "used", "uses", "undated_uses", "never_recalled", "never_returned")
LISTED_STATUSES = tuple(status for status in STATUSES if status != "forgotten")


@dataclass(frozen=True, slots=True)
class UsagePeriod:
    """A day, week (from Monday) or month, in UTC."""

    begins: datetime
    created: int  # memories that were created in it
    uses: int  # accesses and recalls in it
    last_used: int  # memories whose last use was in it

    def as_dict(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in ("created", "uses", "last_used")}
        return {"begins": self.begins.date().isoformat(), **counts}


@dataclass(frozen=True, slots=True)
class Usage:
    """The use of some memories. Uses are accesses and recalls, as ``Memory.use`` counts them."""

    memories: int
    uses: int
    never_recalled: int
    never_returned: int  # recalled, but return_count is 0: only the recipe robotmem counts returns
    most_used: tuple[Memory, ...]
    least_used: tuple[Memory, ...]  # of those that were used at all
    unused: tuple[Memory, ...]  # the oldest that were never recalled
    unreturned: tuple[Memory, ...]  # recalled most often among those never returned
    over_time: tuple[UsagePeriod, ...]  # oldest first
    undated_uses: int = 0  # whose day is not known: of an earlier version, or imported

    @property
    def used(self) -> int:
        return self.memories - self.never_recalled

    def as_dict(self) -> dict[str, Any]:
        lists = ("most_used", "least_used", "unused", "unreturned")
        return {
            **{name: getattr(self, name) for name in COUNTS},
            **{name: [_brief(memory) for memory in getattr(self, name)] for name in lists},
            "over_time": [period.as_dict() for period in self.over_time],
        }


def _brief(memory: Memory) -> dict[str, Any]:
    counts = {name: getattr(memory.use, name) for name in COUNTERS}
    last = memory.use.last_used
    return {"id": memory.id, "text": memory.text, **counts, "last_used": None if last is None else last.isoformat()}


@retried
def read_usage(
    store: Store,
    now: datetime,
    filter: FilterExpression | None = None,
    limit: int = 10,
    period: UsagePeriodName = "week",
    periods: int = 12,
) -> Usage:
    """The use of the memories that pass a filter; ``limit`` memories in each list."""
    check.choice(period, "period", PERIODS)
    most = check.count(limit, "limit")
    starts = _period_starts(now, period, check.count(periods, "periods"))
    with store.snapshot() as snapshot:
        scope = snapshot.scope(with_moments(filter, now), LISTED_STATUSES, now, hidden=True)
        rows = snapshot.page(scope, "newest", scope.count)
        uses, returns = use_values(snapshot, "uses", rows), use_values(snapshot, "return_count", rows)
        moments = np.fmax(*(use_values(snapshot, name, rows) for name in USE_MOMENTS))
        by_day = snapshot.uses_by_day(rows)
        used = uses > 0
        unreturned = used & (returns == 0) & bool(returns.any())  # without robotmem, nothing counts returns

        def memories(chosen: Rows) -> tuple[Memory, ...]:
            return tuple(snapshot.memories(chosen[:most]))

        by_use = rows[_order(uses, ascending=False)]
        return Usage(
            memories=len(rows),
            uses=int(uses.sum()),
            never_recalled=int((~used).sum()),
            never_returned=int(unreturned.sum()),
            most_used=memories(by_use[np.isin(by_use, rows[used])]),
            least_used=memories(rows[used][_order(uses[used], ascending=True)]),
            unused=memories(rows[~used][::-1]),
            unreturned=memories(by_use[np.isin(by_use, rows[unreturned])]),
            over_time=_count_by_period(starts, now, snapshot.numbers("created", rows), by_day, moments),
            undated_uses=max(0, int(uses.sum()) - sum(by_day.values())),
        )


def use_values(snapshot: Snapshot, name: str, rows: Rows) -> Floats:
    """A counter of each row (0 where there is none), or a moment in microseconds (NaN where there is none)."""
    if name == "uses":
        return use_values(snapshot, "access_count", rows) + use_values(snapshot, "recall_count", rows)
    values = snapshot.use_numbers(name, rows)
    return values if name in USE_MOMENTS else np.nan_to_num(values)


def select_by_use(snapshot: Snapshot, scope: Scope, sort: str, ascending: bool, use: Mapping[str, Any] | None) -> Rows:
    """The rows in scope that meet conditions on their use, in this order; ties by creation, newest first."""
    check.choice(sort, "sort", SORT_ORDERS)
    if ascending and sort in ("newest", "oldest"):
        raise InvalidInput("ascending is for counters and moments of use; of newest and oldest, name the other one.")
    conditions = _check_conditions({} if use is None else use)
    rows = snapshot.page(scope, "oldest" if sort == "oldest" else "newest", scope.count)
    for name, test in conditions:
        rows = rows[test(use_values(snapshot, name, rows))]
    if sort in ("newest", "oldest"):
        return rows
    return rows[_order(use_values(snapshot, sort, rows), ascending)]


def _order(values: Floats, ascending: bool) -> Rows:
    """The order of values, highest first unless ascending; those without a value are last."""
    return np.argsort(np.where(np.isnan(values), np.inf, values if ascending else -values), kind="stable")


def _check_conditions(use: object) -> list[tuple[str, Callable[[Floats], Flags]]]:
    """Conditions such as {"access_count": {"$gte": 3}, "last_accessed": {"$lt": "2026-01-01"}} as tests of values."""
    if not isinstance(use, Mapping):
        raise InvalidInput(
            "use must be an object of conditions, such as {'access_count': {'$gte': 3}}, "
            f"not {check.short_repr(use)}."
        )
    tests: list[tuple[str, Callable[[Floats], Flags]]] = []
    for name, wanted in use.items():
        if name not in (*COUNTERS, *USE_MOMENTS):
            raise InvalidInput(f"use has no {name!r}; it has: {', '.join((*COUNTERS, *USE_MOMENTS))}.")
        for operator, operand in wanted.items() if isinstance(wanted, Mapping) else [("", wanted)]:
            tests.append((name, _test(name, operator, operand)))
    return tests


def _test(name: str, operator: str, operand: Any) -> Callable[[Floats], Flags]:
    if operator == "$exists" and isinstance(operand, bool) and name in USE_MOMENTS:
        return lambda values: np.isnan(values) != operand
    if operator and operator not in COMPARISONS:
        raise InvalidInput(
            f"{operator!r} is not an operator of use[{name!r}]; there are {', '.join(COMPARISONS)}"
            f"{', and $exists with true or false' if name in USE_MOMENTS else ''}."
        )
    label = f"use[{name!r}]"
    value = float(micros(check.moment(operand, label))) if name in USE_MOMENTS else check.number(operand, label)
    compare = COMPARISONS[operator] if operator else np.equal
    return lambda values: compare(values, value) & ~np.isnan(values)


def _period_starts(now: datetime, period: str, count: int) -> list[datetime]:
    """The beginnings of the last periods, oldest first; the last one contains now."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "month":
        months = [day.year * 12 + day.month - 1 - back for back in range(count)]
        return [datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) for month in reversed(months)]
    first = day - timedelta(days=day.weekday()) if period == "week" else day
    step = timedelta(weeks=1) if period == "week" else timedelta(days=1)
    return [first - step * back for back in reversed(range(count))]


def _count_by_period(
    starts: list[datetime], now: datetime, created: Floats, by_day: Mapping[int, int], last_used: Floats
) -> tuple[UsagePeriod, ...]:
    if not starts:
        return ()
    edges = [*(float(micros(start)) for start in starts), float(micros(now)) + 1]
    days = np.array([micros(day_begins(day)) for day in by_day], dtype=np.float64)
    counts = [
        np.histogram(created[~np.isnan(created)], edges)[0],
        np.histogram(days, edges, weights=np.array([*by_day.values()], dtype=np.float64))[0].astype(np.int64),
        np.histogram(last_used[~np.isnan(last_used)], edges)[0],
    ]
    return tuple(UsagePeriod(*each) for each in zip(starts, *(count.tolist() for count in counts), strict=True))
