"""Recollect: a memory for agents and robots that says why it remembers.

The names below are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.embed import Embedder
    from recollect.errors import EmbeddingError, InvalidInput, NotFound, RecollectError, StoreError
    from recollect.mind import Mind
    from recollect.model import Edge, EntityEdge, Filter, Memory, Near, Not, Use
    from recollect.recall.arithmetic import Explanation
    from recollect.recall.recipe import Recipe
    from recollect.recall.results import Recall, Result, Verdict

__version__ = "0.1.0"

_HOMES = {
    "recollect.embed": ("Embedder",),
    "recollect.errors": ("EmbeddingError", "InvalidInput", "NotFound", "RecollectError", "StoreError"),
    "recollect.mind": ("Mind",),
    "recollect.model": ("Edge", "EntityEdge", "Filter", "Memory", "Near", "Not", "Use"),
    "recollect.recall.arithmetic": ("Explanation",),
    "recollect.recall.recipe": ("Recipe",),
    "recollect.recall.results": ("Recall", "Result", "Verdict"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Edge",
    "Embedder",
    "EmbeddingError",
    "EntityEdge",
    "Explanation",
    "Filter",
    "InvalidInput",
    "Memory",
    "Mind",
    "Near",
    "Not",
    "NotFound",
    "Recall",
    "Recipe",
    "RecollectError",
    "Result",
    "StoreError",
    "Use",
    "Verdict",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
