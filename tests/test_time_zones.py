"""Dates without a time zone belong to that of the mind; what is stored is in UTC."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from recollect import Filter, Memory, Mind
from recollect.model.zones import MachineZone


@pytest.fixture
def mind() -> Iterator[Mind]:
    with Mind(":memory:", embedder=None, tz="America/New_York") as opened:
        yield opened


MIDNIGHT = datetime(2025, 3, 14, 4, tzinfo=UTC)  # in New York, in summer time


@pytest.mark.parametrize("created", ["2025-03-14", datetime(2025, 3, 14), "2025-03-14T04:00Z", MIDNIGHT.timestamp()])
def test_a_day_begins_at_midnight_in_the_zone_of_the_mind(mind: Mind, created: str | datetime | float) -> None:
    memory = mind.remember("Bought a kayak.", created=created)
    assert mind.show(memory.id).created == MIDNIGHT
    assert str(mind.show(memory.id).created) == "2025-03-14 04:00:00+00:00"
    assert [each.text for each in mind.recall("what happened on 14 March 2025?")] == ["Bought a kayak."]
    assert not mind.recall("what happened on 13 March 2025?")


def test_every_way_to_write_uses_the_zone_of_the_mind(mind: Mind) -> None:
    mind.remember_many([Memory("One.", created="2025-03-14"), {"text": "Two.", "created": "2025-03-14"}])  # type: ignore[arg-type]
    mind.import_([{"text": "Three.", "created": "2025-03-14"}])
    mind.edit(mind.remember("Four.").id, created="2025-03-14")
    assert {memory.created for memory in mind.list()} == {MIDNIGHT}
    assert mind.relate("Ann", "knows", "Ben", created="2025-03-14").created == MIDNIGHT


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (Filter(since="2025-03-14", until="2025-03-15"), 1),
        (Filter(since=datetime(2025, 3, 14), until=datetime(2025, 3, 15)), 1),
        (Filter(since="2025-03-14T00:00Z", until="2025-03-15T00:00Z"), 0),
        (Filter(since="2025-03-15"), 0),
    ],
)
def test_filters_are_in_the_zone_of_the_mind(mind: Mind, condition: Filter, found: int) -> None:
    mind.remember("Bought a kayak.", created="2025-03-14T23:30")
    assert len(mind.list(condition)) == len(mind.recall("kayak", filter=condition)) == found


def test_as_of_is_in_the_zone_of_the_mind_or_of_the_call(mind: Mind) -> None:
    mind.remember("Bought a kayak.", created="2025-03-14T12:00")
    assert not mind.recall("kayak", as_of="2025-03-14T11:00")
    assert mind.recall("kayak", as_of="2025-03-14T13:00")
    assert not mind.recall("kayak", as_of="2025-03-14T13:00", tz="Europe/Berlin")


def test_a_context_has_the_days_of_the_mind(mind: Mind) -> None:
    mind.remember("Bought a kayak.", created="2025-03-14T23:30")
    assert mind.context("kayak").text == "2025-03-14 Bought a kayak."
    assert mind.context("kayak", tz="UTC").text == "2025-03-15 Bought a kayak."


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[MachineZone]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield MachineZone()
    monkeypatch.undo()
    time.tzset()


def test_the_zone_of_the_machine_knows_summer_time(berlin: MachineZone) -> None:
    assert datetime(2025, 1, 1, tzinfo=berlin).utcoffset() == timedelta(hours=1)
    assert datetime(2025, 7, 1, tzinfo=berlin).utcoffset() == timedelta(hours=2)
    for hour in range(4):  # around the end of summer time, 02:00 is there twice
        moment = (
            datetime(2025, 10, 25, 22 + hour, 30, tzinfo=UTC)
            if hour < 2
            else datetime(2025, 10, 26, hour - 2, 30, tzinfo=UTC)
        )
        assert moment.astimezone(berlin).astimezone(UTC) == moment


@pytest.mark.usefixtures("berlin")
def test_a_mind_without_a_zone_has_that_of_the_machine() -> None:
    with Mind(":memory:", embedder=None) as mind:
        mind.remember("Late tea.", created="2025-03-14T23:30")
        assert mind.list()[0].created == datetime(2025, 3, 14, 22, 30, tzinfo=UTC)
        assert [each.text for each in mind.recall("what happened on 14 March 2025?")] == ["Late tea."]
