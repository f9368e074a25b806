"""The SQLite store: rows on disk are the truth, an in-memory index of them answers recalls."""

from recollect.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
