"""show, list, status, and where the memory is looked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from recollect import Mind
from tests.cli.conftest import Command

Keep = Callable[..., str]


def test_show_tells_details_and_history(recollect: Command, keep: Keep) -> None:
    id = keep("The cup is blue.", "--topic", "cups")
    recollect("edit", id, "--text", "The cup is green.")
    told = recollect("show", id[:6]).out
    for part in (id, "The cup is green.", "topic", "cups", "History", "The cup is blue."):
        assert part in told
    history = recollect("show", id, "--json").json["history"]
    assert [each["memory"]["text"] for each in history] == ["The cup is blue."]


def test_an_unknown_id_exits_with_3(recollect: Command, keep: Keep) -> None:
    keep("x")
    for words in (["show", "nope"], ["edit", "nope", "--text", "y"], ["forget", "nope"], ["why", "x", "nope"]):
        outcome = recollect(*words, "--json")
        assert (outcome.code, outcome.out, json.loads(outcome.err)["kind"]) == (3, "", "NotFound")


def test_the_newest_are_listed_first_a_page_at_a_time(recollect: Command, keep: Keep) -> None:
    for number in range(5):
        keep(f"memory {number}", "--created", f"2025-01-0{number + 1}")
    page = recollect("list", "--limit", "2", "--offset", "1")
    assert "memory 3" in page.out
    assert "memory 2" in page.out
    assert "--offset 3" in page.out
    assert "memory 4" not in page.out
    assert len(recollect("list", "--json").json) == 5


def test_a_collection_is_written_to_and_read_alone(recollect: Command, keep: Keep) -> None:
    keep("cup at home")
    keep("cup at work", "--collection", "work")
    found = recollect("--collection", "work", "recall", "cup", "--json").json["results"]
    assert [each["memory"]["text"] for each in found] == ["cup at work"]


def test_status_counts_and_names_the_fix_for_missing_vectors(recollect: Command, keep: Keep) -> None:
    recollect("forget", keep("one cup"))
    keep("two cups")
    told = recollect("status")
    assert "1 active" in told.out
    assert "recollect reembed" in told.out
    status = recollect("status", "--json").json
    assert status["memories"] == {"active": 1, "forgotten": 1}
    assert status["embedder"] is None


def test_status_counts_what_list_marks_as_expired(recollect: Command, keep: Keep) -> None:
    keep("a cup")
    assert "expired" not in recollect("status").out
    keep("an old cup", "--expires", "2020-01-01")
    recollect("forget", keep("a forgotten cup", "--expires", "2020-01-01"))
    assert sum(line.endswith("expired") for line in recollect("list").out.splitlines()) == 1
    assert any(line.split()[:2] == ["expired", "1"] for line in recollect("status").out.splitlines())
    status = recollect("status", "--json").json
    assert (status["expired"], status["memories"]) == (1, {"active": 2, "forgotten": 1})


@pytest.mark.parametrize(
    "words", ["recall x", "list", "show x", "why x y", "why-not x y", "status", "export", "undo", "forget x", "reembed"]
)
def test_only_what_writes_may_make_a_file(recollect: Command, tmp_path: Path, words: str) -> None:
    outcome = recollect("--db", "none.db", *words.split())
    assert (outcome.code, outcome.out) == (4, "")
    assert "recollect --db none.db remember" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_the_file_may_be_named_before_the_verb_after_it_or_in_the_environment(
    recollect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    recollect("--db", "before.db", "remember", "x")
    recollect("remember", "x", "--db", "after.db")
    recollect("--db", "before.db", "remember", "y", "--db", "after.db")
    monkeypatch.setenv("RECOLLECT_DB", "env.db")
    recollect("remember", "x")
    recollect("--db", "before.db", "remember", "z")
    counts = [len(recollect("list", "--db", f"{name}.db", "--json").json) for name in ("before", "after", "env")]
    assert counts == [2, 2, 1]


@pytest.mark.parametrize("name", ["", ":memory:"])
def test_a_memory_that_would_not_last_is_refused(
    recollect: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for words in (["remember", "hi"], ["status"], ["reembed", "--embedder", "local"]):
        assert recollect("--db", name, *words).code == 2
        assert recollect(*words, "--db", name).code == 2
    monkeypatch.setenv("RECOLLECT_DB", name)
    outcome = recollect("remember", "hi")
    assert (outcome.code, "give a file, such as" in outcome.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", ["status", "list", "recall x", "export", "undo"])
def test_an_empty_file_is_told_so_and_stays_empty(recollect: Command, tmp_path: Path, words: str) -> None:
    (tmp_path / "memory.db").touch()
    outcome = recollect(*words.split())
    assert (outcome.code, "memory.db is empty" in outcome.err) == (4, True)
    assert [each.stat().st_size for each in tmp_path.iterdir()] == [0]
    assert recollect("remember", "hi").code == 0


def test_an_empty_list_exits_with_1_like_an_empty_recall(recollect: Command, keep: Keep) -> None:
    keep("x")
    assert recollect("list", "--tag", "none").code == 1
    outcome = recollect("list", "--tag", "none", "--json")
    assert (outcome.code, outcome.json) == (1, [])


def test_an_id_too_short_to_tell_which_is_bad_input(recollect: Command) -> None:
    recollect("import", "-", stdin=b'{"text": "a", "id": "cup-1"}\n{"text": "b", "id": "cup-2"}')
    outcome = recollect("show", "cup")
    assert (outcome.code, "Several ids begin with 'cup'" in outcome.err) == (2, True)


@pytest.mark.parametrize("id", ["a" * 16, "an-id-of-ones-own-" * 9])
@pytest.mark.parametrize("width", ["30", "12"])
def test_a_narrow_terminal_shows_every_word(
    recollect: Command, monkeypatch: pytest.MonkeyPatch, id: str, width: str
) -> None:
    record = {"id": id, "text": "The blue cup is on the top shelf."}
    recollect("import", "-", stdin=json.dumps(record).encode())
    monkeypatch.setenv("COLUMNS", width)
    for words in (["list"], ["recall", "cup"]):
        told = recollect(*words).out
        assert record["text"] in " ".join(told.split())
        assert id in "".join(told.split())


def test_the_collection_is_told_when_there_are_several(recollect: Command, keep: Keep) -> None:
    keep("cup at home")
    keep("cup at work", "--collection", "office")
    for words in (["recall", "cup"], ["list"]):
        assert "office" in recollect(*words).out
        assert "office" not in recollect("--collection", "office", *words).out
    assert "in office" in recollect("recall", "cup").out


def test_a_file_that_is_no_database_exits_with_4(recollect: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to look at" * 9, encoding="utf-8")
    outcome = recollect("--db", "notes.txt", "status", "--json")
    assert (outcome.code, json.loads(outcome.err)["kind"]) == (4, "StoreError")


class Other:
    """Somebody else's model."""

    name, dim = "other", 2

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]


