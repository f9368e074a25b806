"""The speed benchmark: ``python bench/speed.py [core|recipes|end_to_end|folders|embed|startup|scale|wide]``.

Prints a table, and keeps it in bench/results/.
"""

import argparse
import os
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path

HOME = Path(__file__).resolve().parent
AREAS = (
    "core",
    "recipes",
    "end_to_end",
    "folders",
    "embed",
    "startup",
    "scale",
    "wide",
)  # each a module beside this one, with a function run


def main() -> int:
    options = _options()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded: one thread for all, as measured
    sys.path.insert(0, str(HOME.parent))
    from rich.console import Console

    from bench.report import Report

    report = Report(options.area)
    cache = Path(os.environ.get("RECOLLECT_BENCH_CACHE", Path.home() / ".cache" / "recollect-bench"))
    cache.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=cache))  # on a disk: a temporary folder may be in memory
    try:
        import_module(f"bench.{options.area}").run(options, cache, folder, report)
    finally:  # when a part breaks, what was measured before is still shown
        shutil.rmtree(folder, ignore_errors=True)
        report.show(Console(width=None if sys.stdout.isatty() else 140))
    if not (options.quick or options.parts):
        report.keep(HOME / "results")
    return int(options.check and any(figure.met is False for figure in report.figures))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("area", nargs="?", default="core", choices=AREAS)
    parser.add_argument("--sizes", type=_numbers, help="how many memories, such as 10000,100000")
    parser.add_argument("--rounds", type=int, default=7, help="of 30 questions, 60 writes, 3 starts each")
    parser.add_argument("--parts", type=lambda text: text.split(","), help="only these (recall,writes), not kept")
    parser.add_argument("--data", type=Path, default=HOME.parent.parent / "shared" / "data", help="of the area scale")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--quick", action="store_true", help="a small run, not kept")
    parser.add_argument("--check", action="store_true", help="fail when a goal is missed")
    options = parser.parse_args()
    if options.sizes is None:
        sizes = {"core": [10_000, 100_000], "recipes": [2_000, 10_000], "end_to_end": [10_000, 100_000]}
        sizes["scale"] = sizes["wide"] = [10_000, 100_000, 1_000_000]
        options.sizes = sizes.get(options.area, [])
    if options.quick:
        options.sizes, options.rounds = [2_000], 2
    return options


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
