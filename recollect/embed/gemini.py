"""Gemini's embeddings, which distinguish queries from texts that may answer them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.embed.http import HttpService, RetryPolicy, ServiceError
from recollect.embed.remote import MAX_RESPONSE_BYTES, BatchSettings, RemoteEmbedder, VectorsByIndex, get_path

BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
MODEL = "gemini-embedding-001"
KEY_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
UNFINISHED = ("BATCH_STATE_UNSPECIFIED", "BATCH_STATE_PENDING", "BATCH_STATE_RUNNING")
OUTPUTS = (("response", "output"), ("response",), ("metadata", "output"))  # the place differs by API version


class GeminiEmbedder(RemoteEmbedder):
    """POST {requests} to ``url``/models/MODEL:batchEmbedContents, with the task of each text.

    The key comes from ``key``, GEMINI_API_KEY or GOOGLE_API_KEY. ``batch`` sends many texts to the Batch API.
    """

    provider = "gemini"
    max_texts = 100
    max_text_bytes = 8_000  # the model reads 2,048 tokens
    max_request_bytes = 400_000

    def __init__(
        self,
        model: str = MODEL,
        *,
        url: str = BASE_URL,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        dimensions: int | None = None,
        retry: RetryPolicy | None = None,
        concurrency: int = 4,
        batch: BatchSettings | bool = False,
    ) -> None:
        model = model.removeprefix("models/")
        service = HttpService(
            url,
            f"/models/{model}:batchEmbedContents",
            key=key,
            variables=KEY_VARIABLES,
            key_header="x-goog-api-key",  # never in the address, which is logged
            headers=headers,
            max_response_bytes=MAX_RESPONSE_BYTES,
        )
        super().__init__(model, service, dimensions, retry, concurrency, batch)

    @property
    def distinguishes_queries(self) -> bool:
        return True

    def _request_vectors(self, texts: Sequence[str], query: bool, timeout_seconds: float) -> Sequence[Any]:
        body = {"requests": [self._request(text, query) for text in texts]}
        embeddings = get_path(self._post(body, texts, timeout_seconds), "embeddings")
        if not isinstance(embeddings, list):
            raise ServiceError(f"{self._service.address} did not return a list of embeddings.")
        return [get_path(each, "values") for each in embeddings]

    def _request(self, text: str, query: bool) -> dict[str, Any]:
        request = {
            "model": f"models/{self.model}",
            "content": {"parts": [{"text": text}]},
            "taskType": "RETRIEVAL_QUERY" if query else "RETRIEVAL_DOCUMENT",
        }
        return request if self.dimensions is None else {**request, "outputDimensionality": self.dimensions}

    def _run_batch(self, texts: Sequence[str], settings: BatchSettings) -> VectorsByIndex:
        address = self._service.address_of("/batches")
        requests = [{"request": self._request(text, False)} for text in texts]
        batch = {"displayName": "recollect", "inputConfig": {"requests": {"requests": requests}}}
        created = self._call_batch_api("POST", f"/models/{self.model}:asyncBatchEmbedContent", {"batch": batch})
        name = get_path(created, "name")
        if not isinstance(name, str) or not name.startswith("batches/"):
            raise ServiceError(f"{address} did not return the name of the new batch.")

        def poll() -> Any:
            status = self._call_batch_api("GET", f"/{name}")
            state = get_path(status, "metadata", "state") or UNFINISHED[0]
            return None if not get_path(status, "done") and state in UNFINISHED else status

        finished = settings.wait_for(poll)
        if finished is None:
            self._call_batch_api("POST", f"/{name}:cancel", {})
            raise ServiceError(f"{address} had no answer after {settings.timeout_seconds:g} s.")
        with contextlib.suppress(ServiceError):  # the service need not keep the texts any longer
            self._call_batch_api("DELETE", f"/{name}")
        outputs = (get_path(finished, *keys, "inlinedResponses", "inlinedResponses") for keys in OUTPUTS)
        responses = next((each for each in outputs if isinstance(each, list)), None)  # in the order of the requests
        if responses is None or len(responses) != len(texts):
            state = get_path(finished, "metadata", "state") or get_path(finished, "error", "status")
            raise ServiceError(f"{address} ended the batch as {state or 'without an answer for each text'!r}.")
        vectors = {at: get_path(each, "response", "embedding", "values") for at, each in enumerate(responses)}
        return {at: values for at, values in vectors.items() if values}
