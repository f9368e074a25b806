"""chromadb: the vector-only query of a collection in a file, given the same vectors."""

from typing import Any

import chromadb  # type: ignore[import-not-found]
import numpy as np

from bench.peers.serve import Ask, serve

AT_ONCE = 5_000


def load(folder: str, texts: list[str], order: dict[str, Any]) -> Ask:
    client = chromadb.PersistentClient(f"{folder}/chroma", chromadb.Settings(anonymized_telemetry=False))
    kept = client.create_collection("bench", embedding_function=None, metadata={"hnsw:space": "cosine"})
    matrix = np.fromfile(order["vectors"], dtype=np.float32).reshape(len(texts), -1)
    for start in range(0, len(texts), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        ids = [str(number) for number in range(start, start + len(texts[part]))]
        kept.add(ids=ids, embeddings=matrix[part], documents=texts[part])

    def ask(question: dict[str, Any]) -> Any:
        return kept.query(query_embeddings=[question["vector"]], n_results=question["k"])["ids"][0]

    return ask


if __name__ == "__main__":
    serve("chromadb", load)
