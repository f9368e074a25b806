"""Fits the coefficients of the confidence of a recall, and measures them on families of sets that were left out.

``python bench/confidence_fit.py collect`` asks questions of each set, on a part of its memories, and keeps the evidence
of every recall in the cache of benchmarks; ``python bench/confidence_fit.py fit`` prints the coefficients and what they
do; ``python bench/confidence_fit.py held-out`` asks the questions of tests/fixtures/silence.json, which nothing was
chosen on, at several thresholds.

Wanted: of the questions without an answer, as many as possible below the threshold, while at least 95% of the
answerable questions of every set are above it (97% of the everyday ones). Few questions decide about that, the least
similar ones of each set, so a regression over all questions is only where the search begins.
"""

import argparse
import json
import math
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bench.datasets import Dataset
    from recollect.evaluation import LabelledQuestion

HOME = Path(__file__).resolve().parent
HELD_OUT = HOME.parent / "tests" / "fixtures" / "silence.json"
CACHE = Path(os.environ.get("RECOLLECT_BENCH_CACHE", Path.home() / ".cache" / "recollect-bench"))
MOST = 70  # questions of a kind
MAX_MEMORIES = 900  # of a set of many haystacks; of one large haystack, 500 and those with an answer
KINDS = ("answerable", "other haystack", "no answer", "other set")
WEIGHTS = {"answerable": 1.0, "other haystack": 1.0, "no answer": 0.6, "other set": 0.3}
KEPT = {"everyday": 0.972}  # of the answerable questions of each set: a little more than is promised
KEPT_ELSEWHERE = 0.952
SMALLEST = 20  # answerable questions of a set that constrains the search
SOFTNESS = 0.15  # of the threshold, while searching
VALUE = ["no amount", "no attribute", "no choice"]
WITH_VECTORS = ["cosine", "resemblance", "found", "missing", "unknown name", "in time", "statements", "size", "length"]
WITH_VECTORS += [*VALUE, "no fact"]
PAIRS_WITH_VECTORS = ["cosine", "resemblance", "words", "no amount", "no attribute"]
WORDS_ALONE = ["covered", "missing", "in time", "statements", *VALUE]
PAIRS_ALONE = ["share", "in time", "statements", *VALUE]
FORMULAS = {
    "with vectors": WITH_VECTORS,
    "pairs with vectors": PAIRS_WITH_VECTORS,
    "words alone": WORDS_ALONE,
    "pairs alone": PAIRS_ALONE,
}
ALSO_WITHOUT_VECTORS = ("everyday_en_a", "everyday_en_b", "locomo", "realtalk", "scifact", "lme_s_heads", "vehiclemem")
SUFFIX = " (words)"  # of the name of a set that is also asked without vectors
Floats = NDArray[np.float64]


def collect(data: Path, names: Sequence[str]) -> None:
    """Keep the evidence of each recall, a file for each set."""
    from bench import abstention, datasets
    from bench.memory_files import CachedLocalEmbedder, build_memory_file
    from recollect.evaluation import open_runner

    abstention.MOST = MOST
    (CACHE / "confidence").mkdir(parents=True, exist_ok=True)
    embedder = CachedLocalEmbedder(CACHE / "quality")
    for name in names:
        set_ = part_of(datasets.read(data / name))
        labelled = set_.labelled
        path = build_memory_file(set_, embedder, CACHE / "confidence")
        able = labelled.answerable if family(name) == "everyday" else abstention.sample(labelled.answerable)
        hosts = random.Random(7).sample(able, min(50, len(able)))
        asked = {
            "answerable": able,
            "other haystack": abstention.crossed(labelled),
            "no answer": labelled.unanswerable,
            "other set": [
                replace(question, text=text, relevant={}, history=())
                for question, text in zip(hosts, strangers(data, name), strict=False)
            ],
        }
        for suffix in ("", SUFFIX) if name in ALSO_WITHOUT_VECTORS else ("",):
            kept = []
            with open_runner(path, None if suffix else embedder) as runner:
                for kind, questions in asked.items():
                    for question in questions:
                        recall = runner.recall(question, "default")
                        detail = next(step for step in recall.trace.steps if step.name == "confidence").detail
                        kept.append({"kind": kind, "text": question.text, "detail": detail})
            (CACHE / "confidence" / f"{name}{suffix}.json").write_text(json.dumps(kept), encoding="utf-8")
            print(f"{name}{suffix}", len(kept), flush=True)


