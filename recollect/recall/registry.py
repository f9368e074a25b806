"""Recipes by name. A recipe's module is imported on first use; installed packages can add recipes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from recollect.errors import InvalidInput
from recollect.recall.recipe import Recipe

RecipeFactory = Callable[..., Recipe]  # its keyword arguments are the recipe's settings
BUILT_IN = {
    "default": "recollect.recall.default",
    "abmind": "recollect.systems.abmind.recipe",
    "jeffsbrain": "recollect.systems.jeffsbrain.recipe",
    "openclaw": "recollect.systems.openclaw.recipe",
    "openmem": "recollect.systems.openmem.recipe",
    "qmd": "recollect.systems.qmd.recipe",
    "robotmem": "recollect.systems.robotmem.recipe",
}
ENTRY_POINTS = "recollect.recipes"  # the group under which other packages register a recipe factory


class RecipeRegistry(Mapping[str, RecipeFactory]):
    """Recipe factories by name: built-in ones, then those of installed packages, which cannot replace them."""

    def __getitem__(self, name: str) -> RecipeFactory:
        if name in BUILT_IN:
            factory: RecipeFactory = getattr(import_module(BUILT_IN[name]), name)
            return factory
        return _plugins()[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*BUILT_IN, *(name for name in _plugins() if name not in BUILT_IN)])

    def __len__(self) -> int:
        return len(list(iter(self)))


RECIPES = RecipeRegistry()


def get_recipe(recipe: str | Recipe, /, **settings: Any) -> Recipe:
    """A recipe object, or a recipe by name with its settings: ``get_recipe("openmem", max_hops=3)``."""
    if isinstance(recipe, Recipe):
        if settings:
            raise InvalidInput(f"Settings ({', '.join(settings)}) go with a recipe's name, not with a finished recipe.")
        return recipe
    if not isinstance(recipe, str) or (recipe not in BUILT_IN and recipe not in RECIPES):
        raise InvalidInput(f"There is no recipe {recipe!r}; there are: {', '.join(RECIPES)}.")
    if not settings:
        return _without_settings(recipe)
    factory = RECIPES[recipe]
    known = factory.__kwdefaults__ or {}
    unknown = [name for name in settings if name not in known]
    if unknown:
        allowed = f"its settings are: {', '.join(known)}" if known else "it has no settings"
        hint = " For the number of results use k." if unknown[0] in ("limit", "top_k", "n", "count") else ""
        raise InvalidInput(f"The recipe {recipe!r} has no setting {unknown[0]!r}; {allowed}.{hint}")
    return factory(**settings)


@cache
def _without_settings(name: str) -> Recipe:
    """Cached: recipes are immutable."""
    return RECIPES[name]()


@cache
def _plugins() -> dict[str, RecipeFactory]:
    from importlib.metadata import entry_points  # slow to import, and needed for other packages only

    return {each.name: each.load() for each in entry_points(group=ENTRY_POINTS)}
