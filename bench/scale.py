"""The area ``scale``: 10,000, 100,000 and 1,000,000 natural memories, beside chroma.

Files are filled once and stay in the cache. See scale_data.py for what is in them.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.client import Peer, PeerProcess, failed, peer_python
from bench.report import HOME, Measurement, Report
from bench.scale_data import BATCH, BatchEmbedder, NaturalTexts, QuestionEmbedder, read_natural_texts
from bench.scale_data import QuestionTokenEmbedder as TokenEmbedder
from bench.scale_rows import extend
from bench.timing import Action, Timing, interleave, median_timing, sum_timings, timed
from recollect import Memory, Mind
from recollect.recall.bm25 import Bm25Query, search
from recollect.recall.cues.words import ALL_FIELDS
from recollect.recall.similarity import nearest, token_similarity
from recollect.store.base import Term
from recollect.text.stopwords import stop_words
from recollect.text.words import words

CHROMA = Peer("chromadb", "bench.peers.chroma_scale", "chroma (vectors only)", ())
K, PAGE, QUESTIONS = 10, 50, 60
WITH_CHROMA = 100_000  # its graph of a million takes an hour to build
Numbers = NDArray[np.int64]
# Ours, chroma's, and which memories, by their numbers.
FILTERS: dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None, Callable[[Numbers], Any]]] = {
    "": (None, None, lambda number: number >= 0),
    ", filter 50%": ({"tags": ["even"]}, {"even": 0}, lambda number: number % 2 == 0),
    ", filter 10%": ({"topic": "topic 7"}, {"topic": 7}, lambda number: number % 10 == 7),
    ", filter 1%": ({"user": "user 7"}, {"user": 7}, lambda number: number // 10 % 100 == 7),
}
PARTS = ("recall", "open", "writes")
OURS = ("hybrid", "default with tokens")
SEARCHES, TOKENS = "a search by words, one by vectors, 10 memories", "tokens of 50 memories"
REMEMBERED = 100_000  # memories that are written by remember_many; the others as rows


@dataclass(frozen=True, slots=True)
class ScaleFile:
    """A filled file, and the questions."""

    size: int
    path: Path
    texts: NaturalTexts
    questions: Path  # with their vectors, for other processes

    @property
    def asked(self) -> list[str]:
        return list(self.texts.questions)


def run(options: Namespace, cache: Path, folder: Path, report: Report) -> None:
    place = cache / "scale"
    place.mkdir(exist_ok=True)
    texts, parts = read_natural_texts(options.data, cache), options.parts or PARTS
    questions = folder / "questions.pickle"
    questions.write_bytes(pickle.dumps(texts.questions))
    files = {size: ScaleFile(size, fill(place, size, texts), texts, questions) for size in options.sizes}
    medians: dict[tuple[int, str], Timing] = {}
    for file in files.values():
        if "recall" in parts:
            _recall(file, place, folder, options, report, medians)
        if "open" in parts:
            _open(file, min(options.rounds, 5), report)
    if "recall" in parts and {100_000, 1_000_000} <= files.keys():
        for name, goal in (("hybrid", 2.5), ("default with tokens", None)):
            large, small = (medians[size, name] for size in (1_000_000, 100_000))
            report.figures.append(Measurement(f"{name}, 1,000,000", large, small, "100,000", goal, turns=QUESTIONS))
    if "writes" in parts:
        _writes(files, folder, place, options, report)


# Filling.


def fill(place: Path, size: int, texts: NaturalTexts) -> Path:
    """The file with so many memories: made now, or earlier. A run that was stopped is continued."""
    path, unfinished = place / f"{size}.db", place / f"part-{size}.db"
    if path.exists():
        return path
    embedder = BatchEmbedder(texts.questions)

    def tell(done: int) -> None:
        print(f"filling {path.name}: {done:,} of {size:,}", file=sys.stderr)

    with Mind(unfinished, embedder=embedder, durability="fast") as mind:
        there = sum(mind.status().store.memories.values())
        for first in range(there, min(size, REMEMBERED), BATCH):
            memories, vectors, sketches = texts.batch(first, min(BATCH, size - first))
            embedder.know(memories, vectors, sketches)
            mind.remember_many(memories)
            tell(first + len(memories))
    if size > REMEMBERED:
        extend(unfinished, size, texts, tell)
    for each in sorted(place.glob(f"part-{size}.db*"), reverse=True):  # the file itself last
        each.rename(place / each.name.removeprefix("part-"))
    return path


def _vectors(place: Path, size: int, texts: NaturalTexts) -> Path:
    """All vectors as the file has them, for chroma and for exact answers."""
    path = place / f"vectors-{size}.npy"
    if not path.exists():
        unfinished = place / f"part-vectors-{size}.npy"
        matrix = np.lib.format.open_memmap(unfinished, "w+", np.float16, (size, texts.vectors.shape[1]))
        for first in range(0, size, BATCH):
            last = min(first + BATCH, size)
            matrix[first:last] = texts.batch_vectors(first)[: last - first]
        matrix.flush()
        unfinished.rename(path)
    return path


def _exact(vectors: NDArray[np.float16], file: ScaleFile, chosen: Callable[[Numbers], Any]) -> list[list[int]]:
    """For each question the numbers of the PAGE nearest memories among those that a filter leaves, best first."""
    questions = np.stack([file.texts.questions[text].text_vector for text in file.asked[:QUESTIONS]]).astype(np.float64)
    numbers = np.arange(len(vectors))
    numbers = numbers[chosen(numbers)]
    best = [(np.empty(0), np.empty(0, np.int64))] * len(questions)
    for first in range(0, len(numbers), 50_000):
        some = numbers[first : first + 50_000]
        cosines = vectors[some].astype(np.float64) @ questions.T
        for at, mine in enumerate(cosines.T):
            scores, found = np.append(best[at][0], mine), np.append(best[at][1], some)
            order = np.argsort(-scores, kind="stable")[:PAGE]
            best[at] = scores[order], found[order]
    return [found.tolist() for _, found in best]


# Recall.


def _recall(
    file: ScaleFile,
    place: Path,
    folder: Path,
    options: Namespace,
    report: Report,
    medians: dict[tuple[int, str], Timing],
) -> None:
    """Hybrid and default recalls beside chroma's search, question by question, with and without filters."""
    vectors = _vectors(place, file.size, file.texts)
    matrix, asked = np.load(vectors, mmap_mode="r"), file.asked
    with ExitStack() as stack:
        hybrid = stack.enter_context(Mind(file.path, embedder=QuestionEmbedder(file.texts.questions)))
        whole = stack.enter_context(Mind(file.path, embedder=TokenEmbedder(file.texts.questions)))
        peer = _start_chroma(file, vectors, place, folder, stack, report) if options.peers else None
        for name, (ours, theirs, chosen) in FILTERS.items():
            ids: list[list[str]] = []
            actions = {"hybrid": _recaller(hybrid, asked, ours), "default with tokens": _recaller(whole, asked, ours)}
            if peer is not None:
                actions[CHROMA.about] = partial(_ask, peer, file, where=theirs, ids=ids)
            turns = QUESTIONS if not options.quick else 10
            if not name:
                actions |= _least(whole, file)
            taken = interleave(actions, turns, warm=min(5, turns))
            _compare(file, name, taken, peer, report)
            if not name:
                parts = taken[SEARCHES], sum_timings(taken[SEARCHES], taken[TOKENS])
                for recall, least, about in zip(OURS, parts, (SEARCHES, f"{SEARCHES}, {TOKENS}"), strict=True):
                    report.compare(f"{recall}, {file.size:,}", taken[recall], least, about, None)
            medians.update({(file.size, each): median_timing(taken[each]) for each in taken} if not name else {})
            report.details[f"vectors found at {file.size:,}{name}"] = _completeness(
                hybrid, file, ours, _exact(matrix, file, chosen), ids
            )
        trace = whole.recall(asked[0], K, track=False).trace
        steps = {f"{step.kind} {step.name}": round(step.milliseconds, 2) for step in trace.steps}
        report.details[f"steps of a default recall at {file.size:,} (ms)"] = steps


