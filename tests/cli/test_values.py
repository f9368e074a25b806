"""Values on the command line: dates in words, texts that begin with a dash, and settings that are texts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.cli.values import parse_since, parse_until
from recollect.errors import InvalidInput
from tests.cli.conftest import Command

NOW = datetime(2026, 5, 20, 15, 30, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026-05-01", "2026-05-01T00:00", "2026-05-02T00:00"),
        ("2026-05-01T09:30", "2026-05-01T09:30", "2026-05-01T09:30"),
        ("2026-05-01 09:30+02:00", "2026-05-01T07:30", "2026-05-01T07:30"),
        ("yesterday", "2026-05-19T00:00", "2026-05-20T00:00"),
        ("today", "2026-05-20T00:00", "2026-05-21T00:00"),
        ("now", "2026-05-20T15:30", "2026-05-20T15:30"),
        ("3 days ago", "2026-05-17T00:00", "2026-05-18T00:00"),
        ("an hour ago", "2026-05-20T14:30", "2026-05-20T14:30"),
        ("90 minutes ago", "2026-05-20T14:00", "2026-05-20T14:00"),
        ("two weeks ago", "2026-05-04T00:00", "2026-05-11T00:00"),
        ("Ende April", "2026-04-21T00:00", "2026-05-01T00:00"),
        ("上个月", "2026-04-01T00:00", "2026-05-01T00:00"),
        ("between 3 and 9 May", "2026-05-03T00:00", "2026-05-10T00:00"),
        ("last month", "2026-04-01T00:00", "2026-05-01T00:00"),
        ("This  Week", "2026-05-18T00:00", "2026-05-25T00:00"),
        ("Monday", "2026-05-18T00:00", "2026-05-19T00:00"),
        ("7 May 2025", "2025-05-07T00:00", "2025-05-08T00:00"),
        ("May 2025", "2025-05-01T00:00", "2025-06-01T00:00"),
        ("March", "2026-03-01T00:00", "2026-04-01T00:00"),
        ("2025", "2025-01-01T00:00", "2026-01-01T00:00"),
    ],
)
def test_a_date_is_read_from_its_first_to_its_last_moment(text: str, since: str, until: str) -> None:
    expected = tuple(datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (since, until))
    assert (parse_since(text, NOW), parse_until(text, NOW)) == expected


@pytest.mark.parametrize("text", ["", "soon", "the cup of yesterday", "2026-13-01", "31 June 2026", "9999 years ago"])
def test_what_is_not_a_date_is_an_error_with_examples(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"--since must be a date, not .* such as yesterday, '3 days ago'"):
        parse_since(text, NOW)


def test_memories_are_listed_and_recalled_by_dates_in_words(recollect: Command, keep: Callable[..., str]) -> None:
    keep("an old cup", "--created", "2020-01-01")
    new = keep("a new cup")
    for words in (["--since", "yesterday"], ["--since", "3 days ago"], ["--since", "2021-05-01"], ["--since", "2021"]):
        assert [each["id"] for each in recollect("list", *words, "--json").json] == [new]
        found = recollect("recall", "cup", *words, "--json").json["results"]
        assert [each["id"] for each in found] == [new]
    for words in (["--until", "2020-01-01"], ["--until", "last month"], ["--until", "2020"]):
        assert [each["text"] for each in recollect("list", *words, "--json").json] == ["an old cup"]
    outcome = recollect("recall", "cup", "--until", "soon")
    assert (outcome.code, "--until must be a date, not 'soon'" in outcome.err) == (2, True)


@pytest.mark.parametrize("text", ["-5 degrees", "-5", "- buy milk", "--dry run failed", "-x marks the spot"])
def test_a_text_may_begin_with_a_dash(recollect: Command, keep: Callable[..., str], text: str) -> None:
    id = keep(text, "--tag", "a")
    shown = recollect("show", id, "--json").json["memory"]
    assert (shown["text"], shown["tags"]) == (text, ["a"])
    assert recollect("edit", id, "--text", text + "!").code == 0
    assert recollect("supersede", id, text).code == 0
    assert recollect("recall", text, "-k", "1").code in (0, 1)


def test_an_unknown_option_is_an_error_that_says_how_to_give_a_text(recollect: Command) -> None:
    outcome = recollect("remember", "--tga", "kitchen")
    assert outcome.code == 2
    assert "No such option: --tga" in outcome.err
    assert "goes after --, as in: recollect remember -- '--tga …'" in outcome.err
    assert recollect("remember", "--", "--tga").code == 0


def test_a_value_attached_to_a_short_option_may_contain_spaces(recollect: Command, keep: Callable[..., str]) -> None:
    id = keep("a cup", "-tkitchen table")
    assert recollect("show", id, "--json").json["memory"]["tags"] == ["kitchen table"]


def test_a_memory_has_a_position_in_its_session(recollect: Command, keep: Callable[..., str]) -> None:
    id = keep("Hello.", "--session", "s1", "--position", "3")
    assert recollect("show", id, "--json").json["memory"]["position"] == 3
    assert recollect("edit", id, "--position", "4", "--json").json["position"] == 4


def test_text_settings_of_recipes_are_accepted_in_a_file(recollect: Command, keep: Callable[..., str]) -> None:
    keep("A cup.", "--topic", "kitchen")
    keep("A cup of tea.")
    weekly = Path("diary/consolidation/weekly")
    weekly.mkdir(parents=True)
    (weekly / "2026-W20.md").write_text("We bought a samovar this week.\n")
    Path("recollect.yaml").write_text(
        "recollect:\n  recipe: abmind\n  settings: {abmind: {notes: diary, timezone: Europe/Paris}}\n"
    )
    assert recollect("config", "check").code == 0
    assert "samovar" in recollect("recall", "samovar").out
    Path("recollect.yaml").write_text("recollect: {settings: {abmind: {topic: kitchen, search_mode: keyword}}}\n")
    found = recollect("recall", "cup", "-r", "abmind", "--json").json["results"]
    assert [each["memory"]["text"] for each in found] == ["A cup."]
    Path("recollect.yaml").write_text("recollect: {settings: {abmind: {search_mode: psychic}}}\n")
    outcome = recollect("config", "check")
    assert (outcome.code, "search_mode" in outcome.out) == (2, True)


def test_status_names_the_recipe_that_recall_uses(recollect: Command, keep: Callable[..., str]) -> None:
    keep("A cup.")
    for text, recipe in (
        ("{}", "default"),
        ("recollect: {recipe: openmem}", "openmem"),
        ("memory: {backend: qmd}", "qmd"),
    ):
        Path("recollect.yaml").write_text(text)
        assert recollect("status", "--json").json["recipe"] == recipe
        assert recollect("recall", "cup", "--json").json["trace"]["recipe"] == recipe
        rows = dict(line.split(maxsplit=1) for line in recollect("status").out.splitlines() if " " in line)
        assert rows["recipe"] == recipe


def test_a_date_that_cannot_be_read_is_told_the_forms_that_can(recollect: Command) -> None:
    told = recollect("remember", "A cup.", "--created", "yesterdayy").err
    forms = ("2026-05-01", "2026-05-01T09:30", "31.12.2026", "12/31/2026", "yesterday", "3 days ago", "last month")
    assert all(form in told for form in forms)
    for form in (*forms, "May 2026"):
        assert recollect("remember", "A cup.", "--created", form).code == 0


def test_an_unknown_option_names_the_short_one_and_explains_dashes_only_where_a_text_is_taken(
    recollect: Command,
) -> None:
    short = recollect("recall", "cup", "--k", "3").err
    assert "Did you mean -k?" in short
    assert "--kind" not in short
    assert "begins with a dash" not in short
    assert "begins with a dash" not in recollect("restore", "bk", "--yes").err
