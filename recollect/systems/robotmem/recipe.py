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

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recollect.errors import InvalidInput
from recollect.model import Filter, check
from recollect.recall.cues import AllCues, WordsCue
from recollect.recall.fusion import ReciprocalRank
from recollect.recall.hits import Hits
from recollect.recall.query_parsing import ParsedQuery
from recollect.recall.recipe import Recipe, times
from recollect.recall.run import Run
from recollect.recall.stages import ConditionalStage, RecordUse
from recollect.store.base import Term
from recollect.systems.robotmem.cues import EpisodeReplay, NearestVectors, ReplayOrSearch
from recollect.systems.robotmem.stages import NormaliseScores, SourceWeight, SpatialSort
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
