"""Recollect: a memory for agents and robots that says why it remembers.

The names below are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.embed import Embedder
    from recollect.errors import EmbeddingError, InvalidInput, NotFound, RecollectError, StoreError
    from recollect.ingest.folder import FolderSettings
    from recollect.mind import Mind
    from recollect.model import Edge, EntityEdge, Filter, Memory, Near, Not, Use
    from recollect.recall.context import Context
    from recollect.recall.expressions import Explanation
    from recollect.recall.recipe import Recipe
    from recollect.recall.results import Recall, Result, Verdict
    from recollect.systems.openclaw.workspace import SearchSettings, Workspace
    from recollect.systems.robotmem.robot import Robot

__version__ = "0.1.0"

_HOMES = {
    "recollect.embed": ("Embedder",),
    "recollect.errors": ("EmbeddingError", "InvalidInput", "NotFound", "RecollectError", "StoreError"),
    "recollect.ingest.folder": ("FolderSettings",),
    "recollect.mind": ("Mind",),
    "recollect.model": ("Edge", "EntityEdge", "Filter", "Memory", "Near", "Not", "Use"),
    "recollect.recall.expressions": ("Explanation",),
    "recollect.recall.recipe": ("Recipe",),
    "recollect.recall.context": ("Context",),
    "recollect.recall.results": ("Recall", "Result", "Verdict"),
    "recollect.systems.robotmem.robot": ("Robot",),
    "recollect.systems.openclaw.workspace": ("SearchSettings", "Workspace"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Context",
    "Edge",
    "Embedder",
    "EmbeddingError",
    "EntityEdge",
    "Explanation",
    "Filter",
    "FolderSettings",
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
    "Robot",
    "SearchSettings",
    "StoreError",
    "Use",
    "Verdict",
    "Workspace",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
