"""chromadb: the nearest vectors of a collection."""

from collections.abc import Sequence

import chromadb  # type: ignore[import-not-found]

from bench.peers.quality.serve import Ask, Haystack, Vectors, serve

AT_ONCE = 5_000


def build(haystack: Haystack) -> Ask:
    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    for old in client.list_collections():
        client.delete_collection(old.name)
    kept = client.create_collection("bench", embedding_function=None, metadata={"hnsw:space": "cosine"})
    for start in range(0, len(haystack.texts), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        ids = [str(at) for at in range(start, start + len(haystack.texts[part]))]
        kept.add(ids=ids, embeddings=haystack.vectors[part], documents=haystack.texts[part])

    def ask(text: str, vector: Vectors, k: int) -> Sequence[int]:
        found = kept.query(query_embeddings=[vector], n_results=min(k, len(haystack.texts)))
        return [int(id) for id in found["ids"][0]]

    return ask


if __name__ == "__main__":
    serve("chromadb", build)
