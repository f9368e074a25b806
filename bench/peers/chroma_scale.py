"""chromadb for the area ``scale``: a collection on disk, with filters and single writes."""

from typing import Any

import chromadb  # type: ignore[import-not-found]
import numpy as np

from bench.peers.serve import Ask, serve

AT_ONCE = 5_000


def load(folder: str, texts: list[str], order: dict[str, Any]) -> Ask:
    client = chromadb.PersistentClient(order["collection"], chromadb.Settings(anonymized_telemetry=False))
    filled = client.get_or_create_collection("scale", embedding_function=None, metadata={"hnsw:space": "cosine"})
    vectors = np.load(order["vectors"], mmap_mode="r")
    for start in range(filled.count(), len(vectors), AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, len(vectors)))
        fields = [{"user": n // 10 % 100, "topic": n % 10, "even": n % 2} for n in numbers]
        part = vectors[start : start + AT_ONCE].astype(np.float32)
        filled.add(ids=[f"n{n}" for n in numbers], embeddings=part, metadatas=fields)

    def ask(question: dict[str, Any]) -> Any:
        if "write" in question:
            filled.add(ids=[question["write"]], embeddings=[question["vector"]], documents=[question["text"]])
            return []
        where = question.get("where")
        return filled.query(query_embeddings=[question["vector"]], n_results=question["k"], where=where)["ids"][0]

    return ask


if __name__ == "__main__":
    serve("chromadb", load)
