"""The stores by the scheme of their URL. Packages can add stores of their own."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Protocol

from recollect.errors import InvalidInput
from recollect.model import Clock
from recollect.store.base import Store


class StoreFactory(Protocol):
    """Opens the store at what follows the scheme. With ``readonly`` it must exist, and is not written to."""

    def __call__(self, location: str, clock: Clock, *, readonly: bool = False) -> Store: ...


BUILT_IN = {
    "memory": ("recollect.store.reference", "open_reference_store"),
    "postgresql": ("recollect.store.postgres", "open_postgres_store"),
    "postgres": ("recollect.store.postgres", "open_postgres_store"),
}
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


def open_store(url: str, clock: Clock, readonly: bool = False) -> Store:
    """The store at a path or URL. With ``readonly`` it must exist, and is not written to."""
    factory, location = find_store(url)
    if factory is not None:
        return factory(location, clock, readonly=readonly)
    from recollect.store.sqlite import SqliteStore

    return SqliteStore(location, clock, readonly=readonly)


@cache
def _plugins() -> dict[str, StoreFactory]:
    from importlib.metadata import entry_points  # slow to import, and needed for other packages only

    return {each.name: each.load() for each in entry_points(group=ENTRY_POINTS)}
