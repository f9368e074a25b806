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

from bench.raw_sqlite import RawSqlite, fetch, nearest
from bench.report import HOME, Measurement, Report
from bench.synthetic_data import BenchQuery, PrecomputedEmbedder, TextGenerator, Vectors
from bench.timing import Timing, interleave, median_timing, sum_timings, timed
from recollect import Mind

QUESTIONS = 30  # in a round
K = 10


@dataclass(frozen=True, slots=True)
class BenchMemory:
    """A filled memory, and what it was filled with."""

    size: int
    path: Path
    texts: list[str]
    vectors: Vectors
    embedder: PrecomputedEmbedder
    ids: list[str]
    world: TextGenerator

    def ask(self, rounds: int) -> list[BenchQuery]:
        """Questions for these rounds and one to warm up with, no two of them the same."""
        questions = self.world.questions((rounds + 1) * QUESTIONS, self.texts, self.vectors)
        self.embedder.know(questions)
        return questions


def fill(folder: Path, size: int) -> BenchMemory:
    world = TextGenerator()
    texts, vectors = world.texts(size), world.vectors(size)
    embedder = PrecomputedEmbedder(texts, vectors)
    path = folder / f"{size}.db"
    with Mind(path, embedder=embedder, durability="fast") as mind:
        ids = [id for at in range(0, size, 5000) for id in mind.remember_many(texts[at : at + 5000]).ids]
    return BenchMemory(size, path, texts, vectors, embedder, ids, world)


def compare_with_parts(scene: BenchMemory, rounds: int, report: Report) -> None:
    """Whole hybrid recall against the sum of a bare FTS5 statement, a bare vector scan and fetching k rows."""
    questions, others, chance = scene.ask(rounds), scene.ask(rounds), random.Random(1)
    picked = [chance.sample(scene.ids, K) for _ in questions]
    bare = RawSqlite(scene.path.with_suffix(".bare.db"))
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
                "tracked": timed(lambda n: mind.recall(questions[n].text, K), log),
                "untracked": timed(lambda n: mind.recall(others[n].text, K, track=False)),
                "FTS5": timed(lambda n: bare.match(questions[n].words)),
                "scan": timed(lambda n: nearest(scene.vectors, questions[n].vector, K)),
                "fetch": timed(lambda n: fetch(rows, picked[n])),
            },
            rounds * QUESTIONS,
            warm=QUESTIONS,
        )
    parts = sum_timings(taken["FTS5"], taken["scan"], taken["fetch"])
    report.compare(f"recall, {scene.size:,}", taken["tracked"], parts, "FTS5 + scan + fetch", 1.5)
    report.compare(f"recall, {scene.size:,}, track=False", taken["untracked"], parts, "FTS5 + scan + fetch", 1.5)
    for name in ("FTS5", "scan", "fetch"):
        report.figures.append(Measurement(f"  bare {name}, {scene.size:,}", reference=median_timing(taken[name])))
    report.details[f"steps at {scene.size:,} (ms)"] = {name: round(median(all_), 3) for name, all_ in steps.items()}


def cold(scene: BenchMemory, rounds: int, report: Report) -> None:
    """A new process opens the file and asks once: what the image costs in time and memory."""
    question = scene.ask(0)[0].text
    command = [sys.executable, "-m", "bench.cold_start", str(scene.path), question]
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
