"""The robotmem recipe: reciprocal ranks of words and vectors, × 1.5 for real-world memories, sorting by distance.

query    ─▶ plain terms ─▶ words   (text, summary, paths, entities) ┐
      │                    n × 2 candidates                         ├─▶ reciprocal rank ─▶ × 1.5 if real
      └──────────────────▶ nearest (cosine distance)                ┘    k = 60                  │
                           n × 2 candidates                                                      ▼
before any cut: collection, status, confidence, session,              ÷ best ◀─ best n ◀─ nearest in space first
context_filter, max_distance (with the last two: n × 4)

The query ``*`` with a session replays the episode, oldest first, instead of searching.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from recollect.errors import InvalidInput
from recollect.model import Filter, Near, check
from recollect.model.filter import check_context_conditions
from recollect.model.matching import distance, explain_no_distance, match_context
from recollect.recall.cues import AllCues, VectorsCue, WordsCue
from recollect.recall.cues.plans import cues_in, run_part
from recollect.recall.expressions import Expression, leaf, product, ratio
from recollect.recall.fusion import ReciprocalRank
from recollect.recall.hits import Annotate, Candidates, HitOperation, Hits, Reorder, Rescore
from recollect.recall.query_parsing import ParsedQuery
from recollect.recall.recipe import Cue, CuePlan, Depth, Recipe, times
from recollect.recall.run import Run, Skip
from recollect.recall.stages import ConditionalStage, RecordUse
from recollect.store.base import Rows, Term
from recollect.text.words import HAN, PAIRED, is_spaceless, words

FIELDS = {"text": 1.0, "summary": 1.0, "path": 1.0, "entities": 1.0}  # R4: path covers files, too
MODES = {"vectors + words": "hybrid", "words": "bm25_only", "vectors": "vec_only"}  # R7
SESSION_RECORDS = Filter(kind="session")  # records of an episode as a whole are not results


def robotmem(
    *,
    n: int = 5,  # R1: the default number of results
    min_confidence: float = 0.3,  # R9
    collection: str | None = None,  # default: that of the mind
    session_id: str | None = None,  # R10
    context_filter: Mapping[str, Any] | None = None,  # R12
    spatial_sort: Mapping[str, Any] | None = None,  # R13: {"field": …, "target": […], "max_distance": …}
    rrf_k: float = 60,  # R6
    real_weight: float = 1.5,  # R8
    confidence_decay: float = 0.99,  # R17: for each day; 1 for none
) -> Recipe:
    """Hybrid recall of a robot's experience, with structured filters and sorting by distance, as robotmem does it."""
    session = None if session_id == "" else session_id
    space = None if spatial_sort is None else SpatialSort.from_mapping(spatial_sort)
    fetch = times(2) if context_filter is None and space is None else times(4)  # R2
    search = AllCues(
        WordsCue(fields=FIELDS, depth=fetch), NearestVectors(depth=fetch)
    )  # R4, R5; R16: each may fail alone
    return Recipe(
        name="robotmem",
        about="Reciprocal ranks of words and vectors; real beats simulated; structured filters, sorting by distance.",
        k=n,
        clamp=(1, 100),  # R1
        statuses=("active",),  # R4
        filter=Filter(  # R2: before the cut
            collection=collection,
            session=session,  # R10
            min_confidence=min_confidence,  # R9
            confidence_decay=confidence_decay,  # R17
            context=context_filter,  # R12
            near=None if space is None else space.cutoff,  # R13
        )
        & ~SESSION_RECORDS,
        read=[PlainTerms()],  # R3
        cues=search if session is None else ReplayOrSearch(EpisodeReplay(depth=fetch), search),  # R10
        fuse=ReciprocalRank(k=_check_positive(rrf_k), modes=MODES),  # R6, R7
        stages=[
            ConditionalStage(SourceWeight(real_weight), unless=_is_replay),  # R8
            *([] if space is None else [space]),  # R13
            NormaliseScores(),  # R14
        ],
        after=[RecordUse(("access", "return"))],  # R15
    )


