"""Why a memory came back: the arithmetic of every score, as a tree that gives the score again (B2)."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Mind, NotFound
from recollect.model import STATUSES
from recollect.recall.registry import get_recipe
from recollect.recall.stages import RecencyFactor
from tests.conftest import examples

from .kit import BAG, NOON, nodes, open_mind

pytestmark = pytest.mark.contract("B2")

WORDS = (
    "robot robots gripper grip cup cups shelf door battery maxRetries café cafe 苹果 서울에서 Привет red the 42".split()
)
words = st.sampled_from(WORDS)
sentences = st.lists(words, min_size=1, max_size=7).map(" ".join)


@st.composite
def misspelt(draw: st.DrawFn) -> str:
    word = draw(words)
    at = draw(st.integers(0, len(word) - 1))
    return word[:at] + word[at + 1 :] or word


records = st.fixed_dictionaries(
    {"text": sentences},
    optional={
        "title": sentences,
        "tags": st.lists(words, max_size=2),
        "status": st.sampled_from(STATUSES),
        "created": st.integers(0, 400).map(lambda days: NOON - timedelta(days=days)),
    },
)


@dataclass
class Scene:
    bare: list[dict[str, Any]]  # written without an embedder, so they have no vector
    whole: list[dict[str, Any]]
    edits: list[tuple[int, str]]
    query: str
    k: int


scenes = st.builds(
    Scene,
    bare=st.lists(records, max_size=4),
    whole=st.lists(records, min_size=1, max_size=14),
    edits=st.lists(st.tuples(st.integers(0, 99), sentences), max_size=3),
    query=st.lists(words | misspelt(), min_size=1, max_size=5).map(" ".join),
    k=st.sampled_from([1, 5, 50]),
)


def played(scene: Scene, path: Path) -> None:
    with open_mind(path, None) as mind:
        written = mind.remember_many(scene.bare).ids
    with open_mind(path) as mind:
        written += mind.remember_many(scene.whole).ids
        for at, text in scene.edits:
            if mind.show(written[at % len(written)]).status != "forgotten":
                mind.edit(written[at % len(written)], text=text)


def assert_explained(mind: Mind, scene: Scene) -> None:
    recall = mind.recall(scene.query, scene.k, track=False)
    for result in recall:
        tree = result.why
        assert tree.value == result.score
        assert tree.evaluate() == result.score
        assert recall.why(result.memory.id) == tree
        for node in nodes(tree):
            assert node.evaluate() == node.value
            assert node.label
            assert math.isfinite(node.value)
        assert json.loads(json.dumps(tree.as_dict()))["value"] == result.score
    scores = [result.score for result in recall]
    assert scores == sorted(scores, reverse=True)
    assert [result.rank for result in recall] == list(range(1, len(recall) + 1))
    assert not recall.trace.failures, str(recall.trace)


@settings(max_examples=examples(15, 40), deadline=None)
@given(scene=scenes)
def test_every_score_is_what_its_tree_evaluates_to_bit_for_bit(scene: Scene) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        played(scene, path)
        for embedder in (BAG, None):
            with open_mind(path, embedder) as mind:
                assert_explained(mind, scene)


def labelled(mind: Mind, query: str, id: str) -> dict[str, float]:
    return {node.label: node.value for node in nodes(mind.why(query, id))}


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with open_mind(path) as mind:
        mind.remember("the red cup", id="fresh", created=NOON)
        mind.remember("the old cup on a shelf", id="old", created=NOON - timedelta(days=30), status="superseded")
        mind.remember("a door", id="door", created=NOON)
    return path


def test_a_tree_names_each_word_with_its_idf_and_how_many_memories_have_it(shelf: Path) -> None:
    with open_mind(shelf) as mind:
        said = labelled(mind, "red cup", "fresh")
    assert {"“red”", "“cup”"} <= said.keys()
    assert said["idf: in 1 of 3 memories"] == pytest.approx(math.log(1 + 2.5 / 1.5))
    assert said["idf: in 2 of 3 memories"] == pytest.approx(math.log(1 + 1.5 / 2.5))


def test_a_tree_names_the_cosine(shelf: Path) -> None:
    with open_mind(shelf) as mind:
        said = labelled(mind, "red cup", "fresh")
    a, b = np.array(BAG.embed(["red cup", "the red cup"]))
    cosine = float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    assert said["vectors: cosine to the query"] == pytest.approx(cosine, abs=1e-3)  # kept as 16-bit floats


def test_a_tree_names_the_cosine_of_an_only_memory(tmp_path: Path) -> None:
    """Nothing to compare it with is no reason to hide it."""
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember("the red cup", id="only")
        said = labelled(mind, "red cup", "only")
    assert "vectors: cosine to the query" in said


def test_a_tree_says_that_a_memory_has_no_vector(shelf: Path) -> None:
    with open_mind(shelf, None) as mind:
        mind.remember("a bare cup", id="bare")
    with open_mind(shelf) as mind:
        assert labelled(mind, "cup", "bare")["vectors: it has no vector"] == 0


def test_a_tree_names_recency_and_status_with_their_factors(shelf: Path) -> None:
    with open_mind(shelf) as mind:
        said = labelled(mind, "cup", "old")
    (recency,) = [stage for stage in get_recipe("default").stages if isinstance(stage, RecencyFactor)]
    assert said["recency: 30 days old"] == pytest.approx(1 - recency.share / 2)  # half of what age may cost
    assert said["status: superseded"] < 1


def test_a_tree_names_the_word_that_a_typo_was_taken_for(shelf: Path) -> None:
    with open_mind(shelf, None) as mind:
        said = labelled(mind, "shelff", "old")
    assert {"trigrams: BM25", "“shelf for shelff”"} <= said.keys()


def test_a_tree_reads_as_indented_lines(shelf: Path) -> None:
    with open_mind(shelf) as mind:
        lines = str(mind.why("cup", "old")).splitlines()
    assert lines[0].startswith("0.")
    assert any("└─" in line and "status: superseded" in line for line in lines)


def test_asking_why_of_what_was_not_returned_points_to_why_not(shelf: Path) -> None:
    with open_mind(shelf) as mind, pytest.raises(NotFound, match="why_not"):
        mind.recall("cup", k=1).why("door")


def test_asking_why_leaves_no_mark_of_use(shelf: Path) -> None:
    with open_mind(shelf) as mind:
        mind.why("cup", "fresh")
        mind.why_not("cup", "door", k=1)
        assert [memory.use.access_count for memory in mind.list()] == [0, 0, 0]


# The short form.


def test_a_summary_names_the_words_that_match_the_cosine_and_the_factors(shelf: Path) -> None:
    with open_mind(shelf) as mind:
        fresh, old = mind.why("red cup", "fresh").summary(), mind.why("red cup", "old").summary()
    assert fresh.startswith("'red' and 'cup' match; meaning 0.")
    assert old.startswith("'cup' matches; meaning 0.")
    assert old.endswith("status: superseded (×0.50).")
    assert "status" not in fresh


@pytest.mark.parametrize("recipe", ["default", "abmind", "jeffsbrain", "openclaw", "openmem", "qmd", "robotmem"])
def test_every_recipe_has_a_summary_and_shares_that_add_up(shelf: Path, recipe: str) -> None:
    with open_mind(shelf) as mind:
        for result in mind.recall("red cup", recipe=recipe):
            summary, shares = result.why.summary(), dict(result.why.shares())
            assert summary.endswith(".")
            assert "\n" not in summary
            assert sum(shares.values()) == pytest.approx(1.0 if result.score > 0 else 0.0)
            assert all(share > 0 for share in shares.values())


def test_shares_name_the_cues_largest_first(shelf: Path) -> None:
    with open_mind(shelf) as mind:
        shares = mind.why("red cup", "fresh", recipe="openclaw").shares()
    assert {name for name, _ in shares} == {"words", "vectors"}
    assert [share for _, share in shares] == sorted((share for _, share in shares), reverse=True)
