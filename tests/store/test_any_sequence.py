"""Any sequence of writes, on any texts: the file agrees with a dictionary that did the same."""

from __future__ import annotations

import copy
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from recollect import InvalidInput, Memory, Mind
from tests.store.looking import held

WORDS = ["cup", "cups", "blue", "shelf", "maxRetries", "café", "架子上", "🤖", "q7"]
LINES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
WILD = st.text(st.characters(exclude_categories=()), max_size=12)  # with NUL and lone surrogates
TEXTS = st.one_of(LINES, WILD).filter(lambda text: bool(text.strip()))
STRINGS = st.one_of(st.sampled_from(["", "a", "b"]), WILD)
NAMES = st.sampled_from(["alice", "bob", "the café"])
KINDS = st.sampled_from(["supports", "contradicts"])
WEIGHTS = st.floats(0, 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WILD,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WILD, inner, max_size=2),
    max_leaves=4,
)
MOMENTS = st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
DETAILS = st.fixed_dictionaries(
    {},
    optional={
        "title": STRINGS,
        "summary": STRINGS,
        "keywords": st.lists(STRINGS, max_size=2),
        "tags": st.lists(STRINGS, max_size=2),
        "context": st.dictionaries(WILD, JSON, max_size=3),
        "session": STRINGS,
        "speaker": STRINGS,
        "path": STRINGS,
        "lines": st.none() | st.tuples(st.integers(1, 5), st.integers(5, 9)),
        "position": st.none() | st.integers(-(2**63), 2**63 - 1),
        "classification": st.integers(0, 3),
        "confidence": st.none() | st.floats(0, 1),
        "importance": st.floats(-10, 10),
        "status": st.sampled_from(["active", "superseded", "contradicted"]),
        "created": MOMENTS,
        "expires": st.none() | MOMENTS,
    },
)
QUESTIONS = st.one_of(LINES, TEXTS)
EXTERNAL = st.sampled_from(["one", "two", "three"])
COMPARED = {"status", "external_id", "session", "position", "title", "expires", "classification"}  # of equal statements


def cleaned(value: Any) -> Any:
    """What can be stored of a value: pairs of surrogates are a letter, a lone one is U+FFFD."""
    match value:
        case str():
            whole = re.sub("[\ud800-\udbff][\udc00-\udfff]", _letter, value)
            return re.sub("[\ud800-\udfff]", "\ufffd", whole)
        case dict():
            return {cleaned(key): cleaned(inner) for key, inner in value.items()}
        case list():
            return [cleaned(inner) for inner in value]
    return value


def _letter(pair: re.Match[str]) -> str:
    high, low = map(ord, pair.group())
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def as_stored(details: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(cleaned(list(value)))
        if name in ("keywords", "tags", "lines") and value is not None
        else cleaned(value)
        for name, value in details.items()
    }


@dataclass
class Expected:
    """What the memory should hold: memories by id, weights by edge, weights by relation."""

    memories: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], float] = field(default_factory=dict)
    relations: dict[tuple[str, str, str], float] = field(default_factory=dict)


