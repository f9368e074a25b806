"""The speed benchmark: ``python bench/speed.py [core]`` prints a table and keeps it in bench/results/."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

AREAS = ("core",)
PARTS = ("recall", "peers", "writes", "start", "cold")


def main() -> int:
    options = _options()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded: one thread for all, as measured
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from rich.console import Console

    from bench.report import HOME, Report

    report = Report(options.area)
    cache = Path(os.environ.get("RECOLLECT_BENCH_CACHE", Path.home() / ".cache" / "recollect-bench"))
    cache.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=cache))  # on a disk: a temporary folder may be in memory
    try:
        core(options, folder, cache, report)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.show(Console())
    if not options.quick and options.parts == list(PARTS):
        report.keep(HOME / "results")
    return int(options.check and any(figure.met is False for figure in report.figures))


def core(options: argparse.Namespace, folder: Path, cache: Path, report: object) -> None:
    from bench import recalls, starts, writes
    from bench.peers import against_peers
    from bench.report import Report

    assert isinstance(report, Report)
    rounds, parts = options.rounds, options.parts
    for size in options.sizes:
        scene = recalls.fill(folder, size)
        if "recall" in parts:
            recalls.against_parts(scene, rounds, report)
        if "peers" in parts and options.peers and size == options.sizes[0]:
            against_peers(scene, rounds, cache, folder, report)
        if "cold" in parts:
            recalls.cold(scene, min(rounds, 5), report)
    if "writes" in parts:
        held = options.sizes[0]
        writes.against_transactions(folder, held, 60 * rounds, rounds, report)
    if "start" in parts:
        starts.against_bare_python(3 * rounds, report)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("area", nargs="?", default="core", choices=AREAS)
    parser.add_argument("--sizes", type=_numbers, default=[10_000, 100_000], help="how many memories, e.g. 10000,100000")
    parser.add_argument("--rounds", type=int, default=7, help="of 30 questions, 60 writes, 3 starts each")
    parser.add_argument("--parts", type=lambda text: text.split(","), default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--quick", action="store_true", help="a small run, not kept")
    parser.add_argument("--check", action="store_true", help="fail when a goal is missed")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.rounds = [2_000], 2
    return options


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
