"""The exceptions. Each message names the value, what is allowed and what to do."""

from typing import Self


class RecollectError(Exception):
    """The base class of all exceptions of Recollect."""

    hint = ""  # what to do, for interfaces that show it; empty: the hint of the class in ``service/errors.py``

    def advise(self, hint: str) -> Self:
        """This error with another hint than the one of its class."""
        self.hint = hint
        return self


class InvalidInput(RecollectError, ValueError):
    """An argument is wrong: a blank query, a weight of 9, a date that does not exist."""


class NotFound(RecollectError, LookupError):
    """No memory has this id, beginning of an id, or external id."""


class StoreError(RecollectError):
    """The file cannot be used: not a database, of a newer version, read-only, locked or full."""


class StoreUnavailable(StoreError):
    """The server of a store is gone, or the connection to it. What was being done was not done, and can be done again.

    ``retry_seconds`` is how long that is worth trying, as the store is configured."""

    def __init__(self, message: str, retry_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class DamagedFile(StoreError):
    """The file cannot be read as it was written: a bad disk, a torn copy, or another program wrote to it."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(
            f"{path} is damaged: {problem}. What it contains is not used. Put a backup in its place with 'recollect "
            f"restore', or run 'recollect --db {path} doctor': it says what is affected, and whether 'doctor --fix' or "
            "'doctor --salvage' can help."
        )
        self.path = path


class DamagedIndex(DamagedFile):
    """A file of the index beside the database cannot be used. It is dropped, and the next snapshot builds it again."""

    def __init__(self, path: str, problem: str) -> None:
        StoreError.__init__(self, f"{path} is damaged: {problem}. The index is built again from the memories.")
        self.path = path


class EmbeddingError(RecollectError):
    """A text could not be embedded, or the stored vectors are of another model."""


class AccessDenied(RecollectError):
    """The caller may not do this: no valid token, or one whose scope does not include the call."""


class EditConflict(RecollectError):
    """Somebody else changed the memory since it was read; read it again."""


class LimitExceeded(RecollectError):
    """Too much at once: a body, a query or a number of calls beyond the limits of a server."""


class ServerUnavailable(RecollectError):
    """No server answers at the address, or it is shutting down."""
