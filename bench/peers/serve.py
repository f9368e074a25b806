"""A peer's side of the talk: one JSON object a line in, one out; runs in the peer's environment, needs nothing else."""

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

Ask = Callable[[dict[str, Any]], Any]  # answers {"text": …, "vector": …, "k": …} with what it found
Load = Callable[[str, list[str], dict[str, Any]], Ask]  # given a folder, the texts, and the order with all else


def serve(package: str, load: Load) -> None:
    """The first line says what to load; every other is a question, answered with the seconds it took."""
    talk = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the package prints goes to stderr, not into the talk
    order = json.loads(sys.stdin.readline())
    with open(order["texts"]) as lines:
        ask = load(order["folder"], [json.loads(line) for line in lines], order)
    print(json.dumps({"version": version(package)}), file=talk, flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        cpu, wall = time.process_time(), time.perf_counter()
        found = ask(question)
        answer: dict[str, Any] = {
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
            "found": len(found),
        }
        if question.get("ids"):
            answer["ids"] = list(found)
        print(json.dumps(answer), file=talk, flush=True)
