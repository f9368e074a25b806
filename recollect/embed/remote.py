"""The base of embedders behind HTTP: request sizes, retries, batch APIs, and checks of the responses."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.embed.base import TextsRejected, Vectors
from recollect.embed.http import INPUT_REJECTED, HttpService, Retrier, RetryPolicy, ServiceError
from recollect.errors import EmbeddingError, InvalidInput
from recollect.model import check, limit

log = logging.getLogger("recollect")
MAX_RESPONSE_BYTES = 512 << 20  # a batch of 2,000 large vectors in JSON
PROBE_TEXT = "Does the embedder answer?"  # a text that no service rejects
MIN_CHARACTERS = 500  # a text that is rejected at this length is not rejected for its length
T = TypeVar("T")
VectorsByIndex = dict[int, Any]  # vectors from a batch API, by the index of their text


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model without asking: its dimensions, and the prefixes it expects of queries and texts."""

    dim: int
    query_prefix: str = ""
    text_prefix: str = ""


MODELS = {
    "text-embedding-3-small": ModelInfo(1536),
    "text-embedding-3-large": ModelInfo(3072),
    "text-embedding-ada-002": ModelInfo(1536),
    "gemini-embedding-001": ModelInfo(3072),
    "nomic-embed-text": ModelInfo(768, "search_query: ", "search_document: "),
    "mxbai-embed-large": ModelInfo(1024, "Represent this sentence for searching relevant passages: "),
    "embeddinggemma": ModelInfo(768, "task: search result | query: ", "title: none | text: "),
    "all-minilm": ModelInfo(384),
    "bge-m3": ModelInfo(1024),
}


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """When texts are sent to a provider's batch API, which costs half and answers later, and how to wait for it."""

    min_texts: int = 100  # fewer texts than this are embedded directly
    max_texts: int = 2000  # per batch
    concurrency: int = 2  # batches at the same time
    poll_seconds: float = 10.0
    timeout_seconds: float = 24 * 3600.0  # after which a batch is cancelled

    def __post_init__(self) -> None:
        for name in ("min_texts", "max_texts", "concurrency"):
            check.integer(getattr(self, name), name, low=1)
        for name in ("poll_seconds", "timeout_seconds"):
            check.number(getattr(self, name), name, low=0.0)

    def wait_for(self, poll: Callable[[], T | None]) -> T | None:
        """The first result of ``poll`` that is not None; None after the timeout."""
        until = time.monotonic() + self.timeout_seconds
        while (result := poll()) is None and time.monotonic() < until:
            time.sleep(self.poll_seconds)
        return result


