"""The area ``end_to_end``: the default recall with the local model, compared with embedding the query alone.

Memories are generated, and so are the vectors of their tokens: to embed 100,000 texts would take half an hour and
change nothing in what a recall costs. Questions are embedded for real, on one thread, by both.
"""

from __future__ import annotations

import os
import zlib
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.report import Report
from bench.synthetic_data import TextGenerator, unit
from bench.timing import interleave, timed
from recollect import Mind
from recollect.embed import TokenVectors
from recollect.embed.local import LocalEmbedder

GOALS = {10_000: 3.0, 100_000: 5.0}
QUESTIONS = 30
TURNS = 20  # memories a session
AT_ONCE = 10_000
ADDED = 64  # memories that are embedded for real, to see what keeping them adds


class SyntheticEmbedder(LocalEmbedder):
    """The local model for questions; for many texts at once, vectors that cost nothing."""

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        if len(texts) == 1:
            return super().token_vectors(texts)
        return [_made_up(text) for text in texts]


def _made_up(text: str) -> TokenVectors:
    tokens = tuple(text.lower().replace(",", " ,").replace(".", " .").split())
    chance = np.random.default_rng(zlib.crc32(text.encode()))
    vectors = unit(chance.standard_normal((len(tokens) + 1, LocalEmbedder.dim), dtype=np.float32))
    return TokenVectors(tokens, vectors[1:], vectors[0])


def run(options: Namespace, cache: Path, folder: Path, report: Report) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one thread for all
    for size in options.sizes:
        _recall(options, folder, report, size)
    _add(options, folder, report)


def _recall(options: Namespace, folder: Path, report: Report, size: int) -> None:
    world, embedder = TextGenerator(), SyntheticEmbedder()
    texts = world.texts(size)
    path = folder / f"end-to-end-{size}.db"
    with Mind(path, embedder=embedder, durability="fast") as mind:
        for start in range(0, size, AT_ONCE):
            some = enumerate(texts[start : start + AT_ONCE], start)
            mind.remember_many(
                {"text": text, "session": f"s{at // TURNS}", "position": at % TURNS} for at, text in some
            )
    questions = [each.text for each in world.questions(QUESTIONS, texts, world.vectors(size))]
    with Mind(path, embedder=embedder) as mind:
        mind.recall(questions[0])
        taken = interleave(
            {
                "recall": timed(lambda turn: mind.recall(questions[turn % QUESTIONS])),
                "embed": timed(lambda turn: embedder.embed([questions[turn % QUESTIONS]], query=True)),
            },
            options.rounds * QUESTIONS,
            warm=3,
        )
        steps = {step.name: round(step.milliseconds, 2) for step in mind.recall(questions[1]).trace.steps}
    against = "embedding the question"
    report.compare(f"default recall, {size:,}", taken["recall"], taken["embed"], against, GOALS.get(size))
    beyond = path.stat().st_size / size - np.mean([len(text.encode()) for text in texts]) - 2 * LocalEmbedder.dim
    report.details[f"{size:,} memories"] = {"bytes a memory beyond text and vector": round(float(beyond))}
    report.details[f"milliseconds of one recall, {size:,}"] = {name: ms for name, ms in steps.items() if ms >= 0.1}


def _add(options: Namespace, folder: Path, report: Report) -> None:
    """The same texts, embedded alone and remembered: in one call each."""
    embedder, texts = LocalEmbedder(), TextGenerator(11).texts(ADDED)

    def remember(turn: int) -> None:
        with Mind(folder / f"added-{turn}.db") as mind:
            mind.remember_many(texts)

    actions = {"remember": timed(remember), "embed": timed(lambda _: embedder.embed(texts))}
    taken = interleave(actions, options.rounds, warm=1)
    report.compare(f"remember {ADDED} texts, in a new file", taken["remember"], taken["embed"], "embedding them", 1.3)
