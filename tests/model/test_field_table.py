"""The definition of a memory's fields, and what must agree with it: columns, types, filters and docs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from recollect import Filter, Memory, Mind
from recollect.cli.options import FilterOptions
from recollect.model.fields import Field
from recollect.model.memory import FIELDS, JSON_FIELDS, KEYWORD_FIELDS, NUMBER_FIELDS, Changes, Details, Status
from recollect.store.rows import COLUMNS
from recollect.store.text_fields import TEXT_FIELDS
from tests.store.looking import sql

PAGE = Path(__file__).parents[2] / "docs" / "memory-fields.md"
INTRODUCTION = """# The fields of a memory

<!-- Made from recollect/model/memory.py: edit the fields there, then write this page with
     RECOLLECT_WRITE_DOCS=1 pytest tests/model/test_field_table.py -->

`remember` and `edit` take these fields as keywords, `import` and `export` as JSON keys, CSV files as columns. Only
`text` is required. Lists are JSON lists, dates are ISO 8601 (`2025-03-14T09:30:00+01:00`; without an offset they are
in the [time zone of the mind](time.md#time-zones)), `lines` are two numbers. Anything else goes into `context`.
*Filter* names the conditions of a `Filter` that read the field, *Option* the flags of `recollect remember` and
`recollect edit`.

"""
TYPES: dict[str, Any] = {
    "text": str,
    "keyword": str,
    "path": str,
    "list": Sequence[str],
    "object": Mapping[str, Any],
    "integer": int,
    "number": float,
    "lines": Sequence[int],
}


def generated_page() -> str:
    """docs/memory-fields.md, made from the definition."""
    rows = [
        "| Field | Values | Default | What it is | Searched as | Filter | Option |",
        "|---|---|---|---|---|---|---|",
    ]
    for field in FIELDS.values():
        default = "" if field.name == "text" else "assigned" if field.assigned else f"`{field.default!r}`"
        if field.kind == "use":
            default = "no use"
        option = " ".join(f"`{flag}`" for flag in field.option.split())
        filter = ", ".join(f"`{name}`" for name in field.filter.split(", ") if name)
        words = f"`{field.words}`" if field.words else ""
        cells = (f"`{field.name}`", field.allowed, default, field.help, words, filter, option)
        rows.append("| " + " | ".join(cells) + " |")
    return INTRODUCTION + "\n".join(rows) + "\n"


def test_the_docs_list_every_field_as_it_is_defined() -> None:
    if os.environ.get("RECOLLECT_WRITE_DOCS"):
        PAGE.write_text(generated_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == generated_page(), "RECOLLECT_WRITE_DOCS=1 writes it anew"


def test_every_field_is_defined_once_and_described_in_a_sentence() -> None:
    assert list(FIELDS) == [each.name for each in fields(Memory)]
    for field in FIELDS.values():
        assert field.help[0].isupper(), field.name
        assert field.help.endswith("."), field.name


@pytest.mark.parametrize("field", FIELDS.values(), ids=lambda field: field.name)
def test_a_default_passes_the_check_of_its_field(field: Field) -> None:
    if field.name != "text":
        assert field.check(field.default, field.name) == field.default


@pytest.mark.parametrize("field", FIELDS.values(), ids=lambda field: field.name)
def test_none_is_a_value_of_optional_fields_alone(field: Field) -> None:
    hint = get_type_hints(Memory)[field.name]
    assert field.optional == (type(None) in get_args(hint))


def test_the_typed_keywords_agree_with_the_definition() -> None:
    hints = get_type_hints(Changes)
    assert set(hints) == set(FIELDS) - {"text", "id", "use"}
    assert get_type_hints(Details) == {**hints, "id": str}
    for name, hint in hints.items():
        field = FIELDS[name]
        if field.kind == "moment":
            assert datetime in get_args(hint)
            assert (type(None) in get_args(hint)) == (not field.assigned)
            continue
        expected = Status if name == "status" else TYPES[field.kind]
        assert hint == (expected | None if field.optional else expected), name


def test_the_columns_of_a_new_file_are_those_of_the_definition(tmp_path: Path) -> None:
    Mind(tmp_path / "memory.db", embedder=None).close()
    found = {
        name: kind + (" NOT NULL" if required else "")
        for name, kind, required in sql(
            tmp_path / "memory.db", "SELECT name, type, \"notnull\" FROM pragma_table_info('memories')"
        )
    }
    types = {"integer": "INTEGER", "moment": "INTEGER", "number": "REAL"}
    expected = {
        name: types.get(field.kind, "TEXT") + ("" if field.optional and not field.assigned else " NOT NULL")
        for name, field in FIELDS.items()
        if field.kind not in ("lines", "use")
    }
    expected |= {"first_line": "INTEGER", "last_line": "INTEGER"}
    assert {name: found.get(name) for name in expected} == expected
    assert set(COLUMNS) == set(expected)


def test_every_keyword_field_is_a_condition_of_a_filter() -> None:
    conditions = {each.name for each in fields(Filter)}
    assert conditions >= set(KEYWORD_FIELDS)
    named = {name for field in FIELDS.values() for name in field.filter.split(", ") if name}
    assert conditions == named | {"confidence_decay"}


def test_every_keyword_field_with_an_option_is_also_an_option_of_recall() -> None:
    options = {each.name for each in fields(FilterOptions)}
    assert options >= {name for name in KEYWORD_FIELDS if FIELDS[name].option}


def test_every_column_that_is_scanned_has_one_form() -> None:
    groups = [set(KEYWORD_FIELDS), set(NUMBER_FIELDS), set(JSON_FIELDS)]
    others = {name for name, field in FIELDS.items() if field.kind in ("text", "path", "lines", "use")}
    assert set().union(*groups, others) == set(FIELDS)
    assert sum(map(len, groups)) + len(others) == len(FIELDS)


def test_every_text_field_has_its_source() -> None:
    assert {field.words for field in FIELDS.values() if field.words} == set(TEXT_FIELDS)
