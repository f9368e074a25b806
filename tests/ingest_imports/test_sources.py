"""Sources: recognised by what is in them, read piece by piece, broken ones named."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import InvalidInput, Mind
from recollect.ingest.imports import detect_format, read_source, sources
from tests.ingest_imports.kit import claude_talk, written, zipped

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None)
@given(values=st.lists(JSON, max_size=8), chunk=st.integers(1, 40), indent=st.sampled_from([None, 2]))
def test_a_list_is_read_as_json_reads_it_however_it_is_cut(values: list[Any], chunk: int, indent: int | None) -> None:
    for ascii in (True, False):
        text = json.dumps(values, ensure_ascii=ascii, indent=indent)
        assert [*sources.iterate_json(io.BytesIO(text.encode("utf-8", "surrogatepass")), chunk)] == values


def test_a_value_larger_than_what_is_read_at_a_time_is_whole() -> None:
    long = "".join(random.Random(1).choices('ab"\\\n€', k=3 * sources.READ_CHARACTERS))
    text = json.dumps([{"text": long}, 1.5, {"text": "after"}])
    assert [*sources.iterate_json(io.BytesIO(text.encode()))] == [{"text": long}, 1.5, {"text": "after"}]


@pytest.mark.parametrize(
    ("tail", "told"),
    [
        ('{"uuid": "c-2", "chat_messages": [', "the file ends in the middle of it"),
        ("", "the file ends in the middle of it"),
        ('{"uuid": nonsense, "chat_messages": [], "name": "far from the end of the file"}]', "Expecting value"),
        ("[" * 100_000, "recursion"),
        ("\xff", "it is not UTF-8 text (byte 0xff)"),
    ],
)
def test_a_broken_file_gives_what_came_before_the_break(mind: Mind, tmp_path: Path, tail: str, told: str) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(json.dumps([claude_talk()])[:-1].encode() + b",\n" + tail.encode("latin-1"))
    done = mind.import_from(path, "claude")
    assert (done.added, done.failed) == (2 if tail != "\xff" else 0, 1)  # text is decoded a chunk at a time
    assert done.problems[0].startswith(f"{path}, conversation ")
    assert told in done.problems[0]


def test_a_kind_may_be_said(mind: Mind, tmp_path: Path) -> None:
    path = written(tmp_path / "mine.txt", [{"text": "a"}])
    assert mind.import_from(path, "json").added == 1
    with pytest.raises(InvalidInput, match=r"kind must be one of jsonl, json, csv.*not 'xml'"):
        mind.import_from(path, "xml")


@pytest.mark.parametrize("kind", [None, "claude", "openmem", "csv"])
def test_a_missing_file_is_named(mind: Mind, tmp_path: Path, kind: str | None) -> None:
    with pytest.raises(InvalidInput, match=r"There is no file .*none\.json"):
        mind.import_from(tmp_path / "none.json", kind)


def test_a_folder_of_markdown_is_sent_to_sync(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("# Hello", encoding="utf-8")
    with pytest.raises(InvalidInput, match="recollect sync"):
        detect_format(tmp_path)
    with pytest.raises(InvalidInput, match="recollect sync"):
        detect_format(tmp_path / "MEMORY.md")


def test_a_zip_file_of_something_else_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(InvalidInput, match=r"contains no conversations\.json"):
        detect_format(tmp_path / "x.zip")


def test_a_damaged_zip_file_is_refused(mind: Mind, tmp_path: Path) -> None:
    whole = zipped(tmp_path / "x.zip", conversations=[claude_talk()]).read_bytes()
    (tmp_path / "y.zip").write_bytes(b"PK\x03\x04 broken" + whole[30:])
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        mind.import_from(tmp_path / "y.zip")


def test_a_pipe_is_read_as_lines_from_its_beginning(mind: Mind, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=lambda: (tmp_path / "pipe").write_text('{"text": "a"}\n{"text": "b"}\n', encoding="utf-8"))
    writer.start()
    assert mind.import_from(tmp_path / "pipe").added == 2
    writer.join()


@pytest.mark.parametrize("source", [7, None, ["a"]])
def test_a_source_is_a_path(mind: Mind, source: Any) -> None:
    with pytest.raises(InvalidInput, match="source must be a path"):
        mind.import_from(source)


def test_reading_begins_before_all_is_read(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text("[" + json.dumps(claude_talk()) + ", " + "x" * 10, encoding="utf-8")
    first = next(iter(read_source(path, "claude")))
    assert first.record is not None
    assert first.place == f"{path}, conversation 1, message 1"
