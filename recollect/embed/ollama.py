"""Models served by Ollama, on this machine or another."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.embed.http import HttpService, RetryPolicy, ServiceError
from recollect.embed.remote import MAX_RESPONSE_BYTES, RemoteEmbedder, get_path

PORT = 11434
MODEL = "nomic-embed-text"
MODEL_VARIABLE = "RECOLLECT_ABMIND_EMBEDDING_MODEL"  # A18
PATH = "/api/embed"


class OllamaEmbedder(RemoteEmbedder):
    """POST {model, input} to ``url``/api/embed. The address is OLLAMA_HOST or this machine; no key is needed."""

    provider = "ollama"
    max_texts = 256
    max_text_bytes = 64_000  # Ollama truncates what the model cannot read
    max_request_bytes = 1_000_000

    def __init__(
        self,
        model: str | None = None,
        *,
        url: str | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        dimensions: int | None = None,
        retry: RetryPolicy | None = None,
        concurrency: int = 1,
    ) -> None:
        model = model or os.environ.get(MODEL_VARIABLE, "").strip() or MODEL
        address = url or _host_address(os.environ.get("OLLAMA_HOST", ""))
        service = HttpService(address, PATH, key=key, headers=headers, max_response_bytes=MAX_RESPONSE_BYTES)
        super().__init__(model.removesuffix(":latest"), service, dimensions, retry, concurrency)

    def _request_vectors(self, texts: Sequence[str], query: bool, timeout_seconds: float) -> Sequence[Any]:
        body = {"model": self.model, "input": list(texts), "truncate": True}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        try:
            embeddings = get_path(self._post(body, texts, timeout_seconds), "embeddings")
        except ServiceError as error:
            if error.status != 404:
                raise
            raise ServiceError(f"{error} Get the model with 'ollama pull {self.model}'.", 404) from None
        if not isinstance(embeddings, list):
            raise ServiceError(f"{self._service.address} did not return a list of embeddings.")
        return embeddings


def _host_address(host: str) -> str:
    """OLLAMA_HOST as an address: it may lack the scheme and the port, and may be the address the server listens on."""
    host = host.strip() or "127.0.0.1"
    address = host if "://" in host else f"http://{host}"
    address = re.sub(r"//(0\.0\.0\.0|\[::\])(?=[:/]|$)", "//127.0.0.1", address)
    return address if "://" in host or re.search(r":\d+", address[7:]) else f"{address.rstrip('/')}:{PORT}"