def _compare(
    file: ScaleFile, name: str, taken: dict[str, list[Timing]], peer: PeerProcess | None, report: Report
) -> None:
    goals = {"hybrid": 1.2, "default with tokens": 3.0} if not name and file.size == 100_000 else {}
    for ours in OURS:
        title = f"{ours}, {file.size:,}{name}"
        if peer is not None and not peer.problem:
            report.compare(title, taken[ours], taken[CHROMA.about], CHROMA.about, goals.get(ours))
        else:
            report.figures.append(Measurement(title, median_timing(taken[ours]), turns=len(taken[ours])))


def _least(mind: Mind, file: ScaleFile) -> dict[str, Action]:
    """What a recall needs at least, from the same index and without a recipe: the best PAGE by words and by vectors,
    the sum of their shares of the best, and the memories of the best K; and the tokens of PAGE memories compared."""
    stop = stop_words("en")
    queries = [
        Bm25Query(tuple(Term(word) for word in dict.fromkeys(words(text)) if word not in stop), ALL_FIELDS)
        for text in file.asked
    ]
    embedded = [file.texts.questions[text] for text in file.asked]

    def searches(number: int) -> Any:
        with mind._store.snapshot() as snapshot:
            scope = snapshot.scope(None, ("active",), mind.clock())
            by_words = search(snapshot, scope, queries[number], PAGE)
            by_vector = nearest(snapshot, embedded[number].text_vector, scope, PAGE)
            rows = np.concatenate([by_words.rows, by_vector.rows])
            shares = (each / each.max(initial=1e-9) for each in (by_words.scores, by_vector.cosines))
            order = np.argsort(rows, kind="stable")
            starts = np.flatnonzero(np.diff(rows[order], prepend=-1))
            scores = np.add.reduceat(np.concatenate([*shares])[order], starts)
            return snapshot.memories(rows[order][starts][np.argsort(-scores)[:K]])

    def tokens(number: int) -> Any:
        with mind._store.snapshot() as snapshot:
            rows = np.linspace(1, file.size, PAGE, dtype=np.int64)  # by the numbers in which the file was filled
            return token_similarity(embedded[number].vectors, snapshot.token_sketches(rows))

    return {SEARCHES: timed(searches), TOKENS: timed(tokens)}


