"""recall, why, why-not and recipes, as typed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from tests.cli.conftest import Command

Keep = Callable[..., str]


def test_a_recall_shows_score_id_text_and_reason(recollect: Command, keep: Keep) -> None:
    id = keep("The blue cup is on the shelf.", "--tag", "kitchen")
    told = recollect("recall", "where", "is", "the", "cup?").out
    for part in (id, "The blue cup is on the shelf.", "#kitchen", "1 result in"):
        assert part in told
    assert re.search(r"^1 +0\.\d{3} ", told, re.MULTILINE)
    assert re.search(r"words 0\.\d\d \(cup\)", told)


@pytest.mark.parametrize(
    ("place", "shown"), [(("--lines", "3-9"), "plan.md#L3-L9 · "), ((), "plan.md · ")], ids=["lines", "no lines"]
)
def test_a_recall_says_which_file_to_read_on_in(
    recollect: Command, keep: Keep, place: tuple[str, ...], shown: str
) -> None:
    keep("A cup.", "--path", "plan.md", *place)
    assert shown in recollect("recall", "cup").out


def test_results_and_lists_of_several_users_name_them(recollect: Command, keep: Keep) -> None:
    keep("Ida likes tea.", "--user", "ida")
    keep("Ben likes tea.", "--user", "ben")
    for words in (("recall", "tea"), ("list",)):
        assert all(name in recollect(*words).out.lower().split() for name in ("user", "ida", "ben"))
        alone = recollect(*words, "--user", "ida").out
        assert "Ida likes tea." in alone
        assert "user" not in alone


def test_what_did_not_run_is_told_with_its_reason(recollect: Command, keep: Keep) -> None:
    keep("A cup.")
    assert "vectors, tokens (there is no embedder)" in " ".join(recollect("recall", "cup").out.split())


def test_the_json_of_a_recall_holds_results_and_trace(recollect: Command, keep: Keep) -> None:
    id = keep("A cup.")
    told = recollect("recall", "cup", "--json", "--explain").json
    (result,) = told["results"]
    assert (result["id"], result["rank"], result["memory"]["text"]) == (id, 1, "A cup.")
    assert result["why"]["value"] == result["score"]
    assert told["trace"]["recipe"] == "default"


def test_explain_draws_every_tree_and_the_trace(recollect: Command, keep: Keep) -> None:
    keep("A cup.")
    told = recollect("recall", "cup", "--explain").out
    assert "└─ " in told
    assert "cue    words" in told


def test_nothing_found_is_said_and_exits_with_1(recollect: Command, keep: Keep) -> None:
    keep("A cup.")
    outcome = recollect("recall", "submarine")
    assert (outcome.code, "Nothing found" in outcome.out) == (1, True)
    assert recollect("recall", "submarine", "--json").json["results"] == []


def test_a_deadline_that_passed_is_told(recollect: Command, keep: Keep) -> None:
    keep("A cup.")
    outcome = recollect("recall", "cup", "--deadline", "0")
    assert (outcome.code, "the deadline passed before anything was found" in outcome.out) == (1, True)


def test_no_track_leaves_no_mark_of_use(recollect: Command, keep: Keep) -> None:
    id = keep("A cup.")
    recollect("recall", "cup", "--no-track")
    assert "use" not in recollect("show", id, "--json").json["memory"]
    recollect("recall", "cup")
    assert recollect("show", id, "--json").json["memory"]["use"]["access_count"] == 1


FIELDS = "user session speaker role kind topic tier source".split()


@pytest.mark.parametrize("field", FIELDS)
def test_several_values_of_a_field_mean_any_of_them(recollect: Command, keep: Keep, field: str) -> None:
    for value in "abc":
        keep(f"cup {value}", f"--{field}", value)
    found = recollect("recall", "cup", f"--{field}", "a", f"--{field}", "b", "--json").json["results"]
    assert sorted(each["memory"]["text"] for each in found) == ["cup a", "cup b"]


@pytest.mark.parametrize(
    "conditions",
    [
        ["--tag", "good", "--tag", "old"],
        ["--path-under", "notes"],
        ["--path", "notes/a.md"],
        ["--max-classification", "1"],
        ["--min-confidence", "0.8"],
        ["--until", "2025-01-01"],
        ["--where", '{"task.success": true, "force": {"$lt": 15}}'],
        ["--near", "at:1,2:0.5"],
        ["--near", '{"field": "at", "target": [1, 2], "within": 0.5}'],
        ["--not-tag", "bad", "--not-tag", "worse"],
        ["--not-session", "s2"],
        ["--not", '{"session": "s2"}', "--not", '{"tags": ["worse"]}'],
        ["--status", "active"],
    ],
    ids=" ".join,
)
def test_conditions_choose_the_one_memory(recollect: Command, keep: Keep, conditions: list[str]) -> None:
    wanted = ["--tag", "good", "--tag", "old", "--path", "notes/a.md", "--session", "s1", "--created", "2024-01-01"]
    good = keep("cup one", *wanted, "--context", '{"task": {"success": true}, "force": 12, "at": [1.0, 2.25]}')
    other = ["--tag", "bad", "--tag", "worse", "--path", "notesx.md", "--session", "s2", "--classification", "2"]
    other += ["--confidence", "0.5", "--status", "superseded"]
    keep("cup two", *other, "--context", '{"task": {"success": false}, "force": 20, "at": [9, 9]}')
    assert [each["id"] for each in recollect("recall", "cup", *conditions, "--json").json["results"]] == [good]
    assert [each["id"] for each in recollect("list", *conditions, "--json").json] == [good]


@pytest.mark.parametrize(
    "words",
    [
        ["--where", "{no"],
        ["--where", "[1]"],
        ["--not", "3"],
        ["--near", "a:1"],
        ["--near", "{}"],
        ["--since", "soon"],
        ["--path", "a", "--path-under", "b"],
        ["-k", "0"],
        ["-k", "many"],
        ["--recipe", "none"],
        ["--as-of", "then"],
        ["--deadline", "-1"],
        ["--no-such-option"],
        ["--set", "hops"],
        ["--set", "no_such_setting=3"],
        ["--set", "track=false"],
        ["--embedder", "magic"],
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_exits_with_2(recollect: Command, keep: Keep, words: list[str]) -> None:
    keep("cup")
    outcome = recollect("recall", "cup", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    told = recollect("recall", "cup", *words, "--json")
    assert set(json.loads(told.err)) == {"error", "kind"}
    assert told.out == ""


def test_as_of_asks_what_held_then(recollect: Command, keep: Keep) -> None:
    keep("The cup is blue.", "--created", "2020-01-01", "--valid-to", "2024-01-01")
    assert recollect("recall", "cup", "--as-of", "2023-01-01").code == 0
    assert recollect("recall", "cup", "--as-of", "2025-01-01").code == 1


def test_why_draws_the_score_as_a_tree_with_bars(recollect: Command, keep: Keep) -> None:
    id = keep("A blue cup.")
    told = recollect("why", "cup", id[:8], "--full").out
    assert "“cup”" in told
    assert "█" in told
    tree = recollect("why", "cup", id, "--json").json
    assert (tree["id"], tree["score"]) == (id, tree["why"]["value"])


def test_why_says_it_in_a_sentence_with_a_stacked_bar_first(recollect: Command, keep: Keep) -> None:
    id = keep("A blue cup.")
    short = recollect("why", "cup", id).out
    assert "'cup' matches" in short
    assert "█ words 100%" in short
    assert "“cup”" not in short
    assert recollect("why", "cup", id, "--full").out.startswith(short.splitlines()[0])
    shown = recollect("why", "cup", id, "--json").json
    assert "'cup' matches" in shown["summary"]
    assert [share["component"] for share in shown["shares"]] == ["words"]


def test_a_recall_with_low_confidence_says_so_instead_of_full_bars(recollect: Command, keep: Keep) -> None:
    keep("A blue cup.")
    sure, unsure = recollect("recall", "cup").out, recollect("recall", "cup quantum lagrangian propulsion").out
    assert "Low confidence" not in sure
    assert "██████" in sure
    assert "Low confidence (0." in unsure
    assert "█" not in unsure


def test_why_of_what_was_not_returned_points_to_why_not_and_exits_with_1(recollect: Command, keep: Keep) -> None:
    keep("A cup.")
    outcome = recollect("why", "cup", keep("A spoon."))
    assert (outcome.code, outcome.out, "why-not" in outcome.err) == (1, "", True)


def test_why_leaves_no_mark_of_use(recollect: Command, keep: Keep) -> None:
    id = keep("A cup.")
    recollect("why", "cup", id)
    assert "use" not in recollect("show", id, "--json").json["memory"]


def test_why_not_names_the_step_and_draws_value_against_threshold(recollect: Command, keep: Keep) -> None:
    keep("cup cup")
    left_out = keep("a cup among very many other words in a long sentence")
    told = recollect("why-not", "cup", left_out, "-k", "1")
    assert "beyond k (2 against 1)" in told.out
    assert "threshold" in told.out
    verdict = recollect("why-not", "cup", left_out, "-k", "1", "--json").json
    assert (verdict["returned"], verdict["value"], verdict["threshold"]) == (False, 2.0, 1.0)
    filtered = recollect("why-not", "cup", left_out, "--tag", "x", "--json").json
    assert filtered["step"] == "filter"


def test_recipes_are_listed(recollect: Command) -> None:
    assert "default" in recollect("recipes").out
    assert "default" in [each["name"] for each in recollect("recipes", "--json").json]


def test_a_text_cannot_drive_the_terminal(recollect: Command, keep: Keep) -> None:
    id = keep("cup \x1b]0;owned\x07 [red]markup[/red] :smile:", "--tag", "\x1b[2J")
    for words in (["recall", "cup"], ["recall", "cup", "--explain"], ["list"], ["show", id], ["why", "cup", id]):
        told = recollect(*words).out
        assert "\x1b" not in told
        assert "\x07" not in told
        assert "[red]markup[/red] :smile:" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("recall", ""), "The query is blank; ask something, such as 'where is the cup?'."),
        (("recall", "cup", "-k", "0"), "-k must be at least 1, not 0."),
        (("recall", "cup", "-k0"), "-k must be at least 1, not 0."),
        (("recall", "cup", "--limit", "0"), "--limit must be at least 1, not 0."),
        (("recall", "cup", "--as-of", "soon"), "--as-of must be a date, not 'soon'. Give a date, such as 2026-05-01"),
        (("recall", "cup", "--min-confidence", "9"), "--min-confidence must be between 0 and 1, not 9.0."),
        (("recall", "cup", "--deadline", "-1"), "--deadline must be at least 0, not -1.0."),
        (("recall", "cup", "--set", "session=x"), "--set session must be a number, not 'x'."),
        (("remember", "cup", "--valid-from", "soon"), "--valid-from must be a date, not 'soon'"),
        (("decay", "--rate", "-1"), "--rate must be at least 0"),
    ],
)
def test_a_wrong_word_is_named_as_it_was_typed(
    recollect: Command, keep: Keep, words: tuple[str, ...], told: str
) -> None:
    keep("A cup.")
    outcome = recollect(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {told}")


def test_a_recipe_is_named_the_same_way_by_all_who_ask(recollect: Command, keep: Keep) -> None:
    id = keep("A cup.")
    for words in (
        ("recall", "cup"),
        ("context", "cup"),
        ("why", "cup", id),
        ("why-not", "cup", id),
        ("compare", "cup"),
    ):
        assert recollect(*words, "-r", "openmem").code == 0
        assert "There is no recipe 'nosuch'" in recollect(*words, "--recipe", "nosuch").err


@pytest.mark.parametrize("near", ["at:1,2:-1", "at:1,2:nan", "at:1,2"])
def test_a_place_without_a_usable_distance_is_refused_with_an_example(
    recollect: Command, keep: Keep, near: str
) -> None:
    keep("A cup.")
    outcome = recollect("recall", "cup", "--near", near)
    assert (outcome.code, "such as spatial.position:1,2,0.5:0.3" in outcome.err) == (2, True)


def test_a_time_of_which_nothing_is_known_is_said_instead_of_full_bars(recollect: Command, keep: Keep) -> None:
    keep("The plumber came.", "--created", "2025-03-04")
    known = recollect("recall", "when did the plumber come in March 2025?").out
    unknown = recollect("recall", "did the plumber come in July 2024?")
    assert "No memory is of the time asked for" not in known
    assert "█" in known
    assert "No memory is of the time asked for (“July 2024”: 2024-07-01 to 2024-07-31)" in unknown.out
    assert "█" not in unknown.out
    assert "No memory is of the time" in recollect("context", "did the plumber come in July 2024?").err
