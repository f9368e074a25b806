"""robotmem: its SDK's recall, words and vectors. It keeps the first 300 letters of a text."""

import sys
from collections.abc import Sequence

import pysqlite3  # type: ignore[import-not-found]

sys.modules["sqlite3"] = pysqlite3  # many Pythons cannot load extensions into theirs, and its vectors need one

from robotmem.db import floats_to_blob  # type: ignore[import-not-found]  # noqa: E402
from robotmem.ops.memories import insert_memory  # type: ignore[import-not-found]  # noqa: E402
from robotmem.sdk import RobotMemory  # type: ignore[import-not-found]  # noqa: E402

from bench.peers.quality.serve import Ask, Haystack, Vectors, serve  # noqa: E402


class Known:
    """Vectors that were made beforehand, as robotmem asks for them."""

    available, unavailable_reason, model = True, "", "known"

    def __init__(self, haystack: Haystack) -> None:
        self.dim = haystack.vectors.shape[1]
        self._haystack = haystack

    def embed_one_sync(self, text: str) -> list[float]:
        vector: list[float] = self._haystack.embed([text])[0].tolist()
        return vector


def build(haystack: Haystack) -> Ask:
    memory = RobotMemory(db_path=f"{haystack.folder}/robotmem.db", embed_backend="none")
    memory._embedder = Known(haystack)
    connection = memory._db.conn
    connection.execute("PRAGMA synchronous = OFF")
    places: dict[int, int] = {}
    for at, (text, vector) in enumerate(zip(haystack.texts, haystack.vectors, strict=True)):
        # As learn() writes, without its search for duplicates before each.
        row = {"content": text, "collection": "default", "confidence": 0.9}
        id = insert_memory(connection, {**row, "embedding": floats_to_blob(vector.tolist())}, memory._db.vec_loaded)
        places.setdefault(id, at)  # the same beginning again is the same memory to it

    def ask(text: str, vector: Vectors, k: int) -> Sequence[int]:
        return [places[each["id"]] for each in memory.recall(text, n=min(k, 100))]

    return ask


if __name__ == "__main__":
    serve("robotmem", build)