def _completeness(
    mind: Mind, file: ScaleFile, filter: dict[str, Any] | None, exact: list[list[int]], theirs: list[list[str]]
) -> dict[str, str]:
    """How much of the exact first page and of the exact best ten the vectors cue found, and what chroma did."""
    page, ten = [], []
    for text, best in zip(file.asked, exact, strict=False):
        found = mind.recall(text, K, filter=filter, track=False, recipe="default").trace
        ids = set(_ids_of_vectors(mind, file, text, filter))
        page.append(np.mean([f"n{number}" in ids for number in best]))
        ten.append(all(f"n{number}" in ids for number in best[:K]))
    result = {"mode": str(_mode(found)), "first pages": f"{np.mean(page):.4f}", "best ten equal": f"{np.mean(ten):.3f}"}
    if theirs:
        shares = [
            np.mean([f"n{number}" in ids for number in best[:K]]) for ids, best in zip(theirs, exact, strict=False)
        ]
        equal = [share == 1.0 for share in shares]
        result["chroma"] = f"R@10 {np.mean(shares):.4f}, best ten equal {np.mean(equal):.3f}"
    return result


def _ids_of_vectors(mind: Mind, file: ScaleFile, text: str, filter: dict[str, Any] | None) -> list[str]:
    """What the store proposes as nearest."""
    from recollect.model.filter import Filter

    with mind._store.snapshot() as snapshot:
        scope = snapshot.scope(Filter(**filter) if filter else None, ("active",), mind.clock())
        vector = file.texts.questions[text].text_vector
        return snapshot.ids(snapshot.nearest(vector, scope, PAGE).rows)


