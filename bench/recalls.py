"""Recall beside its raw parts, and the first recall of a file just opened."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import apsw

from bench.bare import Bare, fetch, nearest
from bench.report import HOME, Figure, Report
from bench.rounds import Timing, clocked, interleave, middle, summed
from bench.texts import Asked, LookUp, Vectors, World
from recollect import Mind

QUESTIONS = 30  # in a round
K = 10


@dataclass(frozen=True, slots=True)
class Scene:
    """A filled memory, and what it was filled with."""

    size: int
    path: Path
    texts: list[str]
    vectors: Vectors
    embedder: LookUp
    ids: list[str]
    world: World

    def ask(self, rounds: int) -> list[Asked]:
        """Questions for these rounds and one to warm up with, no two of them the same."""
        questions = self.world.questions((rounds + 1) * QUESTIONS, self.texts, self.vectors)
        self.embedder.know(questions)
        return questions


def fill(folder: Path, size: int) -> Scene:
    world = World()
    texts, vectors = world.texts(size), world.vectors(size)
    embedder = LookUp(texts, vectors)
    path = folder / f"{size}.db"
    with Mind(path, embedder=embedder, durability="fast") as mind:
        ids = [id for at in range(0, size, 5000) for id in mind.remember_many(texts[at : at + 5000]).ids]
    return Scene(size, path, texts, vectors, embedder, ids, world)


def against_parts(scene: Scene, rounds: int, report: Report) -> None:
    """Whole hybrid recall against the sum of a bare FTS5 statement, a bare vector scan and fetching k rows."""
    questions, others, chance = scene.ask(rounds), scene.ask(rounds), random.Random(1)
    picked = [chance.sample(scene.ids, K) for _ in questions]
    bare = Bare(scene.path.with_suffix(".bare.db"))
    bare.add_many(scene.texts)
    rows = apsw.Connection(str(scene.path))
    steps: dict[str, list[float]] = defaultdict(list)

    def log(recall: Any) -> None:
        for step in recall.trace.steps:
            steps[f"{step.kind} {step.name}"].append(step.milliseconds)
        steps["all"].append(recall.trace.milliseconds)

    with Mind(scene.path, embedder=scene.embedder) as mind:
        taken = interleave(
            {
                "tracked": clocked(lambda n: mind.recall(questions[n].text, K), log),
                "untracked": clocked(lambda n: mind.recall(others[n].text, K, track=False)),
                "FTS5": clocked(lambda n: bare.match(questions[n].words)),
                "scan": clocked(lambda n: nearest(scene.vectors, questions[n].vector, K)),
                "fetch": clocked(lambda n: fetch(rows, picked[n])),
            },
            rounds * QUESTIONS,
            warm=QUESTIONS,
        )
    parts = summed(taken["FTS5"], taken["scan"], taken["fetch"])
    report.compare(f"recall, {scene.size:,}", taken["tracked"], parts, "FTS5 + scan + fetch", 1.5)
    report.compare(f"recall, {scene.size:,}, track=False", taken["untracked"], parts, "FTS5 + scan + fetch", 1.5)
    for name in ("FTS5", "scan", "fetch"):
        report.figures.append(Figure(f"  bare {name}, {scene.size:,}", reference=middle(taken[name])))
    report.details[f"steps at {scene.size:,} (ms)"] = {name: round(median(all_), 3) for name, all_ in steps.items()}


def cold(scene: Scene, rounds: int, report: Report) -> None:
    """A new process opens the file and asks once: what the image costs in time and memory."""
    question = scene.ask(0)[0].text
    command = [sys.executable, "-m", "bench.cold", str(scene.path), question]
    runs = []
    for _ in range(rounds):
        done = subprocess.run(command, cwd=HOME.parent, capture_output=True, text=True, check=True)
        runs.append(json.loads(done.stdout))
    first, second = ([Timing(*run[which]) for run in runs] for which in ("first", "second"))
    report.compare(f"first recall after opening, {scene.size:,}", first, second, "the second", None)
    size = sum(os.path.getsize(each) for each in scene.path.parent.glob(f"{scene.path.name}*"))
    grown = median(run["grown"] for run in runs)
    report.details[f"file and memory at {scene.size:,}"] = {
        "file": f"{size / 1e6:.1f} MB ({size / scene.size:,.0f} bytes a memory)",
        "RSS grown by": f"{grown / 1e6:.0f} MB ({grown / scene.size:,.0f} bytes a memory)",
        "peak": f"{median(run['peak'] for run in runs) / 1e6:.0f} MB",
        "opening": f"{median(run['opening'] for run in runs) * 1e3:.1f} ms",
    }
