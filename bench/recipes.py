"""The area ``recipes``: every recipe beside straight code for the same, and beside the system that it comes from."""

from __future__ import annotations

import random
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import apsw

from bench import recall_speed
from bench.hand_written_recipes import HandWrittenRecipes
from bench.peers.client import PEERS, failed, start_peers
from bench.raw_sqlite import RawSqlite, fetch, nearest
from bench.recall_speed import QUESTIONS, BenchMemory, K
from bench.report import Report
from bench.timing import Action, interleave, median_timing, sum_timings, timed
from recollect import Mind

# What the hand-written code does for each recipe. Natural questions have stop words; recipes that look
# those up, too, have all words.
STEPS = {
    "default": "stems, scan, material, blend, speaker, role, session, age and status, fetch, mark",
    "robotmem": "all words, scan, ranks, contexts, fetch, mark",
    "openclaw": "all words by AND and by OR, scan, blend, fetch, mark",
    "abmind": "stems, trigrams, worth, spacing, MMR, conflicts, fetch, mark",
    "openmem": "all words, edges of two hops, competition, conflicts, fetch, mark",
    "jeffsbrain": "stems, scan, ranks, ties by path, fetch, mark",
    "qmd": "stems, scan, ranks, fetch, mark",
}
# The look-ups in it alone, a bare statement each, whatever is then done with what they find.
LOOKUPS = {
    "default": ("words", "scan", "fetch"),
    "robotmem": ("all words", "scan", "fetch"),
    "openclaw": ("all words, AND", "all words", "scan", "fetch"),
    "abmind": ("words", "trigrams", "fetch"),
    "openmem": ("all words", "edges", "fetch"),
    "jeffsbrain": ("words", "scan", "fetch"),
    "qmd": ("words", "scan", "fetch"),
}
INCLUDED = {
    "stems, all words": "FTS5 with and without porter stemming, as deep as the recipe looks",
    "scan": "matrix @ vector and its best",
    "fetch": "10 whole rows with their use, as dictionaries, their JSON read",
    "mark": "their use counted, without waiting for the disk",
    "left out": "reading the question, tokens (see end_to_end.md), confidence, embedding, checks, filters, trace",
}
SETTINGS: dict[str, dict[str, Any]] = {"qmd": {"reranker": None}, "jeffsbrain": {"rerank": False}}
SYSTEMS = {"robotmem (BM25 only)": ("robotmem", 0.7), "openmem": ("openmem", 0.2)}
AROUND = (
    "SELECT target, weight FROM edges WHERE source IN ({0}) "
    "UNION ALL SELECT source, weight FROM edges WHERE target IN ({0})"
)


def run(options: Namespace, cache: Path, folder: Path, report: Report) -> None:
    for size in options.sizes:
        scene = recall_speed.fill(folder, size)
        edges = _linked(scene)
        compare_with_hand_written(scene, options.rounds, report)
        if options.peers:
            compare_with_systems(scene, edges, options.rounds, cache, folder, report)


def _linked(scene: BenchMemory) -> list[tuple[int, int, float]]:
    """As many edges as memories, between any two."""
    chance = random.Random(5)
    pairs = {tuple(chance.sample(range(scene.size), 2)) for _ in range(scene.size)}
    edges = [(source, target, chance.choice((0.3, 0.5, 0.8))) for source, target in sorted(pairs)]
    said = [
        {"type": "edge", "source": scene.ids[a], "target": scene.ids[b], "kind": "mentions", "weight": weight}
        for a, b, weight in edges
    ]
    with Mind(scene.path, embedder=None, durability="fast") as mind:
        mind.import_(said)
    return edges


