"""One file for each way of recalling; ``named`` finds them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from recollect.errors import InvalidInput
from recollect.recall.recipe import Recipe
from recollect.recipes.abmind import abmind
from recollect.recipes.default import default
from recollect.recipes.jeffsbrain import jeffsbrain
from recollect.recipes.openclaw import openclaw
from recollect.recipes.openmem import openmem
from recollect.recipes.qmd import qmd
from recollect.recipes.robotmem import robotmem

# Each makes a recipe; its keywords are the recipe's settings.
RECIPES: dict[str, Callable[..., Recipe]] = {
    "default": default,
    "abmind": abmind,
    "jeffsbrain": jeffsbrain,
    "openclaw": openclaw,
    "openmem": openmem,
    "qmd": qmd,
    "robotmem": robotmem,
}


def named(recipe: str | Recipe, /, **settings: Any) -> Recipe:
    """A recipe as it is, or by its name with settings of its own: ``named("openmem", max_hops=3)``."""
    if isinstance(recipe, Recipe):
        if settings:
            raise InvalidInput(f"Settings ({', '.join(settings)}) go with a recipe's name, not with a finished recipe.")
        return recipe
    if not isinstance(recipe, str) or recipe not in RECIPES:
        raise InvalidInput(f"There is no recipe {recipe!r}; there are: {', '.join(RECIPES)}.")
    make = RECIPES[recipe]
    known = make.__kwdefaults__ or {}  # settings are keywords with defaults
    unknown = [name for name in settings if name not in known]
    if unknown:
        has = f"it has: {', '.join(known)}" if known else "it has none"
        raise InvalidInput(f"The recipe {recipe!r} has no setting {unknown[0]!r}; {has}.")
    return make(**settings) if settings else _plain(recipe)


@lru_cache
def _plain(recipe: str) -> Recipe:
    """As it is without settings: made once, as recipes do not change."""
    return RECIPES[recipe]()