def test_vectors_of_another_model_stop_recall_and_nothing_else(recollect: Command, tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=Other()) as mind:
        id = mind.remember("A cup.").id
    refused = recollect("recall", "cup", "--embedder", "local")
    assert refused.code == 4
    assert "recollect reembed" in refused.err
    assert "--embedder none" in refused.err
    for words in (["list"], ["show", id], ["export"], ["status"], ["recall", "cup", "--embedder", "none"]):
        assert recollect(*words).code == 0
    assert "by other" in recollect("status", "--embedder", "local").out


def test_reembed_makes_vectors_with_the_local_model(recollect: Command, keep: Keep) -> None:
    keep("A small domestic feline slept on the sofa.")
    keep("The invoice is due on Friday.")
    assert recollect("reembed", "--embedder", "local", "--json").json == {"embedded": 2}
    found = recollect("recall", "cat", "--embedder", "local", "-k", "1", "--json").json["results"]
    assert "feline" in found[0]["memory"]["text"]


def test_reembed_without_a_model_is_bad_input(recollect: Command, keep: Keep) -> None:
    keep("x")
    assert recollect("reembed", "--embedder", "none").code == 2


@pytest.mark.contract("B17")
def test_conflicts_lists_pairs_with_their_reason_and_what_to_do(recollect: Command, keep: Keep) -> None:
    older = keep("My locker is number 27.", "--session", "monday", "--position", "0", "--created", "2025-01-01T10:00")
    newer = keep("Sorry, 31.", "--session", "monday", "--position", "1", "--created", "2025-01-01T10:02")
    shown = recollect("conflicts").out
    for part in (older, newer, "My locker is number 27.", "corrects what was said", f"supersede {older} {newer}"):
        assert part in shown
    (pair,) = recollect("conflicts", "--json").json
    assert (pair["older"]["id"], pair["newer"]["id"], pair["rule"]) == (older, newer, "correction")
    recollect("supersede", older, newer)
    assert recollect("conflicts", "--json").json == []
    assert "No two memories seem to conflict." in recollect("conflicts").out


