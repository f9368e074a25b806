"""Quality in a large memory: the questions of one set, asked among the memories of all conversation sets.

``python bench/large.py`` compares the default recipe on the set alone, among all others, and there with every memory
compared word by word (``--exhaustive``; slow). ``--limit`` draws questions at random.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.datasets import Dataset
    from recollect.recall.recipe import Recipe

HOME = Path(__file__).resolve().parent
OTHERS = (
    "locomo realtalk beam100k beam500k lme_s_heads lme_oracle_user lme_full4 memdaily_zh realmem everyday_en_a "
    "everyday_en_b everyday_de_zh"
).split()
EVERYTHING = 10**9  # memories that are compared word by word


def main() -> int:
    options = _options()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(HOME.parent))
    from bench import datasets
    from bench.memory_files import CachedLocalEmbedder, build_memory_file
    from recollect.evaluation import open_runner, score_answers
    from recollect.recall.registry import get_recipe

    cache = Path(os.environ.get("RECOLLECT_BENCH_CACHE", Path.home() / ".cache" / "recollect-bench")) / "quality"
    cache.mkdir(parents=True, exist_ok=True)
    embedder = CachedLocalEmbedder(cache)
    alone = datasets.read(options.data / options.set, options.limit)
    every = [datasets.read(options.data / name) for name in options.others if (options.data / name).exists()]
    together = _together(alone, every)
    recipe = get_recipe("default")
    runs: list[tuple[str, Dataset, Recipe]] = [("alone", alone, recipe), ("among all", together, recipe)]
    if options.exhaustive:
        runs.append(("among all, exhaustively", together, _exhaustive(recipe)))
    for name, dataset, chosen in runs:
        path = build_memory_file(dataset, embedder, cache)
        questions = dataset.labelled.answerable
        with open_runner(path, embedder) as runner:
            start = time.process_time()
            scores = score_answers(name, questions, runner.answers(questions, chosen))
            milliseconds = (time.process_time() - start) / len(questions) * 1e3
        figures = "  ".join(f"{each} {scores.mean(each):.4f}" for each in ("R@5", "R@10", "NDCG@10", "Hit@1"))
        print(
            f"{name:<26}{len(dataset.labelled.memories):>8} memories  {figures}  {milliseconds:.0f} ms CPU", flush=True
        )
    return 0


def _together(alone: "Dataset", every: "list[Dataset]") -> "Dataset":
    """All memories in one collection; questions search all of it."""
    from bench.datasets import Dataset
    from recollect.evaluation import LabelledSet

    memories = [replace(memory, collection="all", session=_session(set_, memory)) for set_, memory in _memories(every)]
    questions = [replace(question, filter=None) for question in alone.labelled.questions]
    files = {f"{each.name}/{name}": digest for each in every for name, digest in each.files.items()}
    return Dataset(LabelledSet(f"{alone.name}-among-all", questions, memories), files)


def _memories(every: "list[Dataset]") -> Iterator[tuple[str, Any]]:
    for dataset in every:
        for memory in dataset.labelled.memories:
            yield dataset.name, memory


def _session(name: str, memory: Any) -> str:
    return f"{name} {memory.collection} {memory.session}" if memory.session else ""


def _exhaustive(recipe: "Recipe") -> "Recipe":
    """The recipe with every memory compared word by word."""
    import numpy as np

    from bench.baselines import with_cues
    from recollect.recall.cues import TokensCue
    from recollect.recall.run import Run
    from recollect.store.base import Rows

    class AllTokensCue(TokensCue):
        def compared_rows(self, run: Run) -> tuple[Rows, Rows]:
            rows = run.snapshot.page(run.scope, "stored", EVERYTHING)
            return rows, np.zeros(len(rows), dtype=np.int64)

    def widen(cue: Any) -> Any:
        return AllTokensCue(depth=cue.depth) if isinstance(cue, TokensCue) else cue

    return recipe.but(cues=with_cues(recipe.cues, widen))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HOME.parent.parent / "shared" / "data", help="folder of the sets")
    parser.add_argument("--set", default="locomo", help="whose questions are asked")
    parser.add_argument("--others", type=lambda text: text.split(","), default=OTHERS, help="whose memories are there")
    parser.add_argument("--limit", type=int, help="questions, drawn at random")
    parser.add_argument("--exhaustive", action="store_true", help="also compare every memory word by word")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
