"""One process that opens a file and recalls: prints times, private memory and what the vectors found, as JSON.

The questions come with their vectors, so that no model is loaded.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from pathlib import Path
from typing import Any

from bench.timing import timed
from recollect import Mind

K = 10


def private_bytes() -> int:
    """Memory that only this process can have; 0 where the system does not say. Mapped pages of files are shared with
    other processes, and with the page cache when there is no other."""
    file = Path("/proc/self/smaps_rollup")
    lines = file.read_text().splitlines() if file.exists() else []
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_Dirty"))


def main(path: str, questions: str, tokens: str) -> None:
    from bench.scale_data import QuestionEmbedder, QuestionTokenEmbedder

    asked = pickle.loads(Path(questions).read_bytes())
    embedder = (QuestionTokenEmbedder if tokens == "tokens" else QuestionEmbedder)(asked)
    texts = list(asked)
    warm_up(embedder, texts[-20:])
    before = private_bytes()
    start = time.perf_counter()
    with Mind(path, embedder=embedder) as mind:
        opening = time.perf_counter() - start
        recall = timed(lambda n: mind.recall(texts[n], K, track=False))
        first = recall(0)
        rest = [recall(n) for n in range(1, min(len(texts), 60))]
        grown = private_bytes() - before
        trace = mind.recall(texts[0], K, track=False).trace
    print(
        json.dumps(
            {
                "opening": opening,
                "first": (first.wall, first.cpu),
                "warm": [(each.wall, each.cpu) for each in rest],
                "private": grown,
                "steps": {f"{step.kind} {step.name}": step.milliseconds for step in trace.steps},
            }
        )
    )


def warm_up(embedder: Any, questions: list[str]) -> None:
    """What any recall loads, on a small memory: only what depends on the file is measured."""
    with Mind(":memory:", embedder=embedder) as mind:
        mind.remember_many(questions)
        for question in questions:
            mind.recall(question, K, track=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
