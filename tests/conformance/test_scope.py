"""Scopes: which memories a filter lets in at a moment, and the reasons for the others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from recollect.errors import InvalidInput
from recollect.model import STATUSES, Filter, Near
from recollect.model.filter import FilterExpression
from recollect.store.base import Exclusion, Store, UseRecord
from recollect.text.query_language import parse_query
from tests.conformance.kit import NOON, TEXT, ids_in, in_scope, remember, row, rows

DAY = timedelta(days=1)


def reason(store: Store, id: str, filter: FilterExpression | None = None, **options: Any) -> Exclusion | None:
    with store.snapshot() as snapshot:
        scope = snapshot.scope(filter, options.pop("statuses", ("active",)), NOON, **options)
        found = scope.exclusion(row(snapshot, id))
        assert scope.contains(rows(snapshot, id)).tolist() == [found is None]
        assert scope.knows(row(snapshot, id))
        return found


# Statuses and time.


@pytest.fixture
def dated(store: Store) -> Store:
    for status in STATUSES:
        remember(store, status, status, status=status)
    remember(store, "began", "began", valid_from=NOON - DAY)
    remember(store, "begins", "begins", valid_from=NOON + DAY)
    remember(store, "ended", "ended", valid_to=NOON - DAY, created=NOON - 3 * DAY)
    remember(store, "ends", "ends", valid_to=NOON + DAY, status="superseded", created=NOON - 3 * DAY)
    remember(store, "expired", "expired", expires=NOON)
    remember(store, "expires", "expires", expires=NOON + DAY)
    return store


def test_a_scope_has_the_statuses_that_are_asked_for(dated: Store) -> None:
    assert in_scope(dated) == ["active", "began", "ends", "expires"]
    assert in_scope(dated, statuses=("superseded",)) == ["ended", "superseded"]
    assert in_scope(dated, statuses=("active", "contradicted")) == [
        "active",
        "began",
        "contradicted",
        "ends",
        "expires",
    ]


def test_forgotten_memories_are_never_in_a_scope_that_is_not_hidden(dated: Store) -> None:
    assert in_scope(dated, statuses=("forgotten",)) == []
    assert in_scope(dated, Filter(status="forgotten")) == []
    assert in_scope(dated, statuses=("forgotten",), hidden=True) == ["forgotten"]


def test_a_hidden_scope_has_everything_with_its_stored_status(dated: Store) -> None:
    everything = in_scope(dated, statuses=STATUSES, hidden=True)
    assert len(everything) == len(STATUSES) + 6
    assert in_scope(dated, statuses=("superseded",), hidden=True) == ["ends", "superseded"]


def test_a_status_in_the_filter_comes_before_the_usual_ones(dated: Store) -> None:
    assert in_scope(dated, Filter(status="superseded")) == ["ended", "superseded"]
    assert in_scope(dated, Filter(status=["contradicted", "superseded"])) == ["contradicted", "ended", "superseded"]
    assert in_scope(dated, ~Filter(status="active")) == []
    assert in_scope(dated, Filter(status="superseded") | Filter(topic="")) == in_scope(
        dated, statuses=("active", "superseded")
    )


def test_as_of_a_moment_memories_must_be_valid_then(dated: Store) -> None:
    assert in_scope(dated, statuses=STATUSES, now=NOON, as_of=True) == [
        *("active", "began", "contradicted", "ends", "expires", "superseded"),
    ]
    assert in_scope(dated, statuses=STATUSES, now=NOON - 2 * DAY, as_of=True) == ["ended", "ends"]
    assert in_scope(dated, now=NOON - 2 * DAY) == sorted(
        ["active", "ended", "ends", "expired", "expires"]
    )  # without as_of, what was created later counts, too


def test_expired_memories_can_be_asked_for(dated: Store) -> None:
    assert "expired" not in in_scope(dated, Filter(expired=False))
    assert "expired" in in_scope(dated, Filter(expired=True))
    assert "expired" in in_scope(dated, Filter(expired=True) & Filter(collection="main"))


def test_each_condition_of_time_and_status_has_its_reason(dated: Store) -> None:
    assert reason(dated, "active") is None
    assert reason(dated, "forgotten") == Exclusion("it was forgotten")
    assert reason(dated, "forgotten", statuses=("active", "superseded"), hidden=True) == Exclusion(
        "its status is none of: active, superseded"
    )
    assert reason(dated, "superseded") == Exclusion("its status is none of: active")
    assert reason(dated, "ended") == Exclusion("its status is none of: active")
    assert reason(dated, "begins") == Exclusion("it is not valid yet")
    assert reason(dated, "begins", as_of=True) == Exclusion(f"it is not valid at {NOON.isoformat()}")
    assert reason(dated, "expired") == Exclusion("it has expired")


def test_a_row_that_is_not_stored_is_not_in_scope(dated: Store) -> None:
    with dated.snapshot() as snapshot:
        scope = snapshot.scope(None, STATUSES, NOON, hidden=True)
        assert scope.contains(np.array([0, -1, 999])).tolist() == [False] * 3
        assert scope.exclusion(999) == Exclusion("it is not in the store")
        assert not scope.knows(999)


def test_a_scope_counts_its_memories(dated: Store) -> None:
    with dated.snapshot() as snapshot:
        assert snapshot.scope(None, ("active",), NOON).count == 4
        assert snapshot.scope(Filter(topic="none"), ("active",), NOON).count == 0


def test_the_next_validity_change_is_the_next_moment_at_which_answers_may_differ(dated: Store) -> None:
    with dated.snapshot() as snapshot:
        day = DAY / timedelta(microseconds=1)
        noon = snapshot.numbers("expires", rows(snapshot, "expired"))[0]
        assert snapshot.next_validity_change(NOON - 2 * DAY) == noon - day
        assert snapshot.next_validity_change(NOON - DAY) == noon
        assert snapshot.next_validity_change(NOON) == noon + day
        assert snapshot.next_validity_change(NOON + DAY) == np.inf


# Conditions of a filter: name → filter, ids in scope, the reason for "cup".


@pytest.fixture
def kitchen(store: Store) -> Store:
    remember(
        store,
        "a cup",
        "cup",
        tags=("blue", "old"),
        path="kitchen/cup.md",
        classification=2,
        confidence=0.5,
        context={"pose": [1.0, 2.0], "force": 3, "name": "grip"},
        **dict.fromkeys("user agent session speaker role kind topic tier source".split(), "a"),
    )
    remember(
        store,
        "a plate",
        "plate",
        tags=("blue",),
        path="kitchen",
        created=NOON - 3 * DAY,
        confidence=None,
        collection="other",
        **dict.fromkeys("user agent session speaker role kind topic tier source".split(), "b"),
    )
    remember(store, "a spoon", "spoon", created=NOON - 9 * DAY, context={"pose": [4.0, 6.0], "force": "strong"})
    return store


def make_filter(name: str, value: Any) -> Filter:
    return Filter(**{name: value})


CONDITIONS: list[tuple[Filter, list[str], Exclusion | None]] = [
    (
        Filter(collection="other"),
        ["plate"],
        Exclusion("the filter collection='other' leaves it out: its collection is 'main'"),
    ),
    (Filter(collection=["main", "x"]), ["cup", "spoon"], None),
    *[
        (make_filter(name, "b"), ["plate"], Exclusion(f"the filter {name}='b' leaves it out: its {name} is 'a'"))
        for name in "user agent session speaker role kind topic tier source".split()
    ],
    (Filter(topic=[]), [], Exclusion("the filter topic=[] leaves it out: its topic is 'a'")),
    (Filter(tags="blue"), ["cup", "plate"], None),
    (Filter(tags=["blue", "old"]), ["cup"], None),
    (Filter(tags="new"), [], Exclusion("the filter tags='new' leaves it out: its tags are blue, old")),
    (Filter(tags=[]), ["cup", "plate", "spoon"], None),
    (
        Filter(path="kitchen"),
        ["plate"],
        Exclusion("the filter path='kitchen' leaves it out: its path is 'kitchen/cup.md'"),
    ),
    (Filter(path="kitchen/"), ["cup"], None),
    (
        Filter(classification=1),
        ["plate", "spoon"],
        Exclusion("the filter classification=1 leaves it out: its classification is 2", 2.0, 1.0),
    ),
    (
        Filter(min_confidence=0.75),
        ["spoon"],
        Exclusion("the filter min_confidence=0.75 leaves it out: its confidence is 0.5", 0.5, 0.75),
    ),
    (Filter(min_confidence=0), ["cup", "plate", "spoon"], None),
    (Filter(since=NOON - 3 * DAY), ["cup", "plate"], None),
    (
        Filter(until="2025-01-01"),
        ["plate", "spoon"],
        Exclusion("the filter until='2025-01-01' leaves it out: it was created 2025-01-01T12:00:00+00:00"),
    ),
    (Filter(context={"force": 3}), ["cup"], None),
    (
        Filter(context={"force": {"$lt": 3}}),
        [],
        Exclusion("the filter context={'force': {'$lt': 3}} leaves it out: its force is 3", 3.0, 3.0),
    ),
    (
        Filter(context={"force": "strong"}),
        ["spoon"],
        Exclusion("the filter context={'force': 'strong'} leaves it out: its force is 3"),
    ),
    (
        Filter(context={"a.b": 1}),
        [],
        Exclusion("the filter context={'a.b': 1} leaves it out: it has no a.b"),
    ),
    (
        Filter(near=Near("pose", [4.0, 6.0], 1.0)),
        ["spoon"],
        Exclusion("the filter near=pose within 1 of [4.0, 6.0] leaves it out: it is 5 away", 5.0, 1.0),
    ),
    (
        Filter(near=Near("pose", [4.0], 9.0)),
        [],
        Exclusion(
            "the filter near=pose within 9 of [4.0] leaves it out: "
            "the coordinates at pose are 2-D, and the target is 1-D"
        ),
    ),
    (
        Filter(near=Near("place", [4.0], 9.0)),
        [],
        Exclusion("the filter near=place within 9 of [4.0] leaves it out: no usable coordinates at place"),
    ),
]


@pytest.mark.parametrize(("filter", "ids", "excluded"), CONDITIONS, ids=lambda each: None)
def test_a_condition_lets_in_what_fulfils_it_and_says_why_it_leaves_out_the_rest(
    kitchen: Store, filter: Filter, ids: list[str], excluded: Exclusion | None
) -> None:
    assert in_scope(kitchen, filter) == ids
    assert reason(kitchen, "cup", filter) == excluded


def test_conditions_of_one_filter_must_all_hold_and_the_first_that_fails_is_named(kitchen: Store) -> None:
    both = Filter(topic="b", tags="new")
    assert in_scope(kitchen, Filter(topic="a", tags="blue")) == ["cup"]
    excluded = reason(kitchen, "cup", both)
    assert excluded is not None
    assert excluded.reason == "the filter topic='b' leaves it out: its topic is 'a'"


def test_a_negation_is_named_as_a_whole(kitchen: Store) -> None:
    negated = ~(Filter(topic="a") & Filter(tags="blue"))
    assert in_scope(kitchen, negated) == ["plate", "spoon"]
    assert reason(kitchen, "cup", negated) == Exclusion("the filter not (topic='a' and tags='blue') leaves it out")


def test_alternatives_are_named_as_a_whole(kitchen: Store) -> None:
    either = Filter(topic="b") | Filter(tags="new")
    assert in_scope(kitchen, either) == ["plate"]
    assert reason(kitchen, "cup", either) == Exclusion("the filter (topic='b') or (tags='new') leaves it out")


UNDECIDED = Filter(context={"force": {"$lt": 10}})  # for spoon (a string) and plate (no force)


def test_what_cannot_be_decided_is_left_out_negated_or_not(kitchen: Store) -> None:
    assert in_scope(kitchen, UNDECIDED) == ["cup"]
    assert in_scope(kitchen, ~UNDECIDED) == []
    assert in_scope(kitchen, ~(UNDECIDED & Filter(topic="a"))) == ["plate", "spoon"]  # false for another reason
    assert in_scope(kitchen, ~(UNDECIDED & Filter(topic="b"))) == ["cup", "spoon"]
    assert in_scope(kitchen, UNDECIDED | Filter(topic="b")) == ["cup", "plate"]
    assert in_scope(kitchen, ~(UNDECIDED | Filter(topic="b"))) == []
    assert in_scope(kitchen, ~Filter(near=Near("pose", [4.0, 6.0], 1.0))) == ["cup"]


def test_confidence_decays_by_the_days_since_the_last_access(kitchen: Store) -> None:
    filter = Filter(min_confidence=0.8, confidence_decay=0.99)
    assert in_scope(kitchen, filter) == ["spoon"]  # 0.99 ^ 9 is 0.914
    assert in_scope(kitchen, filter, now=NOON + 20 * DAY) == []
    with kitchen.snapshot() as snapshot:
        kitchen.record_use(UseRecord(rows(snapshot, "spoon").tolist(), NOON + 15 * DAY))
    assert in_scope(kitchen, filter, now=NOON + 20 * DAY) == ["spoon"]
    assert in_scope(kitchen, filter, now=NOON + 40 * DAY) == []


def test_confidence_decays_by_whole_hours(store: Store) -> None:
    remember(store, "sure", "sure", confidence=0.5)
    filter = Filter(min_confidence=0.5, confidence_decay=0.5)
    assert in_scope(store, filter, now=NOON + timedelta(minutes=59)) == ["sure"]
    assert in_scope(store, filter, now=NOON + timedelta(minutes=60)) == []


INVALID: dict[str, Callable[[], Any]] = {
    "no filter": lambda: {"topic": "a"},
    "an unknown status": lambda: Filter(status="lost"),
    "a number for a topic": lambda: Filter(topic=3),  # type: ignore[arg-type]
    "a number for tags": lambda: Filter(tags=[3]),  # type: ignore[list-item]
    "no path": lambda: Filter(path=3),  # type: ignore[arg-type]
    "no number": lambda: Filter(classification="x"),  # type: ignore[arg-type]
    "no fraction": lambda: Filter(min_confidence=7),
    "no decay": lambda: Filter(min_confidence=0.5, confidence_decay=7),
    "no date": lambda: Filter(since="yesterday or so"),
    "no context": lambda: Filter(context=[1]),  # type: ignore[arg-type]
    "no operator": lambda: Filter(context={"a": {"$like": 1}}),
    "no target": lambda: Filter(near=Near("a", [], 1.0)),
    "expired, negated": lambda: ~Filter(expired=True),
    "expired, as an alternative": lambda: Filter(expired=True) | Filter(topic="a"),
    "no truth": lambda: Filter(expired="yes"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_filter_is_refused_also_by_an_empty_store(store: Store, name: str) -> None:
    with store.snapshot() as snapshot, pytest.raises(InvalidInput):
        snapshot.scope(INVALID[name](), ("active",), NOON)


def test_a_query_tree_excludes_what_fulfils_it(kitchen: Store) -> None:
    tree = parse_query('"a cup" OR plat*')
    assert tree is not None
    with kitchen.snapshot() as snapshot:
        scope = snapshot.scope(None, ("active",), NOON)
        rest = snapshot.excluding(tree, TEXT, scope)
        assert ids_in(snapshot, rest) == ["spoon"]
        assert scope.count == 3
        assert rest.count == 1
        assert rest.exclusion(row(snapshot, "cup")) == Exclusion('the query excludes it: NOT "a cup" OR plat*')
        narrow = snapshot.excluding(tree, TEXT, snapshot.scope(Filter(topic="b"), ("active",), NOON))
        excluded = narrow.exclusion(row(snapshot, "cup"))
        assert excluded is not None
        assert excluded.reason.startswith("the filter topic='b'")
