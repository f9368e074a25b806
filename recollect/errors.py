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
