"""Dates without a time zone are in that of the machine, and what is printed is, too."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("new_york")
def test_a_memory_of_a_day_is_listed_and_found_on_that_day_west_of_utc(recollect: Command) -> None:
    recollect("remember", "Bought a kayak.", "--created", "2025-03-14")
    assert "2025-03-14 00:00" in recollect("list").out
    assert recollect("list", "--json").json[0]["created"] == "2025-03-14T04:00:00+00:00"
    found = recollect("recall", "what happened on 14 March 2025?", "--json").json
    assert [each["memory"]["text"] for each in found["results"]] == ["Bought a kayak."]
    assert recollect("recall", "what happened on 13 March 2025?", "--json").json["results"] == []
    assert recollect("context", "kayak").out.startswith("2025-03-14 Bought")


@pytest.mark.usefixtures("new_york")
def test_since_and_until_are_days_of_the_machine_or_of_the_given_zone(recollect: Command) -> None:
    recollect("remember", "Bought a kayak.", "--created", "2025-07-14T23:30")
    day = ("--since", "2025-07-14", "--until", "2025-07-14")
    assert len(recollect("list", *day, "--json").json) == 1
    assert len(recollect("recall", "kayak", *day, "--json").json["results"]) == 1
    assert recollect("recall", "kayak", *day, "--tz", "Europe/Berlin", "--json").json["results"] == []


@pytest.mark.usefixtures("new_york")
def test_yesterday_is_the_same_day_in_an_option_and_in_a_question(recollect: Command) -> None:
    recollect("remember", "Sold the canoe.", "--created", "yesterday")
    found = recollect("recall", "what happened yesterday?", "--json").json["results"]
    assert [each["memory"]["text"] for each in found] == ["Sold the canoe."]


@pytest.mark.usefixtures("new_york")
def test_the_date_of_a_table_is_a_day_of_the_machine(recollect: Command, tmp_path: Path) -> None:
    Path("notes.csv").write_text("text,date\nPainted the fence.,2025-04-10\n")
    recollect("import", "notes.csv")
    assert recollect("list", "--json").json[0]["created"] == "2025-04-10T04:00:00+00:00"


@pytest.mark.usefixtures("new_york")
def test_the_date_of_a_file_is_a_day_of_the_machine(recollect: Command) -> None:
    Path("vault").mkdir()
    Path("vault/2025-01-10.md").write_text("Painted the fence.\n")
    recollect("sync", "vault")
    assert recollect("list", "--json").json[0]["created"] == "2025-01-10T05:00:00+00:00"
