"""What each part of the default recipe is worth, by family of labelled sets, and with the family left out.

``python bench/families.py`` asks a fixed sample of the questions of every set, with the default recipe and with each of
its parts removed or each constant made neutral. Sets that are alike form a family. For each family, the parts are
chosen on the other families alone (a part stays if they lose without it) and measured on the one left out: that column
is the figure of promise B12, beside the other recipes on the same questions. ``--keep`` writes it to bench/results/ and
docs/quality.md. ``--only`` measures a few variants, for work on the recipe.
"""

import argparse
import json
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.datasets import Dataset
    from recollect.evaluation import RecallRunner
    from recollect.evaluation.dataset import LabelledQuestion
    from recollect.recall.recipe import QueryReader, Recipe

HOME = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("RECOLLECT_BENCH_CACHE", Path.home() / ".cache" / "recollect-bench")) / "quality"
FAMILIES = {  # sets that are alike: what is chosen with one of them is not measured on the others
    "locomo": ["locomo", "typo_locomo"],
    "realtalk": ["realtalk"],
    "beam": ["beam100k", "beam500k"],
    "lme": ["lme_s_heads", "lme_oracle_user", "lme_full4"],
    "realmem": ["realmem"],
    "memdaily": ["memdaily_zh"],
    "CJK": ["cmrc_zh", "drcd_zht", "jsquad_ja", "xquad_zh_en"],
    "code": ["cosqa_code", "ident_code"],
    "robots": ["alfred_robot", "tidybot_robot"],
    "science": ["scifact", "cranfield"],
    "facts": ["vehiclemem", "precisionmem"],
    "everyday": ["everyday_en_a", "everyday_en_b", "everyday_de_zh"],
}
QUESTIONS = 100  # of each set
GAIN = 0.0005  # that other weights must bring to the mean of the other families to be chosen
MEASURES = ("R@10", "NDCG@10")
WHOLE = "as it is"


@dataclass(frozen=True)
class Variant:
    """A change of the recipe: a part removed, or other weights.

    ``step`` names the step of the trace that it concerns: where that step was skipped, nothing changes. Of the variants
    of a ``group``, at most one is chosen.
    """

    change: "Callable[[Recipe], Recipe]"
    group: str
    step: tuple[str, str] | None = None


def family(name: str) -> str:
    return next((family for family, names in FAMILIES.items() if name in names), name)


def sample(dataset: "Dataset", questions: int) -> "Dataset":
    """So many of the questions with an answer, and the haystacks in which they are asked."""
    from bench.datasets import Dataset
    from recollect.evaluation import LabelledSet

    labelled = dataset.labelled
    where = {memory.id: memory.collection for memory in labelled.memories}
    chosen = labelled.answerable[:questions]  # the order of datasets.read is random already
    haystacks = {where[id] for question in chosen for id in question.relevant if id in where}
    memories = [memory for memory in labelled.memories if memory.collection in haystacks]
    name = dataset.name if len(memories) == len(labelled.memories) else f"{dataset.name}-{questions}"
    return Dataset(LabelledSet(name, chosen, memories), dataset.files)


# Parts that serve what users state (edges, trust, statuses, what supersedes what) or a promise of its own (times, what
# was before something, follow-ups, lists, languages), which few sets contain: they are measured, but stay whatever the
# other families show.
PROMISED = frozenset(
    (
        "DetectLanguage, ContentWords, TimeReader, PredecessorReader, ListQuestion, CompoundParts, FollowUp, "
        "IdentifierReader, cue time, cue history, time match, identifier, order of time, statements, coverage, "
        "polarity, replies, status, trust, current versions, related names, spread, contradictions"
    ).split(", ")
)
MAIN_CUES = ("words", "vectors", "tokens")  # what the weights are of
WEIGHTS = {  # of words, vectors and tokens, to choose from for each kind of text
    "equal": (1 / 3, 1 / 3, 1 / 3),
    "vectors": (0.2, 0.5, 0.3),
    "tokens": (0.2, 0.3, 0.5),
}


def removals(recipe: "Recipe") -> dict[str, Variant]:
    """The recipe without each of its readers, smaller cues and stages, by the name of what it lacks."""
    found = {}
    for reader in recipe.read:
        name = type(reader).__name__
        found[name] = Variant(lambda recipe, out=name: _without_reader(recipe, out), name, ("read", name))  # type: ignore[misc]
    for name in [cue.name for cue in recipe.cues.cues() if cue.name not in MAIN_CUES]:
        found[f"cue {name}"] = Variant(
            lambda recipe, out=name: _without_cue(recipe, out),  # type: ignore[misc]
            f"cue {name}",
            ("cue", name),
        )
    for stage in recipe.stages:
        found[stage.name] = Variant(
            lambda recipe, out=stage.name: _without_stage(recipe, out),  # type: ignore[misc]
            stage.name,
            ("stage", stage.name),
        )
    return found


