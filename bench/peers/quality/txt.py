"""txtai with a hybrid index: BM25 and vectors, half and half, as it does by default."""

from collections.abc import Sequence

from txtai import Embeddings  # type: ignore[import-not-found]

from bench.peers.quality.serve import Ask, Haystack, Vectors, serve


def build(haystack: Haystack) -> Ask:
    embeddings = Embeddings(method="external", transform=lambda texts: haystack.embed(texts), hybrid=True)
    embeddings.index((at, text, None) for at, text in enumerate(haystack.texts))

    def ask(text: str, vector: Vectors, k: int) -> Sequence[int]:
        return [at for at, _ in embeddings.search(text, k)]

    return ask


if __name__ == "__main__":
    serve("txtai", build)
