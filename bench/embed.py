"""The area ``embed``: the local model beside the packaged file that it is made from, by CPU time on one core."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

from bench.report import Report
from bench.timing import Action, Timing, interleave, median_timing, timed
from recollect.embed import embed_texts
from recollect.embed.local import LocalEmbedder, LocalEmbedderV1

WORDS = (  # one token each
    "the a my his her our robot cup shelf kitchen table door garden lamp book train doctor friend sister brother "
    "yesterday today morning evening went took put found lost likes wants needs bought sold red blue small large old "
    "new quick quiet under over behind near with without because and but then again never always often"
).split()
CASES = {  # texts × tokens: (texts, tokens at least, tokens at most, goal as a share of the packaged file's CPU time)
    "a query: 1 × 12": (1, 12, 12, 0.45),
    "a memory: 1 × 40": (1, 40, 40, 0.5),
    "a batch: 32 × 40": (32, 40, 40, 0.5),
    "a batch: 32 × 10 to 100": (32, 10, 100, 0.5),
    "a long text: 1 × 256": (1, 256, 256, None),
}
LOAD = "from recollect.embed.local import {0}; {0}().embed(['warm'])"


def run(options: Namespace, cache: Path, folder: Path, report: Report) -> None:
    cores = _limit_to_one_core()  # before the models are loaded
    ours, packaged = LocalEmbedder(), LocalEmbedderV1()
    for name, (count, shortest, longest, goal) in CASES.items():
        texts = make_texts(count, shortest, longest)
        turns = options.rounds * (3 if count == 1 else 1)
        taken = interleave({each.name: _embedding(each, texts) for each in (ours, packaged)}, turns, warm=1)
        report.compare(name, taken[ours.name], taken[packaged.name], "packaged", goal, by_cpu=True)
    loading = interleave({name: _process(name) for name in ("LocalEmbedder", "LocalEmbedderV1")}, options.rounds)
    report.compare(
        "a process that loads it", loading["LocalEmbedder"], loading["LocalEmbedderV1"], "packaged", None, by_cpu=True
    )
    texts = make_texts(256, 10, 100)
    cosines = (embed_texts(ours, texts) * embed_texts(packaged, texts)).sum(axis=1)
    report.details["cosine to the packaged model"] = {
        "mean": round(float(cosines.mean()), 4),
        "smallest": round(float(cosines.min()), 4),
    }
    report.details["256 texts of 10 to 100 tokens"] = _throughput(ours, texts, cores)


def make_texts(count: int, shortest: int, longest: int) -> list[str]:
    """Texts of so many tokens, with the two that the model adds."""
    chance = random.Random(7)
    return [" ".join(chance.choices(WORDS, k=chance.randint(shortest, longest) - 2)) for _ in range(count)]


def _limit_to_one_core() -> set[int]:
    """The cores that were available before."""
    if not hasattr(os, "sched_setaffinity"):
        return set()
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    return cores


def _embedding(embedder: LocalEmbedder | LocalEmbedderV1, texts: list[str]) -> Action:
    return timed(lambda _: embedder.token_vectors(texts))


def _process(name: str) -> Action:
    def turn(_: int) -> Timing:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([sys.executable, "-c", LOAD.format(name)], check=True)
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        return Timing(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    return turn


def _throughput(embedder: LocalEmbedder, texts: list[str], cores: set[int]) -> dict[str, str]:
    """Texts a second by wall time, and CPU time a text, on one core and on all."""
    shown = {}
    for name, some in (("one core", None), (f"{len(cores)} cores", cores)):
        if some and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, some)
        taken = median_timing([timed(lambda _: embedder.embed(texts))(turn) for turn in range(3)])
        shown[name] = f"{len(texts) / taken.wall:.0f} texts/s ({taken.cpu / len(texts) * 1e3:.2f} ms CPU each)"
    return shown