def part_of(dataset: "Dataset") -> "Dataset":
    """Some haystacks of a set, or a part of its only one with all that answers some of its questions."""
    from bench.datasets import Dataset

    labelled, chance = dataset.labelled, random.Random(1)
    if family(labelled.name) == "everyday":
        return dataset
    home = {memory.id: memory.collection for memory in labelled.memories}
    haystacks = sorted(set(home.values()))
    small = len(home) <= 50 * len(haystacks)
    count = max(36 if small else 2, MAX_MEMORIES * len(haystacks) // len(home))
    chosen = set(chance.sample(haystacks, min(count, len(haystacks))))
    questions = [each for each in labelled.questions if home_of(each, home) in chosen]
    able = [each for each in questions if each.relevant]
    able = chance.sample(able, min(MOST, len(able)))
    memories = [memory for memory in labelled.memories if memory.collection in chosen]
    if len(memories) > 2 * MAX_MEMORIES:
        needed = {id for question in able for id in question.relevant}
        others = [memory.id for memory in memories if memory.id not in needed]
        needed |= set(chance.sample(others, min(500, len(others))))
        memories = [memory for memory in memories if memory.id in needed]
    questions = [*able, *(each for each in questions if not each.relevant)]
    return Dataset(
        replace(labelled, questions=questions, memories=memories), {**dataset.files, "part": str(len(memories))}
    )


def home_of(question: "LabelledQuestion", home: dict[str, str]) -> str:
    """The haystack of a question."""
    if question.relevant:
        return home[next(iter(question.relevant))]
    wanted = getattr(question.filter, "collection", None)
    return wanted if isinstance(wanted, str) else ""


def strangers(data: Path, name: str) -> list[str]:
    """Questions of other families, in scripts of the same kind."""
    from bench import datasets

    spaceless = {"cmrc_zh", "drcd_zht", "jsquad_ja", "memdaily_zh", "xquad_zh_en"}
    others = [each for each in datasets.names(data) if family(each) != family(name)]
    texts = []
    for other in others:
        if (other in spaceless) == (name in spaceless):
            lines = (data / other / "queries.jsonl").read_text(encoding="utf-8").splitlines()
            texts += [json.loads(line)["text"] for line in random.Random(11).sample(lines, min(15, len(lines)))]
    random.Random(12).shuffle(texts)
    return [text for text in texts if text.strip()]


def family(name: str) -> str:
    from bench.families import family

    return family(name.removesuffix(SUFFIX))


class Evidence:
    """The evidence of the recalls of a set that one formula judges: a row of numbers for each, the last one 1."""

    def __init__(self, name: str, recalls: Sequence[dict[str, Any]], features: Sequence[str]) -> None:
        self.kept = KEPT_ELSEWHERE if name.endswith(SUFFIX) else KEPT.get(family(name), KEPT_ELSEWHERE)
        judged = [each for each in recalls if "size" in each["detail"] and FORMULAS[formula(each)] is features]
        rows = [[*(float(each["detail"][name]) for name in features), 1.0] for each in judged]
        self.rows = np.array(rows).reshape(-1, len(features) + 1)
        self.kinds = np.array([each["kind"] for each in judged])
        self.texts = [each["text"] for each in judged]
        # Recalls that no formula judges: only a time, other scripts, or nothing was found.
        self.certain = [
            (each["kind"], each["detail"]["confidence"]) for each in recalls if "size" not in each["detail"]
        ]

    def scores(self, coefficients: Floats, kind: str) -> Floats:
        return np.asarray(self.rows[self.kinds == kind] @ coefficients)

    def lowest(self, coefficients: Floats) -> float:
        """The score that all but a few of the answerable questions reach."""
        sure = sum(kind == "answerable" and confidence >= 0.5 for kind, confidence in self.certain)
        scores = np.append(self.scores(coefficients, "answerable"), np.full(sure, np.inf))
        return float(np.sort(scores)[int((1 - self.kept) * len(scores))])


def formula(recall: dict[str, Any]) -> str:
    """By which a recall is judged."""
    from recollect.text.words import SPACELESS

    words = "pairs" if SPACELESS.search(recall["text"]) else "words"
    if "cosine" not in recall["detail"]:
        return f"{words} alone"
    return "pairs with vectors" if words == "pairs" else "with vectors"


Sets = dict[str, Evidence]


def regression(sets: Sets) -> Floats:
    """Logistic regression in which each kind of questions of each set has the same weight."""
    rows, answered, weights = [], [], []
    for each in sets.values():
        for kind in KINDS:
            own = each.rows[each.kinds == kind]
            rows.append(own)
            answered.append(np.full(len(own), kind == "answerable", dtype=np.float64))
            weights.append(np.full(len(own), WEIGHTS[kind] / max(len(own), 1)))
    x, y, weight = np.concatenate(rows), np.concatenate(answered), np.concatenate(weights)
    w = np.zeros(x.shape[1])
    for _ in range(50):  # Newton
        p = 1 / (1 + np.exp(-x @ w))
        gradient = x.T @ (weight * (p - y)) + 1e-3 * w
        w -= np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x + 1e-3 * np.eye(len(w)), gradient)
    return w