def test_usage_shows_lists_and_a_plot_and_json(recollect: Command, keep: Keep) -> None:
    cup, plate = keep("the blue cup"), keep("a plate")
    for _ in range(3):
        recollect("recall", "cup", "-k", "1")
    shown = recollect("usage", "--period", "day", "--periods", "2").out
    assert "2, 1 of them used, 3 uses" in shown
    most, never = shown.index("Most used"), shown.index("Never recalled, oldest first")
    assert most < shown.index(cup) < never < shown.index(plate)
    assert "█" in shown
    assert len(shown[shown.index("By day") :].splitlines()) == 4
    told = recollect("usage", "--json").json
    assert [(each["id"], each["uses"]) for each in told["most_used"]] == [(cup, 3)]
    assert (told["over_time"][-1]["uses"], told["over_time"][-1]["last_used"], told["undated_uses"]) == (3, 1, 0)


def test_list_sorts_and_filters_by_use(recollect: Command, keep: Keep) -> None:
    cup, plate = keep("the blue cup"), keep("a plate")
    recollect("recall", "cup", "-k", "1")
    assert [each["id"] for each in recollect("list", "--sort", "uses", "--json").json] == [cup, plate]
    assert [each["id"] for each in recollect("list", "--use", '{"uses": 0}', "--json").json] == [plate]
    assert recollect("list", "--sort", "luck").code == 2


def test_usage_of_an_empty_memory_says_so(recollect: Command, keep: Keep) -> None:
    keep("x")
    outcome = recollect("usage", "--topic", "nothing")
    assert (outcome.code, outcome.out.strip()) == (1, "No memory matches.")


def test_an_expired_memory_is_marked_in_the_list(recollect: Command, keep: Keep) -> None:
    keep("The guest code is 4711.", "--expires", "2020-01-01")
    keep("The door is green.")
    lines = [line for line in recollect("list").out.splitlines() if "The " in line]
    assert [line.endswith("expired") for line in lines] == [False, True]


def test_forget_takes_filters_with_a_count_and_a_confirmation(recollect: Command, keep: Keep) -> None:
    for text in ("Kitchen one.", "Kitchen two."):
        keep(text, "--tag", "kitchen")
    keep("The cellar is dry.")
    assert "Would forget 2 memories." in recollect("forget", "--tag", "kitchen", "--dry-run").out
    refused = recollect("forget", "--tag", "kitchen")
    assert (refused.code, "This would forget 2 memories. Confirm with --yes." in refused.err) == (2, True)
    assert recollect("forget", "--tag", "kitchen", "--yes", "--json").json == {"forgotten": 2}
    assert len(recollect("list", "--json").json) == 1
    assert recollect("forget", "--tag", "attic", "--yes").code == 1


def test_an_audit_shows_the_words_before_a_password_and_one_line_for_each_flood(recollect: Command, keep: Keep) -> None:
    keep("The router password is hunter2#99.")
    for at in range(7):
        keep(f"Buy the best shoes at our shop number {at}.")
    told = recollect("audit")
    assert told.code == 1
    assert "[redacted]" in told.out
    assert "hunter2" not in told.out
    assert told.out.count("  flood  ") == 1
    assert "7 memories have the same words" in told.out
    assert "2 findings" in told.out
    assert len(recollect("audit", "--json").json) == 7


def test_an_import_of_nothing_exits_with_1(recollect: Command, keep: Keep) -> None:
    Path("empty.json").write_text("[]")
    outcome = recollect("import", "empty.json")
    assert (outcome.code, "0 added" in outcome.out) == (1, True)
    Path("one.json").write_text('[{"text": "A cup."}]')
    assert recollect("import", "one.json").code == 0
    assert recollect("import", "one.json").code == 0  # the same again


def test_an_erasure_that_only_backups_still_contain_points_to_nothing_that_is_left(
    recollect: Command, keep: Keep
) -> None:
    id = keep("A cup.")
    recollect("backup", "bk")
    told = recollect("erase", id, "--yes").out
    assert "Pending: Backups in" in told
    assert "--finish" not in told
