"""tune, as typed: settings are found, told and written, and what is written is used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect import Memory, Mind
from tests.cli.conftest import Command
from tests.test_tuning import THINGS, memories


@pytest.fixture
def recollect(recollect: Command) -> Command:
    """In a folder with a memory and two files of questions: better.jsonl could be answered better, good.jsonl not."""
    with Mind("memory.db", embedder=None) as mind:
        mind.remember_many(memories())
    for name, role in (("better", "assistant"), ("good", "user")):
        asked = [{"query": f"where is the {thing}?", "relevant": [f"{thing} {role}"]} for thing in THINGS]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in asked))
    return recollect


def first(recollect: Command, *words: str) -> str:
    return str(recollect(*words, "where is the kettle?", "--json").json["results"][0]["memory"]["role"])


def test_what_is_found_is_written_and_from_then_on_recalled_by(recollect: Command) -> None:
    assert first(recollect, "recall") == "user"
    outcome = recollect("tune", "better.jsonl", "--write")
    assert outcome.code == 0, outcome.err
    assert "significantly better" in outcome.out
    assert "fewer than 100 questions" in outcome.out
    assert "Written to recollect.yaml" in outcome.out
    assert Path("recollect.yaml").read_text() in outcome.out  # as it is shown, it can be pasted
    assert first(recollect, "recall") == "assistant"
    assert first(recollect, "recall", "--set", "assistant=0.5") == "user"  # what is typed wins
    assert recollect("eval", "better.jsonl", "--json").json["recipes"]["default"]["Hit@1"] == 1
    compared = recollect("compare", "where is the kettle?", "-r", "default", "-r", "openmem", "--json")
    assert compared.json["recipes"]["default"]["results"][0]["text"] == "The kettle is in the cellar."


def test_the_json_holds_the_settings_and_what_they_gain(recollect: Command) -> None:
    told = recollect("tune", "better.jsonl", "--json").json
    assert (told["recipe"], told["questions"], told["few"], told["worth_it"]) == ("default", len(THINGS), True, True)
    assert told["settings"].keys() == {"assistant"}
    mean, low, high = told["gain"]
    assert 0 < low <= mean <= high <= 1
    assert (len(told["folds"]), told["written"]) == (5, None)
    assert not Path("recollect.yaml").exists()


def test_where_nothing_is_gained_that_is_said_and_nothing_is_written(recollect: Command) -> None:
    outcome = recollect("tune", "good.jsonl", "--write")
    assert (outcome.code, "Nothing was written" in outcome.err) == (1, True)
    assert ("No gain" in outcome.out, "recollect:" in outcome.out) == (True, False)
    assert not Path("recollect.yaml").exists()


def test_too_few_questions_are_refused(recollect: Command) -> None:
    outcome = recollect("tune", "better.jsonl", "--limit", "5")
    assert (outcome.code, "at least 20 questions" in outcome.err) == (2, True)


def test_the_file_that_is_named_is_written_and_one_that_cannot_be_is_left_alone(recollect: Command) -> None:
    Path("other.yaml").write_text("{recollect: {k: 3}}\n")
    outcome = recollect("--config", "other.yaml", "tune", "better.jsonl", "--write")
    assert (outcome.code, "settings: {default: {assistant: " in outcome.err) == (2, True)
    assert (Path("other.yaml").read_text(), Path("recollect.yaml").exists()) == ("{recollect: {k: 3}}\n", False)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("{default: {colour: 1}}", "recollect.settings.default.colour: unknown setting; known: words, "),
        ("{default: {session: 2}}", "session must be between 0 and 1"),
        ("{soup: {salt: 1}}", "recollect.settings.soup: unknown recipe; known: default, "),
        ("{default: 1}", "must be a map of recipes to their settings"),
        (
            "{jeffsbrain: {reranker: 'http://example.org'}}",
            "recollect.settings.jeffsbrain.reranker: a folder may configure itself only",
        ),
        ("{default: {recipe: 1}}", "recollect.settings.default.recipe: unknown setting"),
    ],
)
def test_wrong_settings_of_a_file_are_told_with_their_line(recollect: Command, settings: str, problem: str) -> None:
    Path("recollect.yaml").write_text(f"recollect:\n  settings: {settings}\n")
    outcome = recollect("config", "check")
    assert (outcome.code, problem in outcome.out, "recollect.yaml:2" in outcome.out) == (2, True, True), outcome.out


def test_a_recipe_is_given_its_own_settings_only(recollect: Command) -> None:
    Path("recollect.yaml").write_text("recollect:\n  settings: {default: {assistant: 1}, openmem: {max_hops: 0}}\n")
    for recipe in ("default", "openmem", "robotmem"):
        assert recollect("recall", "kettle", "--recipe", recipe).code == 0


def test_questions_that_bring_their_own_memories_are_tuned_by_as_well(recollect: Command) -> None:
    folder = Path("bench")
    folder.mkdir()
    kept: list[Memory] = memories()
    lines = [{"_id": f"d{at}", "text": memory.text} for at, memory in enumerate(kept)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    asked = [{"_id": f"q{at}", "text": thing} for at, thing in enumerate(THINGS)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(each) + "\n" for each in asked))
    (folder / "qrels.tsv").write_text("".join(f"q{at}\td{2 * at}\t1\n" for at in range(len(THINGS))))
    assert recollect("tune", "bench", "--json").json["questions"] == len(THINGS)
