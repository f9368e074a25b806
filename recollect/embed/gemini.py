"""Gemini's embeddings, which tell a question from what may answer it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.embed.batch_api import Batching, Found, awaited
from recollect.embed.http import Failure, Patience, Service
from recollect.embed.remote import LONGEST_ANSWER, Remote, at

HOME = "https://generativelanguage.googleapis.com/v1beta"
MODEL = "gemini-embedding-001"
KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
GOING_ON = ("BATCH_STATE_UNSPECIFIED", "BATCH_STATE_PENDING", "BATCH_STATE_RUNNING")
OUTPUTS = (("response", "output"), ("response",), ("metadata", "output"))  # where versions of the API put it


class GeminiEmbedder(Remote):
    """POST {requests} to ``url``/models/MODEL:batchEmbedContents, with the task of each text.

    The key comes from ``key``, GEMINI_API_KEY or GOOGLE_API_KEY. ``batch`` sends many texts to the Batch API.
    """

    provider = "gemini"
    most = 100
    letters = 8_000  # 2,048 tokens are read
    most_letters = 400_000

    def __init__(
        self,
        model: str = MODEL,
        *,
        url: str = HOME,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        dimensions: int | None = None,
        patience: Patience | None = None,
        concurrency: int = 4,
        batch: Batching | bool = False,
    ) -> None:
        model = model.removeprefix("models/")
        service = Service(
            url,
            f"/models/{model}:batchEmbedContents",
            key=key,
            variables=KEYS,
            key_header="x-goog-api-key",  # never in the address, which is logged
            headers=headers,
            longest=LONGEST_ANSWER,
        )
        super().__init__(model, service, dimensions, patience, concurrency, batch)

    @property
    def tells_questions(self) -> bool:
        return True

    def _ask(self, texts: Sequence[str], query: bool, seconds: float) -> Sequence[Any]:
        answer = self._service.ask({"requests": [self._request(text, query) for text in texts]}, seconds)
        embeddings = at(answer, "embeddings")
        if not isinstance(embeddings, list):
            raise Failure(f"{self._service.shown} gave no list of embeddings.")
        return [at(each, "values") for each in embeddings]

    def _request(self, text: str, query: bool) -> dict[str, Any]:
        request = {
            "model": f"models/{self.model}",
            "content": {"parts": [{"text": text}]},
            "taskType": "RETRIEVAL_QUERY" if query else "RETRIEVAL_DOCUMENT",
        }
        return request if self.dimensions is None else {**request, "outputDimensionality": self.dimensions}

    def _batch(self, texts: Sequence[str], settings: Batching) -> Found:
        """Hand the requests over, wait, and take the answers, which come in their order."""
        requests = [{"request": self._request(text, False)} for text in texts]
        order = {"displayName": "recollect", "inputConfig": {"requests": {"requests": requests}}}
        begun = self._called("POST", f"/models/{self.model}:asyncBatchEmbedContent", {"batch": order})
        name = at(begun, "name")
        if not isinstance(name, str) or not name.startswith("batches/"):
            raise Failure(f"{self._service.shown_at('/batches')} was to make a batch, and gave no name of it.")

        def look() -> Any:
            now = self._called("GET", f"/{name}")
            going_on = not at(now, "done") and (at(now, "metadata", "state") or GOING_ON[0]) in GOING_ON
            return None if going_on else now

        ended = awaited(look, settings)
        if ended is None:
            self._called("POST", f"/{name}:cancel", {})
            raise Failure(f"{self._service.shown_at('/batches')} had no answer after {settings.timeout:g} s.")
        with contextlib.suppress(Failure):  # the texts are nobody's business any longer
            self._called("DELETE", f"/{name}")
        outputs = (at(ended, *way, "inlinedResponses", "inlinedResponses") for way in OUTPUTS)
        answers = next((each for each in outputs if isinstance(each, list)), None)
        if answers is None or len(answers) != len(texts):
            state = at(ended, "metadata", "state") or at(ended, "error", "status") or "without an answer for each text"
            raise Failure(f"{self._service.shown_at('/batches')} ended the batch as {state!r}.")
        found = {place: at(each, "response", "embedding", "values") for place, each in enumerate(answers)}
        return {place: values for place, values in found.items() if values}