def _is_replay(run: Run, hits: Hits) -> str:
    return "an episode is replayed in its own order" if "replay" in run.found and len(run.found["replay"].keys) else ""


def _check_positive(rrf_k: float) -> float:
    if check.number(rrf_k, "rrf_k") <= 0:
        raise InvalidInput(f"rrf_k must be above 0, not {check.short_repr(rrf_k)}.")
    return rrf_k


LETTER = f"[^\\W{HAN}{PAIRED}]"  # of a script that writes spaces between words


@dataclass(frozen=True, slots=True)
class PlainTerms:
    """All words of the query: Chinese segmented, without operators of query languages and single letters.

    Only upper-case operators are removed: "near the cup" is about nearness. A single character is a word in scripts
    without spaces (杯, は) and noise elsewhere.
    """

    operators: Sequence[str] = ("AND", "OR", "NOT", "NEAR")

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        text = query.text
        if self.operators:
            text = re.sub(f"(?<!{LETTER})(?:{'|'.join(self.operators)})(?!{LETTER})", " ", text)
        every = tuple(dict.fromkeys(words(text, whole=True)))
        terms = tuple(word for word in every if len(word) > 1 or is_spaceless(word))
        run.log("match", " OR ".join(f'"{word}"' for word in terms) or "nothing to look up")
        return replace(query, words=every, terms=tuple(Term(word, match="exact") for word in terms))


@dataclass(frozen=True, slots=True)
class NearestVectors(VectorsCue):
    """The nearest vectors; the trace has their distances, 1 − cosine, from 0 (identical) to 2 (opposite)."""

    def find(self, run: Run) -> Candidates:
        found = VectorsCue.find(self, run)
        if not len(found.keys):
            return found
        first, last = (round(1 - float(found.score.values[at]), 4) + 0.0 for at in (0, -1))  # not −0.0
        return replace(found, detail={"nearest distance": first, "farthest distance": last})


@dataclass(frozen=True, slots=True)
class EpisodeReplay:
    """All memories in scope, oldest first, when the query is ``*``; nothing is searched."""

    name: str = "replay"
    depth: Depth = times(1)
    query: str = "*"

    def find(self, run: Run) -> Candidates:
        rows = self._oldest_first(run)
        first = rows[: self.depth(run.k)]
        return Candidates(self.name, first, self._score_places(np.arange(len(first))), len(rows))

    def score(self, run: Run, rows: Rows) -> Expression:
        """1 ÷ place: the earlier, the higher."""
        places = {row: place for place, row in enumerate(self._oldest_first(run).tolist())}
        return self._score_places(np.array([places.get(row, len(places)) for row in rows.tolist()], dtype=np.int64))

    def _oldest_first(self, run: Run) -> Rows:
        if run.query.text.strip() != self.query:
            raise Skip(f"the query is not {self.query!r}")
        return run.snapshot.page(run.scope, "oldest", max(1, run.scope.count))

    def _score_places(self, places: Rows) -> Expression:
        return leaf(1 / (places + 1), lambda at: f"{self.name}: number {places[at] + 1} from the beginning").tag(
            "component", self.name
        )


class ReplayOrSearch:
    """Runs the replay alone; when it is skipped, the other cues."""

    def __init__(self, replay: EpisodeReplay, search: Cue | CuePlan) -> None:
        self._replay = replay
        self._search = search

    def gather(self, run: Run) -> list[Candidates]:
        found = run.find(self._replay)
        if run.trace.steps[-1].outcome == "skipped":
            return run_part(self._search, run)
        for other in cues_in(self._search):
            run.skip(other, f"{self._replay.name} answers alone")
        return [found]

    def cues(self) -> list[Cue]:
        return [self._replay, *cues_in(self._search)]


