"""At the door: what is accepted, and how the rest is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import InvalidInput, Memory, Mind
from recollect.model.memory import make_memory
from recollect.model.validation import from_micros, micros, moment, replace_surrogates

NINE = datetime(2025, 3, 14, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (NINE, NINE),
        (NINE.replace(tzinfo=None), NINE),
        (NINE.astimezone(timezone(timedelta(hours=5, minutes=30))), NINE),
        ("2025-03-14T09:30:00Z", NINE),
        ("2025-03-14T10:30:00+01:00", NINE),
        ("2025-03-14 09:30", NINE),
        (" 2025-03-14T09:30 ", NINE),
        ("20250314T093000Z", NINE),
        ("2025-03-14", datetime(2025, 3, 14, tzinfo=UTC)),
        ("2025-03-14T09:30:00.000001Z", NINE + timedelta(microseconds=1)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (-86400, datetime(1969, 12, 31, tzinfo=UTC)),
        (NINE.timestamp(), NINE),
        (1.5, datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)),
    ],
    ids=repr,
)
def test_a_moment_may_be_said_in_many_ways(value: Any, expected: datetime) -> None:
    found = moment(value, "created")
    assert found == expected
    assert found.tzinfo == UTC


@pytest.mark.parametrize(
    "value",
    [
        None, "", "yesterday", "14.03.2025", "2025-13-01", "2025-02-30", "09:30", True, False, [], {}, b"2025-03-14",
        float("nan"), float("inf"), -float("inf"), 1e300, 10**30, date(2025, 3, 14), timedelta(1),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))), "9999-12-31T23:59:59-05:00",
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_moment_is_refused_by_name_and_with_an_example(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"expires.*2025-03-14"):
        moment(value, "expires")


@settings(max_examples=200)
@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_carry_a_moment_there_and_back(when: datetime) -> None:
    assert from_micros(micros(when)) == when


@settings(max_examples=200)
@given(st.text(st.characters()))
def test_a_cleaned_text_can_be_stored_and_stays_clean(text: str) -> None:
    cleaned = replace_surrogates(text)
    cleaned.encode("utf-8")
    assert replace_surrogates(cleaned) == cleaned
    if not any(0xD800 <= ord(letter) < 0xE000 for letter in text):
        assert cleaned == text


@pytest.mark.parametrize(
    "details",
    [
        {"title": 3},
        {"tags": "one"},
        {"tags": [1]},
        {"keywords": None},
        {"context": []},
        {"context": {"a": float("nan")}},
        {"context": {"a": {1, 2}}},
        {"classification": 1.5},
        {"classification": True},
        {"classification": 2**63},
        {"classification": -1},
        {"classification": 101},
        {"status": "lost"},
        {"status": None},
        {"lines": (0, 1)},
        {"lines": (5, 4)},
        {"lines": (1,)},
        {"lines": "19"},
        {"position": "first"},
        {"confidence": 1.1},
        {"confidence": "high"},
        {"strength": None},
        {"strength": -0.1},
        {"importance": float("inf")},
        {"importance": 11},
        {"relevance": -10.5},
        {"emotion": 10.01},
        {"emotion": -11},
        {"trust": 0.5},
        {"trust": 11},
        {"credibility": -1},
        {"mentions": 0},
        {"agent": None},
        {"created": "soon"},
        {"valid_from": "2025-02-01", "valid_to": "2025-02-01"},
        {"colour": "blue"},
        {"id": 7},
        {"use": {"clicks": 1}},
    ],
    ids=repr,
)
def test_a_detail_that_cannot_be_is_refused_and_named(tmp_path: Path, details: dict[str, Any]) -> None:
    with Mind(tmp_path / "memory.db", embedder=None, durability="fast") as mind:
        with pytest.raises(InvalidInput, match=next(iter(details))):
            mind.remember("plain", **details)
        with pytest.raises(InvalidInput, match=rf"Item 2: .*{next(iter(details))}"):
            mind.remember_many(["fine", {"text": "plain", **details}])
        assert mind.list() == []


@pytest.mark.parametrize("text", ["", "  \n", None, 3, b"bytes", ["list"]])
def test_a_memory_has_a_text(tmp_path: Path, text: Any) -> None:
    with Mind(tmp_path / "memory.db", embedder=None, durability="fast") as mind:
        id = mind.remember("plain").id
        with pytest.raises(InvalidInput):
            mind.remember(text)
        with pytest.raises(InvalidInput):
            mind.remember_many([{"text": text}])
        with pytest.raises(InvalidInput):
            mind.remember(Memory(text=text))
        if text is not None:
            with pytest.raises(InvalidInput):
                mind.edit(id, text=text)
        assert [memory.text for memory in mind.list()] == ["plain"]


@pytest.mark.parametrize(
    ("details", "allowed"),
    [
        ({"emotion": 50}, "emotion must be between -10 and 10, not 50."),
        ({"confidence": 2}, "confidence must be between 0 and 1, not 2."),
        ({"classification": -1}, "classification must be between 0 and 100, not -1."),
        ({"mentions": 0}, "mentions must be at least 1, not 0."),
        ({"trust": 2**70}, "trust is too large"),
        ({"status": "lost"}, "status must be one of active, superseded, contradicted, forgotten, not 'lost'."),
    ],
)
def test_a_number_out_of_range_is_refused_with_the_range(details: dict[str, Any], allowed: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        make_memory("plain", details)
    assert str(refused.value).startswith(allowed)