def weightings(kinds: Sequence[str]) -> dict[str, Variant]:
    """Other weights of the cues, for each kind of text."""
    return {
        f"{kind}: {name}": Variant(lambda recipe, kind=kind, own=weights: _weighted(recipe, kind, own), kind)  # type: ignore[misc]
        for kind in kinds
        for name, weights in WEIGHTS.items()
    }


def _without_reader(recipe: "Recipe", out: str) -> "Recipe":
    return recipe.but(read=[each for each in recipe.read if type(each).__name__ != out])


def _without_stage(recipe: "Recipe", out: str) -> "Recipe":
    return recipe.but(stages=[each for each in recipe.stages if each.name != out])


def _without_cue(recipe: "Recipe", out: str) -> "Recipe":
    from bench.baselines import with_cues
    from recollect.recall.cues.plans import DisabledCue

    cues = with_cues(recipe.cues, lambda cue: DisabledCue(out, "left out") if cue.name == out else cue)
    return recipe.but(cues=cues)


def _weighted(recipe: "Recipe", kind: str, weights: tuple[float, ...]) -> "Recipe":
    fuse: Any = copy(recipe.fuse)
    blend = copy(fuse.blends[kind])
    own = dict(zip(MAIN_CUES, weights, strict=True))
    blend.cue_weights = [replace(each, weight=own.get(each.cue, each.weight)) for each in blend.cue_weights]
    fuse.blends = {**fuse.blends, kind: blend}
    return recipe.but(fuse=fuse)


class WatchedReader:
    """A reader that notes in the trace whether it changed the query."""

    def __init__(self, reader: "QueryReader") -> None:
        self.reader = reader

    def read(self, query: Any, run: Any) -> Any:
        read, k = self.reader.read(query, run), run.k
        run.log("changed", read != query or run.k != k)
        return read


class FamilyRun:
    """The scores of a sample of every set, by variant of the recipe: one number for each question and measure."""

    def __init__(self, data: Path, names: Sequence[str], questions: int, stale: bool) -> None:
        from bench.memory_files import CachedLocalEmbedder

        CACHE.mkdir(parents=True, exist_ok=True)
        self._data, self._names, self._questions, self._stale = data, names, questions, stale
        self._embedder = CachedLocalEmbedder(CACHE)

    def sets(self, names: Sequence[str] | None = None) -> "Iterator[tuple[str, RecallRunner, list[LabelledQuestion]]]":
        """Each set's name, an open memory, and its questions."""
        from bench import datasets
        from bench.memory_files import build_memory_file
        from recollect.evaluation import open_runner

        for name in self._names if names is None else names:
            dataset = sample(datasets.read(self._data / name, self._questions), self._questions)
            path = build_memory_file(dataset, self._embedder, CACHE, self._stale)
            with open_runner(path, self._embedder) as runner:
                yield name, runner, dataset.labelled.answerable

    def measure(self, variants: Mapping[str, Variant]) -> "Scores":
        """The recipe as it is and all variants; one is asked only where what it changes did something."""
        scores: Scores = {name: {} for name in (WHOLE, *variants)}
        for name, runner, questions in self.sets():
            start = time.process_time()
            for question in questions:
                for variant, figures in self._ask(runner, question, variants):
                    scores[variant].setdefault(name, []).append(figures)
            print(f"{name}: {time.process_time() - start:.0f} s CPU", file=sys.stderr, flush=True)
        return scores

    def measure_one(
        self, change: "Callable[[Recipe], Recipe]", names: Sequence[str]
    ) -> dict[str, list[tuple[float, ...]]]:
        """One changed recipe on some sets."""
        from recollect.recall.registry import get_recipe

        recipe = change(get_recipe("default"))
        return {
            name: [values(question, runner.recall(question, recipe)) for question in questions]
            for name, runner, questions in self.sets(names)
        }

    def measure_recipe(self, name: str, names: Sequence[str]) -> dict[str, list[tuple[float, ...]]]:
        """Another recipe on some sets, without a reranking model."""
        from bench.quality_run import SETTINGS
        from recollect.recall.registry import get_recipe

        return self.measure_one(lambda _: get_recipe(name, **SETTINGS.get(name, {})), names)

    def _ask(
        self, runner: "RecallRunner", question: "LabelledQuestion", variants: Mapping[str, Variant]
    ) -> Iterator[tuple[str, tuple[float, ...]]]:
        from recollect.recall.cues import CachedPlan
        from recollect.recall.registry import get_recipe

        recipe = get_recipe("default")
        # The trace names readers by their classes.
        readers = [type(type(each).__name__, (WatchedReader,), {})(each) for each in recipe.read]
        plan = CachedPlan(recipe.cues)
        recall = runner.recall(question, recipe.but(read=readers, cues=plan))
        whole = values(question, recall)
        yield WHOLE, whole
        steps = recall.trace.steps
        active = {
            (step.kind, step.name) for step in steps if step.outcome == "ran" and step.detail.get("changed", True)
        }
        kind = next((step.detail.get("material") for step in steps if step.kind == "fuse"), None)
        for name, variant in variants.items():
            if variant.step is None:
                changes = variant.group in (kind, WHOLE)
            else:
                changes = variant.step in active
            if not changes:
                yield name, whole
                continue
            changed = variant.change(recipe)
            if variant.step is None or variant.step[0] == "stage":
                changed = changed.but(cues=plan)  # the candidates are the same
            yield name, values(question, runner.recall(question, changed))


