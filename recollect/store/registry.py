"""The stores by the scheme of their URL. Packages can add stores of their own."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module

from recollect.errors import InvalidInput
from recollect.model.memory import Clock
from recollect.store.base import Store

StoreFactory = Callable[[str, Clock], Store]  # opens the store at what follows the scheme
BUILT_IN = {"memory": ("recollect.store.reference", "open_reference_store")}
ENTRY_POINTS = "recollect.stores"  # the group under which other packages register a store factory
SCHEME = re.compile(r"([a-z][a-z0-9+]+):(?://)?(.*)", re.DOTALL)  # two letters at least: C: is a drive


def find_store(url: str) -> tuple[StoreFactory | None, str]:
    """The factory for a URL and what it opens; None and a path for an SQLite file."""
    match = SCHEME.fullmatch(url)
    if match is None:
        return None, url
    scheme, location = match.groups()
    if scheme in ("sqlite", "file"):
        return None, location
    if scheme in BUILT_IN:
        module, name = BUILT_IN[scheme]
        factory: StoreFactory = getattr(import_module(module), name)
        return factory, location
    if scheme not in _plugins():
        known = ", ".join(["sqlite", *BUILT_IN, *_plugins()])
        raise InvalidInput(f"There is no store for {scheme}: in {url!r}; there are: {known}. A path opens a file.")
    return _plugins()[scheme], location


@cache
def _plugins() -> dict[str, StoreFactory]:
    from importlib.metadata import entry_points  # slow to import, and needed for other packages only

    return {each.name: each.load() for each in entry_points(group=ENTRY_POINTS)}
