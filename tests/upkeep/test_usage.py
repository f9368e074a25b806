"""Analytics of use: sorting and filtering by counters, and the report of most and least used memories."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect import InvalidInput, Memory, Mind
from recollect.model import Use
from recollect.store.reference import ReferenceStore
from recollect.store.use_days import day_begins

NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)  # a Wednesday


def used(id: str, created: str, **use: Any) -> Memory:
    use = {name: datetime.fromisoformat(each) if "last" in name else each for name, each in use.items()}
    return Memory(f"The {id} note.", id=id, created=datetime.fromisoformat(created), use=Use(**use))


MEMORIES = [
    used("daily", "2026-01-05T00:00Z", access_count=9, return_count=2, last_accessed="2026-03-10T09:00Z"),
    used("weekly", "2026-02-03T00:00Z", access_count=1, recall_count=3, last_recalled="2026-03-03T09:00Z"),
    used("once", "2026-03-01T00:00Z", access_count=1, last_accessed="2026-03-09T00:00Z"),
    used("never", "2026-03-02T00:00Z"),
    used("dusty", "2025-01-01T00:00Z"),
]


@pytest.fixture(params=["sqlite", "reference"])
def mind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mind]:
    options: dict[str, Any] = {"embedder": None, "clock": lambda: NOW}
    if request.param == "reference":
        options["store"] = ReferenceStore(clock=lambda: NOW)
    with Mind(tmp_path / "memory.db", **options) as mind:
        mind.remember_many(MEMORIES)
        yield mind


def ids(memories: Any) -> list[str]:
    return [memory.id for memory in memories]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["never", "once", "weekly", "daily", "dusty"]),
        ({"sort": "oldest"}, ["dusty", "daily", "weekly", "once", "never"]),
        ({"sort": "uses"}, ["daily", "weekly", "once", "never", "dusty"]),
        ({"sort": "uses", "ascending": True}, ["never", "dusty", "once", "weekly", "daily"]),
        ({"sort": "access_count"}, ["daily", "once", "weekly", "never", "dusty"]),
        ({"sort": "return_count", "limit": 1}, ["daily"]),
        ({"sort": "recall_count", "limit": 1}, ["weekly"]),
        ({"sort": "last_accessed", "limit": 2}, ["daily", "once"]),
        ({"sort": "last_accessed", "ascending": True, "limit": 2}, ["once", "daily"]),
        ({"sort": "last_recalled", "limit": 1}, ["weekly"]),
        ({"sort": "uses", "limit": 2, "offset": 1}, ["weekly", "once"]),
        ({"use": {"uses": 0}}, ["never", "dusty"]),
        ({"use": {"access_count": {"$gte": 1, "$lt": 9}}, "sort": "oldest"}, ["weekly", "once"]),
        ({"use": {"uses": {"$gt": 0}, "return_count": 0}}, ["once", "weekly"]),
        ({"use": {"last_accessed": {"$lt": "2026-03-10"}}}, ["once"]),
        ({"use": {"last_accessed": {"$exists": False}}}, ["never", "weekly", "dusty"]),
    ],
)
def test_memories_are_sorted_and_filtered_by_their_use(mind: Mind, options: Any, expected: list[str]) -> None:
    assert ids(mind.list(**options)) == expected


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"sort": "popularity"}, "sort must be one of newest, oldest, uses"),
        ({"sort": "oldest", "ascending": True}, "ascending is for"),
        ({"use": ["uses"]}, "use must be an object"),
        ({"use": {"likes": 3}}, "use has no 'likes'"),
        ({"use": {"uses": {"$near": 3}}}, r"'\$near' is not an operator"),
        ({"use": {"uses": {"$exists": True}}}, r"'\$exists' is not an operator"),
        ({"use": {"uses": "many"}}, "use"),
        ({"use": {"last_accessed": {"$lt": "soon"}}}, "use"),
    ],
)
def test_a_wrong_order_or_condition_is_an_error(mind: Mind, options: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        mind.list(**options)


def test_usage_tells_the_most_and_least_used_and_the_never_used(mind: Mind) -> None:
    usage = mind.usage(limit=2)
    assert (usage.memories, usage.used, usage.uses) == (5, 3, 14)
    assert (ids(usage.most_used), ids(usage.least_used)) == (["daily", "weekly"], ["once", "weekly"])
    assert (usage.never_recalled, ids(usage.unused)) == (2, ["dusty", "never"])
    assert (usage.never_returned, ids(usage.unreturned)) == (2, ["weekly", "once"])


def test_usage_over_time_counts_creations_and_last_uses(mind: Mind) -> None:
    weeks = mind.usage(periods=3).over_time
    assert [(each.begins.date().isoformat(), each.created, each.last_used) for each in weeks] == [
        ("2026-02-23", 1, 0),
        ("2026-03-02", 1, 1),
        ("2026-03-09", 0, 2),
    ]
    months = mind.usage(period="month", periods=15).over_time
    assert months[0].as_dict() == {"begins": "2025-01-01", "created": 1, "uses": 0, "last_used": 0}
    assert sum(each.created for each in months) == 5
    assert [each.last_used for each in mind.usage(period="day", periods=2).over_time] == [1, 0]


def use_on(mind: Mind, moment: str, query: str = "weekly note", **options: Any) -> None:
    mind.clock = lambda: datetime.fromisoformat(moment)
    mind.recall(query, 1, **options)
    mind.clock = lambda: NOW


def test_every_use_counts_on_its_day(mind: Mind) -> None:
    use_on(mind, "2026-03-08T23:59Z")
    use_on(mind, "2026-03-09T00:00Z")
    use_on(mind, "2026-03-09T18:00Z", recipe="abmind")
    use_on(mind, "2026-03-10T10:00+14:00", "daily note")  # still the ninth in UTC
    use_on(mind, "2026-03-10T10:00Z", "daily note", track=False)
    days = mind.usage(period="day", periods=4).over_time
    assert [(each.begins.day, each.uses) for each in days] == [(8, 1), (9, 3), (10, 0), (11, 0)]
    assert [each.uses for each in mind.usage(periods=2).over_time] == [1, 3]
    assert [each.uses for each in mind.usage({"until": "2026-01-06"}, periods=2).over_time] == [0, 1]
    assert (mind.usage().uses, mind.usage().undated_uses) == (14 + 4, 14)  # those of the fixture have no day


def test_uses_of_a_quarter_ago_are_kept_by_month(mind: Mind) -> None:
    for moment in ("2025-11-03T00:00Z", "2025-11-20T00:00Z", "2025-12-08T00:00Z", "2025-12-09T00:00Z"):
        use_on(mind, moment)
    use_on(mind, "2026-03-11T00:00Z")
    with mind.store.snapshot() as snapshot:
        found = snapshot.uses_by_day(np.array([snapshot.row("weekly")]))
    days = {day_begins(day).date().isoformat(): uses for day, uses in found.items()}
    assert days == {"2025-11-01": 2, "2025-12-01": 1, "2025-12-09": 1, "2026-03-11": 1}
    months = mind.usage(period="month", periods=5).over_time
    assert [each.uses for each in months] == [2, 2, 0, 0, 1]


def test_a_bound_counts_only_its_own_uses(mind: Mind) -> None:
    mind.remember("The note of Ann.", id="ann", user="ann")
    use_on(mind, "2026-03-11T00:00Z", "Ann note")
    use_on(mind, "2026-03-11T00:00Z")
    with Mind(store=mind.store, embedder=None, user="ann", clock=lambda: NOW) as own:
        assert own.usage(period="day", periods=1).over_time[0].uses == 1
    mind.forget("ann")
    assert mind.usage(period="day", periods=1).over_time[0].uses == 1


def test_usage_takes_a_filter_and_leaves_out_the_forgotten(mind: Mind) -> None:
    mind.forget("daily")
    assert mind.usage().memories == 4
    assert mind.usage({"since": "2026-01-01"}).memories == 3
    with pytest.raises(InvalidInput, match="period must be one of day, week, month"):
        mind.usage(period="hour")  # type: ignore[arg-type]


def test_a_recall_counts_as_a_use(mind: Mind) -> None:
    mind.recall("dusty note", 1)
    assert ids(mind.list(use={"last_accessed": {"$gte": NOW}})) == ["dusty"]
    assert mind.usage().never_recalled == 1
