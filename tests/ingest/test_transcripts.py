"""Transcripts: JSON lines into turns, with roles, speakers, times and places kept."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest.documents import Turn, parse_transcript
from recollect.ingest.folder import FolderSettings
from recollect.systems.openclaw.workspace import Workspace
from tests.ingest.kit import Counting, write

SESSIONS = FolderSettings(sources=("memory", "sessions"))
NOON = datetime(2025, 3, 14, 12, tzinfo=UTC)


def turns(*records: Any) -> list[Turn]:
    return parse_transcript("\n".join(json.dumps(record) for record in records), "file").turns


@pytest.mark.parametrize(
    "record",
    [
        {"role": "user", "content": "Hello", "timestamp": "2025-03-14T12:00:00Z", "name": "Ada"},
        {"role": "user", "text": "Hello", "created_at": 1741953600, "speaker": "Ada"},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}], "ts": 1741953600000, "speaker": "Ada"},
        {
            "type": "message",
            "timestamp": "2025-03-14T12:00:00Z",
            "message": {
                "role": "user",
                "content": [{"type": "text", "text": "Hello"}, {"type": "image"}],
                "name": "Ada",
            },
        },
    ],
)
def test_a_message_in_any_of_its_usual_shapes(record: Any) -> None:
    assert turns(record) == [Turn("Hello", 1, "user", "Ada", NOON, "file")]


def test_the_session_is_named_by_the_file_its_first_line_or_the_line_itself() -> None:
    found = turns(
        {"role": "user", "content": "one"},
        {"type": "session", "id": "s1"},
        {"role": "user", "content": "two"},
        {"role": "user", "content": "three", "sessionId": "s2"},
    )
    assert [turn.session for turn in found] == ["file", "s1", "s2"]


def test_lines_that_say_nothing_are_no_turns() -> None:
    found = parse_transcript(
        '{"type":"tool","output":"x"}\n\nnot json\n[1]\n{"role":"user","content":" "}\n{"content":"yes"}', "f"
    )
    assert [(turn.text, turn.line) for turn in found.turns] == [("yes", 6)]
    assert found.invalid_lines == 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["role", "content", "message", "type", "text", "timestamp", "id", "name"]), inner
            )
        ),
    )
)
def test_no_record_is_too_strange(record: Any) -> None:
    for turn in turns(record):
        assert turn.text.strip()
        turn.text.encode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lines = [
        {"type": "session", "id": "monday"},
        {"role": "user", "content": "Where is the heron?", "timestamp": "2025-03-14T12:00:00Z", "name": "Ada"},
        {"role": "assistant", "content": "On the lake.", "timestamp": "2025-03-14T12:00:05Z"},
    ]
    root = tmp_path / "workspace"
    write(root, **{"MEMORY.md": "Facts.", "sessions/a.jsonl": "\n".join(map(json.dumps, lines)) + "\n"})
    return root


def test_transcripts_are_off_unless_asked_for(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None) as space:
        assert space.sync().added == ["MEMORY.md"]


def test_turns_become_memories_with_all_that_is_known_of_them(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None, settings=SESSIONS) as space:
        space.sync()
        second, first = space.mind.list({"source": "transcript"})
    assert (first.text, first.session, first.role, first.speaker, first.position) == (
        "Where is the heron?",
        "monday",
        "user",
        "Ada",
        0,
    )
    assert (first.created, first.lines, first.path) == (NOON, (2, 2), "sessions/a.jsonl")
    assert (second.role, second.position, second.lines) == ("assistant", 1, (3, 3))


def test_a_session_that_goes_on_is_read_on_and_only_what_is_new_embedded(root: Path, path: Path) -> None:
    model = Counting()
    with Workspace(root, db=path, embedder=model, settings=SESSIONS) as space:
        space.sync()
        model.texts.clear()
        with (root / "sessions/a.jsonl").open("a") as file:
            file.write(json.dumps({"role": "user", "content": "Which lake?"}) + "\n")
            file.write('{"role": "assis')  # the writer is not done yet
        report = space.sync()
        assert (model.texts, report.chunks_kept) == (["Which lake?"], 2)
        assert report.problems == {"sessions/a.jsonl": "1 of its lines is not valid JSON"}
        assert space.search("lake", 1)["results"][0]["path"] == "sessions/a.jsonl"


def test_a_long_turn_becomes_several_chunks_of_one_position(root: Path, path: Path) -> None:
    write(root, **{"sessions/b.jsonl": json.dumps({"role": "user", "content": "A sentence about herons. " * 200})})
    with Workspace(root, db=path, embedder=None, settings=SESSIONS) as space:
        space.sync()
        held = space.mind.list({"path": "sessions/b.jsonl"})
    assert len(held) > 1
    assert {(memory.position, memory.lines) for memory in held} == {(0, (1, 1))}


def test_old_transcripts_are_left_out_after_so_many_days(root: Path, path: Path) -> None:
    import os

    os.utime(root / "sessions/a.jsonl", (1_700_000_000, 1_700_000_000))
    with Workspace(root, db=path, embedder=None, settings=SESSIONS) as space:
        assert "sessions/a.jsonl" in space.sync().added
    with Workspace(root, db=path, embedder=None, settings=replace(SESSIONS, retention_days=30)) as space:
        assert space.sync().removed == ["sessions/a.jsonl"]
