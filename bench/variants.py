"""Recipes to measure the default one by: what is simpler than it, and what is left of it without one of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import TypeVar

from recollect.recall.cues import Parallel, Vectors, Words
from recollect.recall.fusion import Blend, Share
from recollect.recall.query_parsing import ContentWords
from recollect.recall.recipe import Cue, Recipe
from recollect.systems.abmind.limits import Off

T = TypeVar("T")

# No set may fall more than a hundredth below the best of these.
BASELINES = {
    "BM25": Recipe(
        name="BM25", read=[ContentWords()], cues=Parallel(Words()), fuse=Blend(Share("words", 1.0, "itself"))
    ),
    "vectors": Recipe(name="vectors", cues=Parallel(Vectors()), fuse=Blend(Share("vectors", 1.0, "itself"))),
    "fusion": Recipe(
        name="fusion",
        read=[ContentWords()],
        cues=Parallel(Words(), Vectors()),
        fuse=Blend(Share("words", 0.5, "best"), Share("vectors", 0.5, "range")),
    ),
}


def ablations(recipe: Recipe) -> Iterator[Recipe]:
    """The recipe without each of its readings, cues, shares and stages, named for what it lacks."""
    for reading in recipe.read:
        yield recipe.but(name=f"− reading {type(reading).__name__}", read=_without(recipe.read, reading))
    for cue in recipe.cues.cues():
        cues: list[Cue] = [Off(each.name, "left out") if each is cue else each for each in recipe.cues.cues()]
        yield recipe.but(name=f"− cue {cue.name}", cues=Parallel(*cues))
    shares: Sequence[Share] = getattr(recipe.fuse, "shares", ())
    for share in shares if len(shares) > 1 else ():
        fuse = copy(recipe.fuse)
        fuse.shares = _without(shares, share)  # type: ignore[attr-defined]
        yield recipe.but(name=f"− share {share.cue}", fuse=fuse)
    for stage in recipe.stages:
        yield recipe.but(name=f"− stage {stage.name}", stages=_without(recipe.stages, stage))


def _without(parts: Sequence[T], left_out: T) -> list[T]:
    return [each for each in parts if each is not left_out]
