"""The few ways in which Recollect says no. Each message names what was wrong and what would be right."""


class RecollectError(Exception):
    """Any refusal of ours; catch this one to catch them all."""


class InvalidInput(RecollectError, ValueError):
    """The call itself was wrong: a blank query, a weight of 9, a date that is not a date."""


class NotFound(RecollectError, LookupError):
    """No memory has that id (or prefix, or external id)."""


class StoreError(RecollectError):
    """The file cannot serve: not a database, from a newer version, read-only, locked or full."""


class DamagedFile(StoreError):
    """The file cannot be read as it was written: a bad disk, a torn copy, or another program wrote to it."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(
            f"{path} is damaged: {problem}. What it contains is not used. Run 'recollect --db {path} doctor' to see "
            "what is affected, then 'doctor --fix', or put a backup in its place with 'recollect restore'."
        )
        self.path = path


class EmbeddingError(RecollectError):
    """Text could not be turned into vectors, or the store's vectors come from another model."""
