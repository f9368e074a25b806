"""Any sequence of calls on two minds with bounds of their own agrees with two dictionaries, on every store."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import recollect
from recollect import Mind, NotFound
from tests.postgres.stores import EmptyStores
from tests.store.looking import rare_word

USERS = ("mara", "jon")
users = st.sampled_from(USERS)
numbers = st.integers(0, 30)


@dataclass
class Model:
    """What a user has, in plain Python: text, topic and status by id, edges by source and target."""

    memories: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    edges: set[tuple[str, str]] = field(default_factory=set)

    def copy(self) -> Model:
        return Model(dict(self.memories), set(self.edges))

    def drop(self, id: str) -> None:
        self.memories.pop(id, None)
        self.edges = {edge for edge in self.edges if id not in edge}

    def seen(self) -> tuple[dict[str, tuple[str, str, str]], set[tuple[str, str]]]:
        """What is not forgotten, and the edges between that."""
        visible = {id: each for id, each in self.memories.items() if each[2] != "forgotten"}
        return visible, {edge for edge in self.edges if {*edge} <= visible.keys()}


class TwoMinds(RuleBasedStateMachine):
    """Two minds beside two models, each with all its earlier states for undo. An erased memory leaves them, too."""

    open_mind: Callable[[Path], Mind]

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.whole = type(self).open_mind(Path(self.folder.name) / "memory.db")
        self.minds: dict[str, Mind] = {user: Mind(store=self.whole.store, embedder=None, user=user) for user in USERS}
        self.model: dict[str, Model] = {user: Model() for user in USERS}
        self.past: dict[str, list[Model]] = {user: [] for user in USERS}
        self.numbers = count()

    def change(self, user: str) -> Model:
        self.past[user].append(self.model[user].copy())
        return self.model[user]

    def pick(self, user: str, number: int, *statuses: str) -> str | None:
        ids = sorted(id for id, each in self.model[user].memories.items() if each[2] in (statuses or ("active",)))
        return ids[number % len(ids)] if ids else None

    def new(self, user: str) -> tuple[str, str]:
        """An id that nothing has had, and a text with a word of its own."""
        number = next(self.numbers)
        return f"{user}-{number}", f"fact {rare_word(number)} of {user}"

    @rule(user=users)
    def remember(self, user: str) -> None:
        id, text = self.new(user)
        self.minds[user].remember(text, id=id)
        self.change(user).memories[id] = (text, "", "active")

    @rule(user=users, many=st.integers(1, 4), imported=st.booleans())
    def write_many(self, user: str, many: int, imported: bool) -> None:
        new = dict(self.new(user) for _ in range(many))
        records = [{"id": id, "text": text} for id, text in new.items()]
        write = self.minds[user].import_ if imported else self.minds[user].remember_many
        assert write(records).added == many
        self.change(user).memories.update({id: (text, "", "active") for id, text in new.items()})

    @rule(user=users, number=numbers, topic=st.sampled_from(("tea", "tools")))
    def edit(self, user: str, number: int, topic: str) -> None:
        id = self.pick(user, number)
        if id is not None and self.model[user].memories[id][1] != topic:
            text = f"edited {rare_word(1000 + next(self.numbers))}"
            self.minds[user].edit(id, text=text, topic=topic)
            self.change(user).memories[id] = (text, topic, "active")

    @rule(user=users, number=numbers)
    def supersede(self, user: str, number: int) -> None:
        old = self.pick(user, number)
        if old is not None:
            id, text = self.new(user)
            self.minds[user].supersede(old, text, id=id)
            model = self.change(user)
            before = model.memories[old]
            model.memories[old] = (before[0], before[1], "superseded")
            model.memories[id] = (text, before[1], "active")
            model.edges.add((id, old))

    @rule(user=users, first=numbers, second=numbers)
    def link(self, user: str, first: int, second: int) -> None:
        source, target = self.pick(user, first), self.pick(user, second)
        edge = (source or "", target or "")
        if "" not in edge and source != target and edge not in self.model[user].edges:
            self.minds[user].link(*edge, "mentions")
            self.change(user).edges.add(edge)

    @rule(user=users, number=numbers)
    def forget(self, user: str, number: int) -> None:
        id = self.pick(user, number, "active", "superseded")
        if id is not None:
            self.minds[user].forget(id)
            model = self.change(user)
            model.memories[id] = (*model.memories[id][:2], "forgotten")

    @rule(user=users, number=numbers)
    def erase(self, user: str, number: int) -> None:
        id = self.pick(user, number, "active", "superseded", "forgotten")
        if id is not None:
            plan = self.minds[user].erase(id, dry_run=True)
            erased = self.minds[user].erase(id, code=plan.code)
            assert erased.receipt is not None
            assert erased.receipt.matching([id, "other"]) == [id]
            for model in (self.model[user], *self.past[user]):
                model.drop(id)
            if not self.model[user].memories:  # the history no longer knows whose it was
                self.past[user].clear()

    @rule(user=users)
    def undo(self, user: str) -> None:
        undone = self.minds[user].undo(past_erasure=True)
        assert (undone is None) == (not self.past[user])
        if undone is not None:
            self.model[user] = self.past[user].pop()

    @rule(user=users, number=numbers)
    def look_across(self, user: str, number: int) -> None:
        """What belongs to the other does not exist."""
        other = USERS[1 - USERS.index(user)]
        if (id := self.pick(other, number, "active", "superseded", "forgotten")) is not None:
            mind = self.minds[user]
            calls: list[Callable[[], object]] = [lambda: mind.show(id), lambda: mind.forget(id), lambda: mind.erase(id)]
            calls += [lambda: mind.history(id), lambda: mind.edit(id, text="mine"), lambda: mind.edges(id)]
            for call in calls:
                with pytest.raises(NotFound):
                    call()

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "minds"):
            return
        for user, mind in self.minds.items():
            visible, edges = self.model[user].seen()
            assert {each.id: (each.text, each.topic, each.status) for each in mind.list()} == visible
            shown = {(edge.source, edge.target) for edge in mind.edges()}
            assert {edge for edge in shown if {*edge} <= visible.keys()} == edges
            for id, (text, _, status) in list(visible.items())[:2]:
                if status == "active":
                    assert id in [result.memory.id for result in mind.recall(text, 40, track=False)]

    def teardown(self) -> None:
        if hasattr(self, "minds"):
            self.whole.close()
            self.folder.cleanup()


def run_machine(open_mind: Callable[[Path], Mind], examples: int, steps: int) -> None:
    machine = type("Machine", (TwoMinds,), {"open_mind": staticmethod(open_mind)})
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=checks, database=None
        ),
    )


@pytest.fixture(params=["sqlite:{path}", "memory:", "postgres"])
def open_mind(request: pytest.FixtureRequest) -> Callable[[Path], Mind]:
    """Opens an empty memory in a file, in this process, or on a server."""
    if request.param != "postgres":
        return lambda path: recollect.open(request.param.format(path=path), embedder=None)
    stores: EmptyStores = request.getfixturevalue("empty_stores")  # skips where there is no server

    def on_server(path: Path) -> Mind:
        mind = Mind(store=stores.open(lambda: datetime.now(UTC)), embedder=None)
        mind.close = mind.store.close  # type: ignore[method-assign]
        return mind

    return on_server


@pytest.mark.contract("B18")
def test_any_sequence_on_two_bound_minds_agrees_with_a_model(open_mind: Callable[[Path], Mind]) -> None:
    run_machine(open_mind, examples=4, steps=12)


@pytest.mark.slow
def test_many_sequences_on_two_bound_minds_agree_with_a_model(open_mind: Callable[[Path], Mind]) -> None:
    run_machine(open_mind, examples=200, steps=30)
