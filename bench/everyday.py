"""Everyday questions: how often a right memory is first or among five, by category, and how often one is withheld.

``python bench/everyday.py`` prints the table and the goals; ``--misses`` lists the questions that were not answered
within five, with what came first. ``--history no`` ignores the turns before a question. ``--data bench/worlds --sets
own_en,own_de,own_zh,harbour_en,marsh_de,supper_en,chor_de,qiudui_zh`` measures smaller worlds of our own. Those named
``blind_…`` are by authors who had never seen the program; those whose names end in 2 or 3 are for measuring alone:
what is missed there was never read, and should not be.
"""

import argparse
import csv
import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

HOME = Path(__file__).resolve().parent
SETS = ("everyday_en_a", "everyday_en_b", "everyday_de_zh")
PHRASES = "time_phrases.tsv"
FIRST, LAST = datetime(1900, 1, 1), datetime(2100, 1, 1)  # in place of an open side
OVERLAP = 0.5
FIRST_COLUMN, FIVE_COLUMN, SHARE_COLUMN = range(3)
GOALS = (  # what is measured, its row and column in the table, and how much is wanted
    ("a right memory first", "all", FIRST_COLUMN, 0.75),
    ("a right memory among five", "all", FIVE_COLUMN, 0.95),
    ("dates, among five", "date", FIVE_COLUMN, 0.95),
    ("relative times, among five", "relative", FIVE_COLUMN, 0.95),
    ("German and Chinese, first", "everyday_de_zh: all", FIRST_COLUMN, 0.65),
    ("German and Chinese, among five", "everyday_de_zh: all", FIVE_COLUMN, 0.88),
    ("changed facts, first", "update", FIRST_COLUMN, 0.85),
    ("follow-ups, among five", "followup", FIVE_COLUMN, 0.85),
    ("lists, share of all items in ten", "list", SHARE_COLUMN, 0.75),
)
MAX_WITHHELD, MIN_SILENT = 10, 19  # answerable questions below the threshold, and those without an answer
Figures = tuple[str, int, float, float, float]  # a row of the table
RIGHT = 2  # the grade of a memory that gives the answer; 1: it belongs to the answer


def main() -> int:
    options = _options()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(HOME.parent))
    from bench import datasets
    from bench.memory_files import CachedLocalEmbedder, build_memory_file
    from recollect.evaluation import open_runner

    cache = Path(os.environ.get("RECOLLECT_BENCH_CACHE", Path.home() / ".cache" / "recollect-bench")) / "quality"
    cache.mkdir(parents=True, exist_ok=True)
    embedder = CachedLocalEmbedder(cache)
    rows: dict[str, list[tuple[bool, bool, float]]] = defaultdict(list)
    silenced = {True: [0, 0], False: [0, 0]}
    texts: dict[str, str] = {}
    for name in options.sets:
        dataset = datasets.read(options.data / name)
        texts |= {memory.id: memory.text for memory in dataset.labelled.memories}
        path = build_memory_file(dataset, embedder, cache)
        with open_runner(path, embedder) as runner:
            for question in dataset.labelled.questions:
                if options.history == "no":
                    question = replace(question, history=())
                recall = runner.recall(question, options.recipe)
                silenced[bool(question.relevant)][0] += recall.low_confidence
                silenced[bool(question.relevant)][1] += 1
                if not question.relevant:
                    continue
                right = {id for id, grade in question.relevant.items() if grade >= RIGHT} or set(question.relevant)
                ids = [result.id for result in recall][:10]
                first, five = bool(ids) and ids[0] in right, not right.isdisjoint(ids[:5])
                share = len(right.intersection(ids)) / len(right)
                for row in ("all", question.category, f"{name}: all"):
                    rows[row].append((first, five, share))
                if (options.misses == "five" and not five) or (options.misses == "first" and not first):
                    print(f"\n{name} {question.category} {question.asked_at:%Y-%m-%d}: {question.text}")
                    for turn in question.history:
                        print("    history", *turn)
                    for id in sorted(right):
                        where = ids.index(id) + 1 if id in ids else "-"
                        print(f"    right {where!s:>3}  {texts[id][:110]}")
                    for result in recall[:5]:
                        grade = question.relevant.get(result.id, 0)
                        print(f"    {result.score:.3f} {grade} {result.memory.created:%Y-%m-%d}  {result.text[:110]}")
    figures = _figures(rows)
    print(f"\n{'':<24}{'questions':>10}{'first':>8}{'in five':>9}{'share in ten':>14}")
    for row, count, *means in figures:
        print(f"{row:<24}{count:>10}{means[0]:>8.3f}{means[1]:>9.3f}{means[2]:>14.3f}")
    for answerable, (low, count) in silenced.items():
        print(f"{'answerable' if answerable else 'without an answer'}: {low} of {count} below the confidence threshold")
    _print_goals(rows, silenced)
    if (options.data / PHRASES).exists():
        print(_time_phrases(options.data / PHRASES))
    if options.keep:
        _keep(options.keep, figures, silenced)
    return 0


