"""Models that Ollama serves, on this machine or another."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.embed.http import Failure, Patience, Service
from recollect.embed.remote import LONGEST_ANSWER, Remote, at

PORT = 11434
MODEL = "nomic-embed-text"
MODEL_VARIABLE = "RECOLLECT_ABMIND_EMBEDDING_MODEL"  # A18
PATH = "/api/embed"


class OllamaEmbedder(Remote):
    """POST {model, input} to ``url``/api/embed. The address is OLLAMA_HOST or this machine; no key is needed."""

    provider = "ollama"
    most = 256
    letters = 64_000  # Ollama cuts what the model cannot read
    most_letters = 1_000_000

    def __init__(
        self,
        model: str | None = None,
        *,
        url: str | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        dimensions: int | None = None,
        patience: Patience | None = None,
        concurrency: int = 1,
    ) -> None:
        model = model or os.environ.get(MODEL_VARIABLE, "").strip() or MODEL
        service = Service(
            url or _address(os.environ.get("OLLAMA_HOST", "")), PATH, key=key, headers=headers, longest=LONGEST_ANSWER
        )
        super().__init__(model.removesuffix(":latest"), service, dimensions, patience, concurrency)

    def _ask(self, texts: Sequence[str], query: bool, seconds: float) -> Sequence[Any]:
        asked = {"model": self.model, "input": list(texts), "truncate": True}
        if self.dimensions is not None:
            asked["dimensions"] = self.dimensions
        try:
            embeddings = at(self._service.ask(asked, seconds), "embeddings")
        except Failure as failure:
            if failure.status != 404:
                raise
            raise Failure(f"{failure} Get the model with 'ollama pull {self.model}'.", 404) from None
        if not isinstance(embeddings, list):
            raise Failure(f"{self._service.shown} gave no list of embeddings.")
        return embeddings


def _address(host: str) -> str:
    """OLLAMA_HOST as an address: it may lack the scheme and the port, and be that on which the server listens."""
    host = host.strip() or "127.0.0.1"
    whole = host if "://" in host else f"http://{host}"
    whole = re.sub(r"//(0\.0\.0\.0|\[::\])(?=[:/]|$)", "//127.0.0.1", whole)
    return whole if "://" in host or re.search(r":\d+", whole[7:]) else f"{whole.rstrip('/')}:{PORT}"
