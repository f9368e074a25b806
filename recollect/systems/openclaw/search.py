"""The search of notes: its settings, the recipe that they ask for, the scale of its scores, and its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Literal, get_args

from recollect.errors import InvalidInput
from recollect.model import JsonObject, check
from recollect.recall.expressions import largest, leaf, product, ratio, smallest
from recollect.recall.hits import Drop, HitOperation, Hits, Rescore
from recollect.recall.recipe import Recipe
from recollect.recall.registry import get_recipe
from recollect.recall.results import Result
from recollect.recall.run import Run, Skip
from recollect.systems.openclaw.recipe import MIN_SCORE, MinScore
from recollect.text.snippets import snippet

Citations = Literal["auto", "on", "off"]
# With the default recipe, a passage with a smaller share of the best score is left out. Of 630 questions (English,
# German, Chinese) whose answer was among six, none loses it by this; 0.3 loses 4.
MIN_SHARE = 0.2
OWN_SETTINGS = ("hybrid", "vector_weight", "text_weight", "candidate_multiplier")  # those of openclaw alone


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The default settings of searches in a workspace."""

    enabled: bool = True  # O22
    recipe: str | None = None  # None: openclaw if one of its own settings is given, otherwise default
    recipe_settings: Mapping[str, Any] = field(default_factory=dict)  # of any recipe but openclaw
    max_results: int = 6  # O11
    min_score: float | None = None  # None: 0.35 with openclaw (O11), with default a share of the best
    hybrid: bool = True  # O22: False uses vectors alone; this and the following three belong to openclaw
    vector_weight: float = 0.7  # O10
    text_weight: float = 0.3  # O10
    candidate_multiplier: int = 4  # O9
    citations: Citations = "auto"  # O23: auto cites unless the conversation is shared

    def __post_init__(self) -> None:
        if self.citations not in get_args(Citations):
            raise InvalidInput(f"citations must be auto, on or off, not {check.short_repr(self.citations)}.")
        at_least_one(self.max_results, "max_results")
        if self.min_score is not None:
            check.fraction(self.min_score, "min_score")
        own = self._own_settings()
        if own and self.recipe_name != "openclaw":
            raise InvalidInput(f"{', '.join(own)}: only the recipe 'openclaw' has this, not {self.recipe!r}.")
        if self.recipe_name != "openclaw":
            get_recipe(self.recipe_name, **self.recipe_settings)
        elif self.recipe_settings:
            raise InvalidInput(f"Give the settings of openclaw as {', '.join(OWN_SETTINGS)}, not as recipe_settings.")

    def _own_settings(self) -> list[str]:
        """The settings of openclaw that differ from their defaults."""
        return [
            each.name for each in fields(self) if each.name in OWN_SETTINGS and getattr(self, each.name) != each.default
        ]

    @property
    def recipe_name(self) -> str:
        if self.recipe is not None:
            return self.recipe
        return "openclaw" if self._own_settings() else "default"

    def recipe_for(self, min_score: float | None, has_vectors: bool) -> tuple[str | Recipe, dict[str, Any]]:
        """The recipe and its settings; equal ones are the same object, so that answers can be cached."""
        minimum = self.min_score if min_score is None else check.fraction(min_score, "min_score")
        if self.recipe_name != "openclaw":
            return _scaled_recipe(self.recipe_name, tuple(sorted(self.recipe_settings.items())), minimum), {}
        vector_weight, text_weight = self.vector_weight, self.text_weight
        if not has_vectors:
            vector_weight, text_weight = 0.0, 1.0
        elif not self.hybrid:
            vector_weight, text_weight = 1.0, 0.0
            minimum = MIN_SCORE if minimum is None else minimum  # explicit: keyword matches do not fill up
        return "openclaw", {
            "min_score": minimum,
            "vector_weight": vector_weight,
            "text_weight": text_weight,
            "candidate_multiplier": self.candidate_multiplier,
        }


@cache
def _scaled_recipe(name: str, settings: tuple[tuple[str, Any], ...], minimum: float | None) -> Recipe:
    """A recipe with a minimum score, on a scale from 0 to 1 where it has a measure of confidence."""
    recipe = get_recipe(name, **dict(settings))
    stages = list(recipe.stages)
    if recipe.confidence is not None:
        stages.append(ConfidenceScale(min_share=MIN_SHARE if minimum is None else 0.0))
    if minimum:
        stages.append(MinScore(minimum))
    return recipe.but(stages=stages)


@dataclass(frozen=True, slots=True)
class ConfidenceScale:
    """Score ÷ best score × confidence: the best has the confidence of the recall, and the others their share of it.

    The scores of the default recipe compare the candidates of one query. On this scale those of different queries can
    be compared, as a minimum score needs it. Shares below ``min_share`` are left out.
    """

    ignores_deadline: ClassVar[bool] = True  # a minimum score may follow
    min_share: float = 0.0
    name: str = "confidence"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        best = float(hits.score.values[hits.page == hits.page.min(initial=0)].max(initial=0.0))
        confidence = run.confidence(hits.keys)
        if confidence is None or best <= 0:
            raise Skip("there is no measure of confidence" if confidence is None else "no score is above 0")
        share = ratio("÷ best score", hits.score, leaf(best, "best score"))
        share = largest("at least 0", smallest("at most 1", share, leaf(1.0, "1")), leaf(0.0, "0"))
        reason = "its score is too small a share of the best"
        return [
            Rescore(product("share of the confidence", share, leaf(confidence, "confidence"))),
            Drop(share.values >= self.min_share, share.values, self.min_share, reason),
        ]


def at_least_one(value: object, name: str) -> int:
    number = check.integer(value, name)
    if number < 1:
        raise InvalidInput(f"{name} must be at least 1, not {number}.")
    return number


def search_result(result: Result, query: str, cite: bool, with_collection: bool) -> JsonObject:
    """A result as memory_search returns it (O15)."""
    memory = result.memory
    first, last = memory.lines or (1, 1)
    shown: JsonObject = {
        "path": memory.path,
        "startLine": first,
        "endLine": last,
        "text": memory.text,
        "score": result.score,
        "snippet": snippet(memory.text, query),
    }
    if with_collection:
        shown["collection"] = memory.collection
    if cite:
        shown["citation"] = citation(memory.path, first, last)
        shown["snippet"] += f"\n\nSource: {shown['citation']}"
    return shown


def citation(path: str, first: int, last: int) -> str:
    """Lines of a file as they are cited (O23)."""
    return f"{path}#L{first}" + (f"-L{last}" if last > first else "")
