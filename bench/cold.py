"""One process, one file just opened, two recalls: prints how long they took and what memory they needed."""

import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.rounds import clocked
from bench.texts import DIM, Vectors
from recollect import Mind


class Anything:
    """Knows one vector for every question."""

    name, dim = "bench", DIM

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        return np.ones((len(texts), DIM), dtype=np.float32)


def held() -> int:
    """Resident bytes now (0 where the system does not say)."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * resource.getpagesize() if status.exists() else 0


def main(path: str, question: str) -> None:
    minds: list[Mind] = []
    opening = clocked(lambda _: minds.append(Mind(path, embedder=Anything())))(0)
    before = held()
    recall = clocked(lambda _: minds[0].recall(question, 10, track=False))
    first, second = recall(0), recall(1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    times = {"opening": opening.wall, "first": (first.wall, first.cpu), "second": (second.wall, second.cpu)}
    print(json.dumps({**times, "grown": held() - before, "peak": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
