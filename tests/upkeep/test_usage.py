"""Analytics of use: sorting and filtering by counters, and the report of most and least used memories."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import InvalidInput, Memory, Mind
from recollect.model import Use
from recollect.store.reference import ReferenceStore

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
    assert months[0].as_dict() == {"begins": "2025-01-01", "created": 1, "last_used": 0}
    assert sum(each.created for each in months) == 5
    assert [each.last_used for each in mind.usage(period="day", periods=2).over_time] == [1, 0]


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
