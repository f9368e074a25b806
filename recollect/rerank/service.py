"""A reranker behind HTTP. Nothing is tried twice: the recall has a deadline to keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.embed import http
from recollect.embed.http import SHOWN as SHOWN
from recollect.model import validation as check
from recollect.rerank.base import RerankError

VARIABLE = "RECOLLECT_RERANK_KEY"  # a name of our own: a key for one service is never sent to another unasked


class Service:
    """An address that takes JSON and answers with JSON, within the timeout."""

    def __init__(self, url: str, path: str, *, key: str | None, variable: str, timeout: float) -> None:
        self._service = http.Service(url, path, key=key, variables=(variable,))
        self.shown = self._service.shown
        self.timeout = check.number(timeout, "timeout", low=1e-3)  # seconds

    def ask(self, body: Mapping[str, Any]) -> Any:
        try:
            return self._service.ask(body, self.timeout)
        except http.Failure as failure:
            raise RerankError(str(failure)) from None
