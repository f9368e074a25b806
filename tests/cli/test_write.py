"""The verbs that write, as typed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Command

Keep = Callable[..., str]


def test_words_without_quotes_make_one_text(recollect: Command) -> None:
    assert recollect("remember", "The", "cup", "is", "blue.", "--json").json["text"] == "The cup is blue."


def test_every_detail_lands_in_the_memory(recollect: Command) -> None:
    given = {
        "--title": ("title", "T"),
        "--user": ("user", "u"),
        "--session": ("session", "s"),
        "--speaker": ("speaker", "Ann"),
        "--role": ("role", "user"),
        "--kind": ("kind", "fact"),
        "--topic": ("topic", "cups"),
        "--tier": ("tier", "core"),
        "--source": ("source", "chat"),
        "--external-id": ("external_id", "e1"),
        "--path": ("path", "a/b.md"),
    }
    words = [word for option, (_, value) in given.items() for word in (option, value)]
    words += ["--tag", "a", "-t", "b", "--entity", "Ann", "--keyword", "k", "--lines", "3-9", "--confidence", "0.5"]
    words += ["--importance", "-2", "--created", "2025-03-14", "--valid-from", "2025-01-01", "--valid-to", "2026-01-01"]
    words += ["--expires", "2099-01-01", "--context", '{"task": {"success": true}}']
    kept = recollect("remember", "A cup.", *words, "--json").json
    assert {name: kept[name] for name, _ in given.values()} == dict(given.values())
    assert (kept["tags"], kept["entities"], kept["keywords"], kept["lines"]) == (["a", "b"], ["Ann"], ["k"], [3, 9])
    assert (kept["confidence"], kept["importance"], kept["context"]) == (0.5, -2.0, {"task": {"success": True}})
    dates = [kept[name][:10] for name in ("created", "valid_from", "valid_to", "expires")]
    assert dates == ["2025-03-14", "2025-01-01", "2026-01-01", "2099-01-01"]


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_a_future_creation_or_a_past_expiry_is_stored_with_a_warning(recollect: Command, form: tuple[str, ...]) -> None:
    outcome = recollect("remember", "A cup.", "--created", "2099-01-01", "--expires", "2020-01-01", *form)
    assert outcome.code == 0
    first, second = outcome.err.splitlines()
    assert "--created is in the future (2099-01-01" in first
    assert "--expires is in the past (2020-01-01" in second
    assert "Warning" not in outcome.out
    (stored,) = recollect("list", "--json").json
    assert (stored["created"][:4], stored["expires"][:4]) == ("2099", "2020")


def test_usual_dates_have_no_warning(recollect: Command, tmp_path: Path) -> None:
    dates = ("--created", "2020-01-01", "--expires", "2099-01-01")
    assert recollect("remember", "A cup.", *dates).err == ""
    (tmp_path / "lines.txt").write_text("a\nb\n", encoding="utf-8")
    assert "Warning" not in recollect("remember", "--lines-from", "lines.txt", *dates).err
    assert "in the past" in recollect("remember", "--lines-from", "lines.txt", "--expires", "2020-01-01").err


def test_the_first_decay_counts_from_creation_as_its_help_says(recollect: Command, keep: Keep) -> None:
    id = keep("an old cup", "--created", "730 days ago")
    recollect("reinforce", id)
    assert recollect("decay").out == "1 memory faded.\n"
    assert recollect("list", "--json").json[0]["strength"] < 0.001
    assert recollect("reinforce", id, "--amount", "0.5", "--json").json["strength"] > 0.5
    recollect("decay")
    assert recollect("list", "--json").json[0]["strength"] > 0.499  # reinforced after a decay, it stays
    told = " ".join(recollect("decay", "--help").out.split())
    assert "The first decay of a memory counts from its creation" in told


def test_a_dash_reads_the_text_from_stdin(recollect: Command) -> None:
    kept = recollect("remember", "-", "--json", stdin="Zwei\nZeilen: Tür\n".encode())
    assert kept.json["text"] == "Zwei\nZeilen: Tür"


def test_every_line_of_a_file_becomes_a_memory(recollect: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\n\n  \ntwo\n", encoding="utf-8")
    assert recollect("remember", "--lines-from", "notes.txt", "--tag", "n", "--json").json["added"] == 2
    assert [each["tags"] for each in recollect("list", "--json").json] == [["n"], ["n"]]


def test_nothing_to_remember_is_bad_input_and_makes_no_file(recollect: Command, tmp_path: Path) -> None:
    assert recollect("remember").code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_text_and_a_file_at_once_are_refused(recollect: Command) -> None:
    outcome = recollect("remember", "hi", "--lines-from", "notes.txt")
    assert (outcome.code, "not both" in outcome.err) == (2, True)


def test_remember_says_what_happened(recollect: Command) -> None:
    words = ("remember", "--external-id", "e")
    told = [recollect(*words, text).out.split()[0] for text in ("cup", "cup", "two cups")]
    assert told == ["Remembered", "Unchanged", "Changed"]


def test_a_context_that_is_no_object_is_met_with_a_nested_example(recollect: Command, tmp_path: Path) -> None:
    outcome = recollect("remember", "hi", "--context", "[1,2]")
    assert (outcome.code, """'{"task": {"success": true}}'""" in outcome.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_lone_surrogate_in_a_text_is_kept_as_a_replacement_character(recollect: Command) -> None:
    assert recollect("remember", "caf\udce9", "--json").json["text"] == "caf�"


def test_a_lone_surrogate_in_an_id_or_a_name_is_refused_without_a_crash(recollect: Command, keep: Keep) -> None:
    keep("x")
    for words in (["show", "\udce9"], ["--db", "\udce9.db", "remember", "x"]):
        assert recollect(*words).code in (2, 3)
    assert recollect("relate", "\udce9", "knows", "x").code == 0  # kept as U+FFFD


def test_edit_replaces_the_text_and_all_tags(recollect: Command, keep: Keep) -> None:
    id = keep("old", "--tag", "a", "--tag", "b")
    edited = recollect("edit", id, "--text", "new", "--tag", "c", "--json").json
    assert (edited["text"], edited["tags"]) == ("new", ["c"])


def test_an_empty_word_takes_a_detail_away(recollect: Command, keep: Keep) -> None:
    id = keep("x", "--tag", "a", "--valid-to", "2030-01-01", "--title", "T")
    edited = recollect("edit", id, "--tag", "", "--valid-to", "", "--title", "", "--json").json
    assert not {"tags", "valid_to", "title"} & edited.keys()


def test_edit_without_a_change_is_bad_input(recollect: Command, keep: Keep) -> None:
    assert recollect("edit", keep("x")).code == 2


def test_a_link_is_made_shown_and_removed(recollect: Command, keep: Keep) -> None:
    a, b = keep("a"), keep("b")
    made = recollect("link", a[:10], b, "--kind", "contradicts", "--weight", "0.5", "--json").json
    assert (made["source"], made["target"], made["kind"], made["weight"]) == (a, b, "contradicts", 0.5)
    assert "contradicts" in recollect("show", b).out
    assert recollect("unlink", a, b, "--json").json == {"removed": 1}
    assert recollect("unlink", a, b).code == 1


def test_two_names_are_related(recollect: Command) -> None:
    assert recollect("relate", "alice", "works_with", "bob").out == "alice ─works_with→ bob  1\n"
    assert recollect("status", "--json").json["entity_edges"] == 1


def test_a_newer_memory_supersedes_an_old_one(recollect: Command, keep: Keep) -> None:
    old = keep("in the kitchen", "--topic", "dock")
    new = recollect("supersede", old[:10], "in", "the", "hallway", "--tag", "home", "--json").json
    assert (new["text"], new["tags"], new["topic"]) == ("in the hallway", ["home"], "dock")
    former = recollect("show", old, "--json").json["memory"]
    assert (former["status"], former["valid_to"]) == ("superseded", new["valid_from"])
    told = recollect("supersede", new["id"], "-", stdin=b"in the garage")
    assert f"─supersedes→ {new['id']}" in told.out
    assert "supersede" in recollect("undo").out
    assert "status" not in recollect("show", new["id"], "--json").json["memory"]


def test_superseding_needs_a_text_and_a_memory(recollect: Command, keep: Keep) -> None:
    assert recollect("supersede", keep("x")).code == 2
    assert recollect("supersede", "nobody", "y").code == 3


def test_two_memories_contradict_each_other_and_one_may_be_wrong(recollect: Command, keep: Keep) -> None:
    a, b = keep("it is red"), keep("it is blue")
    assert recollect("contradict", a, b, "--weight", "0.5").out == f"{a} ─contradicts→ {b}  0.5\n"
    assert "status" not in recollect("show", a, "--json").json["memory"]
    assert recollect("contradict", a, b, "--loser", a, "--json").json["kind"] == "contradicts"
    assert recollect("show", a, "--json").json["memory"]["status"] == "contradicted"
    assert recollect("contradict", a, b, "--loser", keep("z")).code == 2


def test_a_memory_is_reinforced(recollect: Command, keep: Keep) -> None:
    id = keep("x")
    assert recollect("reinforce", id).out == f"{id}  strength 1\n"
    assert recollect("reinforce", id, "--amount", "2").code == 2
    recollect("decay", "--rate", "1e15")
    assert recollect("reinforce", id, "--amount", "0.25", "--json").json["strength"] == pytest.approx(0.25)


def test_memories_fade_with_their_days(recollect: Command, keep: Keep) -> None:
    id = keep("x", "--created", "2025-01-01")
    assert recollect("decay", "--json").json == {"faded": 1}
    assert recollect("show", id, "--json").json["memory"]["strength"] < 0.99
    assert "1 restored" in recollect("undo").out
    assert recollect("decay", "--rate", "0").code == 1
    assert recollect("decay", "--rate", "-1").code == 2


def test_a_forgotten_memory_is_gone_until_undo(recollect: Command, keep: Keep) -> None:
    a, b = keep("cup a"), keep("cup b")
    assert recollect("forget", a, b, "--reason", "wrong", "--json").json == {"forgotten": 2}
    assert recollect("recall", "cup").code == 1
    undone = recollect("undo")
    assert "forget" in undone.out
    assert "2 restored" in undone.out
    assert recollect("recall", "cup").code == 0


def test_what_is_already_forgotten_is_told_so_without_a_hint_at_undo(recollect: Command, keep: Keep) -> None:
    id = keep("cup")
    recollect("forget", id)
    again = recollect("forget", id)
    assert (again.code, "Already forgotten" in again.out, "undo" in again.out) == (1, True, False)
    assert recollect("forget", id, "--json").json == {"forgotten": 0}
    assert "1 restored" in recollect("undo").out


def test_of_several_those_that_were_forgotten_before_are_named(recollect: Command, keep: Keep) -> None:
    a, b = keep("cup a"), keep("cup b")
    recollect("forget", a)
    lines = recollect("forget", a, b).out.splitlines()
    assert "Forgot 1 memory" in lines[0]
    assert ["forgotten before" in line for line in lines[1:]] == [True, False]


def test_a_forgotten_memory_is_edited_only_to_restore_it(recollect: Command, keep: Keep) -> None:
    id = keep("cup")
    recollect("forget", id)
    refused = recollect("edit", id, "--text", "a mug")
    assert (refused.code, "was forgotten" in refused.err, "status='active'" in refused.err) == (2, True, True)
    assert recollect("edit", id, "--text", "a mug", "--status", "active").code == 0
    assert recollect("recall", "mug").code == 0


def test_several_are_forgotten_on_a_terminal_only_when_agreed(recollect: Command, keep: Keep) -> None:
    ids = keep("a"), keep("b")
    assert recollect("forget", *ids, stdin=b"n\n", terminal=True).code == 1
    assert len(recollect("list", "--json").json) == 2
    assert recollect("forget", *ids, "--yes", terminal=True).code == 0


def test_undo_names_what_it_removes_and_restores(recollect: Command, keep: Keep) -> None:
    first = keep("The dock is behind the sofa.")
    recollect("edit", first, "--text", "The dock is broken.")
    assert f"  restored {first}  The dock is behind the sofa." in recollect("undo").out
    assert f"  removed {first}  The dock is behind the sofa." in recollect("undo").out
    recollect("remember", "--lines-from", "-", stdin=b"".join(b"Line %d.\n" % at for at in range(8)))
    many = recollect("undo").out
    assert (many.count("  removed "), "and 3 memories more" in many) == (5, True)


@pytest.mark.parametrize(
    ("minutes", "words", "answer", "left"),
    [
        (11, (), b"n\n", 1),
        (11, (), b"y\n", 0),
        (11, ("--yes",), b"", 0),
        (11, ("--json",), b"", 0),
        (1, (), b"", 0),
    ],
    ids=["no", "yes", "--yes", "--json", "recent"],
)
def test_a_terminal_asks_before_it_undoes_what_is_older_than_ten_minutes(
    recollect: Command,
    keep: Keep,
    monkeypatch: pytest.MonkeyPatch,
    minutes: int,
    words: tuple[str, ...],
    answer: bytes,
    left: int,
) -> None:
    id = keep("The dock is behind the sofa.")
    now = datetime.now(UTC)
    monkeypatch.setattr("recollect.cli.write.local_now", lambda: now + timedelta(minutes=minutes))
    outcome = recollect("undo", *words, stdin=answer, terminal=True)
    assert ("Undo it?" in outcome.err) == bool(answer)
    assert (id in outcome.err) == bool(answer)
    assert len(recollect("list", "--json").json) == left


def test_undo_says_when_nothing_is_left(recollect: Command, keep: Keep) -> None:
    keep("x")
    assert recollect("undo", "--json").json["undone"]["verb"] == "remember"
    assert recollect("undo", "--json").json == {"undone": None}
    assert recollect("undo").code == 1


def test_a_bound_of_the_command_line_limits_what_is_written_listed_and_undone(recollect: Command) -> None:
    anna, ben = ("--bound", "user=anna"), ("--bound", "user=ben", "--bound", "agent=planner")
    mine = recollect(*anna, "remember", "The key is under the mat.", "--json").json
    other = recollect("remember", "The key is in the car.", *ben, "--json").json
    assert (mine["user"], other["user"], other["agent"]) == ("anna", "ben", "planner")
    assert [each["id"] for each in recollect(*anna, "recall", "where is the key?", "--json").json["results"]] == [
        mine["id"]
    ]
    assert recollect(*anna, "show", other["id"]).code == 3
    assert recollect(*anna, "undo").code == 0
    assert [each["id"] for each in recollect("list", "--json").json] == [other["id"]]


@pytest.mark.parametrize("bound", ["anna", "user=", "colour=red", "collection=main"])
def test_a_bound_that_is_not_a_field_with_a_name_is_refused(recollect: Command, bound: str) -> None:
    refused = recollect("--bound", bound, "remember", "A cup.")
    assert refused.code == 2
    assert "user=NAME" in refused.err


def test_two_values_of_one_bound_are_refused(recollect: Command) -> None:
    assert recollect("--bound", "user=anna", "remember", "A cup.", "--bound", "user=ben").code == 2


@pytest.mark.parametrize("command", [("doctor",), ("sync", "."), ("reembed",)])
def test_commands_without_bounds_refuse_one(recollect: Command, command: tuple[str, ...]) -> None:
    recollect("remember", "A cup.")
    refused = recollect("--bound", "user=anna", *command)
    assert refused.code == 2
    assert "leave out --bound user=anna" in refused.err


@pytest.mark.parametrize(
    "command",
    [
        *("erase --user eve --yes", "status", "backup b", "export -", "sync .", "watch .", "search key", "get a.md"),
        *("doctor", "reembed --embedder local", "index", "audit", "restore b --in-place", "token list"),
    ],
)
def test_a_command_that_needs_a_file_does_not_ignore_the_address_of_a_server(
    recollect: Command, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    recollect("remember", "Eve's key is under the mat.", "--user", "eve")
    monkeypatch.setenv("RECOLLECT_URL", "http://127.0.0.1:1")
    refused = recollect(*command.split())
    assert (refused.code, "works on a file, not on the server" in refused.err) == (2, True)
    monkeypatch.delenv("RECOLLECT_URL")
    assert len(recollect("list", "--json").json) == 1


def test_two_tokens_cannot_have_one_name(recollect: Command) -> None:
    recollect("remember", "One.")
    assert recollect("token", "create", "laptop").code == 0
    refused = recollect("token", "create", "laptop")
    assert (refused.code, "recollect token revoke laptop" in refused.err) == (2, True)
    assert recollect("token", "revoke", "laptop").code == 0
    assert recollect("token", "create", "laptop").code == 0
