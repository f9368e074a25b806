"""Running a recipe: read, cues, fuse, stages, cut, after, every step in the trace."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from recollect.embed import Embedder
from recollect.errors import InvalidInput
from recollect.model import Memory
from recollect.model import validation as check
from recollect.model.filter import All, AnyFilter
from recollect.recall.hits import Annotate, Dropped, Hits, apply
from recollect.recall.query_parsing import Question
from recollect.recall.recipe import Recipe, Stage
from recollect.recall.results import Recall, Result, Verdict
from recollect.recall.run import Run
from recollect.recall.trace import Step, Trace
from recollect.recall.why_not import judge
from recollect.store.base import Scope, Snapshot, Store


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that one recall depends on, beside the store."""

    query: str
    recipe: Recipe
    now: datetime
    k: int | None = None
    filter: AnyFilter | None = None
    as_of: datetime | None = None
    track: bool = True
    abstain: float | None = None  # nothing comes back when the confidence is below this
    deadline: float | None = None  # seconds for the whole call
    embedder: Embedder | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search came to: the finished run, the hits that are shown, and the memories behind them."""

    run: Run
    shown: Hits
    memories: Sequence[Memory]
    confidence: float | None = None


def recall(store: Store, request: Request) -> Recall:
    """Answer a question, and be able to say why."""
    start = time.perf_counter()
    return given(store, request, answered(store, request, start), start)


def answered(store: Store, request: Request, start: float) -> Answer:
    """Search, without a mark of it."""
    query, k = checked(request)
    with store.snapshot() as snapshot:
        run = _begin(request, query, k, snapshot, start)
        hits = _search(run)
        shown = _cut(run, hits)
        confidence = _confidence(run, hits)  # not of what is shown: it does not depend on k
        if request.abstain is not None and confidence is not None and confidence < request.abstain:
            shown = _abstain(run, shown, confidence, request.abstain)
        with run.step("fetch", "memories") as step:
            memories = run.memories(shown.keys)
            step.after = len(memories)
    return Answer(run, shown, memories, confidence)


def given(store: Store, request: Request, answer: Answer, start: float) -> Recall:
    """Hand an answer over: the recipe does what comes after, and the hits become results."""
    run, shown = answer.run, answer.shown
    if request.track:
        mark(store, run, shown.keys[shown.keys > 0].tolist())
    run.trace.milliseconds = (time.perf_counter() - start) * 1e3
    scores = shown.score.values.tolist()
    results = [
        Result(rank, score, memory, tuple(run.remarks.get(key, ())), lambda at=rank - 1: shown.score.at(at))  # type: ignore[misc]
        for rank, (key, score, memory) in enumerate(zip(shown.keys.tolist(), scores, answer.memories, strict=True), 1)
    ]
    return Recall(results, run.trace, lambda id: _why_not(store, request, run, shown, id), answer.confidence)


def mark(store: Store, run: Run, rows: list[int]) -> None:
    """What the recipe does after a recall: the use of these rows is noted."""
    for after in run.recipe.after:
        with run.step("after", after.name):
            after.record(run, store, rows)


def checked(request: Request) -> tuple[str, int]:
    """The question and k, if all that was asked makes sense."""
    query = check.string(request.query, "query")
    if not query.strip():
        raise InvalidInput("The query is blank; ask something, such as 'where is the cup?'.")
    k = check.whole(request.recipe.k if request.k is None else request.k, "k")
    if request.recipe.clamp is not None:
        low, high = request.recipe.clamp
        k = min(max(k, low), high)
    if k < 1:
        raise InvalidInput(f"k must be at least 1, not {k}.")
    if request.abstain is not None and request.recipe.confidence is None:
        raise InvalidInput(f"The recipe {request.recipe.name!r} has no measure of confidence to abstain by.")
    if request.deadline is not None:
        check.number(request.deadline, "deadline", low=0.0)
    return query, k


def _begin(request: Request, query: str, k: int, snapshot: Snapshot, start: float) -> Run:
    """The filter comes first: one mask, for every cue, before any cut."""
    began = time.perf_counter()
    scope, joined = scope_of(request, snapshot), _joined(request)
    trace = Trace(query, request.recipe.name, snapshot.version, report=request.recipe.report)
    deadline = None if request.deadline is None else start + request.deadline
    now = request.as_of or request.now
    run = Run(
        request.recipe, Question(query), k, snapshot, scope, now, request.now, trace, request.embedder, deadline, joined
    )
    with run.step("filter", "mask") as step:
        step.after = scope.count
    step.milliseconds = (time.perf_counter() - began) * 1e3
    return run


def scope_of(request: Request, snapshot: Snapshot) -> Scope:
    """The memories that may come back."""
    now = request.as_of or request.now
    return snapshot.scope(_joined(request), request.recipe.statuses, now, request.as_of is not None)


def _joined(request: Request) -> AnyFilter | None:
    filters = [each for each in (request.filter, request.recipe.filter) if each is not None]
    return All(tuple(filters)) if filters else None


def _search(run: Run) -> Hits:
    recipe = run.recipe
    for reading in recipe.read:
        with run.step("read", type(reading).__name__):
            run.question = reading.read(run.question, run)
    found = recipe.cues.gather(run)
    with run.step("fuse", recipe.fuse.name, before=sum(len(each.keys) for each in found)) as step:
        hits = recipe.fuse.fuse(run, found)
        step.after, step.hits = len(hits), hits
    for stage in recipe.stages:
        with run.step("stage", stage.name, before=len(hits)) as step:
            hits = _staged(run, stage, hits, step)
            step.hits = hits
        step.after = len(hits)
    return hits


def _staged(run: Run, stage: Stage, hits: Hits, step: Step) -> Hits:
    """The hits after a stage: all of its operations, or, when one fails, none."""
    if not getattr(stage, "always", False):  # a promise that holds even in a hurry, such as a budget
        run.hurry()
    if not len(hits):
        return hits
    left_out, remarks = [], []
    for operation in stage.apply(run, hits):
        hits, dropped = apply(operation, hits)
        if dropped is not None:
            left_out.append(dropped)
        if isinstance(operation, Annotate):
            remarks.append(operation.remarks)
    hits = hits.sorted()
    step.dropped += left_out
    for said in remarks:
        run.remark(said)
    return hits


def _cut(run: Run, hits: Hits) -> Hits:
    with run.step("cut", f"best {run.k}", before=len(hits)) as step:
        shown = hits.take(np.arange(min(run.k, len(hits))))
        left = np.arange(len(shown), len(hits))
        step.dropped.append(
            Dropped(hits.keys[left], (left + 1).astype(np.float64), float(run.k), "its rank is beyond k")
        )
        step.after, step.hits = len(shown), hits
    return shown


def _confidence(run: Run, hits: Hits) -> float | None:
    if run.recipe.confidence is None:
        return None
    with run.step("judge", "confidence") as step:
        confidence = run.recipe.confidence.of(run, hits.keys)
        step.detail["confidence"] = round(confidence, 4)
    return confidence


def _abstain(run: Run, shown: Hits, confidence: float, threshold: float) -> Hits:
    with run.step("judge", "abstain", before=len(shown)) as step:
        what = "nothing here seems to be about the question: the confidence is below the threshold"
        step.dropped.append(Dropped(shown.keys, np.full(len(shown), confidence), threshold, what))
        step.after = 0
    return shown.take(np.empty(0, dtype=np.int64))


def _why_not(store: Store, request: Request, run: Run, shown: Hits, id: str) -> Verdict:
    """Asked of a finished recall: the log answers; only what no cue found is scored again."""
    (whole,) = store.resolve([id])
    with store.snapshot() as snapshot:
        again = _begin(request, run.question.text, run.k, snapshot, time.perf_counter())
        again.deadline = None
        again.question, again.found = run.question, run.found
        return judge(run, again, shown, whole)
