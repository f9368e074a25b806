"""Record the top 50 ids and scores of 500 questions by every recipe, and compare a later version with the record.

    python bench/golden.py record golden.json.gz --data FOLDER
    python bench/golden.py compare golden.json.gz --data FOLDER

Scores are compared bit for bit on one machine: another processor may round the model's vectors differently.
A second memory is built from every set with links, relations, confidences and the like, so that recipes that
use them have something to use.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.datasets import read
from recollect import Memory, Mind

SETS = {
    "locomo": 80,
    "realmem": 60,
    "vehiclemem": 60,
    "ident_code": 60,
    "xquad_zh_en": 60,
    "precisionmem": 25,
    "tidybot_robot": 35,
    "everyday_en_a": 60,
    "everyday_de_zh": 60,
}
ENRICHED = ("vehiclemem", "tidybot_robot")  # sets whose memories get links, relations and other fields
RECIPES: dict[str, dict[str, Any]] = {
    "default": {},
    "robotmem": {},
    "openclaw": {},
    "abmind": {},
    "openmem": {},
    "jeffsbrain": {"rerank": False},
    "qmd": {"reranker": None},
}
TOP = 50
FIRST = datetime(2025, 1, 1, tzinfo=UTC)


def answers(data: Path) -> dict[str, list[list[Any]]]:
    """By "set question recipe": [id, score as hexadecimal] of each hit."""
    found: dict[str, list[list[Any]]] = {}
    for name, count in SETS.items():
        labelled = read(data / name, count).labelled
        now = [FIRST]
        with (
            tempfile.TemporaryDirectory() as folder,
            Mind(Path(folder) / "m.db", clock=partial(now.__getitem__, 0)) as mind,
        ):
            memories = list(labelled.memories)
            if name in ENRICHED:
                memories = [_enriched(memory, at) for at, memory in enumerate(memories)]
            mind.remember_many(memories)
            if name in ENRICHED:
                _link(mind, memories)
            for number, question in enumerate(labelled.questions[:count]):
                now[0] = question.asked_at or FIRST
                for recipe, settings in RECIPES.items():
                    recall = mind.recall(
                        question.text, TOP, recipe=recipe, filter=question.filter, track=False, **settings
                    )
                    found[f"{name} {number} {recipe}"] = [[hit.memory.id, hit.score.hex()] for hit in recall]
        print(f"{name}: {count} questions", file=sys.stderr)
    return found


def _enriched(memory: Memory, at: int) -> Memory:
    fields = {name: getattr(memory, name) for name in memory.__dataclass_fields__ if name != "use"}
    fields |= {
        "created": memory.created or FIRST - timedelta(days=at % 400, minutes=at),
        "confidence": (at % 10) / 9,
        "strength": 1 - (at % 7) / 10,
        "topic": f"topic{at % 5}",
        "emotion": float(at % 11 - 5),
        "context": {**memory.context, "env": {"sim_or_real": "real" if at % 3 == 0 else "sim"}},
    }
    return Memory(**fields)


def _link(mind: Mind, memories: list[Memory]) -> None:
    for at in range(0, len(memories) - 11, 5):
        kind = "contradicts" if at % 4 == 0 else "supports"
        if memories[at].collection == memories[at + 11].collection:
            mind.link(memories[at].id, memories[at + 11].id, kind, 0.2 + (at % 8) / 10)
    for memory in memories[:10]:
        words = [word for word in memory.text.split() if len(word) > 4][:2]
        if len(words) == 2:
            mind.relate(words[0].lower(), "goes_with", words[1].lower(), collection=memory.collection)


def compare(old: dict[str, Any], new: dict[str, Any]) -> int:
    """Print what differs; how many answers do."""
    kinds: dict[tuple[str, str, str], int] = {}
    shown = 0
    for key, before in old.items():
        after = new.get(key)
        if after == before:
            continue
        if after is None:
            kind = "missing"
        elif [score for _, score in before] == [score for _, score in after]:
            kind = "ties"
        elif [id for id, _ in before] == [id for id, _ in after]:
            kind = "scores"
        else:
            kind = "order"
        set_, _, recipe = key.split()
        kinds[set_, recipe, kind] = kinds.get((set_, recipe, kind), 0) + 1
        if kind != "ties" and shown < 10 and after is not None:
            shown += 1
            at = next(
                (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
            )
            one, two = ([(id, float.fromhex(score)) for id, score in each[at : at + 2]] for each in (before, after))
            print(f"{key}: from place {at + 1}: {one} is now {two} ({len(before)}, {len(after)} hits)")
    for (set_, recipe, kind), count in sorted(kinds.items()):
        print(f"{set_:16} {recipe:12} {kind:8} {count}")
    same: int = sum(new.get(key) == value for key, value in old.items())
    ties = sum(count for (_, _, kind), count in kinds.items() if kind == "ties")
    print(f"{same} of {len(old)} answers are identical; {ties} differ in the order of ties only.")
    return len(old) - same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    found = answers(options.data)
    digest = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
    print(f"{len(found)} answers, sha256 {digest}")
    if options.action == "record":
        with gzip.open(options.file, "wt", encoding="utf-8") as file:
            json.dump(found, file)
        return 0
    with gzip.open(options.file, "rt", encoding="utf-8") as file:
        return 1 if compare(json.load(file), found) else 0


if __name__ == "__main__":
    sys.exit(main())
