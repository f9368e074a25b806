"""The few ways in which Recollect says no. Each message names what was wrong and what would be right."""


class RecollectError(Exception):
    """Any refusal of ours; catch this one to catch them all."""


class InvalidInput(RecollectError, ValueError):
    """The call itself was wrong: a blank query, a weight of 9, a date that is not a date."""


class NotFound(RecollectError, LookupError):
    """No memory has that id (or prefix, or external id)."""


class StoreError(RecollectError):
    """The file cannot serve: not a database, from a newer version, read-only, locked or full."""


class EmbeddingError(RecollectError):
    """Text could not be turned into vectors, or the store's vectors come from another model."""


class AccessDenied(RecollectError):
    """The caller may not do this: no valid token, or one whose scope does not include the call."""


class ChangedMeanwhile(RecollectError):
    """Somebody else changed the memory since it was read; read it again."""


class LimitExceeded(RecollectError):
    """Too much at once: a body, a query or a number of calls beyond the limits of a server."""


class ServerUnavailable(RecollectError):
    """No server answers at the address, or it is shutting down."""
