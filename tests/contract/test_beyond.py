"""What we add (B): text, time, graph and space in one explained query; any recipe explained to the bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from recollect import Filter, Mind, Near
from recollect.recall.registry import RECIPES


class Letters:
    """A toy model: how often each of some letters stands in a text."""

    name, dim = "letters-v1", 8

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        return [[float(text.lower().count(letter)) for letter in "aeiourst"] for text in texts]


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with Mind(tmp_path / "memory.db", embedder=Letters(), clock=lambda: datetime(2026, 3, 10, tzinfo=UTC)) as mind:
        yield mind


def place(x: float, y: float) -> dict[str, Any]:
    return {"spatial": {"position": [x, y]}}


@pytest.mark.contract("B10")
def test_text_time_graph_and_space_meet_in_one_explained_query(mind: Mind) -> None:
    near = mind.remember("the cup stood on the table", created="2026-03-02", context=place(1.0, 1.0))
    linked = mind.remember("it was washed at noon", created="2026-03-03", context=place(1.1, 1.0))
    far = mind.remember("a cup in the cellar", created="2026-03-02", context=place(9.0, 9.0))
    early = mind.remember("a cup of last year", created="2025-03-02", context=place(1.0, 1.0))
    hidden = mind.remember("it was broken", created="2026-03-03", context=place(8.0, 8.0))
    mind.link(near.id, linked.id, "mentions", 0.8)
    mind.link(near.id, hidden.id, "mentions", 1.0)

    here_and_lately = Filter(since="2026-01-01", near=Near("spatial.position", [1.0, 1.0], within=0.5))
    recall = mind.recall("cup", recipe="openmem", filter=here_and_lately)

    assert [result.memory.id for result in recall] == [near.id, linked.id]  # the second came along an edge
    assert "from" in str(recall.why(linked.id))
    assert "by mentions" in str(recall.why(linked.id))
    for result in recall:
        assert result.why.evaluate() == result.score
    verdict = recall.why_not(far.id)
    assert (verdict.step, verdict.threshold) == ("filter", 0.5)
    assert verdict.value == pytest.approx(128**0.5)
    assert "2025-03-02" in recall.why_not(early.id).reason
    assert recall.why_not(hidden.id).step == "filter"  # what an edge brings must pass the filter, too


@pytest.mark.contract("B10", "B4")
def test_the_same_query_can_be_put_to_an_earlier_moment(mind: Mind) -> None:
    old = mind.remember("the cup stands here", created="2026-03-01", context=place(1, 1))
    mind.supersede(old.id, "the cup stands there", context=place(1, 1))
    lately = Filter(near=Near("spatial.position", [1, 1], within=0.1))
    assert mind.recall("cup", filter=lately)[0].text == "the cup stands there"
    assert [result.text for result in mind.recall("cup", filter=lately, as_of="2026-03-05")] == ["the cup stands here"]


@pytest.mark.contract("B2", "B1")
@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_every_recipe_explains_its_scores_to_the_bit(mind: Mind, recipe: str) -> None:
    ids = mind.remember_many(
        [
            {"text": f"cup number {n} near the table and the {word}", "created": f"2026-02-{n + 1:02d}", "emotion": n}
            for n, word in enumerate("window door shelf lamp chair plate spoon fork".split())
        ]
    ).ids
    for a, b in pairwise(ids):
        mind.link(a, b, "supports", 0.5)
    mind.link(ids[0], ids[3], "contradicts", 1.0)
    recall = mind.recall("which cup is near the window?", recipe=recipe, track=False)
    assert len(recall) > 0
    for result in recall:
        assert result.why.evaluate() == result.score
        assert recall.why_not(result.memory.id).returned
    again = mind.recall("which cup is near the window?", recipe=recipe, track=False)
    assert [(r.memory.id, r.score, str(r.why)) for r in again] == [(r.memory.id, r.score, str(r.why)) for r in recall]


@pytest.mark.contract("B3")
@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_a_filter_never_starves_a_recipe(mind: Mind, recipe: str) -> None:
    mind.remember_many([{"text": f"cup cup cup {n}", "session": "loud"} for n in range(300)])
    mind.remember_many([{"text": f"a cup among many other words {n}", "session": "quiet"} for n in range(5)])
    recall = mind.recall("cup", 5, recipe=recipe, filter=Filter(session="quiet"), track=False)
    assert [result.memory.session for result in recall] == ["quiet"] * 5