Scores = dict[str, dict[str, list[tuple[float, ...]]]]  # by variant and set: the measures of each question


def values(question: "LabelledQuestion", recall: Any) -> tuple[float, ...]:
    """R@10 and NDCG@10 of one answer."""
    grades = [question.relevant.get(result.id, 0) for result in recall][:10]
    ideal = sorted(question.relevant.values(), reverse=True)[:10]
    gains = [sum(grade / math.log2(at + 2) for at, grade in enumerate(each)) for each in (grades, ideal)]
    return sum(grade > 0 for grade in grades) / len(question.relevant), gains[0] / gains[1]


def by_family(scores: Mapping[str, Sequence[tuple[float, ...]]], at: int | None = None) -> dict[str, float]:
    """The mean of a measure, or of all, over the questions of each set and then over the sets of each family."""
    sets = defaultdict(list)
    for name, rows in scores.items():
        figures = [sum(row) / len(row) if at is None else row[at] for row in rows]
        sets[family(name)].append(sum(figures) / len(figures))
    return {name: sum(means) / len(means) for name, means in sets.items()}


def choose(scores: Scores, variants: Mapping[str, Variant], left_out: str) -> list[str]:
    """The variants that the other families would choose: a part goes unless they lose without it; other weights must
    bring them ``GAIN``."""
    whole = by_family(scores[WHOLE])
    others = [name for name in whole if name != left_out]
    best: dict[str, tuple[float, str]] = {}
    for name, variant in variants.items():
        if name in PROMISED:
            continue
        means = by_family(scores[name])
        gain = sum(means[each] - whole[each] for each in others) / len(others)
        if gain >= 0 if variant.step is not None else gain > GAIN:
            best[variant.group] = max(best.get(variant.group, (gain, name)), (gain, name))
    return [name for _, name in best.values()]


def main() -> int:
    options = _options()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(HOME.parent))
    from bench import datasets
    from recollect.recall.registry import get_recipe

    present = datasets.names(options.data)
    every = [name for names in FAMILIES.values() for name in names if name in present and name not in options.without]
    if not (options.sets or every):
        sys.exit(f"There are no labelled sets in {options.data}; name their folder with --data.")
    run = FamilyRun(options.data, options.sets or every, options.questions, options.stale)
    variants = {
        **removals(get_recipe("default")),
        **weightings(("short", "stated", "long", "code", "lookup", "translated")),
    }
    if options.only is not None:
        variants = {name: variant for name, variant in variants.items() if name in options.only}
    scores = run.measure(variants)
    print_parts(scores, variants)
    if options.only is None:
        found = left_out(run, scores, variants)
        print_left_out(found)
        if options.keep:
            keep(found, options.questions, scores, variants)
    return 0