class Sequences(RuleBasedStateMachine):
    ids = Bundle("ids")

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="recollect-sequences-"))
        self.path = self.folder / "memory.db"
        self.now = datetime(2025, 1, 1, tzinfo=UTC)
        self.mind = self.opened(self.path)
        self.expected = Expected()
        self.before: list[tuple[Expected, list[dict[str, Any]]]] = []  # what each undo should bring back

    def opened(self, path: Path) -> Mind:
        return Mind(path, embedder=None, clock=lambda: self.now, durability="fast")

    def changing(self) -> Expected:
        """Note the state before a change, and hand out what is to become the state after it."""
        self.now += timedelta(minutes=7)
        self.before.append((copy.deepcopy(self.expected), held(self.mind, "use")))
        return self.expected

    def unchanged(self) -> None:
        self.before.pop()

    def known(self, id: str) -> bool:
        return id in self.expected.memories

    # Writing.

    def expect(self, expected: Expected, id: str, said: dict[str, Any]) -> None:
        created = expected.memories.get(id, {}).get("created", self.now)
        expected.memories[id] = {"status": "active", "created": created, **as_stored(said)}

    def expect_another(self, expected: Expected, id: str, said: dict[str, Any]) -> None:
        """A memory without a name of its own: a new one, or another mention of an equal one."""
        if id in expected.memories:
            stored = expected.memories[id]
            stored["mentions"] = stored.get("mentions", 1) + 1
        else:
            self.expect(expected, id, said)

    def equal_statement(self, said: dict[str, Any]) -> str | None:
        """The oldest memory with the same text and nothing that this one has not, if it is no event."""
        default = Memory("x")
        own = {name: value for name, value in as_stored(said).items() if value != getattr(default, name)}
        if own.keys() & {"session", "speaker", "path", "position", "created"}:
            return None
        for id, stored in self.expected.memories.items():
            names = own.keys() | COMPARED
            if all(stored.get(name, getattr(default, name)) == own.get(name, getattr(default, name)) for name in names):
                return id
        return None

    @rule(target=ids, text=TEXTS, details=DETAILS)
    def remember(self, text: str, details: dict[str, Any]) -> str:
        said = {"text": text, **details}
        expected, equal = self.changing(), self.equal_statement(said)
        kept = self.mind.remember(text, **details)
        assert kept.id == equal or (equal is None and not self.known(kept.id))
        assert self.mind.show(kept.id) == kept
        self.expect_another(expected, kept.id, said)
        return kept.id

    @rule(target=ids, text=TEXTS, details=DETAILS, external=EXTERNAL)
    def remember_by_name(self, text: str, details: dict[str, Any], external: str) -> str:
        expected = self.changing()
        held_by = [id for id, said in expected.memories.items() if said.get("external_id") == external]
        was = copy.deepcopy(expected)
        kept = self.mind.remember(text, external_id=external, **details)
        assert [kept.id] == held_by or not held_by
        self.expect(expected, kept.id, {"text": text, "external_id": external, **details})
        if expected.memories == was.memories or self._all_default(was, kept.id, expected):
            self.unchanged()
        return kept.id

    def _all_default(self, was: Expected, id: str, now: Expected) -> bool:
        """Equal once defaults are filled in: then nothing was written."""
        if id not in was.memories:
            return False
        shown = self.mind.show(id)
        old, new = was.memories[id], now.memories[id]
        names = old.keys() | new.keys()
        default = type(shown)("x")
        return all(old.get(name, getattr(default, name)) == new.get(name, getattr(default, name)) for name in names)

    @rule(target=ids, items=st.lists(st.tuples(TEXTS, DETAILS, st.none() | EXTERNAL), min_size=1, max_size=4))
    def remember_many(self, items: list[tuple[str, dict[str, Any], str | None]]) -> Any:
        expected, first = self.changing(), copy.deepcopy(self.expected)
        written = [
            {"text": text, **details, **({"external_id": name} if name else {})} for text, details, name in items
        ]
        receipt = self.mind.remember_many(written)
        assert receipt.added + receipt.changed + receipt.same == len(items)
        for id, said in zip(receipt.ids, written, strict=True):
            if "external_id" in said:
                self.expect(expected, id, said)
            else:
                assert id == self.equal_statement(said) or not self.known(id)
                self.expect_another(expected, id, said)
        if receipt.added + receipt.changed == 0:
            self.expected = first
            self.unchanged()
        return multiple(*dict.fromkeys(receipt.ids))

    @rule(id=ids, text=st.none() | TEXTS, details=DETAILS)
    def edit(self, id: str, text: str | None, details: dict[str, Any]) -> None:
        assume(self.known(id))
        if self.expected.memories[id]["status"] == "forgotten" and details.get("status") in (None, "forgotten"):
            with pytest.raises(InvalidInput, match="was forgotten"):
                self.mind.edit(id, text=text, **details)
            return
        expected, version = self.changing(), self.mind.status().store.version
        self.mind.edit(id, text=text, **details)
        expected.memories[id].update(as_stored(details if text is None else {"text": text, **details}))
        if self.mind.status().store.version == version:
            self.unchanged()

    @rule(some=st.lists(ids, min_size=1, max_size=3, unique=True))
    def forget(self, some: list[str]) -> None:
        assume(all(map(self.known, some)))
        expected = self.changing()
        self.mind.forget(*some)
        fresh = [id for id in some if expected.memories[id]["status"] != "forgotten"]
        for id in fresh:
            expected.memories[id]["status"] = "forgotten"
        if not fresh:
            self.unchanged()

    @rule(source=ids, to=ids, kind=KINDS, weight=WEIGHTS)
    def link(self, source: str, to: str, kind: str, weight: float) -> None:
        assume(source != to and self.known(source) and self.known(to))
        expected = self.changing()
        assert self.mind.link(source, to, kind, weight).weight == weight
        if expected.edges.get((source, to, kind)) == weight:
            self.unchanged()
        expected.edges[source, to, kind] = weight

    @rule(source=ids, to=ids, kind=st.none() | KINDS)
    def unlink(self, source: str, to: str, kind: str | None) -> None:
        assume(self.known(source) and self.known(to))
        expected = self.changing()
        going = [edge for edge in expected.edges if edge[:2] == (source, to) and kind in (None, edge[2])]
        assert self.mind.unlink(source, to, kind) == len(going)
        for edge in going:
            del expected.edges[edge]
        if not going:
            self.unchanged()

    @rule(subject=NAMES, relation=KINDS, object=NAMES, weight=WEIGHTS)
    def relate(self, subject: str, relation: str, object: str, weight: float) -> None:
        expected = self.changing()
        self.mind.relate(subject, relation, object, weight)
        if expected.relations.get((subject, relation, object)) == weight:
            self.unchanged()
        expected.relations[subject, relation, object] = weight

    @rule()
    def undo(self) -> None:
        self.now += timedelta(minutes=7)
        undone = self.mind.undo()
        assert (undone is None) == (not self.before)
        if undone is not None:
            self.expected, records = self.before.pop()
            assert held(self.mind, "use") == records

    @rule(id=consumes(ids))
    def no_longer_use(self, id: str) -> None:
        """Let Hypothesis leave a memory alone from now on."""

    # Looking.

    @rule(question=QUESTIONS)
    def a_recall_explains_itself_and_returns_nothing_forgotten(self, question: str) -> None:
        answer = self.mind.recall(question)
        assert answer.trace.failures == []
        for result in answer:
            assert self.expected.memories[result.memory.id]["status"] != "forgotten"
            assert result.why.evaluate() == result.score

    @rule(question=QUESTIONS, session=st.none() | STRINGS, tag=st.none() | STRINGS)
    def a_fresh_image_answers_as_the_followed_one(self, question: str, session: str | None, tag: str | None) -> None:
        filter = {"session": session, "tags": None if tag is None else [tag]}
        with self.opened(self.path) as fresh:
            mine, its = (
                [(each.memory, each.score) for each in mind.recall(question, 50, filter=filter, track=False)]
                for mind in (self.mind, fresh)
            )
            assert mine == its
            assert held(fresh) == held(self.mind)

    @rule()
    def reopen(self) -> None:
        before = held(self.mind)
        self.mind.close()
        self.mind = self.opened(self.path)
        assert held(self.mind) == before

    @rule()
    def export_and_import(self) -> None:
        records = held(self.mind)
        copied = self.folder / "copy.db"
        with self.opened(copied) as other:
            other.import_(records)
            assert held(other) == records
            assert other.undo() is not None or len(records) == 1
            assert held(other) == records[:1]
        for each in self.folder.glob("copy.db*"):
            each.unlink()

    @invariant()
    def the_file_holds_what_is_expected(self) -> None:
        if not hasattr(self, "expected"):
            return
        shown = {memory.id: memory for memory in self.mind.list()}
        kept = {id for id, said in self.expected.memories.items() if said["status"] != "forgotten"}
        assert shown.keys() == kept
        for id, said in self.expected.memories.items():
            memory = shown.get(id) or self.mind.show(id)
            assert {name: getattr(memory, name) for name in said} == said
        edges = {(edge.source, edge.target, edge.kind): edge.weight for edge in self.mind.edges()}
        assert edges == self.expected.edges
        names = {(each.subject, each.relation, each.object): each.weight for each in self.mind.entity_edges()}
        assert names == self.expected.relations

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.mind.close()
            shutil.rmtree(self.folder)


def unhurried(examples: int, steps: int, derandomize: bool) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=derandomize,
    )


def test_any_sequence_of_writes_agrees_with_a_dictionary() -> None:
    run_state_machine_as_test(Sequences, settings=unhurried(8, 30, derandomize=True))


@pytest.mark.slow
def test_many_random_sequences_of_writes_agree_with_a_dictionary() -> None:
    run_state_machine_as_test(Sequences, settings=unhurried(300, 50, derandomize=False))
