"""Minds on the reference store: the same answers as on SQLite by every recipe, and several minds on one store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import recollect
from recollect import InvalidInput, Mind, NotFound
from recollect.recall.registry import BUILT_IN
from recollect.store.base import Store
from recollect.store.reference import ReferenceStore
from tests.conformance.kit import NOON
from tests.conftest import Clock

SUBJECTS = "cup plate robot dock drawer lamp kettle".split()
PLACES = ["on the top shelf", "in the kitchen", "beside the charging dock", "under Anna's desk"]
QUERIES = [
    "where is the blue cup?",
    "robot dock",
    "kettel in the kitchen",
    '"charging dock" NOT lamp',
    "what did Anna say last week?",
    "drawers and plates",
    "teapot",
]


class HashEmbedder:
    """Adds up a pseudorandom vector for each word."""

    name, dim = "hash-of-words", 32

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        return [np.sum([self._vector(word) for word in text.lower().split()], axis=0).tolist() for text in texts]

    def _vector(self, word: str) -> Any:
        return np.random.default_rng(crc32(word.strip("?.,").encode())).normal(size=self.dim)


def fill(mind: Mind) -> None:
    for at in range(60):
        subject, place = SUBJECTS[at % 7], PLACES[at % 4]
        details: dict[str, Any] = {
            "title": f"{subject} {at}" if at % 3 else "",
            "tags": [subject, "home"] if at % 2 else [],
            "entities": ["Anna"] if at % 4 == 3 else [],
            "path": f"notes/{subject}-{at}.md" if at % 5 == 0 else "",
            "session": f"s{at // 10}" if at < 40 else "",
            "position": at,
            "speaker": "Anna" if at % 6 == 1 else "",
            "created": NOON - timedelta(days=at % 17, hours=at),
            "confidence": 1 - at / 100,
            "importance": (at % 10) / 10,
            "strength": 1 - (at % 4) / 10,
            "context": {"task": {"success": at % 2 == 0}, "position": [float(at), 1.0]},
        }
        mind.remember(f"The {'blue' if at % 2 else 'old'} {subject} is {place}, number {at}.", id=f"m{at}", **details)
    for at in range(0, 58, 3):
        mind.link(f"m{at}", f"m{at + 2}", "supports", 0.5)
    mind.relate("Anna", "owns", "robot")
    mind.edit("m7", text="The blue cup was broken by the robot.")
    mind.edit("m9", valid_to=NOON + timedelta(days=1))
    mind.supersede("m14", "The cup is in the drawer now.", id="m60")
    mind.forget("m21")


@pytest.fixture(scope="module", params=["hash of words", "local"])
def minds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mind, Mind]]:
    """A mind on each store, with the same memories."""
    embedder: Any = HashEmbedder() if request.param == "hash of words" else "local"
    options: dict[str, Any] = {"clock": Clock(), "embedder": embedder}
    path = tmp_path_factory.mktemp("minds") / "memory.db"
    with recollect.open("memory:", **options) as one, recollect.open(path, durability="fast", **options) as other:
        for mind in (one, other):
            fill(mind)
        yield one, other


def answers(mind: Mind, recipe: str, queries: Sequence[str] = QUERIES, **options: Any) -> list[Any]:
    recalls = [mind.recall(query, 8, recipe=recipe, track=False, **options) for query in queries]
    return [[(each.memory.id, each.score, each.text) for each in recall] for recall in recalls]


@pytest.mark.parametrize("recipe", BUILT_IN)
def test_every_recipe_returns_the_same_ids_and_scores_as_on_sqlite(minds: tuple[Mind, Mind], recipe: str) -> None:
    expected, found = [answers(mind, recipe) for mind in minds]
    assert sum(map(len, expected)) > 10
    assert found == expected
    filter = {"tags": ["home"], "not": {"session": "s1"}}
    expected, found = [answers(mind, recipe, QUERIES[:2], filter=filter) for mind in minds]
    assert found == expected


def test_explanations_are_the_same_as_on_sqlite(minds: tuple[Mind, Mind]) -> None:
    expected, found = [[str(each.why) for each in mind.recall(QUERIES[0], 5, track=False)] for mind in minds]
    assert found == expected
    expected, found = [
        [str(mind.why_not(QUERIES[0], id, 5, filter={"tags": ["home"]})) for id in ("m0", "m9", "m21", "m59")]
        for mind in minds
    ]
    assert found == expected


def test_undo_takes_back_the_same_on_both_stores(tmp_path: Path, clock: Clock) -> None:
    options: dict[str, Any] = {"clock": clock, "embedder": HashEmbedder()}
    with recollect.open("memory:", **options) as one, recollect.open(tmp_path / "memory.db", **options) as other:
        for mind in (one, other):
            fill(mind)
        for verb in ("forget", "supersede", "edit", "edit", "relate", "link"):
            expected, found = [mind.undo() for mind in (one, other)]
            assert found == expected
            assert found is not None
            assert found.verb == verb
            assert answers(one, "default") == answers(other, "default")
        assert one.show("m7") == other.show("m7")
        assert one.show("m7").text == "The blue cup is under Anna's desk, number 7."


def test_a_store_in_memory_has_no_location() -> None:
    with pytest.raises(InvalidInput, match="followed by nothing"):
        recollect.open("memory:notes", embedder=None)


def test_two_minds_with_different_bounds_share_one_store(clock: Clock) -> None:
    store = ReferenceStore(clock)
    ann, bob = (Mind(store=store, embedder=None, clock=clock, user=user) for user in ("ann", "bob"))
    hers = ann.remember("The cup is blue.").id
    bob.remember("The cup is red.")
    assert [each.text for each in ann.recall("cup")] == ["The cup is blue."]
    assert [each.text for each in bob.recall("cup")] == ["The cup is red."]
    with pytest.raises(NotFound):
        bob.show(hers)
    undone = ann.undo()
    assert undone is not None
    assert len(ann.recall("cup")) == 0
    assert len(bob.recall("cup")) == 1
    ann.close()  # the store was given to it, so it stays open
    assert len(bob.recall("cup")) == 1
    store.close()


@pytest.mark.parametrize("recipe", BUILT_IN)
@pytest.mark.parametrize("stored_invisibly", [True, False])
def test_characters_that_nobody_sees_do_not_hide_a_word(
    recipe: str, stored_invisibly: bool, store_factory: Callable[[], Store], clock: Clock
) -> None:
    plain, invisible = "waterproof", "\ufeffwa\u00adter\u200bpro\u200dof\u2060"
    stored, asked = (invisible, plain) if stored_invisibly else (plain, invisible)
    with Mind(store=store_factory(), embedder=None, clock=clock) as mind:
        mind.remember(f"The lamp is {stored}.", id="lamp")
        mind.remember("The kettle is loud.")
        assert [each.memory.id for each in mind.recall(asked, 1, recipe=recipe)] == ["lamp"]


@pytest.mark.parametrize("query", ['"water\u00adproof lamp"', "waterp\u200b*", "lamp NOT ke\u00adttle"])
def test_phrases_prefixes_and_operators_ignore_such_characters(query: str, store_factory: Callable[[], Store]) -> None:
    with Mind(store=store_factory(), embedder=None) as mind:
        mind.remember("A waterproof lamp.", id="lamp")
        mind.remember("A lamp beside the kettle.")
        found = mind.recall(query, recipe="jeffsbrain")
        assert [each.memory.id for each in found] == ["lamp"]
        assert len(found.trace.facts["attempts"]) == 1  # the first form of the query found it
