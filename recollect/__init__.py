"""Recollect: a memory for AI agents and robots that explains what it returns.

The names below are imported when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.aio import AsyncClient, AsyncMind
    from recollect.client import Client
    from recollect.embed import Embedder
    from recollect.errors import EmbeddingError, InvalidInput, NotFound, RecollectError, StoreError
    from recollect.ingest.folder import FolderSettings
    from recollect.mind import Mind
    from recollect.mind import open_mind as open
    from recollect.model import Edge, EntityEdge, Filter, Memory, Near, Not, Use
    from recollect.recall.context import Context
    from recollect.recall.expressions import Explanation
    from recollect.recall.recipe import Recipe
    from recollect.recall.results import Recall, Result, Verdict
    from recollect.systems.jeffsbrain.fusion import fuse
    from recollect.systems.openclaw.search import SearchSettings
    from recollect.systems.openclaw.workspace import Workspace
    from recollect.systems.robotmem.robot import Robot
    from recollect.text.times import TimeSpan
    from recollect.text.times.phrases import when
    from recollect.upkeep.backup import restore

__version__ = "0.2.0.dev0"

_MODULES: dict[str, tuple[str, ...]] = {
    "recollect.aio": ("AsyncClient", "AsyncMind"),
    "recollect.client": ("Client",),
    "recollect.embed": ("Embedder",),
    "recollect.errors": ("EmbeddingError", "InvalidInput", "NotFound", "RecollectError", "StoreError"),
    "recollect.ingest.folder": ("FolderSettings",),
    "recollect.mind": ("Mind",),
    "recollect.model": ("Edge", "EntityEdge", "Filter", "Memory", "Near", "Not", "Use"),
    "recollect.recall.expressions": ("Explanation",),
    "recollect.recall.recipe": ("Recipe",),
    "recollect.recall.context": ("Context",),
    "recollect.recall.results": ("Recall", "Result", "Verdict"),
    "recollect.systems.jeffsbrain.fusion": ("fuse",),
    "recollect.systems.robotmem.robot": ("Robot",),
    "recollect.systems.openclaw.search": ("SearchSettings",),
    "recollect.systems.openclaw.workspace": ("Workspace",),
    "recollect.text.times": ("TimeSpan",),
    "recollect.upkeep.backup": ("restore",),
    "recollect.text.times.phrases": ("when",),
}
_MODULE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "AsyncClient",
    "AsyncMind",
    "Client",
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
    "TimeSpan",
    "Use",
    "Verdict",
    "Workspace",
    "fuse",
    "open",
    "restore",
    "when",
]


def __getattr__(name: str) -> Any:
    if name == "open":
        value = import_module("recollect.mind").open_mind
    elif name in _MODULE:
        value = getattr(import_module(_MODULE[name]), name)
    else:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
