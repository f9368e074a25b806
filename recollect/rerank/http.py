"""A rerank service: anything that speaks as Cohere's /rerank does (Jina, vLLM, llama.cpp, Infinity, LiteLLM, …)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from recollect.rerank.base import RerankError, Scores
from recollect.rerank.service import VARIABLE, Service

LARGEST = sys.float_info.max


class HttpReranker:
    """POST {model, query, documents, top_n} to ``url`` (``/rerank`` is added where it is missing).

    HttpReranker("https://api.cohere.com/v2", "rerank-v3.5", variable="COHERE_API_KEY")

    The key comes from ``key`` or from the environment variable ``variable``, looked up when it is needed.
    """

    def __init__(
        self, url: str, model: str = "", *, key: str | None = None, variable: str = VARIABLE, timeout: float = 10.0
    ) -> None:
        self.service = Service(url, "/rerank", key=key, variable=variable, timeout=timeout)
        self.model = model
        self.name = model or self.service.shown

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        body: dict[str, Any] = {"query": query, "documents": list(texts), "top_n": len(texts)}
        if self.model:
            body["model"] = self.model
        return self._scores(self.service.ask(body), len(texts))

    def __repr__(self) -> str:
        return f"HttpReranker({self.service.shown!r}, {self.model!r})"

    def _scores(self, answer: Any, count: int) -> Scores:
        results = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(results, list):
            raise RerankError(f"{self.service.shown} gave no list of results.")
        scores = np.full(count, np.nan)
        for result in results:
            said: dict[str, Any] = result if isinstance(result, dict) else {}
            at, score = said.get("index"), said.get("relevance_score", "nothing")
            if type(at) is not int or not 0 <= at < count:
                raise RerankError(
                    f"{self.service.shown} gave a score for document {at!r:.40}; there are 0 to {count - 1}."
                )
            if type(score) not in (int, float) or not abs(score) < LARGEST:  # NaN is not less than anything
                raise RerankError(f"{self.service.shown} gave document {at} no score to compare, but {score!r:.40}.")
            if not np.isnan(scores[at]):
                raise RerankError(f"{self.service.shown} gave two scores for document {at}.")
            scores[at] = score
        missing = int(np.isnan(scores).sum())
        if missing:
            raise RerankError(f"{self.service.shown} scored {count - missing} of {count} documents.")
        return scores
