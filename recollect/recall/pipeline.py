"""Running a recipe: read the query, run the cues, fuse, apply stages, cut, record the use; every step is traced."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from recollect.embed import Embedder
from recollect.errors import InvalidInput
from recollect.model import Memory
from recollect.model import validation as check
from recollect.model.filter import AllOf, FilterExpression
from recollect.model.limits import check_limit, limit
from recollect.protocols import supports
from recollect.recall.history import HistoryTurn
from recollect.recall.hits import Add, Annotate, DroppedHits, Hits, apply
from recollect.recall.matched_words import find_matched_words
from recollect.recall.ordering import ordered
from recollect.recall.query_parsing import ParsedQuery
from recollect.recall.recipe import MandatoryStage, Recipe, Stage
from recollect.recall.results import MatchedWord, Recall, Result, Verdict
from recollect.recall.run import Run
from recollect.recall.trace import WHY_LOW, Step, Trace
from recollect.recall.why_not import explain_absence
from recollect.store.base import Scope, Snapshot, Store
from recollect.store.retrying import retried
from recollect.text.question_time import asks_for_past_state, asks_for_past_value


@dataclass(frozen=True, slots=True)
class Request:
    """The input of one recall, apart from the store."""

    query: str
    recipe: Recipe
    now: datetime
    k: int | None = None
    filter: FilterExpression | None = None
    as_of: datetime | None = None
    track: bool = True
    abstain: float | None = None  # return nothing when the confidence is below this
    deadline: float | None = None  # seconds for the whole call
    embedder: Embedder | None = None
    history: tuple[HistoryTurn, ...] = ()  # the turns before the query, oldest first
    called_at: datetime | None = None  # by the clock, where ``now`` is another moment: when the memories are used


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The outcome of a search: the finished run, the hits within k, and their memories."""

    run: Run
    shown: Hits
    memories: Sequence[Memory]
    confidence: float | None = None


def recall(store: Store, request: Request) -> Recall:
    """Answer a query, with explanations on demand."""
    start = time.perf_counter()
    return build_recall(store, request, search(store, request, start), start)


@retried
def search(store: Store, request: Request, start: float) -> SearchOutcome:
    """Search, without recording any use."""
    query, k = check_request(request)
    with store.snapshot() as snapshot:
        run = _begin(request, query, k, snapshot, start, store.bound.values)
        hits = _search(run)
        shown = _cut(run, hits)
        confidence = _confidence(run, hits)  # of all hits: it does not depend on k
        if request.abstain is not None and confidence is not None and confidence < request.abstain:
            shown = _abstain(run, shown, confidence, request.abstain)
        with run.step("fetch", "memories") as step:
            memories = run.memories(shown.keys)
            step.after = len(memories)
    run.release()
    return SearchOutcome(run, shown, memories, confidence)


def build_recall(store: Store, request: Request, outcome: SearchOutcome, start: float) -> Recall:
    """Record the use, and turn the hits into results."""
    run, shown = outcome.run, outcome.shown
    if request.track:
        record_use(store, run, shown.keys[shown.keys > 0].tolist())
    run.trace.milliseconds = (time.perf_counter() - start) * 1e3
    scores = shown.score.values.tolist()
    ids = {key: memory.id for key, memory in zip(shown.keys.tolist(), outcome.memories, strict=True)}
    results = [
        Result(
            rank,
            score,
            memory,
            tuple(run.notes.get(key, ())),
            lambda at=rank - 1: shown.score.at(at),  # type: ignore[misc]
            ids.get(run.second_to.get(key, 0), ""),
            key in run.outdated,
        )
        for rank, (key, score, memory) in enumerate(zip(shown.keys.tolist(), scores, outcome.memories, strict=True), 1)
    ]
    measure, confidence = run.recipe.confidence, outcome.confidence
    low = measure is not None and confidence is not None and confidence < measure.threshold
    reason = run.trace.get_detail("judge", "confidence", WHY_LOW) if low else ""
    return Recall(
        results,
        run.trace,
        lambda id: _why_not(store, request, run, shown, id),
        confidence,
        low,
        reason,
        _missing_time(run, results, low),
        lambda: _matched_words(store, outcome),
    )


def _missing_time(run: Run, results: Sequence[Result], low: bool) -> str:
    """The time that the query names, if no memory is of it, no result names it and none may have held
    then; else empty."""
    named = run.trace.get_detail("read", "TimeReader", "time")
    if not named or (not low and (asks_for_past_state(run.trace.query) or asks_for_past_value(run.trace.query))):
        return ""
    cues = [step for step in run.trace.steps if (step.kind, step.name, step.outcome) == ("cue", "time", "ran")]
    if not cues or any(step.after for step in cues):
        return ""
    return "" if any("time" in dict(result.why.shares()) for result in results) else named


def record_use(store: Store, run: Run, rows: list[int]) -> None:
    """Run the recipe's steps after a recall, which record the use of these rows."""
    for after in run.recipe.after:
        with run.step("after", after.name):
            after.record(run, store, rows)