class RemoteEmbedder:
    """An embedder behind HTTP. Subclasses say how texts become a request and a response vectors: ``_request_vectors``.

    Those with a batch API have ``_run_batch``, too.
    """

    provider: ClassVar[str]
    key_variables: ClassVar[tuple[str, ...]] = ()  # of the environment: the first that is set has the key
    max_texts: ClassVar[int]  # per request
    max_text_bytes: ClassVar[int]  # UTF-8 bytes of a text that are sent; the rest would be rejected or ignored
    cached_by_default = True
    max_request_bytes: ClassVar[int]  # the same for all texts of a request

    def __init__(
        self,
        model: str,
        service: HttpService,
        dimensions: int | None,
        retry: RetryPolicy | None,
        concurrency: int,
        batch: BatchSettings | bool = False,
    ) -> None:
        self.model = check.string(model, "model")
        if not self.model:
            raise InvalidInput("model is empty; name one.")
        self.dimensions = None if dimensions is None else check.integer(dimensions, "dimensions", low=1)
        self.concurrency = check.integer(concurrency, "concurrency", low=1)
        self.batch = BatchSettings() if batch is True else batch or None
        self._service = service
        self._retrier = Retrier(retry or RetryPolicy())
        self._batch_retrier = Retrier(replace(self._retrier.policy, cooldown_seconds=0.0))  # direct requests may work
        self._info = MODELS.get(self.model.partition(":")[0], ModelInfo(0))
        self._dim: int | None = dimensions or self._info.dim or None

    @property
    def name(self) -> str:
        """Vectors of embedders with the same name can be compared. ``resolve_embedder`` accepts the name."""
        return f"{self.provider}:{self.model}" + (f"@{self.dimensions}" if self.dimensions else "")

    @property
    def fingerprint(self) -> str:
        """Tells two services with a model of the same name apart, without secrets."""
        settings = [
            self._service.address, self.model, self.dimensions, self._info.query_prefix, self._info.text_prefix
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:16]

    @property
    def known_dim(self) -> int | None:
        return self._dim

    @property
    def dim(self) -> int:
        return self._dim or self.embed(["dimensions"]).shape[1]

    @property
    def distinguishes_queries(self) -> bool:
        return bool(self._info.query_prefix or self._info.text_prefix)

    @property
    def batch_size(self) -> int | None:
        """Enough texts to keep all batches of a batch API busy."""
        return self.batch.max_texts * self.batch.concurrency if self.batch else None

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        prefix = self._info.query_prefix if query else self._info.text_prefix
        inputs = [self._truncate(prefix + text) for text in texts]
        try:
            found: VectorsByIndex = {}
            if self.batch and not query and len(inputs) >= self.batch.min_texts:
                found = self._embed_in_batches(inputs, self.batch)
            missing = [at for at in range(len(inputs)) if at not in found]
            direct = self._embed_directly([inputs[at] for at in missing], query)
            rows = {**found, **dict(zip(missing, direct, strict=True))}
            rejected = {at: str(row) for at, row in rows.items() if isinstance(row, ServiceError)}
            accepted = [at for at in range(len(texts)) if at not in rejected]
            vectors = self._to_vectors([rows[at] for at in accepted]) if accepted else np.empty((0, 0), np.float32)
        except ServiceError as error:
            raise EmbeddingError(str(error)) from None
        if rejected:
            others = dict(zip((texts[at] for at in accepted), vectors, strict=True))
            raise TextsRejected({texts[at]: reason for at, reason in sorted(rejected.items())}, others)
        return vectors

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r} at {self._service.address!r})"

    # For subclasses to define.

    def _request_vectors(self, texts: Sequence[str], query: bool, timeout_seconds: float) -> Sequence[Any]:
        """One request: one vector per text, in order."""
        raise NotImplementedError

    def _run_batch(self, texts: Sequence[str], settings: BatchSettings) -> VectorsByIndex:
        """Submit one batch, wait for it and read its results."""
        raise NotImplementedError

    # Shared by subclasses.

    def _post(self, body: Mapping[str, Any], texts: Sequence[str], timeout_seconds: float) -> Any:
        """POST a request for the vectors of texts; the size of the response is limited by how many there are."""
        return self._service.post(body, timeout_seconds, (len(texts) + 1) * limit("vector_answer_bytes"))

    def _embed_directly(self, texts: Sequence[str], query: bool) -> list[Any]:
        groups = list(self._groups(texts))
        if len(groups) == 1:
            return list(self._request_splitting(groups[0], query))
        with ThreadPoolExecutor(self.concurrency, "recollect-embed") as pool:
            results = pool.map(lambda group: self._request_splitting(group, query), groups)
            return [row for rows in results for row in rows]

    def _request_splitting(self, texts: Sequence[str], query: bool, until: float | None = None) -> Sequence[Any]:
        """The vectors; when a request is rejected, those of its halves, down to a single text.

        A text that is rejected by itself has its ServiceError in place of a vector, if the service accepts others. For
        a query, whose user is waiting, one deadline covers all requests.
        """
        policy = self._retrier.policy
        seconds = policy.query_timeout_seconds if query else policy.timeout_seconds
        if until is not None:
            seconds = max(1e-3, until - time.monotonic())
        end = time.monotonic() + seconds if query else None
        try:
            rows = self._retrier.call(lambda left: self._request_vectors(texts, query, left), seconds)
        except ServiceError as error:
            if error.status not in INPUT_REJECTED or texts == [PROBE_TEXT]:
                raise
            if len(texts) == 1 and len(texts[0]) > MIN_CHARACTERS:
                return self._request_splitting([texts[0][: len(texts[0]) // 2]], query, end)
            if len(texts) == 1:
                # Raises when the rejection is not about the text, but a wrong model or key.
                self._request_splitting([PROBE_TEXT], query, end)
                return [error]
            half = len(texts) // 2
            return [
                *self._request_splitting(texts[:half], query, end),
                *self._request_splitting(texts[half:], query, end),
            ]
        if len(rows) != len(texts):
            count = "a single text" if len(texts) == 1 else f"{len(texts)} texts"
            raise ServiceError(f"{self._service.address} returned {len(rows)} vectors for {count}.")
        return rows

    def _embed_in_batches(self, texts: Sequence[str], settings: BatchSettings) -> VectorsByIndex:
        """Vectors from the batch API; those of failed batches and left-out texts are missing."""

        def run(start: int) -> VectorsByIndex:
            part = texts[start : start + settings.max_texts]
            try:
                vectors = self._run_batch(part, settings)
            except ServiceError as error:
                log.warning("A batch of %s texts failed: %s They are embedded directly.", len(part), error)
                return {}
            if missing := len(part) - len(vectors):
                log.warning("A batch left out %s of %s texts. They are embedded directly.", missing, len(part))
            return {start + at: vector for at, vector in vectors.items()}

        with ThreadPoolExecutor(settings.concurrency, "recollect-batch") as pool:
            groups = list(pool.map(run, range(0, len(texts), settings.max_texts)))
        return {at: vector for vectors in groups for at, vector in vectors.items()}

    def _call_batch_api(self, method: str, path: str, body: Any = None, **sent: Any) -> Any:
        return self._retry_batch_call(lambda left: self._service.request_json(method, path, left, body, **sent))

    def _retry_batch_call(self, attempt: Callable[[float], T]) -> T:
        return self._batch_retrier.call(attempt, self._batch_retrier.policy.timeout_seconds)

    def _truncate(self, text: str) -> str:
        valid = check.replace_surrogates(text)
        encoded = valid.encode()
        if len(encoded) > self.max_text_bytes:
            valid = encoded[: self.max_text_bytes].decode(errors="ignore")
        return valid or " "

    def _groups(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """The texts of each request."""
        group: list[str] = []
        bytes_left = self.max_request_bytes
        for text in texts:
            size = len(text.encode())
            if group and (len(group) == self.max_texts or size > bytes_left):
                yield group
                group, bytes_left = [], self.max_request_bytes
            group.append(text)
            bytes_left -= size
        if group:
            yield group

    def _to_vectors(self, rows: list[Any]) -> Vectors:
        """The rows as vectors of the expected dimension."""
        address = self._service.address
        try:
            vectors: NDArray[Any] = np.asarray(rows)
        except ValueError:
            raise ServiceError(f"{address} returned vectors of different dimensions.") from None
        if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or not vectors.shape[1]:
            raise ServiceError(f"{address} did not return a list of vectors.")
        dim = vectors.shape[1]
        if self._dim not in (None, dim):
            raise ServiceError(f"{address} returned vectors of {dim} dimensions; {self.name!r} has {self._dim}.")
        self._dim = dim
        return vectors.astype(np.float32)


def get_path(response: Any, *keys: str) -> Any:
    """The value under nested keys of a JSON response; None where a key is missing."""
    for key in keys:
        response = response.get(key) if isinstance(response, Mapping) else None
    return response
