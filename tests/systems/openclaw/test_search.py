"""OpenClaw's memory search (O) and QMD: the recall side."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from recollect import InvalidInput, Mind
from recollect.recall.results import Recall, Result

AXES = ("cup", "dock", "boiler", "window")


class Topics:
    """A toy model: how much a text is about each of four things; a question may be about something near."""

    name, dim = "topics-v1", len(AXES) + 1

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        return [[float(text.lower().count(axis)) for axis in AXES] + [0.2] for text in texts]


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with Mind(tmp_path / "memory.db", embedder=Topics()) as mind:
        yield mind


def parts(result: Result) -> dict[str, float]:
    """Every labelled number in the tree of a score."""
    found: dict[str, float] = {}
    stack = [result.why]
    while stack:
        node = stack.pop()
        found[node.label] = node.value
        stack += node.parts
    return found


def texts(recall: Recall) -> list[str]:
    return [result.text for result in recall]


@pytest.mark.contract("O6", "O10")
def test_the_vector_score_is_one_minus_the_distance_and_never_below_zero(tmp_path: Path) -> None:
    class Opposite:
        name, dim = "opposite-v1", 2

        def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
            return [[-1.0, 0.0] if "far" in text else [1.0, 0.0] for text in texts]

    with Mind(tmp_path / "memory.db", embedder=Opposite()) as mind:
        mind.remember("here")
        mind.remember("far away")
        near, far = mind.recall("word", recipe="openclaw", min_score=-1.0)
    assert (near.text, near.score) == ("here", 0.7 * 1.0)
    assert (far.text, far.score) == ("far away", 0.0)
    assert parts(far)["vectors: cosine to the query"] == -1.0


@pytest.mark.contract("O6")
def test_only_vectors_of_the_current_model_compete(tmp_path: Path) -> None:
    class Newer(Topics):
        name = "topics-v2"

    path = tmp_path / "memory.db"
    with Mind(path, embedder=Topics()) as mind:
        mind.remember("the cup")
    Mind.reembed(path, embedder=Newer())
    with Mind(path, embedder=Newer()) as mind:
        assert [space["name"] for space in mind.status().store.spaces] == ["topics-v2"]
        assert texts(mind.recall("cup", recipe="openclaw")) == ["the cup"]


@pytest.mark.contract("O7")
def test_all_words_come_first_and_some_of_them_fill_up(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember("fix the authentication bug")
        mind.remember("a bug in the garden")
        mind.remember("authentication by token")
        recall = mind.recall("fix authentication bug", recipe="openclaw", min_score=0.0)
    assert texts(recall)[0] == "fix the authentication bug"
    assert set(texts(recall)[1:]) == {"a bug in the garden", "authentication by token"}
    words = next(step for step in recall.trace.steps if step.name == "words")
    assert words.detail["with all words"] == 1


@pytest.mark.contract("O7")
def test_when_all_words_give_enough_no_memory_with_some_of_them_comes(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember_many([f"fix the authentication bug number {number}" for number in range(6)])
        mind.remember("bug bug bug bug")
        assert "bug bug bug bug" not in texts(mind.recall("fix authentication bug", recipe="openclaw"))


@pytest.mark.contract("O7")
@pytest.mark.parametrize("word", ["café", "чашка", "杯子", "snake_case_name", "컵"])
def test_words_of_every_script_are_looked_up(tmp_path: Path, word: str) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember(f"it is the {word} here")
        mind.remember("nothing of the kind")
        assert texts(mind.recall(word, recipe="openclaw")) == [f"it is the {word} here"]


@pytest.mark.contract("O8")
def test_the_text_score_grows_with_the_match_and_stays_below_one(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember("token token token")
        mind.remember("token among other words of a longer text that says little about it")
        mind.remember("something else")
        better, worse = mind.recall("token", recipe="openclaw", min_score=0.0)
    for result in (better, worse):
        numbers = parts(result)
        r = numbers["words: BM25"]
        assert numbers["r ÷ (1 + r)"] == r / (1 + r)
        assert result.score == pytest.approx(0.3 * r / (1 + r))
    assert 1 > parts(better)["r ÷ (1 + r)"] > parts(worse)["r ÷ (1 + r)"] > 0


@pytest.mark.contract("O9")
def test_each_leg_brings_four_candidates_a_result(mind: Mind) -> None:
    mind.remember_many([f"cup number {number}" for number in range(60)])
    recall = mind.recall("cup", recipe="openclaw")
    assert len(recall) == 6
    found = {step.name: step.after for step in recall.trace.steps if step.kind == "cue"}
    assert found == {"vectors": 24, "words": 24}
    recall = mind.recall("cup", 3, recipe="openclaw", candidate_multiplier=2)
    assert {step.after for step in recall.trace.steps if step.kind == "cue"} == {6}


@pytest.mark.contract("O9")
def test_keywords_are_looked_up_while_the_question_is_embedded(tmp_path: Path) -> None:
    import threading

    threads: list[str] = []

    class Noting(Topics):
        def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
            if query:
                threads.append(threading.current_thread().name)
            return super().embed(texts, query)

    with Mind(tmp_path / "memory.db", embedder=Noting()) as mind:
        mind.remember("the cup")
        mind.recall("cup", recipe="openclaw")
    assert threads == ["recollect-worker"]


@pytest.mark.contract("O10")
def test_the_score_is_seven_tenths_meaning_and_three_tenths_words(mind: Mind) -> None:
    mind.remember("the cup")
    mind.remember("the dock")
    first = mind.recall("cup", recipe="openclaw", min_score=0.0)[0]
    numbers = parts(first)
    meaning, words = numbers["vectors: cosine to the query"], numbers["r ÷ (1 + r)"]
    assert first.score == pytest.approx(0.7 * meaning + 0.3 * words, abs=1e-12)
    assert first.why.evaluate() == first.score


@pytest.mark.contract("O10")
def test_weights_are_settable_and_brought_to_a_sum_of_one(mind: Mind) -> None:
    mind.remember("the cup")
    numbers = parts(mind.recall("cup", recipe="openclaw", vector_weight=2, text_weight=2)[0])
    assert numbers["weight of vectors"] == numbers["weight of words"] == 0.5
    with pytest.raises(InvalidInput, match="both be 0"):
        mind.recall("cup", recipe="openclaw", vector_weight=0, text_weight=0)
    with pytest.raises(InvalidInput, match="no setting 'weight'"):
        mind.recall("cup", recipe="openclaw", weight=1)


@pytest.mark.contract("O11")
def test_what_scores_below_the_minimum_stays_out_and_says_by_how_much(mind: Mind) -> None:
    mind.remember("the cup")
    window = mind.remember("the window")
    recall = mind.recall("cup", recipe="openclaw")
    assert texts(recall) == ["the cup"]
    verdict = recall.why_not(window.id)
    assert (verdict.step, verdict.threshold) == ("minimum score", 0.35)
    assert verdict.value is not None
    assert verdict.value < 0.35


@pytest.mark.contract("O11")
def test_a_keyword_only_hit_survives_the_minimum_score(mind: Mind) -> None:
    mind.remember("the cup and the dock are here, says the zebra")
    mind.remember("a cup")
    mind.remember_many(["the window"] * 3)
    recall = mind.recall("zebra", recipe="openclaw")
    assert texts(recall) == ["the cup and the dock are here, says the zebra"]
    assert recall[0].score < 0.35
    assert "every word" in recall[0].notes[0]


@pytest.mark.contract("O11")
def test_fillers_come_after_the_rest(mind: Mind) -> None:
    mind.remember("cup cup cup")
    mind.remember("the cup beside window window window window window window")
    recall = mind.recall("cup", recipe="openclaw")
    assert texts(recall)[0] == "cup cup cup"
    assert recall[1].score < 0.35 <= recall[0].score
    assert (recall[0].notes, len(recall[1].notes)) == ((), 1)


@pytest.mark.contract("O11")
def test_a_minimum_that_the_caller_gives_is_never_undercut(mind: Mind) -> None:
    mind.remember("the cup and the dock are here, says the zebra")
    assert texts(mind.recall("zebra", recipe="openclaw", min_score=0.35)) == []
    assert len(mind.recall("zebra", recipe="openclaw", min_score=0.0)) == 1


@pytest.mark.contract("O11")
def test_a_score_that_is_exactly_the_minimum_is_enough(mind: Mind) -> None:
    mind.remember("the cup")
    (found,) = mind.recall("cup", recipe="openclaw", min_score=0.0)
    assert texts(mind.recall("cup", recipe="openclaw", min_score=found.score)) == ["the cup"]
    assert texts(mind.recall("cup", recipe="openclaw", min_score=math.nextafter(found.score, 1))) == []


@pytest.mark.contract("O11")
def test_the_minimum_holds_when_the_deadline_passes_before_it_is_applied(tmp_path: Path) -> None:
    class Late(Topics):
        def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
            if query:
                time.sleep(0.3)
            return super().embed(texts, query)

    with Mind(tmp_path / "memory.db", embedder=Late()) as mind:
        mind.remember("the cup and the dock are here, says the zebra")
        recall = mind.recall("zebra", recipe="openclaw", min_score=0.9, deadline=0.05)
    step = next(step for step in recall.trace.steps if step.name == "minimum score")
    assert (texts(recall), step.outcome) == ([], "ran")


@pytest.mark.contract("O11")
def test_there_are_at_most_six_results_unless_more_are_asked_for(mind: Mind) -> None:
    mind.remember_many([f"cup {number}" for number in range(20)])
    assert len(mind.recall("cup", recipe="openclaw")) == 6
    assert len(mind.recall("cup", 9, recipe="openclaw")) == 9


# QMD.


class ByLength:
    """A reranker that likes long texts."""

    name = "by length"

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        return [float(len(text)) for text in texts]


@pytest.mark.contract("O21")
def test_original_lists_count_twice_and_the_first_three_ranks_get_a_bonus(mind: Mind) -> None:
    mind.remember("cup")
    mind.remember("cup and some other words")
    mind.remember("cup and some other words that go on and on")
    mind.remember("cup and some other words that go on and on and on for a while")
    results = mind.recall("cup", recipe="qmd", reranker=None)
    expected = [2 / (60 + rank + 1) * 2 + bonus for rank, bonus in enumerate((0.05, 0.02, 0.02, 0.0))]
    assert [result.score for result in results] == pytest.approx(expected, abs=1e-12)


@pytest.mark.contract("O21")
def test_other_wordings_bring_lists_of_their_own(mind: Mind) -> None:
    mind.remember("cup")
    mind.remember("mug")
    recall = mind.recall("cup", recipe="qmd", reranker=None, expand=lambda query: ["mug", "  "])
    assert set(texts(recall)) == {"cup", "mug"}
    names = [step.name for step in recall.trace.steps if step.kind == "cue"]
    assert names == ["words", "vectors", "expansion", "words 1", "vectors 1"]
    assert "words 1" in str(recall.why(next(r.memory.id for r in recall if r.text == "mug")))


@pytest.mark.contract("O21")
def test_a_strong_signal_needs_no_other_wordings(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember_many([f"some text {number}" for number in range(2_000)])
        mind.remember("xylophone zither quasar")
        recall = mind.recall("xylophone zither quasar", recipe="qmd", reranker=None, expand=lambda query: ["some text"])
    step = next(step for step in recall.trace.steps if step.name == "expansion")
    assert step.outcome == "skipped"
    assert "strong signal" in step.reason


@pytest.mark.contract("O21")
def test_the_reranker_is_heard_more_the_lower_a_memory_stood(mind: Mind) -> None:
    mind.remember_many([f"cup {'and more ' * number}" for number in range(12)])
    results = mind.recall("cup", 12, recipe="qmd", reranker=ByLength())
    weights = {}
    for result in results:
        for label, value in parts(result).items():
            if label.startswith("weight of retrieval at rank "):
                weights[int(label.rsplit(" ", 1)[1])] = value
        assert result.why.evaluate() == result.score
    assert [weights[rank] for rank in range(1, 13)] == [0.75] * 3 + [0.60] * 7 + [0.40] * 2


@pytest.mark.contract("O21")
def test_an_expansion_that_fails_leaves_the_question_itself(mind: Mind) -> None:
    def broken(query: str) -> list[str]:
        raise RuntimeError("the model is away")

    mind.remember("cup")
    recall = mind.recall("cup", recipe="qmd", reranker=None, expand=broken)
    assert texts(recall) == ["cup"]
    assert [step.name for step in recall.trace.failures] == ["expansion"]


# What we add: B1.


@pytest.mark.contract("B1")
def test_one_question_can_be_put_to_several_recipes_side_by_side(mind: Mind) -> None:
    mind.remember("the cup")
    mind.remember("the cup is beside the dock")
    mind.remember("a window")
    told = mind.compare("cup", ["default", "openclaw", "openmem", "qmd"], k=2)
    assert list(told.recalls) == ["default", "openclaw", "openmem", "qmd"]
    for line in told.lines:
        for name, rank in line.ranks.items():
            assert told.recalls[name][rank - 1].memory.id == line.memory.id
    first = told.lines[0]
    assert first.move("openclaw", "default") == first.ranks["default"] - first.ranks["openclaw"]
    assert all(memory.use.access_count == 0 for memory in mind.list())


@pytest.mark.contract("B1")
def test_a_single_recipe_may_be_named_by_itself(mind: Mind) -> None:
    mind.remember("the cup")
    assert list(mind.compare("cup", "openmem").recalls) == ["openmem"]


@pytest.mark.contract("B1")
def test_any_recipe_serves_the_same_memories_call_by_call(mind: Mind) -> None:
    id = mind.remember("the cup").id
    for recipe in ("default", "openclaw", "openmem", "qmd"):
        assert mind.recall("cup", recipe=recipe)[0].memory.id == id


@pytest.mark.contract("O21")
def test_a_query_is_expanded_unless_its_best_match_is_strong_and_far_ahead(tmp_path: Path) -> None:
    asked: list[str] = []

    def expand(query: str) -> list[str]:
        asked.append(query)
        return []

    rare = [f"quo{chr(97 + at // 26)}{chr(97 + at % 26)}k" for at in range(60)]  # in a short and in a longer text
    gaps = []
    with Mind(tmp_path / "memory.db", embedder=None, durability="fast") as mind:
        mind.remember_many([f"something else {number}" for number in range(600)])
        mind.remember_many(rare)
        mind.remember_many([word + " filler" * at for at, word in enumerate(rare) if at])
        for word in rare:
            mind.recall(word, recipe="qmd", reranker=None, expand=expand)
            found = mind.recall(word, recipe="openclaw", vector_weight=0, text_weight=1, min_score=0)
            first, second = [*(each.score for each in found), 0.0][:2]
            assert (word in asked) is not (first >= 0.85 and first - second >= 0.15), (first, second)
            gaps.append(first - second)
    assert any(0.15 <= gap < 0.2 for gap in gaps)
    assert any(0.1 < gap < 0.15 for gap in gaps)
