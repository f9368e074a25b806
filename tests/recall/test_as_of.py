"""Time: what held at a moment, and what has expired (B4)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from recollect import Filter, InvalidInput, Mind

from .kit import NOON, Clock, ids, nodes, open_mind

MARCH, APRIL, MAY = (datetime(2025, month, 1, tzinfo=NOON.tzinfo) for month in (3, 4, 5))
MOMENT = timedelta(microseconds=1)


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with open_mind(tmp_path / "memory.db") as mind:
        yield mind


def known(mind: Mind, when: datetime | str | None, filter: Filter | None = None) -> set[str]:
    return set(ids(mind.recall("cup", as_of=when, filter=filter, track=False)))


@pytest.mark.contract("B4")
def test_a_memory_holds_from_its_first_moment_until_just_before_its_last(mind: Mind) -> None:
    mind.remember("cup", id="spring", created=MARCH, valid_from=MARCH, valid_to=MAY)
    assert known(mind, MARCH - MOMENT) == set()
    assert known(mind, MARCH) == {"spring"}
    assert known(mind, MAY - MOMENT) == {"spring"}
    assert known(mind, MAY) == set()


@pytest.mark.contract("B4")
def test_without_an_interval_a_memory_holds_from_its_creation_on(mind: Mind) -> None:
    mind.remember("cup", id="plain", created=APRIL)
    assert known(mind, APRIL - MOMENT) == set()
    assert known(mind, APRIL) == {"plain"}
    assert known(mind, NOON) == {"plain"}


@pytest.mark.contract("B4")
def test_a_superseded_memory_was_current_in_its_time(mind: Mind) -> None:
    mind.remember("cup", id="before", created=MARCH, valid_to=MAY, status="superseded")
    mind.remember("cup", id="after", created=MAY, valid_from=MAY)
    assert known(mind, APRIL) == {"before"}
    assert known(mind, MAY) == {"after"}
    assert known(mind, None) == {"before", "after"}


@pytest.mark.contract("B4")
def test_a_memory_that_was_current_then_is_not_marked_down_for_what_came_later(mind: Mind) -> None:
    mind.remember("cup", id="before", created=MARCH, valid_to=MAY, status="superseded")
    (result,) = mind.recall("cup", as_of=APRIL)
    assert not any(node.label.startswith("status: superseded") for node in nodes(result.why)), str(result.why)


@pytest.mark.contract("B4")
def test_age_is_counted_from_the_moment_asked_about(mind: Mind) -> None:
    mind.remember("cup", id="plain", created=MARCH)
    (result,) = mind.recall("cup", as_of=APRIL)
    assert "recency: 31 days old" in [node.label for node in nodes(result.why)]


def test_as_of_takes_a_date_with_or_without_a_zone(mind: Mind) -> None:
    mind.remember("cup", id="plain", created=APRIL)
    assert known(mind, "2025-04-01") == {"plain"}
    assert known(mind, "2025-04-01T01:00:00+02:00") == set()
    with pytest.raises(InvalidInput, match="as_of"):
        known(mind, "April")


def test_as_of_goes_with_a_filter(mind: Mind) -> None:
    mind.remember("cup", id="ada", created=MARCH, user="ada")
    mind.remember("cup", id="bob", created=MARCH, user="bob")
    mind.remember("cup", id="late", created=MAY, user="ada")
    assert known(mind, APRIL, Filter(user="ada")) == {"ada"}


@pytest.mark.contract("A4")
def test_an_expired_memory_is_out_from_the_moment_of_its_end(tmp_path: Path) -> None:
    clock = Clock(APRIL)
    with open_mind(tmp_path / "memory.db", clock=clock) as mind:
        mind.remember("cup", id="brief", expires=MAY)
        clock.now = MAY - MOMENT
        assert known(mind, None) == {"brief"}
        clock.now = MAY
        assert known(mind, None) == set()
        assert known(mind, APRIL) == {"brief"}
        assert [memory.id for memory in mind.list()] == ["brief"]


@pytest.mark.contract("A4")
def test_an_expired_memory_comes_when_it_is_asked_for(mind: Mind) -> None:
    mind.remember("cup", id="brief", created=MARCH, expires=APRIL)
    mind.remember("cup", id="lasting", created=MARCH)
    assert known(mind, None) == {"lasting"}
    assert known(mind, None, Filter(expired=True)) == {"lasting", "brief"}
    assert known(mind, None, Filter(expired=False)) == {"lasting"}


def test_a_supposed_now_does_not_change_when_a_memory_was_used(tmp_path: Path) -> None:
    with open_mind(tmp_path / "use.db", None, clock=lambda: NOON) as mind:
        id = mind.remember("The blue cup is on the shelf.").id
        mind.recall("blue cup", now="2030-01-01")
        mind.context("blue cup", now="2030-01-01")
        use = mind.show(id).use
        assert (use.last_accessed, use.access_count) == (NOON, 2)
