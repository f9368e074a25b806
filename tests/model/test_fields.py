"""Every field of a memory: offered by name, kept as given, changed by an edit, carried as JSON."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Filter, InvalidInput, Memory, Mind, NotFound, Use
from recollect.model import STATUSES, Changes, Details
from recollect.model.json_records import memory_from_json, to_json

NOON = datetime(2025, 6, 1, 12, 30, 15, 123456, tzinfo=UTC)
FULL = Memory(
    text="Die Tasse – 茶杯 – 🍵\n\tsteht oben.",
    title="Tasse",
    summary="Where it is",
    original="La tasse est en haut.",
    keywords=("cup", "shelf"),
    tags=("kitchen", "kitchen", ""),
    entities=("Anna",),
    context={"params": {"force": {"value": 12.5}}, "ok": True, "none": None, "list": [1, [2]], "ü": "é"},
    id="my-own-id",
    collection="home",
    user="anna",
    kind="fact",
    topic="things",
    tier="core",
    classification=3,
    status="contradicted",
    source="camera",
    external_id="x-1",
    path="notes/cup.md",
    lines=(3, 9),
    files=("a.png", "b.png"),
    session="s1",
    speaker="Anna",
    role="user",
    position=0,
    confidence=0.25,
    strength=0.5,
    importance=-1.5,
    flags=("pinned",),
    relevance=2.25,
    trust=4,
    credibility=0,
    emotion=-3.5,
    emotion_tags=("joy",),
    created=NOON - timedelta(days=9),
    updated=NOON - timedelta(days=8),
    valid_from=NOON - timedelta(days=7),
    valid_to=NOON + timedelta(days=7),
    expires=NOON + timedelta(days=70),
    agent="butler",
    mentions=2,
    use=Use(NOON, 3, 2, 1, NOON, (NOON - timedelta(hours=1), NOON)),
)
EVERY = [each.name for each in fields(Memory)]
SAID = [name for name in EVERY if name not in ("id", "text", "use")]


def details(memory: Memory, names: list[str] = EVERY) -> dict[str, Any]:
    return {name: getattr(memory, name) for name in names}


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with Mind(tmp_path / "memory.db", embedder=None, clock=lambda: NOON, durability="fast") as mind:
        yield mind


def test_the_full_memory_differs_from_the_defaults_everywhere() -> None:
    """What the tests below rely on."""
    plain = Memory(text="plain")
    assert [name for name in EVERY if getattr(FULL, name) == getattr(plain, name)] == []


def test_a_memory_prints_the_fields_that_it_has() -> None:
    assert repr(Memory(text="It rains.", id="a1", created=NOON)) == (
        "Memory(text='It rains.', id='a1', created='2025-06-01 12:30:15.123456+00:00')"
    )


def test_the_keywords_of_edit_and_remember_are_the_fields_of_a_memory() -> None:
    assert list(get_type_hints(Changes)) == SAID
    assert set(get_type_hints(Details)) == {*SAID, "id"}


@pytest.mark.parametrize("name", EVERY)
def test_a_field_survives_being_remembered(mind: Mind, name: str) -> None:
    made = mind.remember(FULL)
    assert getattr(mind.show(made.id), name) == getattr(FULL, name)
    assert getattr(made, name) == getattr(FULL, name)


@pytest.mark.parametrize("name", SAID)
def test_a_field_can_be_said_by_its_name(mind: Mind, name: str) -> None:
    said = getattr(FULL, name)
    if isinstance(said, datetime):
        said = said.isoformat()
    elif isinstance(said, tuple):
        said = list(said)
    plain: Any = {name: said}
    made = mind.remember("plain", **plain)
    assert getattr(made, name) == getattr(FULL, name)
    assert mind.show(made.id) == made


@pytest.mark.parametrize("name", ["text", *SAID])
def test_a_field_can_be_edited_and_the_others_stay(mind: Mind, name: str) -> None:
    before = mind.remember("plain", id="it")
    transaction: Any = {name: getattr(FULL, name)}
    after = mind.edit("it", **transaction)
    assert getattr(after, name) == getattr(FULL, name)
    assert replace(after, **{"updated": before.updated, name: getattr(before, name)}) == before
    assert mind.show("it") == after


@pytest.mark.parametrize("name", ["id", "use"])
def test_an_edit_changes_neither_who_a_memory_is_nor_how_it_was_used(mind: Mind, name: str) -> None:
    before = mind.remember("plain", id="it")
    transaction: Any = {name: getattr(FULL, name)}
    with pytest.raises(InvalidInput):
        mind.edit("it", **transaction)
    assert mind.show("it") == before


def test_what_remember_returns_is_what_show_shows(mind: Mind) -> None:
    made = mind.remember("plain")
    assert mind.show(made.id) == made
    assert (made.created, made.updated) == (NOON, NOON)
    assert mind.show(made.id[:8]) == made
    with pytest.raises(NotFound):
        mind.show("")


def test_a_memory_keeps_its_own_copy_of_what_was_given(mind: Mind) -> None:
    context = {"list": [1]}
    tags = ["a"]
    made = mind.remember("plain", context=context, tags=tags)
    context["list"].append(2)
    tags.append("b")
    assert (made.context, made.tags) == ({"list": [1]}, ("a",))
    assert mind.show(made.id) == made


def test_json_carries_every_field_there_and_back() -> None:
    said = json.loads(json.dumps(to_json(FULL)))
    back = memory_from_json(said)
    assert back == FULL
    assert back.use == FULL.use


def test_json_leaves_out_what_is_as_usual() -> None:
    assert to_json(Memory(text="plain")) == {"text": "plain"}
    assert to_json(Memory(text="plain", confidence=None)) == {"text": "plain", "confidence": None}


def test_an_export_brings_every_field_into_another_file(mind: Mind, tmp_path: Path) -> None:
    mind.remember(FULL)
    records = [json.loads(json.dumps(record)) for record in mind.export()]
    with Mind(tmp_path / "other.db", embedder=None, durability="fast") as other:
        other.import_(records)
        back = other.show(FULL.id)
    assert back == FULL
    assert back.use == FULL.use


moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
strings = st.text(max_size=20)
lists = st.lists(strings, max_size=3).map(tuple)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | strings,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=6,
)
units = st.floats(0, 1)
wholes = st.integers(-(2**63), 2**63 - 1)
tenths = st.integers(0, 10)
ratings = st.floats(-10, 10)
anything = st.builds(
    Memory,
    text=st.text(min_size=1).filter(str.strip),
    context=st.dictionaries(strings, json_values, max_size=3),
    classification=st.integers(0, 100),
    status=st.sampled_from(STATUSES),
    lines=st.none() | st.tuples(st.integers(1, 9), st.integers(9, 99)),
    position=st.none() | wholes,
    confidence=st.none() | units,
    strength=units,
    trust=st.none() | tenths,
    credibility=st.none() | tenths,
    created=moments,
    updated=moments,
    valid_from=st.none() | moments,
    expires=st.none() | moments,
    mentions=st.integers(1, 2**63 - 1),
    **dict.fromkeys("title summary original collection user kind topic tier source path".split(), strings),
    **dict.fromkeys("session speaker role agent".split(), strings),
    **dict.fromkeys("keywords tags entities files flags emotion_tags".split(), lists),
    **dict.fromkeys("importance relevance emotion".split(), ratings),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(anything, min_size=1, max_size=8))
def test_whatever_is_valid_comes_back_as_it_was(memories: list[Memory]) -> None:
    with Mind(":memory:", embedder=None, durability="fast") as mind:
        receipt = mind.remember_many(memories)
        for id, memory in zip(receipt.ids, memories, strict=True):
            assert replace(mind.show(id), id="") == memory
            assert memory_from_json(json.loads(json.dumps(to_json(memory)))) == memory


def test_memories_of_an_agent_are_found_by_it(mind: Mind) -> None:
    mind.remember("cup", id="a", agent="cook")
    mind.remember("cup", id="b", agent="butler")
    mind.remember("cup", id="c")
    assert [memory.id for memory in mind.list(Filter(agent="cook"))] == ["a"]
    assert {memory.id for memory in mind.list({"agent": ["cook", ""]})} == {"a", "c"}


def test_a_file_of_version_0_1_that_is_only_read_has_the_defaults_of_later_fields(tmp_path: Path) -> None:
    old = shutil.copyfile(Path(__file__).parents[1] / "fixtures" / "v0_1.db", tmp_path / "memory.db")
    with Mind(old, embedder=None, readonly=True) as mind:
        everyone = mind.list()
        assert {(memory.agent, memory.mentions) for memory in everyone} == {("", 1)}
        assert mind.list(Filter(agent="cook")) == []
        assert len(mind.list(Filter(agent=""))) == len(everyone)
        assert [memory.agent for _, memory in mind.history("code-02")] == [""]
        assert mind.recall("coffee", filter=Filter(agent=""), track=False)
    with Mind(old, embedder=None) as mind:
        mind.edit("code-02", agent="cook")
    with Mind(old, embedder=None, readonly=True) as mind:
        assert [memory.id for memory in mind.list(Filter(agent="cook"))] == ["code-02"]
