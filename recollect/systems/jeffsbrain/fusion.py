"""Search modes: which cues are fused, when the reranker is skipped, and the search report (J2, J4, J16, J17)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, Literal, get_args

import numpy as np

from recollect.chat import ChatModel
from recollect.errors import InvalidInput
from recollect.model import Memory, check
from recollect.recall.fusion import ReciprocalRank
from recollect.recall.hits import Candidates, Hits
from recollect.recall.results import Result
from recollect.recall.run import Run
from recollect.recall.stages.factors import SkipCondition
from recollect.recall.trace import Step, Trace
from recollect.rerank import AnyReranker
from recollect.text.slugs import path_or_name

Mode = Literal["auto", "bm25", "semantic", "hybrid"]
MODES: tuple[Mode, ...] = get_args(Mode)
LEXICAL, VECTOR, RERANK = "bm25", "vector", "rerank"  # names of the cues and of the reranker in the trace
AGREE_WINDOW, AGREE_MIN = 3, 2  # J4: first positions compared, and how many must agree
REASONS = ("unanimity", "no_reranker", "mode_off")  # why the reranker was skipped; see also Report


class FuseByMode:
    """Reciprocal ranks of both cues, or of the one that the mode names.

    Without vectors (no embedder, or it failed, or was late, or no memory has a vector) every mode is bm25.
    """

    name = "reciprocal rank"

    def __init__(self, mode: Mode, k: float = 60) -> None:
        self.mode = mode
        self.k = k
        self._ranks = ReciprocalRank(k, by_path=True)

    def fuse(self, run: Run, found: list[Candidates]) -> Hits:
        mode = "bm25" if not _ran(run.trace, VECTOR) else "hybrid" if self.mode == "auto" else self.mode
        only = {"bm25": LEXICAL, "semantic": VECTOR}.get(mode)
        hits = self._ranks.fuse(run, [each for each in found if only in (None, each.cue)])
        run.log("mode", mode)
        return hits


def agreements(
    first: Sequence[int], second: Sequence[int], agree_min: int = AGREE_MIN, window: int = AGREE_WINDOW
) -> int | None:
    """How many of the first positions are equal; None when that is not unanimous (J4)."""
    if min(len(first), len(second)) < window:
        return None
    agreed = sum(a == b for a, b in zip(first[:window], second[:window], strict=True))
    return agreed if agreed >= agree_min else None


def rerank_skip_condition(
    rerank: bool, reranker: AnyReranker | ChatModel | str | None, agree_min: int = AGREE_MIN, window: int = AGREE_WINDOW
) -> SkipCondition:
    """Skips the reranker when it is switched off or missing, or when both cues agree on the first results."""

    def reason(run: Run, hits: Hits) -> str:
        if not rerank:
            return "mode_off"
        if reranker is None:
            return "no_reranker"
        none = np.empty(0, dtype=np.int64)
        rankings = [run.found[cue].keys if cue in run.found else none for cue in (LEXICAL, VECTOR)]
        agreed = agreements(rankings[0].tolist(), rankings[1].tolist(), agree_min, window)
        if agreed is None:
            return ""
        run.log("agreements", agreed)
        run.log("ids", run.ids(rankings[0][:window]))
        return "unanimity"

    return reason


@dataclass(frozen=True, slots=True)
class SearchReport:
    """The trace of a search under the names of Jeffs Brain; every key is always present, None where it does not apply.

    ``lexical_steps`` are those of the retry ladder; the first is the strategy "initial", the others have their names.
    """

    mode: Mode
    lexical_steps: Sequence[str]
    candidate_k: int
    rerank_top_n: int
    rrf_k: float

    def __call__(self, trace: Trace) -> dict[str, Any]:
        steps = {step.name: step for step in trace.steps if step.kind in ("cue", "stage")}
        lexical = [steps[name] for name in self.lexical_steps if name in steps]
        vector = steps.get(VECTOR)
        fused = next((step for step in trace.steps if step.kind == "fuse"), Step("fuse", ""))
        rerank = steps.get(RERANK, Step("stage", RERANK, "skipped", "mode_off"))
        mode = fused.detail.get("mode")
        parts = [("bm25", step) for step in lexical] + [("vector", vector), ("fusion", fused)]
        parts += [("fusion", steps.get("intent")), ("rerank", rerank)]
        failed = [(stage, step.reason) for stage, step in parts if step and step.outcome == "failed"]
        stage, detail = failed[0] if failed else (None, None)
        return {
            "mode": mode,
            "requestedMode": self.mode,
            "fellBackToBM25": mode == "bm25"
            and self.mode != "bm25"
            and not (self.mode == "auto" and _without_embedder(vector)),
            "originalQuery": trace.query,
            "compiledQuery": lexical[0].detail.get("query", "") if lexical else "",
            "candidateK": self.candidate_k,
            "rrfK": self.rrf_k,
            "rerankTopN": self.rerank_top_n,
            "bm25Count": sum(step.after or 0 for step in lexical),
            "vectorCount": (vector.after or 0) if vector else 0,
            "fusedCount": fused.after or 0,
            "bm25Elapsed": _elapsed(*lexical),
            "vectorElapsed": _elapsed(vector),
            "fusionElapsed": _elapsed(fused, steps.get("intent")),
            "rerankElapsed": _elapsed(rerank),
            "totalElapsed": round(trace.milliseconds, 3),
            "embedderUsed": bool(vector and vector.outcome == "ran"),
            "reranked": "reranker" in rerank.detail and rerank.outcome == "ran",
            "rerankProvider": rerank.detail.get("reranker"),
            "rerankSkippedReason": _rerank_skip_reason(fused, rerank),
            "unanimity": {name: rerank.detail[name] for name in ("ids", "agreements") if name in rerank.detail} or None,
            "attempts": [
                {"strategy": self._strategy(step), "query": step.detail.get("query", ""), "hits": step.after}
                for step in lexical
                if step.outcome == "ran"
            ],
            "errorStage": stage,
            "errorDetail": detail,
        }

    def _strategy(self, step: Step) -> str:
        return "initial" if step.name == self.lexical_steps[0] else step.name


def _ran(trace: Trace, cue: str) -> bool:
    return any(step.outcome == "ran" for step in trace.steps if (step.kind, step.name) == ("cue", cue))


def _without_embedder(vector: Step | None) -> bool:
    """Whether there was no embedder: auto then means bm25, which is not a fallback."""
    return vector is None or vector.reason == "there is no embedder"


def _rerank_skip_reason(fused: Step, rerank: Step) -> str | None:
    if not fused.after:
        return "empty_candidates"
    if rerank.outcome != "skipped":
        return None
    return rerank.reason if rerank.reason in REASONS else "deadline"


def _elapsed(*steps: Step | None) -> float:
    """In milliseconds."""
    return round(sum(step.milliseconds for step in steps if step), 3)


DEFAULT_K = 60.0
FIELDS = ("path", "title", "summary", "text")  # of a memory, as fields of an entry

Entry = str | Mapping[str, Any] | Memory | Result


def fuse(lists: Iterable[Iterable[Entry]], k: float = DEFAULT_K) -> list[dict[str, Any]]:
    """Merge ranked lists into one: each entry scores Σ 1 ÷ (k + rank + 1), ranks counted from 0.

    An entry is an id, a mapping with an ``id`` (and a path, title or anything else), a memory or a result of a recall.
    The first entry with an id counts; others only fill in what it lacks: fields that are absent, None or "". An entry
    that a list has twice counts twice. ``k`` of 0 or less means 60.

    The answer has one mapping per id, its fields and the ``score``, the best first; equal scores are ordered by path
    (without one, by the slug of the title, or the id) and then by id. The order of the lists changes no score.

    >>> [(each["id"], round(each["score"], 4)) for each in fuse([["a", "b"], ["b", "c"]])]
    [('b', 0.0325), ('a', 0.0164), ('c', 0.0161)]
    """
    k = k if check.number(k, "k") > 0 else DEFAULT_K
    merged: dict[str, dict[str, Any]] = {}
    terms: dict[str, list[float]] = {}
    for ranking in _lists(lists):
        for rank, entry in enumerate(ranking):
            fields = _fields(entry)
            id = fields["id"]
            first = merged.setdefault(id, {})
            first.update((name, value) for name, value in fields.items() if _is_blank(first.get(name)))
            terms.setdefault(id, []).append(1 / (k + rank + 1))
    fused = [{**fields, "score": fsum(terms[id])} for id, fields in merged.items()]  # fsum: exact in any order
    return sorted(fused, key=lambda each: (-each["score"], _path(each), each["id"]))


def _lists(lists: Iterable[Iterable[Entry]]) -> Iterable[Iterable[Entry]]:
    if isinstance(lists, str | Mapping) or not isinstance(lists, Iterable):
        raise InvalidInput(f"lists must be ranked lists of entries, not {check.short_repr(lists)}.")
    for ranking in lists:
        if isinstance(ranking, str | Mapping) or not isinstance(ranking, Iterable):
            raise InvalidInput(f"A ranked list must be a list of entries, not {check.short_repr(ranking)}.")
        yield ranking


def _fields(entry: Entry) -> dict[str, Any]:
    memory = entry.memory if isinstance(entry, Result) else entry
    if isinstance(memory, Memory):
        fields: dict[str, Any] = {"id": memory.id, **{name: getattr(memory, name) for name in FIELDS}}
    elif isinstance(memory, Mapping):
        fields = {name: value for name, value in memory.items() if name != "score"}
    else:
        fields = {"id": memory}
    if not isinstance(fields.get("id"), str) or not fields["id"]:
        raise InvalidInput(
            "An entry must be an id, a mapping with an id, a memory or a result of a recall, "
            f"not {check.short_repr(entry)}."
        )
    return fields


def _is_blank(value: Any) -> bool:
    return value is None or value == ""


def _path(fields: Mapping[str, Any]) -> str:
    return path_or_name(str(fields.get("path") or ""), str(fields.get("title") or ""), fields["id"])