def goal(sets: Sets, coefficients: Floats) -> float:
    """How many of each kind would be withheld at the highest threshold that keeps enough answers, in soft steps."""
    lowest = np.array([each.lowest(coefficients) for each in sets.values() if answerable(each) >= SMALLEST])
    threshold = lowest.min() - 0.1 * math.log(np.exp(-(lowest - lowest.min()) / 0.1).sum())  # a soft minimum
    sum_ = 0.0
    for kind in KINDS[1:]:
        shares = [
            np.mean(1 / (1 + np.exp((scores - threshold) / SOFTNESS)))
            for each in sets.values()
            if len(scores := each.scores(coefficients, kind))
        ]
        sum_ += WEIGHTS[kind] * float(np.mean(shares)) if shares else 0.0
    return sum_


def answerable(evidence: Evidence) -> int:
    return int((evidence.kinds == "answerable").sum())


def fit(sets: Sets, steps: int = 1000) -> Floats:
    """Coefficients by random steps from those of the regression, whose signs they keep."""
    begin = regression(sets)
    results = []
    for seed in range(2):
        random_ = np.random.default_rng(seed)
        best, reached = begin, goal(sets, begin)
        spread = np.append(np.abs(begin[:-1]) * 0.3 + 0.1, 0.0)
        for _ in range(steps):
            step = random_.normal(size=len(best)) * spread * random_.choice([1, 0.3, 0.1])
            tried = best + step * (random_.random(len(best)) < 0.4)
            if (np.sign(tried) * np.sign(begin) >= 0).all() and (value := goal(sets, tried)) > reached:
                best, reached = tried, value
        results.append((reached, best))
    return max(results, key=lambda result: result[0])[1]


def threshold(sets: Sets, coefficients: Floats) -> float:
    """The highest score at which every set keeps enough answers."""
    return min(each.lowest(coefficients) for each in sets.values() if answerable(each) >= SMALLEST)


def withheld(each: Evidence, coefficients: Floats, limit: float, kind: str) -> list[bool]:
    certain = [confidence < 0.5 for other, confidence in each.certain if other == kind]
    return [*(each.scores(coefficients, kind) < limit).tolist(), *certain]


def measure(recalls: dict[str, list[dict[str, Any]]], left_out: bool) -> dict[str, dict[str, float]]:
    """By set and kind: the share that is withheld, by coefficients chosen with or without the set's family."""
    shares: dict[str, dict[str, float]] = {}
    families = sorted({family(name) for name in recalls}) if left_out else [""]
    for each in families:
        formulas = [(features, _fit_without(recalls, features, each)) for features in FORMULAS.values()]
        for name in recalls:
            if left_out and family(name) != each:
                continue
            for kind in KINDS:
                silent: list[bool] = []
                for at, (features, (coefficients, limit)) in enumerate(formulas):
                    evidence = Evidence(name, recalls[name], features)
                    evidence.certain = evidence.certain if at == 0 else []
                    silent += withheld(evidence, coefficients, limit, kind)
                if silent:
                    shares.setdefault(name, {})[kind] = float(np.mean(silent))
    return shares