def _figures(rows: Mapping[str, list[tuple[bool, bool, float]]]) -> list[Figures]:
    """For all questions, each set and each category: how many, and the mean of each measure."""
    in_order = sorted(rows.items(), key=lambda each: (each[0] != "all", ":" not in each[0], each[0]))
    found = []
    for row, values in in_order:
        first, five, share = (sum(column) / len(values) for column in zip(*values, strict=True))
        found.append((row, len(values), first, five, share))
    return found


def _keep(place: str, figures: Sequence[Figures], silenced: Mapping[bool, list[int]]) -> None:
    """Fill a place of docs/quality.md with the table and with what was withheld."""
    from bench.quality_results import fill_page
    from recollect.evaluation.report import table

    head = ("questions", "number", "first", "among five", "share of all that is right among ten")
    lines = [
        (row.removesuffix(": all"), str(count), *(f"{mean:.3f}" for mean in means)) for row, count, *means in figures
    ]
    withheld, silent = silenced[True], silenced[False]
    told = f"With a low confidence: {withheld[0]} of {withheld[1]} questions that have an answer"
    fill_page({place: f"{table(head, lines)}\n\n{told}, and {silent[0]} of {silent[1]} that have none."})


def _print_goals(rows: Mapping[str, list[tuple[bool, bool, float]]], silenced: Mapping[bool, list[int]]) -> None:
    print(f"\n{'goal':<36}{'measured':>10}{'wanted':>8}")
    for goal, row, column, wanted in GOALS:
        if values := rows.get(row):
            measured = sum(value[column] for value in values) / len(values)
            print(f"{goal:<36}{measured:>10.3f}{wanted:>8.2f}  {_met(measured >= wanted)}")
    withheld, silent = silenced[True][0], silenced[False][0]
    print(f"{'answerable, withheld':<36}{withheld:>10}{MAX_WITHHELD:>8}  {_met(withheld <= MAX_WITHHELD)}")
    print(f"{'without an answer, withheld':<36}{silent:>10}{MIN_SILENT:>8}  {_met(silent >= MIN_SILENT)}")


def _met(met: bool) -> str:
    return "met" if met else "missed"


def _time_phrases(file: Path) -> str:
    """How many spans overlap the labelled one by half, and how many questions that name no time are left alone."""
    from recollect.text.times import find_times

    spans, traps = [], []
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            found = find_times(row["question"], datetime.fromisoformat(row["now"]))
            if row["marker"] == "none":
                traps.append(not found)
            else:
                wanted = tuple(_moment(row[side], far) for side, far in (("start", FIRST), ("end", LAST)))
                read = [(each.span.start or FIRST, each.span.end or LAST) for each in found]
                spans.append(len(read) == 1 and _overlap(read[0], wanted) >= OVERLAP)
    return f"time phrases: {sum(spans)} of {len(spans)} spans, {sum(traps)} of {len(traps)} traps left alone"


def _moment(text: str, open_side: datetime) -> datetime:
    return datetime.fromisoformat(text) if text else open_side


def _overlap(one: tuple[datetime, ...], other: tuple[datetime, ...]) -> float:
    """The common part of two spans ÷ the whole that they cover."""
    common = min(one[1], other[1]) - max(one[0], other[0])
    return common / (max(one[1], other[1]) - min(one[0], other[0]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HOME.parent.parent / "shared" / "data", help="folder of the sets")
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(SETS))
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--history", choices=("yes", "no"), default="yes")
    parser.add_argument("--keep", help="the place of docs/quality.md that gets the table: everyday or unseen")
    parser.add_argument("--misses", choices=("first", "five"), help="list the questions that were missed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
