"""Conversations with Claude and ChatGPT become memories, one a message."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import InvalidInput, Mind
from recollect.ingest.imports import detect_format, read_source
from tests.ingest_imports.kit import bread, chatgpt_talk, claude_talk, node, said, written, zipped


def texts(path: Path) -> list[str]:
    return [item.record["text"] if item.record else item.problem for item in read_source(path)]


def test_a_claude_message_keeps_its_session_role_time_and_place(mind: Mind, tmp_path: Path) -> None:
    done = mind.import_from(written(tmp_path / "conversations.json", [claude_talk()]))
    assert (done.kind, done.added, done.failed) == ("claude", 2, 0)
    answer, question = mind.list()
    assert answer.text == "Tram 28 goes up to Graça."
    assert (answer.session, answer.title, answer.position) == ("c-1", "A trip to Lisbon", 1)
    assert (answer.role, answer.speaker, answer.source) == ("assistant", "Claude", "claude")
    assert answer.created == datetime(2026, 3, 2, 10, 31, 7, 250_000, tzinfo=UTC)
    assert (question.role, question.speaker, question.position) == ("user", "user", 0)


def test_only_what_claude_said_is_taken_from_a_message_with_tools(tmp_path: Path) -> None:
    tool = {"type": "tool_use", "name": "search", "input": {"q": "tram"}}
    blocks = [{"type": "text", "text": "Let me look."}, tool, {"type": "text", "text": "It is 28."}]
    talk = claude_talk(
        "c",
        "",
        said("1", "assistant", "placeholder", content=blocks),
        said("2", "assistant", "placeholder", content=[tool]),
        said("3", "human", "From before there were blocks", content=[]),
    )
    path = written(tmp_path / "conversations.json", [talk])
    assert texts(path) == ["Let me look.\n\nIt is 28.", "From before there were blocks"]


def test_the_names_of_what_was_attached_are_kept(mind: Mind, tmp_path: Path) -> None:
    attached = {"file_name": "plan.pdf", "extracted_content": "long"}
    message = said("1", "human", "See this", attachments=[attached], files=[{"file_name": "map.png"}])
    mind.import_from(written(tmp_path / "conversations.json", [claude_talk("c", "", message)]))
    assert mind.list()[0].files == ("plan.pdf", "map.png")


def test_of_a_chatgpt_tree_the_branch_that_was_shown_is_taken(mind: Mind, tmp_path: Path) -> None:
    done = mind.import_from(written(tmp_path / "conversations.json", [bread()]))
    assert (done.kind, done.failed) == ("chatgpt", 0)
    told = sorted(mind.list(), key=lambda memory: memory.position or 0)
    assert [(each.role, each.text) for each in told] == [
        ("user", "How long does a starter take?"),
        ("assistant", "About seven days."),
        ("user", "And with spelt?"),
        ("assistant", "Five days with spelt."),
    ]
    assert {(each.session, each.title, each.source) for each in told} == {("g-1", "Sourdough", "chatgpt")}
    assert [each.speaker for each in told] == ["user", "ChatGPT", "user", "ChatGPT"]
    assert told[0].created == datetime.fromtimestamp(1772447460.5, UTC)


def test_without_a_current_node_the_latest_message_ends_the_branch(tmp_path: Path) -> None:
    talk = chatgpt_talk(
        node("a", None, "user", "first", create_time=1.0),
        node("b", "a", "assistant", "second", create_time=2.0),
        node("c", "a", "assistant", "third", create_time=3.0),
        current=None,
    )
    assert texts(written(tmp_path / "x.json", [talk])) == ["first", "third"]


def test_a_ring_in_a_tree_ends(tmp_path: Path) -> None:
    talk = chatgpt_talk(node("a", "b", "user", "one"), node("b", "a", "assistant", "two"), current="b")
    assert texts(written(tmp_path / "x.json", [talk])) == ["one", "two"]


def test_voice_is_taken_and_thoughts_are_not(tmp_path: Path) -> None:
    voice = {"content_type": "multimodal_text", "parts": [{"content_type": "audio_transcription", "text": "Hello"}]}
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "hm"}]}
    talk = chatgpt_talk(
        node("a", None, "user", content=voice), node("b", "a", "assistant", content=thoughts), current="b"
    )
    assert texts(written(tmp_path / "x.json", [talk])) == ["Hello"]


def test_a_zip_file_is_taken_as_it_is_with_all_its_parts(tmp_path: Path) -> None:
    again = bread() | {"conversation_id": "g-2"}
    parts = {"conversations-000": [bread()], "conversations-001": [again], "user": {"id": "u"}}
    path = zipped(tmp_path / "export.zip", **parts)
    assert detect_format(path) == "chatgpt"
    assert {item.record["session"] for item in read_source(path) if item.record} == {"g-1", "g-2"}


def test_the_unpacked_folder_is_taken_too(tmp_path: Path) -> None:
    written(tmp_path / "conversations.json", [claude_talk()])
    written(tmp_path / "users.json", [{"uuid": "a-1"}])
    assert detect_format(tmp_path) == "claude"
    assert len(texts(tmp_path)) == 2


def test_of_a_folder_only_itself_and_its_direct_subfolders_are_read(mind: Mind, tmp_path: Path) -> None:
    for name, place in (("c-1", "."), ("c-2", "part"), ("c-3", "part/older")):
        (tmp_path / "export" / place).mkdir(parents=True, exist_ok=True)
        written(tmp_path / "export" / place / "conversations.json", [claude_talk(name)])
    mind.import_from(tmp_path / "export")
    assert {memory.session for memory in mind.list()} == {"c-1", "c-2"}
    for place in (".", "part"):
        (tmp_path / "export" / place / "conversations.json").unlink()
    with pytest.raises(InvalidInput, match="direct subfolders"):
        mind.import_from(tmp_path / "export")


def test_a_bad_conversation_is_told_with_its_place_and_the_others_go_on(mind: Mind, tmp_path: Path) -> None:
    blank = claude_talk("c-2") | {"chat_messages": None}
    undated = claude_talk("c-3", "", said("m", "human", "When?", created_at="yesterday"))
    path = written(tmp_path / "conversations.json", [claude_talk(), 7, blank, undated, claude_talk("c-4")])
    done = mind.import_from(path)
    assert (done.added, done.failed) == (4, 3)
    assert done.problems[0] == f"{path}, conversation 2 is not a JSON object but int."
    assert done.problems[1] == f"{path}, conversation 3: it has no list of chat_messages."
    assert done.problems[2].startswith(f"{path}, conversation 4, message 1: created is not a date: 'yesterday'.")


def test_strictly_one_bad_conversation_stops_it_all(mind: Mind, tmp_path: Path) -> None:
    path = written(tmp_path / "conversations.json", [claude_talk(), 7])
    with pytest.raises(InvalidInput, match=r"conversation 2 is not a JSON object but int\. Nothing was written\."):
        mind.import_from(path, strict=True)
    assert len(mind.list()) == 0


def test_what_was_forgotten_here_is_not_brought_back(mind: Mind, tmp_path: Path) -> None:
    path = written(tmp_path / "conversations.json", [claude_talk()])
    mind.import_from(path)
    mind.forget(mind.list()[0].id)
    again = mind.import_from(path)
    assert (again.added, again.changed, again.same, again.forgotten) == (0, 0, 1, 1)
    assert len(mind.list()) == 1


def test_a_later_export_adds_what_is_new_in_it(mind: Mind, tmp_path: Path) -> None:
    mind.import_from(written(tmp_path / "old.json", [claude_talk()]))
    longer = claude_talk()
    longer["chat_messages"].append(said("m-3", "human", "And down?"))
    done = mind.import_from(written(tmp_path / "new.json", [longer, claude_talk("c-2", "Other")]))
    assert (done.added, done.changed, done.same) == (3, 0, 2)


def test_one_import_is_one_undo(mind: Mind, tmp_path: Path) -> None:
    mind.import_from(written(tmp_path / "conversations.json", [claude_talk(), claude_talk("c-2")]))
    undone = mind.undo()
    assert undone is not None
    assert undone.removed == 4
    assert len(mind.list()) == 0
