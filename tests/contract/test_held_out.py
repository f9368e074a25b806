"""B12: the default recipe gives better results than all others on data that was not used to develop it.

The questions of tests/fixtures/held_out.json were written before any recipe answered them. bench/families.py measures
the same on all labelled sets, each family with what the other families chose; its results are in the repository.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bench import datasets
from bench.families import sample
from recollect import Filter
from recollect.evaluation import LabelledQuestion, RecallRunner, RecipeScores, open_runner, score_answers
from recollect.recall.registry import RECIPES, get_recipe

pytestmark = pytest.mark.contract("B12")
HELD_OUT = Path(__file__).parent.parent / "fixtures" / "held_out.json"
RESULTS = Path(__file__).parent.parent.parent / "bench" / "results" / "families.json"
DATA = Path(__file__).parent.parent.parent.parent / "shared" / "data"
WITHOUT_RERANKING: dict[str, dict[str, Any]] = {"qmd": {"reranker": None}, "jeffsbrain": {"rerank": False}}
OTHERS = sorted(set(RECIPES) - {"default"})


@pytest.fixture(scope="module")
def labelled() -> dict[str, Any]:
    records: dict[str, Any] = json.loads(HELD_OUT.read_text("utf-8"))
    return records


@pytest.fixture(scope="module")
def runner(labelled: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecallRunner]:
    with open_runner(tmp_path_factory.mktemp("held_out") / "memory.db") as runner:
        runner.mind.remember_many(labelled["memories"])
        yield runner


def ask(runner: RecallRunner, labelled: dict[str, Any], recipe: str) -> RecipeScores:
    questions = [
        LabelledQuestion(
            each["text"],
            dict.fromkeys(each["relevant"], 1),
            each["collection"],
            Filter(collection=each["collection"]),
            asked_at=datetime.fromisoformat(labelled["asked_at"]),
        )
        for each in labelled["questions"]
    ]
    chosen = get_recipe(recipe, **WITHOUT_RERANKING.get(recipe, {}))
    return score_answers(recipe, questions, runner.answers(questions, chosen))


@pytest.fixture(scope="module")
def default(runner: RecallRunner, labelled: dict[str, Any]) -> RecipeScores:
    return ask(runner, labelled, "default")


@pytest.mark.parametrize("name", OTHERS)
def test_default_is_better_than_every_other_recipe_on_questions_of_our_own(
    runner: RecallRunner, labelled: dict[str, Any], default: RecipeScores, name: str
) -> None:
    other = ask(runner, labelled, name)
    for measure in ("R@5", "NDCG@10"):
        assert default.mean(measure) > other.mean(measure), measure


def test_most_questions_of_our_own_are_answered_within_five(default: RecipeScores) -> None:
    assert default.mean("any@5") >= 0.9
    assert default.mean("Hit@1") >= 0.7


def test_the_kept_figures_are_better_than_every_other_recipe_with_the_family_left_out() -> None:
    """What bench/families.py measured: each family with the parts and weights that the other families chose."""
    families = json.loads(RESULTS.read_text("utf-8"))["families"]
    assert len(families) >= 10
    held_out = mean(each["left out"] for each in families.values())
    assert held_out >= mean(each["as it is"] for each in families.values()) - 0.01
    for other in OTHERS:
        assert held_out > mean(each["others"][other] for each in families.values()) + 0.05, other


def mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason=f"the labelled sets are not at {DATA}")
@pytest.mark.parametrize("name", ["everyday_en_b", "precisionmem", "tidybot_robot"])
def test_default_is_better_than_every_other_recipe_on_a_set_of_the_data_folder(name: str, tmp_path: Path) -> None:
    dataset = sample(datasets.read(DATA / name, 40), 40).labelled
    with open_runner(tmp_path / "memory.db") as runner:
        runner.mind.remember_many(dataset.memories)
        scores = {
            recipe: score_answers(
                recipe,
                dataset.answerable,
                runner.answers(dataset.answerable, get_recipe(recipe, **WITHOUT_RERANKING.get(recipe, {}))),
            ).mean("NDCG@10")
            for recipe in RECIPES
        }
    assert max(scores, key=lambda recipe: scores[recipe]) == "default", scores
