"""The quality benchmark: labelled questions, answered by every recipe, by baselines and by peers.

``python bench/quality.py --sets locomo --recipes default`` prints; with ``--keep`` it is kept in bench/results/ and
docs/quality/. ``--all`` measures everything and keeps it; of peers, which do not change with our code, only what is not
kept yet (``--peers all`` measures them again).
"""

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parent
ALL = "baselines silence budgets cost keep".split()


def main() -> int:
    options = _options()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded: one thread for all, as measured
    sys.path.insert(0, str(HOME.parent))
    from bench import datasets
    from bench.quality_results import RESULTS, QualityResults

    findings = QualityResults(RESULTS)
    if options.render:
        findings.render()
        return 0
    known = datasets.names(options.data)
    if not (options.sets or known):
        sys.exit(f"There are no labelled sets in {options.data}; name their folder with --data.")
    for name, found in _trials(options.sets or known, options):
        findings.add(name, found)
        if options.keep:
            findings.keep()
    findings.show()
    return int(options.check and bool(findings.below_the_floor()))


def _trials(names: list[str], options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each set's name and findings, so many at a time, each in a process of its own."""
    if options.jobs == 1:
        yield from (_trial(name, options) for name in names)
        return
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        running = [pool.submit(_trial, name, options) for name in names]
        try:
            yield from (done.result() for done in as_completed(running))
        finally:  # after a failure nobody waits for what is not yet begun
            pool.shutdown(cancel_futures=True)


def _trial(name: str, options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    sys.path.insert(0, str(HOME.parent))  # a process of its own knows nothing of ours
    from bench import datasets
    from bench.memory_files import CachedLocalEmbedder
    from bench.quality_run import QualityRun

    cache = Path(os.environ.get("RECOLLECT_BENCH_CACHE", Path.home() / ".cache" / "recollect-bench"))
    (cache / "quality").mkdir(parents=True, exist_ok=True)
    if name in datasets.names(options.data):
        set_ = datasets.read(options.data / name, options.limit)
    else:
        set_ = datasets.published(Path(name), options.unit, options.limit)
    return set_.name, QualityRun(set_, CachedLocalEmbedder(cache / "quality"), cache, options).run()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HOME.parent.parent / "shared" / "data", help="folder of the sets")
    parser.add_argument("--sets", type=_words, help="only these; or paths of LongMemEval, LoCoMo or BEIR files")
    parser.add_argument("--unit", choices=("session", "turn"), default="session", help="of LongMemEval")
    parser.add_argument("--limit", type=int, help="questions a set, drawn at random; such a run is not kept")
    parser.add_argument("--recipes", type=_words, default=["default"], help="names with commas between, or all")
    parser.add_argument("--peers", type=_words, default=[], help="names with commas between, all, or new: not kept yet")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds that a peer has for a set")
    parser.add_argument("--baselines", action="store_true", help="BM25, vectors, and their fusion with equal weights")
    parser.add_argument("--silence", action="store_true", help="questions that nothing answers")
    parser.add_argument("--budgets", action="store_true", help="how much evidence a number of tokens holds")
    parser.add_argument("--cost", action="store_true", help="processor time and bytes")
    parser.add_argument("--jobs", type=int, default=1, help="sets at a time; processor times are noisier for it")
    parser.add_argument("--verbose", action="store_true", help="print every category, too")
    parser.add_argument("--stale", action="store_true", help="use stores that were built by other code")
    parser.add_argument("--keep", action="store_true", help="keep what was found, in bench/results/ and docs/quality/")
    parser.add_argument("--all", action="store_true", help="all recipes, new peers and all parts, kept")
    parser.add_argument("--render", action="store_true", help="measure nothing: tables and plots from what is kept")
    parser.add_argument("--check", action="store_true", help="fail when a set falls below the baselines")
    options = parser.parse_args()
    if options.all:
        vars(options).update(dict.fromkeys(ALL, True), recipes=["all"], peers=["new"])
    if options.limit and options.keep:
        parser.error("a run with --limit is not kept")
    return options


def _words(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
