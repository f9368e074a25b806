"""JSON lines, JSON lists, CSV tables and mem0: fields by our names, everything else into the context."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import InvalidInput, Mind
from recollect.ingest.imports import detect_format, read_source
from tests.ingest_imports.kit import written


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_lines_may_say_content_and_unknown_fields_become_the_context(mind: Mind, tmp_path: Path) -> None:
    record = {"content": "The cup is blue.", "tags": ["kitchen"], "shelf": 3, "created_at": "2026-01-01", "title": None}
    done = mind.import_from(lines(tmp_path / "a.jsonl", record, {"text": "b", "context": {"x": 1}, "y": 2}))
    assert (done.kind, done.added) == ("jsonl", 2)
    b, cup = mind.list()
    assert (cup.text, cup.tags, cup.context) == ("The cup is blue.", ("kitchen",), {"shelf": 3})
    assert cup.created == datetime(2026, 1, 1, tzinfo=UTC)
    assert b.context == {"x": 1, "y": 2}


@pytest.mark.parametrize("name", ["date", "timestamp"])
def test_a_date_is_the_time_of_creation_unless_it_is_no_moment(mind: Mind, tmp_path: Path, name: str) -> None:
    records = [{"text": "a", name: "2026-01-01"}, {"text": "b", name: "soon"}, {"text": "c", name: "2026-01-01"}]
    records[2]["created"] = "2025-05-05"
    mind.import_from(lines(tmp_path / "a.jsonl", *records))
    a, b, c = sorted(mind.list(), key=lambda memory: memory.text)
    assert (a.created, a.context) == (datetime(2026, 1, 1, tzinfo=UTC), {})
    assert b.context == {name: "soon"}
    assert (c.created, c.context) == (datetime(2025, 5, 5, tzinfo=UTC), {name: "2026-01-01"})


def test_chat_messages_as_lines_keep_their_role(mind: Mind, tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "Two"}, {"type": "image_url"}, {"type": "text", "text": "parts"}]
    mind.import_from(lines(tmp_path / "a.jsonl", {"role": "user", "content": parts}))
    assert [(each.role, each.text) for each in mind.list()] == [("user", "Two\n\nparts")]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_records_without_ids_are_not_doubled_by_importing_them_again(mind: Mind, tmp_path: Path, name: str) -> None:
    path, records = tmp_path / name, [{"text": "tick"}, {"text": "tick"}, {"text": "tock"}]
    if name == "a.csv":
        path.write_text("text,n\ntick,\ntick,\ntock,\n", encoding="utf-8")
    elif name == "a.json":
        written(path, records)
    else:
        lines(path, *records)
    assert detect_format(path) == path.suffix[1:]
    assert mind.import_from(path).added == 3
    again = mind.import_from(path)
    assert (again.added, again.same) == (0, 3)


def test_lines_are_all_or_none_unless_told_otherwise(mind: Mind, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\n{"text": oops}\n\xff\n[1]\n{"title": "no text"}\n{"text": "b"}\n')
    with pytest.raises(InvalidInput, match=r"column 10 is not valid JSON: Expecting value\. Nothing was written\."):
        mind.import_from(path)
    assert len(mind.list()) == 0
    done = mind.import_from(path, strict=False)
    assert (done.added, done.failed) == (2, 4)
    assert [problem.removeprefix(f"{path}, ")[:6] for problem in done.problems] == [
        "line 2",
        "line 3",
        "line 4",
        "line 5",
    ]


@pytest.mark.parametrize("field", ["tags", "entities", "files"])
def test_an_object_is_no_list(mind: Mind, tmp_path: Path, field: str) -> None:
    path = lines(tmp_path / "a.jsonl", {"text": "The cup is blue.", field: {"a": 1}})
    with pytest.raises(InvalidInput, match=f"{field} must be a list of strings, not {{'a': 1}}"):
        mind.import_from(path)
    with pytest.raises(InvalidInput, match=f"{field} must be a list of strings"):
        mind.remember("The cup is blue.", **{field: {"a": 1}})  # type: ignore[arg-type]
    assert len(mind.list()) == 0


def test_a_table_takes_numbers_lists_and_own_columns(mind: Mind, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        'text,tags,confidence,created,room,id\n"The cup, blue","a, b",0.5,2026-01-01,kitchen,c1\n', encoding="utf-8-sig"
    )
    assert mind.import_from(path).added == 1
    cup = mind.show("c1")
    assert (cup.text, cup.tags, cup.confidence, cup.context) == ("The cup, blue", ("a", "b"), 0.5, {"room": "kitchen"})


def test_the_columns_of_a_table_may_have_capitals(mind: Mind, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        'Text,TAGS, Created ,Confidence,Datum,ID\ncup,"a, b",2026-01-01,0.5,2025-05-05,c1\n', encoding="utf-8"
    )
    assert mind.import_from(path).added == 1
    cup = mind.show("c1")
    assert (cup.text, cup.tags, cup.confidence) == ("cup", ("a", "b"), 0.5)
    assert (cup.created, cup.context) == (datetime(2026, 1, 1, tzinfo=UTC), {"Datum": "2025-05-05"})


def test_a_column_that_is_written_as_the_field_comes_before_one_with_capitals(mind: Mind, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Text,text,Title,TITLE,id\nother,cup,first,second,c1\n", encoding="utf-8")
    mind.import_from(path)
    cup = mind.show("c1")
    assert (cup.text, cup.title, cup.context) == ("cup", "first", {"Text": "other", "TITLE": "second"})


def test_numbers_in_own_columns_of_a_table_are_numbers(mind: Mind, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "text,force,count,zip,done,huge,note,context,id\n"
        'cup,12.5,-3,00501,true,1e999,"1,5","{""own"": ""7""}",c1\n'
        "42,,,,,,,,c2\n",
        encoding="utf-8",
    )
    assert mind.import_from(path).added == 2
    assert mind.show("c1").context == {
        "force": 12.5,
        "count": -3,
        "zip": "00501",
        "done": "true",
        "huge": "1e999",
        "note": "1,5",
        "own": "7",
    }
    assert [memory.id for memory in mind.list({"context": {"force": {"$gt": 12}}})] == ["c1"]
    assert mind.show("c2").text == "42"


def test_a_table_that_an_earlier_version_imported_is_recognised(mind: Mind, tmp_path: Path) -> None:
    """Its external ids are made of the cells as they are written."""
    path = tmp_path / "a.csv"
    path.write_text("text,force\ncup,12.5\n", encoding="utf-8")
    mind.import_from(path)
    assert mind.list()[0].external_id == "b940c26366537a77c1b5/1"


def test_a_bad_row_of_a_table_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,confidence\nfine,1\nodd,very\nlong,1,2\n", encoding="utf-8")
    assert [item.problem for item in read_source(path)] == [
        "",
        f"{path}, line 3: confidence cannot be read from 'very'.",
        f"{path}, line 4: there are more cells than the header has names.",
    ]


@pytest.mark.parametrize(("name", "text"), [("a.jsonl", '{"note": "x", "tag": 1}'), ("a.csv", "note,tag\nx,1\n")])
def test_a_record_without_a_text_is_told_so(mind: Mind, tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(
        InvalidInput, match=r"line \d: there is no text \(nor content\) among its fields: note, tag\. N"
    ):
        mind.import_from(path)


def test_a_table_may_stand_between_semicolons(mind: Mind, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text;tags\n"The cup; blue, tall";a,b\n', encoding="utf-8")
    assert mind.import_from(path).added == 1
    assert [(each.text, each.tags) for each in mind.list()] == [("The cup; blue, tall", ("a", "b"))]


def test_rows_without_a_word_are_passed_by(mind: Mind, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,room\ncup,kitchen\n,\n,,,\n\nplate,\n", encoding="utf-8")
    assert mind.import_from(path).added == 2


MEM0 = {
    "id": "892db2ae",
    "memory": "Likes green tea",
    "hash": "ab12",
    "user_id": "ada",
    "run_id": "r1",
    "agent_id": "helper",
    "metadata": {"place": "office"},
    "categories": ["food"],
    "created_at": "2026-02-26T13:26:04.313467-08:00",
    "updated_at": None,
    "score": 0.3,
}


def test_mem0_memories_come_with_user_session_and_metadata(mind: Mind, tmp_path: Path) -> None:
    relation = {"source": "ada", "relationship": "drinks", "target": "green_tea"}
    path = written(tmp_path / "mem0.json", {"results": [MEM0, "odd"], "relations": [relation]})
    done = mind.import_from(path)
    assert (done.kind, done.added, done.links) == ("mem0", 1, 1)
    assert done.problems == [f"{path}, result 2 is not a JSON object."]
    (tea,) = mind.list()
    assert (tea.text, tea.user, tea.session, tea.tags, tea.source) == (
        "Likes green tea",
        "ada",
        "r1",
        ("food",),
        "mem0",
    )
    assert tea.context == {"place": "office", "hash": "ab12", "agent_id": "helper"}
    assert tea.created == datetime(2026, 2, 26, 21, 26, 4, 313_467, tzinfo=UTC)
    assert [(each.subject, each.relation, each.object) for each in mind.entity_edges()] == [
        ("ada", "drinks", "green_tea")
    ]
    assert mind.import_from(path).same == 1


def test_mem0_memories_in_a_list_or_in_lines_are_recognised(tmp_path: Path) -> None:
    for path in (written(tmp_path / "list.json", [MEM0]), lines(tmp_path / "lines.jsonl", MEM0)):
        assert detect_format(path) == "mem0"
        (item,) = read_source(path)
        assert item.record is not None
        assert item.record["external_id"] == "mem0:892db2ae"
