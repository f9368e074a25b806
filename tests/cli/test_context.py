"""recollect context, recall --abstain, and the line below a recall."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command

Keep = Callable[..., str]
STRANGE = "which submarine crossed the ocean with a cup?"


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def kitchen(keep: Keep) -> list[str]:
    return [
        keep("Hello.", "--session", "monday", "--speaker", "Ann", "--created", "2025-05-08T10:00"),
        keep(
            "The blue cup is on the shelf.", "--session", "monday", "--speaker", "Bob", "--created", "2025-05-08T10:01"
        ),
        keep("A cup fell.", "--role", "user", "--created", "2025-05-09"),
    ]


# The context.


def test_a_context_is_one_text_for_a_prompt_and_nothing_else(recollect: Command, kitchen: list[str]) -> None:
    outcome = recollect("context", "where", "is", "the", "cup?")
    assert outcome.code == 0
    assert outcome.out == (
        "2025-05-08 Ann: Hello.\n2025-05-08 Bob: The blue cup is on the shelf.\n2025-05-09 user: A cup fell.\n"
    )


def test_its_json_has_text_tokens_confidence_and_memories(recollect: Command, kitchen: list[str]) -> None:
    told = recollect("context", "cup", "--json").json
    assert [memory["id"] for memory in told["memories"]] == kitchen
    assert told["query"] == "cup"
    assert len(told["text"]) / 4 <= told["tokens"] <= 1000
    assert 0 < told["confidence"] < 1


def test_the_budget_holds(recollect: Command, kitchen: list[str]) -> None:
    told = recollect("context", "blue cup", "--budget", "12", "--json").json
    assert 0 < len(told["text"]) / 4 <= told["tokens"] <= 12
    assert len(told["memories"]) == 1


@pytest.mark.parametrize("tokens", ["0", "-5", "many", "1.5"])
def test_a_budget_that_is_none_is_refused(recollect: Command, kitchen: list[str], tokens: str) -> None:
    outcome = recollect("context", "cup", "--budget", tokens)
    assert (outcome.code, outcome.out) == (2, "")
    assert "--budget" in outcome.err


def test_a_configured_number_of_results_leaves_a_context_whole(
    recollect: Command, kitchen: list[str], tmp_path: Path
) -> None:
    (tmp_path / "recollect.yaml").write_text("recollect: {k: 1}\n")
    assert len(recollect("recall", "cup", "--json").json["results"]) == 1
    assert len(recollect("context", "cup", "--json").json["memories"]) == 3


def test_settings_of_the_recipe_are_no_budget(recollect: Command, kitchen: list[str], tmp_path: Path) -> None:
    """The default recipe has a setting of the name tokens, which tuning writes into the configuration."""
    (tmp_path / "recollect.yaml").write_text("recollect: {settings: {default: {tokens: 0.5, words: 0.9}}}\n")
    assert len(recollect("context", "cup", "--json").json["memories"]) == 3
    assert recollect("context", "cup", "--set", "tokens=0.1", "--budget", "3").code == 1


def test_conditions_hold_for_what_stands_around_too(recollect: Command, kitchen: list[str]) -> None:
    assert recollect("context", "blue cup", "--speaker", "Bob").out == "2025-05-08 Bob: The blue cup is on the shelf.\n"


def test_nothing_found_is_said_and_exits_with_1(recollect: Command, kitchen: list[str]) -> None:
    outcome = recollect("context", "submarine")
    assert (outcome.code, outcome.out) == (1, "Nothing found.\n")
    told = recollect("context", "submarine", "--json").json
    assert (told["text"], told["tokens"], told["confidence"], told["memories"]) == ("", 0, 0.0, [])


def test_a_budget_that_the_best_does_not_fit_into_is_told_what_it_needs(recollect: Command, kitchen: list[str]) -> None:
    outcome = recollect("context", "blue cup", "--budget", "5")
    needed = re.search(r"Nothing fits into 5 tokens: the best memory needs (\d+)\.", outcome.err)
    assert (outcome.code, outcome.out) == (1, "")
    assert needed is not None
    assert "blue cup" in recollect("context", "blue cup", "--budget", needed[1]).out


def test_a_context_can_abstain_and_leave_no_mark(recollect: Command, kitchen: list[str]) -> None:
    assert recollect("context", STRANGE, "--no-track").code == 0
    outcome = recollect("context", STRANGE, "--abstain")
    assert (outcome.code, outcome.out) == (1, "Nothing found.\n")
    assert "use" not in recollect("show", kitchen[1], "--json").json["memory"]


def test_letters_that_steer_a_terminal_are_not_sent_to_it(recollect: Command, keep: Keep) -> None:
    keep("a cup \x1b[31mred\x1b[0m [bold]not bold[/bold]")
    told = recollect("context", "cup").out
    assert "\x1b" not in told
    assert "[bold]not bold[/bold]" in told


# Abstaining.


def test_a_recall_abstains_when_it_is_told_to(recollect: Command, kitchen: list[str]) -> None:
    assert recollect("recall", STRANGE).code == 0
    outcome = recollect("recall", STRANGE, "--abstain")
    assert outcome.code == 1
    assert "Nothing found" in outcome.out
    assert recollect("recall", "where is the blue cup?", "--abstain").code == 0


def test_results_of_a_low_confidence_are_shown_as_such(recollect: Command, kitchen: list[str]) -> None:
    warning = "Low confidence"
    assert warning in recollect("recall", STRANGE).out
    assert warning not in recollect("recall", "where is the blue cup?").out
    strange, known = recollect("context", STRANGE), recollect("context", "where is the blue cup?")
    assert (warning in strange.err, warning in strange.out, warning in known.err) == (True, False, False)
    assert "no memory has “submarine”" in flat(recollect("recall", STRANGE).out)
    for command in ("recall", "context"):
        strange = recollect(command, STRANGE, "--json").json
        assert strange["low_confidence"] is True
        assert strange["low_confidence_reason"].startswith("no memory has")
        assert recollect(command, "where is the blue cup?", "--json").json["low_confidence"] is False


def test_why_not_tells_of_a_silence(recollect: Command, kitchen: list[str]) -> None:
    told = recollect("why-not", STRANGE, kitchen[1], "--abstain", "--json").json
    assert (told["returned"], told["step"]) == (False, "abstain")
    assert told["value"] < told["threshold"]
    assert "confidence is below the threshold" in flat(recollect("why-not", STRANGE, kitchen[1], "--abstain").out)


def test_a_recipe_without_a_measure_cannot_abstain(recollect: Command, kitchen: list[str]) -> None:
    outcome = recollect("recall", "cup", "--recipe", "openmem", "--abstain")
    assert outcome.code == 2
    assert "'openmem' has no measure of confidence" in flat(outcome.err)


# The footer.


def test_the_line_below_says_how_sure_it_is(recollect: Command, kitchen: list[str]) -> None:
    sure = recollect("recall", "where is the blue cup?", "--json").json["confidence"]
    told = recollect("recall", "where is the blue cup?").out
    assert re.search(rf"2 results in \d+ ms, recipe default, confidence {sure:.2f}$", told, re.MULTILINE)
    assert "confidence 0.00" in recollect("recall", "submarine").out


def test_where_there_is_no_measure_it_says_none(recollect: Command, kitchen: list[str]) -> None:
    told = recollect("recall", "cup", "--recipe", "openmem")
    assert "recipe openmem" in told.out
    assert "confidence" not in told.out.rsplit("2 results in", 1)[1]
    assert recollect("recall", "cup", "--recipe", "openmem", "--json").json["confidence"] is None
