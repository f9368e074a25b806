"""An arm that clears a table, and gets better because it remembers.

Each thing needs a grip within a range that the arm does not know: below it the thing slips, above it the thing breaks.
In one corner the table is wet, and things slip at higher forces. The arm stores every attempt with its force, place and
outcome; before the next attempt it recalls what happened to the same thing nearby.

    python examples/pick_and_place.py [seed]
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from recollect import Mind
from recollect.systems.robotmem.robot import Robot

HERE = Path(__file__).parent
DATABASE = HERE / "pick_and_place.db"
TABLES, GRASPS = 10, 24  # tables to clear, and things on each
WEAKEST, STRONGEST = 1.0, 20.0  # newtons that the gripper can do

# A thing slips below the first force and breaks above the second; in the wet corner it slips earlier.
BANDS = {"egg": (2.0, 3.6), "wine glass": (4.0, 7.0), "mug": (6.0, 14.0), "tin": (9.0, 18.0)}
WET_CORNER, WET_RADIUS, WET_FACTOR = (0.8, 0.2), 0.3, 1.4

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Attempt:
    thing: str
    place: Place
    force: float
    outcome: str  # held, slipped, broke


def grasp(thing: str, place: Place, force: float) -> Attempt:
    """The outcome of a grip."""
    slips, breaks = BANDS[thing]
    if math.dist(place, WET_CORNER) <= WET_RADIUS:
        slips *= WET_FACTOR
    return Attempt(thing, place, force, "slipped" if force < slips else "broke" if force > breaks else "held")


class Arm(Protocol):
    def choose(self, thing: str, place: Place) -> float: ...

    def store(self, attempt: Attempt) -> None: ...

    def table_cleared(self, success: float) -> None: ...


class Guessing:
    """Chooses a random force and stores nothing."""

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator

    def choose(self, thing: str, place: Place) -> float:
        return self.generator.uniform(WEAKEST, STRONGEST)

    def store(self, attempt: Attempt) -> None:
        pass

    def table_cleared(self, success: float) -> None:
        pass


class Remembering:
    """Takes the force that worked nearest to this place, between those that slipped and those that broke."""

    def __init__(self, generator: random.Random, robot: Robot) -> None:
        self.generator = generator
        self.robot = robot
        self.session = robot.start_session({"task": {"name": "clear the table"}})

    def choose(self, thing: str, place: Place) -> float:
        low = max(self.forces(thing, place, "slipped", within=0.2), default=WEAKEST)
        high = min(self.forces(thing, place, "broke"), default=STRONGEST)
        held = [force for force in self.forces(thing, place, "held") if low < force < high]
        return held[0] if held else self.generator.uniform(low, high)

    def forces(self, thing: str, place: Place, outcome: str, within: float | None = None) -> list[float]:
        """Forces of earlier attempts with that outcome, nearest first."""
        results = self.robot.recall(
            f"grasp the {thing}",
            n=6,
            context_filter={"task.object": thing, "task.outcome": outcome},
            spatial_sort={"field": "spatial.position", "target": place, "max_distance": within},
        )
        return [result.memory.context["params"]["force"]["value"] for result in results]

    def store(self, attempt: Attempt) -> None:
        self.robot.learn(
            f"I tried to grasp the {attempt.thing} at {attempt.force:.2f} N: it {attempt.outcome}.",
            {
                "params": {"force": {"value": attempt.force, "unit": "N"}},
                "spatial": {"position": attempt.place},
                "task": {"object": attempt.thing, "outcome": attempt.outcome, "success": attempt.outcome == "held"},
                "env": {"sim_or_real": "sim"},
            },
            session_id=self.session,
        )

    def table_cleared(self, success: float) -> None:
        self.robot.end_session(self.session, outcome_score=success)
        self.session = self.robot.start_session({"task": {"name": "clear the table"}})


def clear_tables(arm: Arm, generator: random.Random) -> list[float]:
    """The share of things that were placed unharmed, by table."""
    rates = []
    for _ in range(TABLES):
        attempts = []
        for _ in range(GRASPS):
            thing, place = generator.choice([*BANDS]), (round(generator.random(), 3), round(generator.random(), 3))
            attempts.append(grasp(thing, place, arm.choose(thing, place)))
            arm.store(attempts[-1])
        rates.append(sum(attempt.outcome == "held" for attempt in attempts) / GRASPS)
        arm.table_cleared(rates[-1])
    return rates


def save_plot(curves: dict[str, list[float]]) -> Path:
    """Save a plot, as an image if matplotlib is installed, else as text; returns its path."""
    try:
        import matplotlib.pyplot as plt  # type: ignore[import-not-results, unused-ignore]
    except ImportError:
        path = HERE / "pick_and_place.txt"
        path.write_text(as_text(curves), "utf-8")
        return path
    path = HERE / "pick_and_place.png"
    figure, axes = plt.subplots(figsize=(7, 3.5))
    for name, rates in curves.items():
        axes.plot(range(1, len(rates) + 1), rates, marker="o", label=name)
    axes.set(xlabel="table", ylabel="things placed unharmed", ylim=(0, 1.02))
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")
    return path


def as_text(curves: dict[str, list[float]], height: int = 10) -> str:
    marks = dict(zip(curves, "●○", strict=True))
    lines = []
    for level in range(height, -1, -1):
        row = f"{level / height:4.0%} │"
        for table in range(TABLES):
            points = [marks[name] for name, rates in curves.items() if round(rates[table] * height) == level]
            row += f"  {points[0] if points else ' '} "
        lines.append(row.rstrip())
    lines.append("     └" + "────" * TABLES + "\n      " + "".join(f"{table:^4}" for table in range(1, TABLES + 1)))
    return "\n".join([*lines, *(f"      {mark} {name}" for name, mark in marks.items())]) + "\n"


def main(seed: int = 2) -> None:
    for file in HERE.glob("pick_and_place.db*"):
        file.unlink()
    print(f"{TABLES} tables with {GRASPS} things each: {', '.join(BANDS)}. The arm knows nothing of them.\n")
    guessed = clear_tables(Guessing(random.Random(seed)), random.Random(seed + 1))
    with Mind(DATABASE, embedder=None, durability="fast") as mind:
        robot = Robot(mind, collection="arm")
        remembered = clear_tables(Remembering(random.Random(seed), robot), random.Random(seed + 1))
        print("table        " + "".join(f"{table:6}" for table in range(1, TABLES + 1)))
        for name, rates in (("guessing", guessed), ("remembering", remembered)):
            print(f"{name:<13}" + "".join(f"{rate:6.0%}" for rate in rates))
        curves = {"remembering": remembered, "guessing": guessed}
        print(f"\n{as_text(curves)}\nPlot saved as {save_plot(curves)}.")
        print_nearby(robot)


def print_nearby(robot: Robot) -> None:
    """Print what the robot remembers about one place, nearest first."""
    print("\nWhat does it know of wine glasses in the wet corner?")
    corner = {"field": "spatial.position", "target": WET_CORNER, "max_distance": WET_RADIUS}
    for result in robot.recall(
        "grasp the wine glass", 4, context_filter={"task.object": "wine glass"}, spatial_sort=corner
    ):
        print(f"  {result.text}  ({', '.join(result.notes)})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
