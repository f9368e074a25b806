"""One SQLite file: rows are the truth on disk, an image of them in memory answers recalls."""

from recollect.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
