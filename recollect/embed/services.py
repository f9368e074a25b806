"""Embedders of services: OpenAI and services with the same API, Gemini, and Ollama."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.embed.http import HttpService, RetryPolicy, ServiceError
from recollect.embed.remote import MAX_RESPONSE_BYTES, BatchSettings, RemoteEmbedder, VectorsByIndex, get_path

OPENAI_URL = "https://api.openai.com/v1"
OTHER_KEY_VARIABLE = "RECOLLECT_EMBED_KEY"  # OpenAI's key is not sent to other addresses by default
OPENAI_FINISHED = ("completed", "failed", "expired", "cancelled")
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"
GEMINI_UNFINISHED = ("BATCH_STATE_UNSPECIFIED", "BATCH_STATE_PENDING", "BATCH_STATE_RUNNING")
GEMINI_OUTPUTS = (("response", "output"), ("response",), ("metadata", "output"))  # the place differs by API version
OLLAMA_PORT = 11434
OLLAMA_MODEL = "nomic-embed-text"
OLLAMA_MODEL_VARIABLE = "RECOLLECT_ABMIND_EMBEDDING_MODEL"  # A18


class OpenAIEmbedder(RemoteEmbedder):
    """OpenAI's embeddings, and services with the same API (vLLM, llama.cpp, LM Studio, LiteLLM, Azure, …).

    POST {model, input} to ``url``/embeddings.

    OpenAIEmbedder("nomic-embed-text-v1.5", url="http://localhost:1234/v1")

    The address is OPENAI_BASE_URL or OpenAI's own. The key comes from ``key``, or from the environment variable
    ``variable``: OPENAI_API_KEY, or RECOLLECT_EMBED_KEY where ``url`` is given. ``batch`` sends many texts to the Batch
    API.
    """

    provider = "openai"
    key_variables = ("OPENAI_API_KEY",)
    max_texts = 2048
    max_text_bytes = 16_000  # about two per token, of which 8,192 are read; a text still rejected is halved
    max_request_bytes = 600_000  # 300,000 tokens

    def __init__(
        self,
        model: str = "text-embedding-3-small",
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
        variable = variable or (self.key_variables[0] if url in (None, OPENAI_URL) else OTHER_KEY_VARIABLE)
        service = HttpService(
            url if url is not None else os.environ.get("OPENAI_BASE_URL") or OPENAI_URL,
            "/embeddings",
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
                return status if get_path(status, "status") in OPENAI_FINISHED else None

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


class GeminiEmbedder(RemoteEmbedder):
    """Gemini's embeddings, which distinguish queries from texts that may answer them.

    POST {requests} to ``url``/models/MODEL:batchEmbedContents, with the task of each text.

    The key comes from ``key``, GEMINI_API_KEY or GOOGLE_API_KEY. ``batch`` sends many texts to the Batch API.
    """

    provider = "gemini"
    key_variables = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    max_texts = 100
    max_text_bytes = 8_000  # the model reads 2,048 tokens
    max_request_bytes = 400_000

    def __init__(
        self,
        model: str = "gemini-embedding-001",
        *,
        url: str = GEMINI_URL,
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
            variables=self.key_variables,
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
            state = get_path(status, "metadata", "state") or GEMINI_UNFINISHED[0]
            return None if not get_path(status, "done") and state in GEMINI_UNFINISHED else status

        finished = settings.wait_for(poll)
        if finished is None:
            self._call_batch_api("POST", f"/{name}:cancel", {})
            raise ServiceError(f"{address} had no answer after {settings.timeout_seconds:g} s.")
        with contextlib.suppress(ServiceError):  # the service need not keep the texts any longer
            self._call_batch_api("DELETE", f"/{name}")
        outputs = (get_path(finished, *keys, "inlinedResponses", "inlinedResponses") for keys in GEMINI_OUTPUTS)
        responses = next((each for each in outputs if isinstance(each, list)), None)  # in the order of the requests
        if responses is None or len(responses) != len(texts):
            state = get_path(finished, "metadata", "state") or get_path(finished, "error", "status")
            raise ServiceError(f"{address} ended the batch as {state or 'without an answer for each text'!r}.")
        vectors = {at: get_path(each, "response", "embedding", "values") for at, each in enumerate(responses)}
        return {at: values for at, values in vectors.items() if values}


class OllamaEmbedder(RemoteEmbedder):
    """Models served by Ollama, on this machine or another.

    POST {model, input} to ``url``/api/embed. The address is OLLAMA_HOST or this machine; no key is needed.
    """

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
        model = model or os.environ.get(OLLAMA_MODEL_VARIABLE, "").strip() or OLLAMA_MODEL
        address = url or _host_address(os.environ.get("OLLAMA_HOST", ""))
        service = HttpService(address, "/api/embed", key=key, headers=headers, max_response_bytes=MAX_RESPONSE_BYTES)
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
    return address if "://" in host or re.search(r":\d+", address[7:]) else f"{address.rstrip('/')}:{OLLAMA_PORT}"
