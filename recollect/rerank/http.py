"""Rerank services behind HTTP: anything with the API of Cohere's /rerank (Jina, vLLM, llama.cpp, Infinity, LiteLLM, …).

Nothing is retried: the recall has a deadline to keep.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recollect.embed.http import HttpService, ServiceError
from recollect.model import check
from recollect.rerank.base import RerankError, Scores

KEY_VARIABLE = "RECOLLECT_RERANK_KEY"  # our own name: a key for one service is never sent to another by default
LARGEST = sys.float_info.max


class RerankService:
    """An address that takes and returns JSON, with a timeout."""

    def __init__(self, url: str, path: str, *, key: str | None, variable: str, timeout: float) -> None:
        self._service = HttpService(url, path, key=key, variables=(variable,))
        self.address = self._service.address
        self.timeout_seconds = check.number(timeout, "timeout", low=1e-3)

    def post(self, body: Mapping[str, Any]) -> Any:
        try:
            return self._service.post(body, self.timeout_seconds)
        except ServiceError as error:
            raise RerankError(str(error)) from None


class HttpReranker:
    """POST {model, query, documents, top_n} to ``url`` (``/rerank`` is added where it is missing).

    HttpReranker("https://api.cohere.com/v2", "rerank-v3.5", variable="COHERE_API_KEY")

    The key comes from ``key`` or from the environment variable ``variable``, looked up when it is needed. ``timeout``
    is in seconds.
    """

    def __init__(
        self, url: str, model: str = "", *, key: str | None = None, variable: str = KEY_VARIABLE, timeout: float = 10.0
    ) -> None:
        self.service = RerankService(url, "/rerank", key=key, variable=variable, timeout=timeout)
        self.model = model
        self.name = model or self.service.address

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        body: dict[str, Any] = {"query": query, "documents": list(texts), "top_n": len(texts)}
        if self.model:
            body["model"] = self.model
        return self._scores(self.service.post(body), len(texts))

    def __repr__(self) -> str:
        return f"HttpReranker({self.service.address!r}, {self.model!r})"

    def _scores(self, response: Any, count: int) -> Scores:
        address = self.service.address
        results = response.get("results") if isinstance(response, dict) else None
        if not isinstance(results, list):
            raise RerankError(f"{address} did not return a list of results.")
        scores = np.full(count, np.nan)
        for result in results:
            fields: dict[str, Any] = result if isinstance(result, dict) else {}
            at, score = fields.get("index"), fields.get("relevance_score", "nothing")
            if type(at) is not int or not 0 <= at < count:
                raise RerankError(f"{address} returned a score for document {at!r:.40}; there are 0 to {count - 1}.")
            if type(score) not in (int, float) or not abs(score) < LARGEST:  # NaN is not less than anything
                raise RerankError(f"{address} returned {score!r:.40} as the score of document {at}.")
            if not np.isnan(scores[at]):
                raise RerankError(f"{address} returned two scores for document {at}.")
            scores[at] = score
        missing = int(np.isnan(scores).sum())
        if missing:
            raise RerankError(f"{address} scored {count - missing} of {count} documents.")
        return scores
