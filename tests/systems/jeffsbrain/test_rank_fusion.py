"""``recollect.fuse``: ranked lists of any origin become one, by the sum of reciprocal ranks (J1)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import InvalidInput, Memory, fuse
from tests.systems.jeffsbrain.kit import shelf

RANK = [1 / (60 + rank + 1) for rank in range(10)]
lists_of_ids = st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), max_size=5)


def scores(fused: list[dict[str, Any]]) -> dict[str, float]:
    return {each["id"]: each["score"] for each in fused}


@pytest.mark.contract("J1")
def test_lists_are_fused_by_reciprocal_rank() -> None:
    fused = fuse([["a", "b", "c"], ["c", "a"], ["d"]])
    assert scores(fused) == {"a": RANK[0] + RANK[1], "c": RANK[2] + RANK[0], "d": RANK[0], "b": RANK[1]}
    assert [each["id"] for each in fused] == ["a", "c", "d", "b"]


@pytest.mark.contract("J1")
@pytest.mark.parametrize(("k", "used"), [(0, 60), (-3, 60), (10, 10)])
def test_k_is_sixty_unless_it_is_above_nothing(k: float, used: float) -> None:
    assert fuse([["a"]], k) == [{"id": "a", "score": 1 / (used + 1)}]


@pytest.mark.contract("J1")
def test_an_entry_that_a_list_has_twice_counts_twice() -> None:
    assert scores(fuse([["a", "b", "a"]])) == {"a": RANK[0] + RANK[2], "b": RANK[1]}


@pytest.mark.contract("J1")
def test_later_entries_fill_only_what_is_blank() -> None:
    words = [{"id": "x", "path": "x.md", "title": "", "summary": "first", "bm25Rank": 0, "vectorSimilarity": None}]
    vectors = [
        {"id": "x", "path": "y.md", "title": "Tea", "summary": "second", "bm25Rank": 7, "vectorSimilarity": 0.5},
        {"id": "x", "title": "Coffee", "content": "green", "score": 99},
    ]
    (fused,) = fuse([words, vectors])
    assert fused.pop("score") == pytest.approx(2 * RANK[0] + RANK[1], rel=1e-15)
    assert fused == {
        **{"id": "x", "path": "x.md", "title": "Tea", "summary": "first"},
        **{"bm25Rank": 0, "vectorSimilarity": 0.5, "content": "green"},
    }


@pytest.mark.contract("J1")
def test_equal_scores_are_ordered_by_path_then_by_id() -> None:
    entries = [{"id": "1", "path": "b.md"}, {"id": "2", "path": "a.md"}, {"id": "0", "path": "b.md"}, {"id": "9"}]
    assert [each["id"] for each in fuse([[each] for each in entries])] == ["9", "2", "0", "1"]
    assert [each["id"] for each in fuse([[{"id": "a", "title": "Zoo"}], ["m"]])] == ["m", "a"]


@pytest.mark.contract("J1")
@given(lists_of_ids, st.randoms())
def test_the_order_of_the_lists_changes_nothing(lists: list[list[str]], random: Any) -> None:
    shuffled = list(lists)
    random.shuffle(shuffled)
    assert fuse(shuffled) == fuse(lists)


def test_what_is_given_stays_as_it_was() -> None:
    entry = {"id": "a", "title": ""}
    fuse([[entry], [{"id": "a", "title": "Tea"}]])
    assert entry == {"id": "a", "title": ""}


def test_recalls_and_memories_can_be_fused() -> None:
    with shelf({"id": "tea", "text": "green tea", "path": "tea.md"}, {"id": "cup", "text": "a cup of tea"}) as mind:
        recalls = [mind.recall("green tea", recipe=recipe, track=False) for recipe in ("jeffsbrain", "openmem")]
    fused = fuse([*recalls, [Memory("oolong", id="oolong"), "cup"]])
    assert [each["id"] for each in fused] == ["cup", "tea", "oolong"]
    assert fused[1] == {**fused[1], "path": "tea.md", "text": "green tea"}


@pytest.mark.parametrize(
    "lists", [3, "ab", ["ab"], {"a": 1}, [{"id": "a"}], [[3]], [[{"path": "a"}]], [[{"id": ""}]], [[None]]]
)
def test_what_is_no_ranked_list_is_a_clear_error(lists: Any) -> None:
    with pytest.raises(InvalidInput, match=r"lists must be|A ranked list must|An entry must"):
        recollect.fuse(lists)


def test_nothing_gives_nothing() -> None:
    assert fuse([]) == fuse([[], []]) == []