def _mode(trace: Any) -> str:
    (step,) = (step for step in trace.steps if step.kind == "cue" and step.name == "vectors")
    return str(step.detail.get("search", "exact"))


def _start_chroma(
    file: ScaleFile, vectors: Path, place: Path, folder: Path, stack: ExitStack, report: Report, copy: bool = False
) -> PeerProcess | None:
    """Chroma with the vectors of a file, in a collection that stays from run to run, or in a copy to be written to."""
    if file.size > WITH_CHROMA:
        return None
    collection = place / f"chroma-{file.size}"
    own = folder / f"chroma-{file.size}{'-written' if copy else ''}"
    own.mkdir(exist_ok=True)
    if copy and collection.exists():
        collection = Path(shutil.copytree(collection, own / "collection"))
    try:
        peer = PeerProcess(CHROMA, peer_python(CHROMA, place.parent), own)
    except subprocess.CalledProcessError as problem:
        failed(report, CHROMA, str(problem.stderr).strip()[-200:])
        return None
    stack.callback(peer.close)
    nothing = own / "texts.jsonl"
    nothing.write_text("")
    order = {"texts": str(nothing), "folder": str(own), "vectors": str(vectors)}
    peer.version = peer.say({**order, "collection": str(collection)}).get("version", "")
    report.details.setdefault("peers", {})["chroma"] = peer.version or peer.problem
    if peer.problem:
        failed(report, CHROMA, peer.problem)
    return None if peer.problem else peer


def _recaller(mind: Mind, asked: Sequence[str], filter: Any = None, track: bool = False) -> Action:
    return timed(lambda n: mind.recall(asked[n % len(asked)], K, filter=filter, track=track))


def _ask(peer: PeerProcess, file: ScaleFile, number: int, where: Any, ids: list[list[str]]) -> Timing:
    vector = file.texts.questions[file.asked[number]].text_vector
    question = {"vector": vector.tolist(), "k": K, "ids": True, **({"where": where} if where else {})}
    answer = peer.say(question)
    if len(ids) == number:  # one answer for each question, in their order
        ids.append(answer.get("ids", []))
    return Timing(answer.get("wall", 0.0), answer.get("cpu", 0.0))


# Opening.


def _open(file: ScaleFile, rounds: int, report: Report) -> None:
    """A process that reads: its first recall beside its warm ones, with the file in the page cache and without."""
    for tokens in ("hybrid", "tokens"):
        runs = [_read(file, tokens) for _ in range(rounds)]
        name = "first recall after opening" + (", with tokens" if tokens == "tokens" else "")
        first, warm = ([Timing(*run["first"]) for run in runs], [Timing(*each) for run in runs for each in run["warm"]])
        report.compare(f"{name}, {file.size:,}", first, warm, "warm", 3.0 if file.size >= 100_000 else None)
        _drop_from_page_cache(file.path)
        cold = [Timing(*_read(file, tokens)["first"])]
        report.compare(f"{name}, {file.size:,}, page cache cold", cold, warm, "warm", None)
        private = median(run["private"] for run in runs)
        report.details[f"reading process at {file.size:,}, {tokens}"] = {
            "private memory": f"{private / 1e6:.0f} MB (goal: ≤ 200 at 1,000,000)",
            "opening": f"{median(run['opening'] for run in runs) * 1e3:.1f} ms",
        }
    report.details[f"size of {file.size:,}"] = _sizes(file)