def compare_with_hand_written(scene: BenchMemory, rounds: int, report: Report) -> None:
    questions, chance = scene.ask(rounds), random.Random(1)
    picked = [chance.sample(scene.ids, K) for _ in questions]
    seeds = [[chance.randrange(1, scene.size + 1) for _ in range(4 * K)] for _ in questions]
    bare = RawSqlite(scene.path.with_suffix(".fuller.db"), trigrams=True)
    bare.add_many(scene.texts)
    straight = HandWrittenRecipes(scene.path, scene.vectors)
    rows = straight.connection
    actions: dict[str, Action] = {
        "words": timed(lambda n: bare.match(questions[n].words)),
        "all words": timed(lambda n: bare.match(_words(questions[n].text))),
        "all words, AND": timed(lambda n: bare.match([" AND ".join(_words(questions[n].text))])),
        "trigrams": timed(lambda n: bare.match_parts(questions[n].words)),
        "scan": timed(lambda n: nearest(scene.vectors, questions[n].vector, K)),
        "edges": timed(lambda n: _two_hops(rows, seeds[n])),
        "fetch": timed(lambda n: fetch(rows, picked[n])),
    }
    with Mind(scene.path, embedder=scene.embedder) as mind:
        for recipe in STEPS:
            settings = SETTINGS.get(recipe, {})
            by_hand = getattr(straight, recipe)
            actions[f"straight {recipe}"] = timed(lambda n, by_hand=by_hand: by_hand(questions[n], K))  # type: ignore[misc]
            actions[f"recipe {recipe}"] = timed(
                lambda n, recipe=recipe, settings=settings: mind.recall(questions[n].text, K, recipe=recipe, **settings)  # type: ignore[misc]
            )
        taken = interleave(actions, rounds * QUESTIONS, warm=QUESTIONS)
    for recipe, steps in STEPS.items():
        report.compare(f"{recipe}, {scene.size:,}", taken[f"recipe {recipe}"], taken[f"straight {recipe}"], steps, 2.0)
    report.details["straight code"] = INCLUDED
    report.details[f"times the look-ups alone at {scene.size:,}, by CPU time"] = {
        recipe: f"{ours.cpu / raw.cpu:.2f} ({' + '.join(parts)})"
        for recipe, parts in LOOKUPS.items()
        for ours, raw in [
            (median_timing(taken[f"recipe {recipe}"]), median_timing(sum_timings(*(taken[part] for part in parts))))
        ]
    }


def compare_with_systems(
    scene: BenchMemory, edges: list[tuple[int, int, float]], rounds: int, cache: Path, folder: Path, report: Report
) -> None:
    """The systems that run here: each beside its recipe, on the same texts and edges."""
    questions = scene.ask(rounds)
    with ExitStack() as stack:
        wanted = [peer for peer in PEERS if peer.about in SYSTEMS]
        talks, absent = start_peers(wanted, scene, cache, folder, stack, edges=edges)
        for peer, problem in absent:
            failed(report, peer, problem)
        mind = stack.enter_context(Mind(scene.path, embedder=None))  # neither has vectors here
        actions: dict[str, Action] = {}
        for talk in talks:
            recipe, _ = SYSTEMS[talk.peer.about]
            actions[talk.peer.about] = lambda n, talk=talk: talk.ask(questions[n])  # type: ignore[misc]
            actions[recipe + " recipe"] = timed(
                lambda n, recipe=recipe: mind.recall(questions[n].text, K, recipe=recipe)  # type: ignore[misc]
            )
        taken = interleave(actions, rounds * QUESTIONS, warm=QUESTIONS)
    for talk in talks:
        recipe, goal = SYSTEMS[talk.peer.about]
        if talk.problem:
            failed(report, talk.peer, talk.problem)
        else:
            ours, theirs = taken[recipe + " recipe"], taken[talk.peer.about]
            report.compare(
                f"{recipe}, words only, {scene.size:,}", ours, theirs, f"{talk.peer.about} {talk.version}", goal
            )


def _words(text: str) -> list[str]:
    return text.rstrip("?").lower().split()


def _two_hops(connection: apsw.Connection, seeds: list[int]) -> list[Any]:
    """The neighbours of the seeds, and theirs."""
    found: list[Any] = []
    for _ in range(2):
        among = ", ".join(map(str, seeds))
        found += connection.execute(AROUND.format(among)).fetchall()
        seeds = [row for row, _ in found]
    return found
