"""robotmem: its SDK's recall. BM25 only, since its vectors need a model from a hub."""

from typing import Any

from robotmem.ops.memories import insert_memory  # type: ignore[import-not-found]
from robotmem.sdk import RobotMemory  # type: ignore[import-not-found]

from bench.peers.serve import Ask, serve


def load(folder: str, texts: list[str], order: dict[str, Any]) -> Ask:
    memory = RobotMemory(db_path=f"{folder}/robotmem.db", embed_backend="none")
    connection = memory._db.conn
    (held,) = connection.execute("PRAGMA synchronous").fetchone()
    connection.execute("PRAGMA synchronous = OFF")  # for loading only
    for text in texts:  # as learn() writes, without its search for duplicates before each
        insert_memory(connection, {"content": text, "collection": "default", "confidence": 0.9})
    connection.execute(f"PRAGMA synchronous = {held}")

    def ask(question: dict[str, Any]) -> Any:
        return memory.recall(question["text"], n=question["k"])

    return ask


if __name__ == "__main__":
    serve("robotmem", load)