def _fit_without(
    recalls: dict[str, list[dict[str, Any]]], features: Sequence[str], left_out: str
) -> tuple[Floats, float]:
    sets = {name: Evidence(name, each, features) for name, each in recalls.items() if family(name) != left_out}
    sets = {name: each for name, each in sets.items() if answerable(each) >= SMALLEST}
    coefficients = fit(sets)
    limit = threshold(sets, coefficients)
    if not left_out:
        print(", ".join(f"{name} {value:.3g}" for name, value in zip([*features, "bias"], coefficients, strict=True)))
        print(f"threshold {limit:.3f}, as a confidence {1 / (1 + math.exp(-limit)):.3f}")
    return coefficients, limit


def show(title: str, shares: dict[str, dict[str, float]]) -> None:
    print(f"\n{title}\n{'set':<18}{'kept':>8}" + "".join(f"{kind:>16}" for kind in KINDS[1:]))
    for name, values in shares.items():
        kept = 1 - values.get("answerable", math.nan)
        print(f"{name:<18}{kept:>8.3f}" + "".join(f"{values.get(kind, math.nan):>16.3f}" for kind in KINDS[1:]))
    means = [np.mean([values[kind] for values in shares.values() if kind in values]) for kind in KINDS]
    print(f"{'mean':<18}{1 - means[0]:>8.3f}" + "".join(f"{mean:>16.3f}" for mean in means[1:]))


def current(recalls: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """What the coefficients of the code do."""
    from recollect.recall.confidence import Confidence

    limit = Confidence().threshold
    return {
        name: {
            kind: float(np.mean([each["detail"]["confidence"] < limit for each in of_set if each["kind"] == kind]))
            for kind in KINDS
            if any(each["kind"] == kind for each in of_set)
        }
        for name, of_set in recalls.items()
    }


def held_out() -> None:
    """How many of the questions of our own are below several thresholds, by language, with an answer and without."""
    from bench.memory_files import CachedLocalEmbedder
    from recollect.evaluation import LabelledQuestion, open_runner
    from recollect.model import Filter
    from recollect.recall.confidence import Confidence

    labelled = json.loads(HELD_OUT.read_text(encoding="utf-8"))
    (CACHE / "quality").mkdir(parents=True, exist_ok=True)
    embedder = CachedLocalEmbedder(CACHE / "quality")
    levels = (Confidence().threshold, 0.4, 0.6, 0.8)
    low: dict[tuple[str, bool], list[list[bool]]] = {}
    with tempfile.TemporaryDirectory() as folder, open_runner(Path(folder) / "memory.db", embedder) as runner:
        runner.mind.remember_many(labelled["memories"])
        for each in labelled["questions"]:
            language, relevant = each["collection"], dict.fromkeys(each["relevant"], 1)
            moment = datetime.fromisoformat(labelled["asked_at"])
            recall = runner.recall(
                LabelledQuestion(each["text"], relevant, "", Filter(collection=language), asked_at=moment)
            )
            confidence = recall.confidence or 0.0
            for row in (language, "all"):
                low.setdefault((row, bool(relevant)), []).append([confidence < level for level in levels])
            print(f"{'answerable' if relevant else 'no answer':<12}{confidence:.3f}  {each['text']}")
    print(f"\n{'below':<24}" + "".join(f"{level:>10g}" for level in levels))
    for (row, answerable), values in sorted(low.items()):
        counts = [sum(column) for column in zip(*values, strict=True)]
        kind = f"{row}, {'answerable' if answerable else 'no answer'}"
        print(f"{kind:<24}" + "".join(f"{f'{count}/{len(values)}':>10}" for count in counts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("collect", "fit", "show", "held-out"))
    parser.add_argument("--data", type=Path, default=HOME.parent.parent / "shared" / "data", help="folder of the sets")
    parser.add_argument("--sets", type=lambda text: text.split(","))
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(HOME.parent))
    from bench import datasets

    if options.step == "held-out":
        held_out()
        return
    names = options.sets or datasets.names(options.data)
    if options.step == "collect":
        collect(options.data, names)
        return
    every = [f"{name}{suffix}" for name in names for suffix in ("", SUFFIX)]
    files = {name: CACHE / "confidence" / f"{name}.json" for name in every}
    recalls = {name: json.loads(file.read_text(encoding="utf-8")) for name, file in files.items() if file.exists()}
    show("with the coefficients of the code", current(recalls))
    if options.step == "fit":
        show("fitted to all sets", measure(recalls, left_out=False))
        show("fitted without the family of the set", measure(recalls, left_out=True))


if __name__ == "__main__":
    main()
