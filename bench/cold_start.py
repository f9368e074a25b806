"""One process, one file just opened, two recalls: prints how long they took and what memory they needed."""

import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.synthetic_data import DIM, Vectors
from bench.timing import timed
from recollect import Mind


class ConstantEmbedder:
    """Gives every text the same vector."""

    name, dim = "bench", DIM

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        return np.ones((len(texts), DIM), dtype=np.float32)


def resident_bytes() -> int:
    """Resident memory in bytes (0 where the system does not say)."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * resource.getpagesize() if status.exists() else 0


def main(path: str, question: str) -> None:
    minds: list[Mind] = []
    opening = timed(lambda _: minds.append(Mind(path, embedder=ConstantEmbedder())))(0)
    before = resident_bytes()
    recall = timed(lambda _: minds[0].recall(question, 10, track=False))
    first, second = recall(0), recall(1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    times = {"opening": opening.wall, "first": (first.wall, first.cpu), "second": (second.wall, second.cpu)}
    print(json.dumps({**times, "grown": resident_bytes() - before, "peak": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
