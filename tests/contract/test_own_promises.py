"""B16: what robotmem, abmind and jeffsbrain promise of their own, the default recipe does as well.

Each scenario is asked with the system's recipe and with the default one, and both must put the same memory first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Mind

pytestmark = pytest.mark.contract("B16")
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
OTHERS = (
    "Lunch is at noon in the canteen.",
    "The window of the lab faces north.",
    "Kim waters the plants on Mondays.",
)


@dataclass(frozen=True)
class Scenario:
    """Memories, a question, and the memory that must come first; ``absent`` must not be returned."""

    recipe: str
    memories: list[dict[str, Any]]
    question: str
    first: str
    absent: str = ""
    relations: tuple[tuple[str, str, str], ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)


SCENARIOS = {
    "robotmem: a skill is found in other words": Scenario(
        "robotmem",
        [
            {"text": "Grasp cups from the side, with little force.", "id": "grasp"},
            {"text": "Open the drawer slowly.", "id": "drawer"},
        ],
        "how should I hold a mug?",
        "grasp",
    ),
    "robotmem: a filter on the context never costs a result": Scenario(
        "robotmem",
        [
            *(
                {"text": f"Grasping the cup failed, attempt {n}.", "context": {"task": {"success": False}}}
                for n in range(60)
            ),
            {
                "text": "The cup stood when it was held lower.",
                "id": "success",
                "context": {"task": {"success": True}},
            },
        ],
        "grasping the cup, attempt",
        "success",
        arguments={"k": 1, "filter": {"context": {"task.success": True}}},
    ),
    "robotmem: what is hardly believed does not come first": Scenario(
        "robotmem",
        [
            {"text": "The charger is in bay four.", "id": "doubted", "confidence": 0.1},
            {"text": "The charger is in bay two.", "id": "believed", "confidence": 0.9},
        ],
        "where is the charger?",
        "believed",
    ),
    "abmind: a misspelt word is found": Scenario(
        "abmind",
        [
            {"text": "The project keeps its data in PostgreSQL.", "id": "database"},
            {"text": "The project ends in August.", "id": "end"},
        ],
        "postgresqll",
        "database",
    ),
    "abmind: what has expired is not returned": Scenario(
        "abmind",
        [
            {"text": "The guest password is maple.", "id": "new", "created": "2026-05-01"},
            {
                "text": "The guest password is birch.",
                "id": "expired",
                "created": "2026-01-01",
                "expires": "2026-02-01",
            },
        ],
        "what is the guest password?",
        "new",
        absent="expired",
    ),
    "abmind: a relation of a name brings what is known of the other": Scenario(
        "abmind",
        [
            {"text": "Alice likes trains.", "id": "alice"},
            {"text": "Bob keeps bees behind the school.", "id": "bob"},
        ],
        "what does Alice like?",
        "alice",
        relations=(("Alice", "works_with", "Bob"),),
    ),
    "jeffsbrain: a query that finds nothing as it is written is tried otherwise": Scenario(
        "jeffsbrain",
        [
            {"text": "The zeppelin museum opens at ten.", "id": "museum", "title": "Zeppelin museum"},
            {"text": "The harbour fair is in July.", "id": "fair", "title": "Harbour fair"},
        ],
        "zepelin",
        "museum",
    ),
    "jeffsbrain: a title finds a note whose text does not have the word": Scenario(
        "jeffsbrain",
        [
            {"text": "Two trains a day, seats only with a reservation.", "id": "trip", "title": "Travel to Oslo"},
            {"text": "The oven takes twenty minutes.", "id": "oven", "title": "Kitchen"},
        ],
        "oslo",
        "trip",
    ),
    "jeffsbrain: a question for a number gets the fact": Scenario(
        "jeffsbrain",
        [
            {"text": "I bought 4 tickets for the play on Friday.", "id": "fact"},
            {"text": "Tickets for the play are sold at the theatre and online.", "id": "generic"},
        ],
        "how many tickets did I buy for the play?",
        "fact",
    ),
    "jeffsbrain: advice begins with what the user prefers": Scenario(
        "jeffsbrain",
        [
            {
                "text": "I prefer quiet hotels with a view of the sea.",
                "id": "preference",
                "path": "memory/global/user-preference-hotels.md",
            },
            {"text": "Hotels are rated with up to five stars.", "id": "generic"},
        ],
        "can you recommend a hotel for me?",
        "preference",
    ),
}


@pytest.mark.parametrize("by_default", [False, True], ids=["own", "default"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_default_recipe_answers_what_the_system_promises(path: Path, name: str, by_default: bool) -> None:
    scenario = SCENARIOS[name]
    with Mind(path, clock=lambda: NOW, durability="fast") as mind:
        mind.remember_many([*OTHERS, *scenario.memories])
        for source, relation, target in scenario.relations:
            mind.relate(source, relation, target)
        recipe = "default" if by_default else scenario.recipe
        recall = mind.recall(scenario.question, recipe=recipe, **scenario.arguments)
        ids = [result.id for result in recall]
        assert ids[0] == scenario.first
        assert scenario.absent not in ids
        for result in recall:
            assert result.why.evaluate() == result.score


@pytest.mark.parametrize("recipe", ["abmind", "default"])
def test_a_related_name_comes_along(path: Path, recipe: str) -> None:
    with Mind(path, clock=lambda: NOW, durability="fast") as mind:
        mind.remember_many([*OTHERS, {"text": "Alice likes trains."}, {"text": "Bob keeps bees.", "id": "bob"}])
        mind.relate("Alice", "works_with", "Bob")
        found = mind.recall("what does Alice do?", recipe=recipe)
        assert any("Bob" in result.text for result in found[:4])
