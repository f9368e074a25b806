"""Filters for what is no stored memory: by the fields that it has, and out where it lacks one (A4)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from recollect import Filter, Near, Not
from recollect.model.filter import AllOf, FilterExpression
from recollect.model.matching import matches

KNOWN: dict[str, Any] = {
    "kind": "note",
    "user": "anna",
    "tags": ["a", "b"],
    "path": "notes/daily/x.md",
    "classification": 1,
    "confidence": 0.7,
    "context": {"at": [1.0, 2.0], "done": True},
    "created": (datetime(2025, 3, 3, tzinfo=UTC), datetime(2025, 3, 10, tzinfo=UTC)),
}
HOLDS: list[FilterExpression] = [
    Filter(),
    Filter(user="anna", kind="note"),
    Filter(user=["bob", "anna"]),
    Filter(tags="a"),
    Filter(tags=["a", "b"]),
    Filter(path="notes/daily/x.md"),
    Filter(path="notes/"),
    Filter(classification=1),
    Filter(min_confidence=0.7),
    Filter(since="2025-03-09T23:00", until="2025-03-12"),
    Filter(until="2025-03-04"),
    Filter(context={"done": True}),
    Filter(near=Near("at", [1, 2], 0.1)),
    Filter(expired=True, confidence_decay=0.9),
    AllOf((Filter(user="anna"), Not(Filter(user="bob")))),
    Not(Not(Filter(user="anna"))),
    Filter(user="bob") | Filter(user="anna"),
]
FAILS: list[FilterExpression] = [
    Filter(user="bob"),
    Filter(user=["bob", "carol"]),
    Filter(tags=["a", "c"]),
    Filter(path="notes"),
    Filter(classification=0),
    Filter(min_confidence=0.8),
    Filter(since="2025-03-10"),
    Filter(until="2025-03-03"),
    Filter(context={"done": False}),
    Filter(near=Near("at", [5, 5], 0.1)),
    Filter(user="anna", kind="relation"),
    Not(Filter(user="anna")),
    Filter(user="bob") | Filter(kind="relation"),
]


@pytest.mark.contract("A4")
@pytest.mark.parametrize("filter", HOLDS, ids=str)
def test_conditions_that_hold_let_it_in_and_their_negation_keeps_it_out(filter: FilterExpression) -> None:
    assert matches(filter, KNOWN)
    assert not matches(Not(filter), KNOWN)


@pytest.mark.contract("A4")
@pytest.mark.parametrize("filter", FAILS, ids=str)
def test_conditions_that_fail_keep_it_out_and_their_negation_lets_it_in(filter: FilterExpression) -> None:
    assert not matches(filter, KNOWN)
    assert matches(Not(filter), KNOWN)


@pytest.mark.contract("A4")
@pytest.mark.parametrize("filter", [each for each in HOLDS if each not in (Filter(), HOLDS[13])], ids=str)
def test_a_field_that_it_lacks_keeps_it_out_either_way(filter: FilterExpression) -> None:
    assert not matches(filter, {})
    assert not matches(Not(filter), {})


def test_no_filter_lets_everything_in() -> None:
    assert matches(None, {})
    assert matches(Filter(), {})
