"""A peer's side: reads one order, builds haystack after haystack, writes one JSON object for each answer.

It runs in the peer's environment and needs nothing but numpy.
"""

import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Ask = Callable[[str, Vectors, int], Sequence[int]]  # a question, its vector and k: places of documents, best first


class Haystack:
    """Documents to index: their texts, their vectors, and a folder for files."""

    def __init__(self, texts: list[str], vectors: Vectors, known: dict[str, Vectors], folder: str) -> None:
        self.texts, self.vectors, self.folder = texts, vectors, folder
        self._known = known

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors of documents and questions, for peers that ask an embedder for them."""
        return np.stack([self._known[text] for text in texts])


def serve(package: str, build: Callable[[Haystack], Ask]) -> None:
    talk = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the package prints goes to stderr, not into the talk
    order = json.loads(sys.stdin.readline())
    documents, vectors = _read(order["documents"]), _vectors(order["document_vectors"], order["dim"])
    questions, asked = _read(order["questions"]), _vectors(order["question_vectors"], order["dim"])
    known = {each["text"]: vector for each, vector in zip(documents, vectors, strict=True)}
    known |= {each["text"]: vector for each, vector in zip(questions, asked, strict=True)}
    members, waiting = defaultdict(list), defaultdict(list)
    for at, each in enumerate(documents):
        members[each["group"]].append(at)
    for at, each in enumerate(questions):
        waiting[each["group"]].append(at)
    try:
        said: dict[str, Any] = {"version": version(package)}
    except PackageNotFoundError:
        said = {"version": order["version"]}
    print(json.dumps(said), file=talk, flush=True)
    for group, mine in waiting.items():
        here = np.array(members[group])
        with tempfile.TemporaryDirectory(dir=order["folder"], ignore_cleanup_errors=True) as folder:
            start = time.process_time()
            ask = build(Haystack([documents[at]["text"] for at in here], vectors[here], known, folder))
            build_memory_file = time.process_time() - start
            for at in mine:
                question = questions[at]
                left_out = set(question.get("left_out", ()))
                start = time.process_time()
                found = ask(question["text"], asked[at], order["k"] + len(left_out))
                cpu = time.process_time() - start
                named = [place for each in found if (place := int(here[int(each)])) not in left_out][: order["k"]]
                print(json.dumps({"at": at, "found": named, "cpu": cpu}), file=talk, flush=True)
        print(json.dumps({"documents": len(here), "cpu": build_memory_file}), file=talk, flush=True)


def _read(file: str) -> list[dict[str, Any]]:
    with open(file, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _vectors(file: str, dim: int) -> Vectors:
    return np.fromfile(file, dtype=np.float32).reshape(-1, dim)