@dataclass(frozen=True, slots=True)
class SourceWeight:
    """× a factor for memories whose context meets conditions, by default those of the real world."""

    factor: float = 1.5
    where: Mapping[str, Any] = field(default_factory=lambda: {"env.sim_or_real": "real"})
    name: str = "source weight"

    def __post_init__(self) -> None:
        check.number(self.factor, "the source weight", low=0.0)
        check_context_conditions(self.where)

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        condition = " and ".join(f"{path} is {wanted!r}" for path, wanted in self.where.items())
        meets = np.array([match_context(context, self.where) is True for context in run.snapshot.contexts(hits.keys)])
        if not meets.any():
            raise Skip(f"there is no candidate where {condition}")
        factor = leaf(np.where(meets, self.factor, 1.0), lambda at: f"source: {'' if meets[at] else 'not '}{condition}")
        return [Rescore(product("after source weight", hits.score, factor))]


SHAPE = '{"field": "spatial.position", "target": [1.3, 0.7, 0.42], "max_distance": 0.1}, the last of them optional'


@dataclass(frozen=True, slots=True)
class SpatialSort:
    """Sorts by the distance √Σ(aᵢ − tᵢ)² to a target; memories without usable coordinates come last. Scores stay.

    ``cutoff`` is the filter for ``max_distance``; it belongs into ``Recipe.filter``, to apply before the search.
    """

    field: str  # a dot path in the context
    target: Sequence[float]
    max_distance: float | None = None
    name: str = "spatial sort"

    @classmethod
    def from_mapping(cls, value: object) -> SpatialSort:
        """Build it from a mapping, or raise an InvalidInput that says what is wrong."""
        if not isinstance(value, Mapping):
            raise InvalidInput(f"spatial_sort must be an object such as {SHAPE}; not {check.short_repr(value)}.")
        unknown = [key for key in value if key not in ("field", "target", "max_distance")]
        missing = [key for key in ("field", "target") if key not in value]
        if unknown or missing:
            problem = f"has no {missing[0]!r}" if missing else f"has no field {unknown[0]!r}"
            raise InvalidInput(f"spatial_sort {problem}; it looks like {SHAPE}.")
        field, limit = check.string(value["field"], "spatial_sort.field"), value.get("max_distance")
        if not field.strip():
            raise InvalidInput("spatial_sort.field is blank; it must name coordinates, such as 'spatial.position'.")
        return cls(
            field=field,
            target=check_point(value["target"], "spatial_sort.target"),
            max_distance=None if limit is None else check.number(limit, "spatial_sort.max_distance", low=0.0),
        )

    @property
    def cutoff(self) -> Near | None:
        return None if self.max_distance is None else Near(self.field, self.target, self.max_distance)

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        condition = Near(self.field, self.target, math.inf)
        contexts = run.snapshot.contexts(hits.keys)
        distances = [distance(context, condition) for context in contexts]
        sort_keys = np.array([math.inf if each is None else each for each in distances])
        notes = {
            key: [explain_no_distance(context, condition) if each is None else f"{each:.4g} away from the target"]
            for key, context, each in zip(hits.keys.tolist(), contexts, distances, strict=True)
        }
        unplaced = Counter(notes[key][0] for key, each in zip(notes, distances, strict=True) if each is None)
        if unplaced:
            reasons = "; ".join(f"{reason} ({count:,})" for reason, count in unplaced.items())
            run.log("without a distance", reasons)
        order = np.argsort(sort_keys, kind="stable")  # ties keep their order
        return [Reorder(order, f"nearest to {list(self.target)} at {self.field}"), Annotate(notes)]


def check_point(value: Any, name: str) -> tuple[float, ...]:
    """Check coordinates: a list, tuple or array of at least one finite number."""
    listed = list(value) if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else []
    numbers = [float(each) for each in listed if isinstance(each, Real) and not isinstance(each, bool)]
    if not numbers or len(numbers) < len(listed) or not all(map(math.isfinite, numbers)):
        raise InvalidInput(
            f"{name} must be a list of numbers, such as [1.3, 0.7, 0.42], not {check.short_repr(value)}."
        )
    return tuple(numbers)


@dataclass(frozen=True, slots=True)
class NormaliseScores:
    """score ÷ the best score of the first k, so that the best result has 1.0."""

    name: str = "normalise"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        best = float(hits.score.values[: run.k].max())
        if best <= 0:
            raise Skip("no score is above 0")
        return [Rescore(ratio("÷ best returned", hits.score, leaf(best, "best score returned")))]
