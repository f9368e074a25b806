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
