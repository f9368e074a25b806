"""Any sequence of calls on two minds with bounds of their own agrees with two dictionaries, on every store."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import recollect
from recollect import Mind, NotFound
from tests.store.looking import rare_word

USERS = ("mara", "jon")
users = st.sampled_from(USERS)
numbers = st.integers(0, 30)


class TwoMinds(RuleBasedStateMachine):
    """A model in plain Python: by user, the texts and topics by id, and all earlier states for undo."""

    url = ""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.whole = recollect.open(self.url.format(path=Path(self.folder.name) / "memory.db"), embedder=None)
        self.minds: dict[str, Mind] = {user: Mind(store=self.whole.store, embedder=None, user=user) for user in USERS}
        self.model: dict[str, dict[str, tuple[str, str]]] = {user: {} for user in USERS}
        self.past: dict[str, list[dict[str, tuple[str, str]]]] = {user: [] for user in USERS}

    def change(self, user: str) -> dict[str, tuple[str, str]]:
        self.past[user].append(dict(self.model[user]))
        return self.model[user]

    def pick(self, user: str, number: int) -> str | None:
        ids = sorted(self.model[user])
        return ids[number % len(ids)] if ids else None

    @rule(user=users, number=numbers)
    def remember(self, user: str, number: int) -> None:
        id, text = f"{user}-{number}", f"fact {rare_word(number)} of {user}"
        if id not in self.model[user] and id not in {memory.id for memory in self.everything()}:
            self.minds[user].remember(text, id=id)
            self.change(user)[id] = (text, "")

    @rule(user=users, many=st.lists(numbers, min_size=1, max_size=4, unique=True))
    def remember_many(self, user: str, many: list[int]) -> None:
        taken = {memory.id for memory in self.everything()}
        new = {f"{user}-m{number}": f"one of many {rare_word(100 + number)}" for number in many}
        new = {id: text for id, text in new.items() if id not in taken}
        if new:
            self.minds[user].remember_many({"id": id, "text": text} for id, text in new.items())
            self.change(user).update({id: (text, "") for id, text in new.items()})

    @rule(user=users, number=numbers, topic=st.sampled_from(("tea", "tools")))
    def edit(self, user: str, number: int, topic: str) -> None:
        id = self.pick(user, number)
        if id is not None and self.model[user][id][1] != topic:
            text = f"edited {rare_word(200 + number)}"
            self.minds[user].edit(id, text=text, topic=topic)
            self.change(user)[id] = (text, topic)

    @rule(user=users, number=numbers)
    def forget(self, user: str, number: int) -> None:
        id = self.pick(user, number)
        if id is not None:
            self.minds[user].forget(id)
            del self.change(user)[id]

    @rule(user=users)
    def undo(self, user: str) -> None:
        undone = self.minds[user].undo()
        assert (undone is None) == (not self.past[user])
        if undone is not None:
            self.model[user] = self.past[user].pop()

    @rule(user=users, number=numbers)
    def look_across(self, user: str, number: int) -> None:
        """What belongs to the other does not exist."""
        other = USERS[1 - USERS.index(user)]
        if (id := self.pick(other, number)) is not None:
            with pytest.raises(NotFound):
                self.minds[user].show(id)
            with pytest.raises(NotFound):
                self.minds[user].forget(id)

    def everything(self) -> list[Any]:
        return [*self.whole.list(), *self.whole.list({"status": "forgotten"})]

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "minds"):
            return
        for user, mind in self.minds.items():
            assert {memory.id: (memory.text, memory.topic) for memory in mind.list()} == self.model[user]
            for id, (text, _) in list(self.model[user].items())[:2]:
                assert id in [result.memory.id for result in mind.recall(text, 40, track=False)]

    def teardown(self) -> None:
        if hasattr(self, "minds"):
            self.whole.close()
            self.folder.cleanup()


def run_machine(url: str, examples: int, steps: int) -> None:
    machine = type("Machine", (TwoMinds,), {"url": url})
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=checks, database=None
        ),
    )


@pytest.mark.contract("B18")
@pytest.mark.parametrize("url", ["sqlite:{path}", "memory:"])
def test_any_sequence_on_two_bound_minds_agrees_with_a_model(url: str) -> None:
    run_machine(url, examples=4, steps=12)


@pytest.mark.slow
@pytest.mark.parametrize("url", ["sqlite:{path}", "memory:"])
def test_many_sequences_on_two_bound_minds_agree_with_a_model(url: str) -> None:
    run_machine(url, examples=300, steps=40)