def check_request(request: Request) -> tuple[str, int]:
    """The query and k of a request, after all of its values were checked."""
    query = check.string(request.query, "query")
    if not query.strip():
        raise InvalidInput("The query is blank; ask something, such as 'where is the cup?'.")
    if len(query) * 4 > limit("query_bytes"):
        check_limit("query_bytes", len(query.encode()), f"The query has {len(query.encode()):,} bytes")
    k = check.integer(request.recipe.k if request.k is None else request.k, "k")
    if request.recipe.clamp is not None:
        low, high = request.recipe.clamp
        k = min(max(k, low), high)
    if k < 1:
        raise InvalidInput(f"k must be at least 1, not {k}.")
    check_limit("results", k, f"k is {k:,}")
    if request.abstain is not None and request.recipe.confidence is None:
        raise InvalidInput(f"The recipe {request.recipe.name!r} has no measure of confidence to abstain by.")
    if request.deadline is not None:
        check.number(request.deadline, "deadline", low=0.0)
    return query, k


def _begin(request: Request, query: str, k: int, snapshot: Snapshot, start: float, bound: Mapping[str, str]) -> Run:
    """Start a run. The filter is compiled first, into one scope for every cue."""
    scope_start = time.perf_counter()
    scope, filter = scope_of(request, snapshot), _combined_filter(request)
    trace = Trace(query, request.recipe.name, snapshot.version, report=request.recipe.report)
    deadline = None if request.deadline is None else start + request.deadline
    now = request.as_of or request.now
    run = Run(
        request.recipe,
        ParsedQuery(query),
        k,
        snapshot,
        scope,
        now,
        request.now,
        trace,
        request.embedder,
        deadline,
        filter,
        request.k is None,
        request.history,
        bound=bound,
        called_at=request.called_at or request.now,
    )
    with run.step("filter", "scope") as step:
        step.after = scope.count
    step.milliseconds = (time.perf_counter() - scope_start) * 1e3
    return run


def scope_of(request: Request, snapshot: Snapshot) -> Scope:
    """The memories that may be returned."""
    now = request.as_of or request.now
    return snapshot.scope(_combined_filter(request), request.recipe.statuses, now, request.as_of is not None)


def _combined_filter(request: Request) -> FilterExpression | None:
    filters = [each for each in (request.filter, request.recipe.filter) if each is not None]
    return AllOf(tuple(filters)) if filters else None


def _search(run: Run) -> Hits:
    recipe = run.recipe
    for reader in recipe.read:
        with run.step("read", type(reader).__name__):
            run.query = reader.read(run.query, run)
    found = recipe.cues.gather(run)
    with run.step("fuse", recipe.fuse.name, before=sum(len(each.keys) for each in found)) as step:
        hits = recipe.fuse.fuse(run, found)
        step.after, step.hits = len(hits), hits
    for stage in recipe.stages:
        with run.step("stage", stage.name, before=len(hits)) as step:
            hits = _apply_stage(run, stage, hits, step)
            step.hits = hits
        step.after = len(hits)
    return hits


def _apply_stage(run: Run, stage: Stage, hits: Hits, step: Step) -> Hits:
    """The hits after all operations of a stage; when one fails, none is applied."""
    if not supports(stage, MandatoryStage):
        run.check_deadline()
    if not len(hits):
        return hits
    all_dropped, all_notes = [], []
    for operation in stage.apply(run, hits):
        hits, dropped = apply(operation, hits)
        if dropped is not None:
            all_dropped.append(dropped)
        if isinstance(operation, Annotate):
            all_notes.append(operation)
        if isinstance(operation, Add) and not hits.ordered:  # ties of added hits: by creation and id, as of all others
            hits = hits.take(ordered(run.snapshot, hits.keys, hits.page, -hits.score.values))
    hits = hits.sorted()
    step.dropped += all_dropped
    for annotation in all_notes:
        run.add_notes(annotation.notes)
        run.second_to |= annotation.second_to
        run.outdated |= annotation.outdated
    return hits


def _cut(run: Run, hits: Hits) -> Hits:
    with run.step("cut", f"best {run.k}", before=len(hits)) as step:
        shown = hits.take(np.arange(min(run.k, len(hits))))
        left = np.arange(len(shown), len(hits))
        step.dropped.append(
            DroppedHits(hits.keys[left], (left + 1).astype(np.float64), float(run.k), "its rank is beyond k")
        )
        step.after, step.hits = len(shown), hits
    return shown


def _confidence(run: Run, hits: Hits) -> float | None:
    if run.recipe.confidence is None:
        return None
    with run.step("judge", "confidence") as step:
        confidence = run.confidence(hits.keys)
        step.detail["confidence"] = confidence and round(confidence, 4)
    return confidence


def _abstain(run: Run, shown: Hits, confidence: float, threshold: float) -> Hits:
    with run.step("judge", "abstain", before=len(shown)) as step:
        reason = "nothing here seems to be about the query: the confidence is below the threshold"
        step.dropped.append(DroppedHits(shown.keys, np.full(len(shown), confidence), threshold, reason))
        step.after = 0
    return shown.take(np.empty(0, dtype=np.int64))


@retried
def _why_not(store: Store, request: Request, run: Run, shown: Hits, id: str) -> Verdict:
    """Explain an absence from the trace of a finished recall; only the cues' scores are computed again."""
    (full_id,) = store.resolve([id])
    with store.snapshot() as snapshot:
        again = _begin(request, run.query.text, run.k, snapshot, time.perf_counter(), run.bound)
        again.deadline = None
        again.query, again.found = run.query, run.found
        for tree, fields in run.excluded:
            again.exclude(tree, fields)
        return explain_absence(run, again, shown, full_id)


@retried
def _matched_words(store: Store, outcome: SearchOutcome) -> list[tuple[MatchedWord, ...]]:
    with store.snapshot() as snapshot:
        return find_matched_words(outcome.run, snapshot, outcome.shown.keys, outcome.memories)
