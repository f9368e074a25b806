"""The exceptions. Each message names the value, what is allowed and what to do."""


class RecollectError(Exception):
    """The base class of all exceptions of Recollect."""


class InvalidInput(RecollectError, ValueError):
    """An argument is wrong: a blank query, a weight of 9, a date that does not exist."""


class NotFound(RecollectError, LookupError):
    """No memory has this id, beginning of an id, or external id."""


class StoreError(RecollectError):
    """The file cannot be used: not a database, of a newer version, read-only, locked or full."""


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