def _read(file: ScaleFile, tokens: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.scale_reader", str(file.path), str(file.questions), tokens]
    done = subprocess.run(command, cwd=HOME.parent, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _drop_from_page_cache(path: Path) -> None:
    for each in path.parent.glob(f"{path.name}*"):
        for file in each.rglob("*") if each.is_dir() else [each]:
            if file.is_file() and hasattr(os, "posix_fadvise"):
                with file.open("rb") as opened:
                    os.fsync(opened.fileno())
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _sizes(file: ScaleFile) -> dict[str, str]:
    folder = Path(f"{file.path}-index")
    index = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) if folder.exists() else 0
    without = index - file.size * 2 * QuestionEmbedder.dim if index else 0
    database = sum(each.stat().st_size for each in file.path.parent.glob(f"{file.path.name}*") if each.is_file())
    return {
        "database": f"{database / 1e6:,.0f} MB ({database / file.size:,.0f} bytes a memory)",
        "index": f"{index / 1e6:,.0f} MB",
        "index without vectors": f"{without / file.size:,.0f} bytes a memory (goal: ≤ 600)",
    }


# Writing.


def _writes(files: dict[int, ScaleFile], folder: Path, place: Path, options: Namespace, report: Report) -> None:
    """Durable single writes into copies of all files, by turns, and the recall after each."""
    sizes, turns = sorted(files), 20 * options.rounds
    texts = files[sizes[0]].texts
    memories, vectors, sketches = texts.batch(10**9, turns + 5)
    with ExitStack() as stack:
        minds: dict[int, Mind] = {}
        embedder = BatchEmbedder(texts.questions)
        embedder.know(memories, vectors, sketches)
        for size in sizes:
            mind = stack.enter_context(Mind(_copied(files[size], folder), embedder=embedder))
            mind.recall(files[size].asked[0], K)
            minds[size] = mind
        asked = list(texts.questions)
        writes = {f"write {size}": _writer(minds[size], memories) for size in sizes}
        after = {f"after {size}": _recaller(minds[size], asked[:200], track=True) for size in sizes}
        warm = {f"warm {size}": _recaller(minds[size], asked[200:], track=True) for size in sizes}
        beside = max((size for size in sizes if size <= WITH_CHROMA), default=sizes[0])
        peer = None
        if options.peers:
            vectors_file = _vectors(place, beside, texts)
            peer = _start_chroma(files[beside], vectors_file, place, folder, stack, report, copy=True)
        actions: dict[str, Action] = {**writes, **after, **warm}
        if peer is not None:
            actions["chroma"] = lambda n: _write_chroma(peer, memories[n].text, vectors[n], n)
        taken: dict[str, list[Timing]] = {name: [] for name in actions}
        for number in range(turns + 5):  # in this order: after means right after a write
            for name, action in actions.items():
                taken[name].append(action(number))
    taken = {name: each[5:] for name, each in taken.items()}
    for size in sizes[1:]:
        report.compare(f"durable write, {size:,}", taken[f"write {size}"], taken[f"write {sizes[0]}"], "10,000", 1.3)
    for size in sizes:
        goal = 1.5 if size == 1_000_000 else None
        report.compare(f"recall after a write, {size:,}", taken[f"after {size}"], taken[f"warm {size}"], "warm", goal)
    if peer is not None:
        for size in sizes:
            if size >= beside:
                about, goal = f"chroma into {beside:,}", 0.1 if size == sizes[-1] else None
                report.compare(f"durable write, {size:,}", taken[f"write {size}"], taken["chroma"], about, goal)


def _writer(mind: Mind, memories: Sequence[Memory]) -> Action:
    return timed(lambda n: mind.remember(replace(memories[n], id="")))


def _copied(file: ScaleFile, folder: Path) -> Path:
    copy = folder / f"copy-{file.path.name}"
    for each in file.path.parent.glob(f"{file.path.name}*"):
        target = folder / f"copy-{each.name}"
        shutil.copytree(each, target) if each.is_dir() else shutil.copy2(each, target)
    return copy


def _write_chroma(peer: PeerProcess, text: str, vector: NDArray[np.float32], number: int) -> Timing:
    answer = peer.say({"write": f"w{os.getpid()}-{number}", "text": text, "vector": vector.tolist()})
    return Timing(answer.get("wall", 0.0), answer.get("cpu", 0.0))
