"""Possible conflicts of the everyday sets: precision and recall against changed facts that were labelled by hand.

A fact is the ids of the statements that give it, oldest first. A change is found when the statement is reported
together with an earlier one of its fact;
a reported pair is right when both state the same fact. All reported pairs count.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parent
FACTS = {
    "everyday_en_a": (
        "3 177 277,4 102,6 147,7 70 174 236,11 180,19 82,37 262,43 176 281,46 254,65 154,78 79,127 207,140 259,163 242,"
        "165 244,184 218,193 268,201 251,269 301,212 238,114 276"
    ),
    "everyday_en_b": (
        "4 111,6 56,11 213,15 133,25 68 170 222,26 117,31 144,42 84 231,51 168,64 66 192,13 182,101 190,146 206,"
        "217 233,234 235,80 210"
    ),
    "everyday_de_zh": (
        "3 173,4 149,6 93,11 207,12 156 263,14 210,35 121 248,47 111,51 234,71 165,79 195,80 197,89 99 191,102 103,"
        "114 159 237,199 213,230 239,87 132"
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HOME.parent.parent / "shared" / "data", help="folder of the sets")
    parser.add_argument("--verbose", action="store_true", help="print wrong pairs and changes that were not found")
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(HOME.parent))
    from bench import datasets
    from bench.memory_files import CachedLocalEmbedder, build_memory_file
    from recollect.mind import Mind

    cache = Path(os.environ.get("RECOLLECT_BENCH_CACHE", Path.home() / ".cache" / "recollect-bench")) / "quality"
    cache.mkdir(parents=True, exist_ok=True)
    embedder = CachedLocalEmbedder(cache)
    sums = [0, 0, 0, 0]
    print(f"{'':<18}{'pairs':>8}{'right':>8}{'changes':>9}{'found':>8}{'precision':>11}{'recall':>8}")
    for name, facts in FACTS.items():
        dataset = datasets.read(options.data / name)
        number = {memory.text: int(id[1:]) for id, memory in _by_label(options.data / name, dataset)}
        fact_of = {int(id): at for at, fact in enumerate(facts.split(",")) for id in fact.split()}
        changes = {int(id) for fact in facts.split(",") for id in fact.split()[1:]}
        with Mind(build_memory_file(dataset, embedder, cache), embedder=embedder) as mind:
            pairs = [(number[pair.older.text], number[pair.newer.text], pair) for pair in mind.conflicts()]
        right = [pair for pair in pairs if pair[0] in fact_of and fact_of[pair[0]] == fact_of.get(pair[1])]
        found = {newer for _, newer, _ in right} & changes
        counts = [len(pairs), len(right), len(changes), len(found)]
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        _print_row(name, counts)
        if options.verbose:
            for older, newer, pair in pairs:
                if (older, newer, pair) not in right:
                    print(f"  wrong {older} {newer} {pair.rule} {pair.nearness:.2f}")
            print("  not found", sorted(changes - found))
    _print_row("all", sums)
    return 0


def _by_label(folder: Path, dataset: Any) -> Iterator[tuple[str, Any]]:
    """The labels of the memories, in the order of the corpus."""
    texts = {memory.text: memory for memory in dataset.labelled.memories}
    for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        if record["text"] in texts:
            yield record["_id"], texts[record["text"]]


def _print_row(name: str, counts: list[int]) -> None:
    pairs, right, changes, found = counts
    rates = f"{right / max(1, pairs):>11.3f}{found / max(1, changes):>8.3f}"
    print(f"{name:<18}{pairs:>8}{right:>8}{changes:>9}{found:>8}{rates}")


if __name__ == "__main__":
    sys.exit(main())
