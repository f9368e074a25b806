"""OpenAI's embeddings, and services with the same API (vLLM, llama.cpp, LM Studio, LiteLLM, Azure, …)."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.embed.http import HttpService, RetryPolicy, ServiceError
from recollect.embed.remote import MAX_RESPONSE_BYTES, BatchSettings, RemoteEmbedder, VectorsByIndex, get_path

BASE_URL = "https://api.openai.com/v1"
MODEL = "text-embedding-3-small"
KEY_VARIABLE = "OPENAI_API_KEY"
OTHER_KEY_VARIABLE = "RECOLLECT_EMBED_KEY"  # OpenAI's key is not sent to other addresses by default
PATH = "/embeddings"
FINISHED = ("completed", "failed", "expired", "cancelled")


class OpenAIEmbedder(RemoteEmbedder):
    """POST {model, input} to ``url``/embeddings.

    OpenAIEmbedder("nomic-embed-text-v1.5", url="http://localhost:1234/v1")

    The address is OPENAI_BASE_URL or OpenAI's own. The key comes from ``key``, or from the environment variable
    ``variable``: OPENAI_API_KEY, or RECOLLECT_EMBED_KEY where ``url`` is given. ``batch`` sends many texts to the Batch
    API.
    """

    provider = "openai"
    max_texts = 2048
    max_text_bytes = 16_000  # about two per token, of which 8,192 are read; a text still rejected is halved
    max_request_bytes = 600_000  # 300,000 tokens

    def __init__(
        self,
        model: str = MODEL,
        *,
        url: str | None = None,
        key: str | None = None,
        variable: str | None = None,
        headers: Mapping[str, str] | None = None,
        dimensions: int | None = None,
        retry: RetryPolicy | None = None,
        concurrency: int = 4,
        batch: BatchSettings | bool = False,
    ) -> None:
        variable = variable or (KEY_VARIABLE if url in (None, BASE_URL) else OTHER_KEY_VARIABLE)
        service = HttpService(
            url if url is not None else os.environ.get("OPENAI_BASE_URL") or BASE_URL,
            PATH,
            key=key,
            variables=(variable,),
            headers=headers,
            max_response_bytes=MAX_RESPONSE_BYTES,
        )
        super().__init__(model, service, dimensions, retry, concurrency, batch)

    def _request_vectors(self, texts: Sequence[str], query: bool, timeout_seconds: float) -> Sequence[Any]:
        return self._vectors_in(self._post(self._body(list(texts)), texts, timeout_seconds))

    def _body(self, input: list[str] | str) -> dict[str, Any]:
        body = {"model": self.model, "input": input, "encoding_format": "float"}
        return body if self.dimensions is None else {**body, "dimensions": self.dimensions}

    def _vectors_in(self, response: Any) -> list[Any]:
        """The vectors in the order of the texts, which their index gives."""
        data = get_path(response, "data")
        try:
            rows = {each["index"]: each["embedding"] for each in data}
            return [rows[at] for at in range(len(data))]
        except (TypeError, KeyError):
            raise ServiceError(
                f"{self._service.address} did not return a list of embeddings, each with its index."
            ) from None

    def _run_batch(self, texts: Sequence[str], settings: BatchSettings) -> VectorsByIndex:
        """Upload the requests as a file, start the batch, wait for it, and read the file of results."""
        address = self._service.address_of("/batches")
        lines = [
            {"custom_id": str(number), "method": "POST", "url": "/v1/embeddings", "body": self._body(text)}
            for number, text in enumerate(texts)
        ]
        content = "\n".join(map(json.dumps, lines)).encode()
        upload = {"data": {"purpose": "batch"}, "files": {"file": ("texts.jsonl", content, "application/jsonl")}}
        input_file = self._created_id(self._call_batch_api("POST", "/files", **upload), "file")
        files = [input_file]
        try:
            order = {"input_file_id": input_file, "endpoint": "/v1/embeddings", "completion_window": "24h"}
            batch = self._created_id(self._call_batch_api("POST", "/batches", order), "batch")

            def poll() -> Any:
                status = self._call_batch_api("GET", f"/batches/{batch}")
                return status if get_path(status, "status") in FINISHED else None

            finished = settings.wait_for(poll)
            if finished is None:
                self._call_batch_api("POST", f"/batches/{batch}/cancel")
                raise ServiceError(f"{address} had no answer after {settings.timeout_seconds:g} s.")
            output_file = get_path(finished, "output_file_id")
            files += filter(None, (output_file, get_path(finished, "error_file_id")))
            if not output_file:
                raise ServiceError(f"{address} ended the batch as {get_path(finished, 'status')!r}.")
            path = f"/files/{output_file}/content"
            results = self._retry_batch_call(lambda seconds: self._service.request("GET", path, seconds))
            return self._batch_results(results, len(texts))
        finally:
            for file in files:  # the service need not keep the texts any longer
                with contextlib.suppress(ServiceError):
                    self._call_batch_api("DELETE", f"/files/{file}")

    def _created_id(self, response: Any, what: str) -> str:
        id = get_path(response, "id")
        if not isinstance(id, str) or not id:
            raise ServiceError(f"{self._service.address_of('')} did not return the id of the new {what}.")
        return id

    def _batch_results(self, content: bytes, count: int) -> VectorsByIndex:
        """The vectors of the requests that succeeded; malformed lines count as failed."""
        vectors: VectorsByIndex = {}
        for line in content.splitlines():
            with contextlib.suppress(ValueError, TypeError, ServiceError):
                result = json.loads(line)
                number = int(get_path(result, "custom_id"))
                if get_path(result, "response", "status_code") == 200 and 0 <= number < count:
                    (vectors[number],) = self._vectors_in(get_path(result, "response", "body"))
        return vectors