def print_parts(scores: Scores, variants: Mapping[str, Variant]) -> None:
    """Each variant's difference to the recipe as it is, in thousandths, by family."""
    whole = by_family(scores[WHOLE])
    print(f"\n{'':<28}" + "".join(f"{name:>10}" for name in whole) + f"{'mean':>8}")
    for at, measure in enumerate(MEASURES):
        means = by_family(scores[WHOLE], at)
        figures = "".join(f"{value:>10.3f}" for value in means.values())
        print(f"{WHOLE + ', ' + measure:<28}{figures}{sum(means.values()) / len(means):>8.3f}")
    for name in variants:
        means = by_family(scores[name])
        lost = [means[each] - whole[each] for each in whole]
        figures = "".join(f"{1000 * each:>+10.1f}" if each else f"{'.':>10}" for each in lost)
        print(f"{name:<28}{figures}{1000 * sum(lost) / len(lost):>+8.2f}")


def together(variants: "Sequence[Variant]") -> "Callable[[Recipe], Recipe]":
    """All of these changes, one after the other."""
    return lambda recipe: reduce(lambda changed, variant: variant.change(changed), variants, recipe)


def left_out(run: FamilyRun, scores: Scores, variants: Mapping[str, Variant]) -> dict[str, dict[str, Any]]:
    """By family: R@10 of the recipe as it is, of what the other families chose, and of the other recipes."""
    from recollect.recall.registry import RECIPES

    whole, found = by_family(scores[WHOLE], 0), {}
    for name in whole:
        chosen = choose(scores, variants, name)
        sets = [each for each in scores[WHOLE] if family(each) == name]
        combined = run.measure_one(together([variants[each] for each in chosen]), sets)
        others = {each: run.measure_recipe(each, sets) for each in RECIPES if each != "default"}
        found[name] = {
            "as it is": round(whole[name], 4),
            "left out": round(by_family(combined, 0)[name], 4),
            "others": {each: round(by_family(figures, 0)[name], 4) for each, figures in others.items()},
            "chosen": chosen,
        }
    return found


def print_left_out(found: Mapping[str, Mapping[str, Any]]) -> None:
    """The column of B12: each family measured with what the others chose."""
    print(f"\n{'family left out':<16}{'as it is':>10}{'left out':>10}{'best other':>12}  what the other families chose")
    rows = {name: (each["as it is"], each["left out"], max(each["others"].values())) for name, each in found.items()}
    for name, figures in rows.items():
        told = ", ".join(found[name]["chosen"]) or "the recipe as it is"
        print(f"{name:<16}{figures[0]:>10.3f}{figures[1]:>10.3f}{figures[2]:>12.3f}  {told}")
    means = [sum(figures) / len(rows) for figures in zip(*rows.values(), strict=True)]
    print(f"{'mean R@10':<16}{means[0]:>10.4f}{means[1]:>10.4f}{means[2]:>12.4f}")


def keep(found: Mapping[str, Any], questions: int, scores: Scores, variants: Mapping[str, Variant]) -> None:
    """Write the figures to bench/results/families.json, and as tables into docs/quality.md."""
    from bench.quality_results import fill_page
    from bench.report import machine
    from recollect.evaluation.report import table

    whole = by_family(scores[WHOLE])
    parts = {
        name: {each: round(value - whole[each], 5) for each, value in by_family(scores[name]).items()}
        for name in variants
    }
    told = {"facts": machine(), "questions of a set": questions, "families": found, "without": parts}
    text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
    (HOME / "results" / "families.json").write_text(text, encoding="utf-8")
    rows = {name: (each["as it is"], each["left out"], max(each["others"].values())) for name, each in found.items()}
    rows["mean"] = tuple(sum(figures) / len(rows) for figures in zip(*rows.values(), strict=True))
    shown = [(name, *(f"{figure:.3f}" for figure in figures)) for name, figures in rows.items()]
    changed = {name: by for name, by in parts.items() if any(by.values())}
    worth = [
        (name, *(f"{1000 * change:+.1f}" if change else "" for change in (*by.values(), sum(by.values()) / len(by))))
        for name, by in changed.items()
    ]
    fill_page(
        {
            "families": table(("family", "as it is", "chosen without it", "best other recipe"), shown),
            "parts": table(("without, or with other weights", *whole, "mean"), worth),
        }
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HOME.parent.parent / "shared" / "data", help="folder of the sets")
    parser.add_argument("--sets", type=lambda text: text.split(","), help="only these")
    parser.add_argument("--without", type=lambda text: text.split(","), default=["lme_full4"], help="not these")
    parser.add_argument("--only", type=lambda text: text.split(","), help="only these variants; '' for none")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each set")
    parser.add_argument("--stale", action="store_true", help="use stores that were built by other code")
    parser.add_argument("--keep", action="store_true", help="write the figures to bench/results/ and docs/quality.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
