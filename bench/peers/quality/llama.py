"""llama-index: BM25 and vectors, joined by its fusion retriever (reciprocal ranks, no generated queries)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from bench.peers.quality.serve import Ask, Haystack, Vectors, serve


class Known(BaseEmbedding):  # type: ignore[misc]
    """Vectors that were made beforehand."""

    haystack: Any

    def _get_text_embedding(self, text: str) -> list[float]:
        vector: list[float] = self.haystack.embed([text])[0].tolist()
        return vector

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def build(haystack: Haystack) -> Ask:
    nodes = [
        TextNode(text=text, id_=str(at), embedding=vector.tolist())
        for at, (text, vector) in enumerate(zip(haystack.texts, haystack.vectors, strict=True))
    ]
    index = VectorStoreIndex(nodes, embed_model=Known(haystack=haystack))

    def ask(text: str, vector: Vectors, k: int) -> Sequence[int]:
        most = min(k, len(nodes))
        legs = [index.as_retriever(similarity_top_k=most), words(most)]
        fusion = QueryFusionRetriever(
            legs, similarity_top_k=most, num_queries=1, mode="reciprocal_rerank", use_async=False, llm=MockLLM()
        )
        return [int(each.node.node_id) for each in fusion.retrieve(text)]

    made: dict[int, Any] = {}

    def words(most: int) -> Any:
        if most not in made:
            made[most] = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=most)
        return made[most]

    words(min(10, len(nodes)))
    return ask


if __name__ == "__main__":
    serve("llama-index-core", build)
