"""Measures the CPU time of each verb with the worst inputs that the limits allow.

    python bench/limits.py [--memories 2000]

Prints the slowest input of each verb, and fails if one takes a second or more.
"""

from __future__ import annotations

import argparse
import json
import random
import string
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from recollect import Mind
from recollect.errors import RecollectError
from recollect.model.limits import limit
from recollect.recall.registry import RECIPES

SECOND = 1.0


def worst_texts(size: int, seed: int = 3) -> Iterator[tuple[str, str]]:
    """Texts of so many bytes that are hard on some part: words, stems, times, names, regular expressions, scripts."""
    chance = random.Random(seed)

    def word(length: int) -> str:
        return "".join(chance.choice(string.ascii_lowercase) for _ in range(length))

    han = "".join(chr(chance.randint(0x4E00, 0x9FA5)) for _ in range(size // 3))
    yield "distinct words", " ".join(word(7) for _ in range(size // 8))
    yield "one long word", word(size)
    yield "digits", "1" * size
    yield "random Chinese", han
    repeated = {
        "one word": "cup ",
        "one Chinese character": "京",  # jieba takes it for one long word
        "Chinese": "我昨天在北京的商店买了一个蓝色的杯子。",
        "dates": "on 3 March 2024 at 5 pm, the day before yesterday ",
        "punctuation": "(-.,:;!?'\"/[]{}",
        "German compounds": "Donaudampfschifffahrtsgesellschaftskapitän ",
        "names": "Anna Berta Carla ",
        "operators": '"a b" OR NOT (c* AND ',
        "emoji": "😀",
        "combining marks": "a\u0301",
        "spaces": " " * 50 + "a",
        "paragraphs": "a\n\n",
        "questions": "what did anna say about the cup and why is it there? ",
        "identifiers": "someVeryLong_identifierName-17.3/x ",
        "brackets": "((((((((",
        "dots": "a.b.c.d.e.f.",
        "numbers": "3 4 17 29 2024 ",
    }
    for name, part in repeated.items():
        yield name, (part * (size // len(part.encode()))) or part
    yield "deep JSON", json.dumps(nested(90))


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def cpu_seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    try:
        call()
    except RecollectError as error:
        if "limit" in str(error):
            raise
    return time.process_time() - start


def calls(mind: Mind) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """By verb and kind of input: what to call."""
    memory, query, first = limit("memory_bytes") - 100, limit("query_bytes"), mind.list(limit=1)[0].id
    for name, text in worst_texts(memory):
        yield "remember", name, partial(mind.remember, text)
        yield "edit", name, partial(mind.edit, first, text=text)
        yield "forget and undo", name, lambda: (mind.forget(first), mind.undo())
        yield "erase", name, partial(mind.erase, mind.remember(f"{text} erased").id)
    for name, text in worst_texts(memory, seed=4):  # a recall brings the index to the new memory, which is part of it
        for recipe in RECIPES:
            mind.remember(text)
            yield f"recall after a write ({recipe})", name, partial(mind.recall, "unheard", recipe=recipe)
    for name, text in worst_texts(query):
        for recipe in RECIPES:
            yield f"recall ({recipe})", name, partial(mind.recall, text, recipe=recipe)
        yield "names_in", name, partial(mind.names_in, text)
        yield "context", name, partial(mind.context, text)
        yield "history", name, partial(mind.recall, "and what did it cost?", history=[text] * 20)
        yield "tags", name, partial(mind.remember, "A cup.", tags=[text[:30]] * limit("list_items"))
        yield "recall of many", name, partial(mind.recall, text[:2000], limit("results"))
    yield "filter", "many values", lambda: mind.list({"tags": [str(n) for n in range(limit("filter_items"))]})
    yield "filter", "deep", lambda: mind.list({"context": {"a": 1}, "not": {"not": {"kind": "x"}}})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=2000)
    arguments = parser.parse_args()
    slowest: dict[str, tuple[float, str]] = {}
    with Mind(":memory:", durability="fast") as mind:
        mind.remember_many(
            [
                f"The blue cup number {n} is in room {n % 9}, said Anna on {n % 28 + 1} March."
                for n in range(arguments.memories)
            ]
        )
        mind.recall("where is the cup?")
        for verb, name, call in calls(mind):
            slowest[verb] = max(slowest.get(verb, (0.0, "")), (cpu_seconds(call), name))
    for verb, (seconds, name) in slowest.items():
        print(f"{verb:36} {seconds:6.2f} s CPU  {name}")
    return int(max(seconds for seconds, _ in slowest.values()) >= SECOND)


if __name__ == "__main__":
    sys.exit(main())
