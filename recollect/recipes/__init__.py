"""One file for each way of recalling; ``named`` finds them."""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.recall.recipe import Recipe
from recollect.recipes.default import DEFAULT

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (DEFAULT,)}


def named(recipe: str | Recipe) -> Recipe:
    """A recipe as it is, or by its name."""
    if isinstance(recipe, Recipe):
        return recipe
    if recipe not in RECIPES:
        raise InvalidInput(f"There is no recipe {recipe!r}; there are: {', '.join(RECIPES)}.")
    return RECIPES[recipe]
