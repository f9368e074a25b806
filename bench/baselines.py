"""Simple recipes to compare the default one with, and cues changed in a recipe."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TypeVar

from recollect.recall.cues import AllCues, VectorsCue, WordsCue
from recollect.recall.fusion import Blend, CueWeight
from recollect.recall.query_parsing import ContentWords
from recollect.recall.recipe import Cue, CuePlan, Recipe

T = TypeVar("T")

# No set may fall more than a hundredth below the best of these.
BASELINES = {
    "BM25": Recipe(
        name="BM25", read=[ContentWords()], cues=AllCues(WordsCue()), fuse=Blend(CueWeight("words", 1.0, "itself"))
    ),
    "vectors": Recipe(name="vectors", cues=AllCues(VectorsCue()), fuse=Blend(CueWeight("vectors", 1.0, "itself"))),
    "fusion": Recipe(
        name="fusion",
        read=[ContentWords()],
        cues=AllCues(WordsCue(), VectorsCue()),
        fuse=Blend(CueWeight("words", 0.5, "best"), CueWeight("vectors", 0.5, "range")),
    ),
}


def with_cues(plan: CuePlan, change: Callable[[Cue], Cue]) -> CuePlan:
    """A copy of a plan in which each cue is changed."""
    changed = copy(plan)
    for name, value in vars(plan).items():
        parts = value if isinstance(value, tuple) else (value,)
        if all(hasattr(part, "find") or hasattr(part, "gather") for part in parts):
            new = tuple(change(part) if hasattr(part, "find") else with_cues(part, change) for part in parts)
            setattr(changed, name, new if isinstance(value, tuple) else new[0])
    return changed
