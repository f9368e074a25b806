"""Recipes to compare the default one with: simple baselines, and ablations (the default without one of its parts)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import TypeVar

from recollect.recall.cues import AllCues, VectorsCue, WordsCue
from recollect.recall.cues.plans import DisabledCue
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


def ablations(recipe: Recipe) -> Iterator[Recipe]:
    """The recipe without each of its readings, cues, shares and stages, named for what it lacks."""
    for reading in recipe.read:
        yield recipe.but(name=f"− reading {type(reading).__name__}", read=_without(recipe.read, reading))
    for cue in recipe.cues.cues():
        plan = with_cues(recipe.cues, lambda each, out=cue: DisabledCue(out.name, "left out") if each is out else each)  # type: ignore[misc]
        yield recipe.but(name=f"− cue {cue.name}", cues=plan)
    weights: Sequence[CueWeight] = getattr(recipe.fuse, "cue_weights", ())
    for weight in weights if len(weights) > 1 else ():
        fuse = copy(recipe.fuse)
        fuse.cue_weights = _without(weights, weight)  # type: ignore[attr-defined]
        yield recipe.but(name=f"− share {weight.cue}", fuse=fuse)
    for stage in recipe.stages:
        yield recipe.but(name=f"− stage {stage.name}", stages=_without(recipe.stages, stage))


def with_cues(plan: CuePlan, change: Callable[[Cue], Cue]) -> CuePlan:
    """A copy of a plan in which each cue is changed."""
    changed = copy(plan)
    for name, value in vars(plan).items():
        parts = value if isinstance(value, tuple) else (value,)
        if all(hasattr(part, "find") or hasattr(part, "gather") for part in parts):
            new = tuple(change(part) if hasattr(part, "find") else with_cues(part, change) for part in parts)
            setattr(changed, name, new if isinstance(value, tuple) else new[0])
    return changed


def _without(parts: Sequence[T], left_out: T) -> list[T]:
    return [each for each in parts if each is not left_out]
