"""OpenAI's embeddings, and every service that speaks as they do (vLLM, llama.cpp, LM Studio, LiteLLM, Azure, …)."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.embed.batch_api import Batching, Found, awaited
from recollect.embed.http import Failure, Patience, Service
from recollect.embed.remote import LONGEST_ANSWER, Remote, at

HOME = "https://api.openai.com/v1"
MODEL = "text-embedding-3-small"
KEY = "OPENAI_API_KEY"
OTHER_KEY = "RECOLLECT_EMBED_KEY"  # OpenAI's key is not sent to another address unasked
PATH = "/embeddings"
ENDED = ("completed", "failed", "expired", "cancelled")


class OpenAIEmbedder(Remote):
    """POST {model, input} to ``url``/embeddings.

    OpenAIEmbedder("nomic-embed-text-v1.5", url="http://localhost:1234/v1")

    The address is OPENAI_BASE_URL or OpenAI's own. The key comes from ``key``, or from the environment variable
    ``variable``: OPENAI_API_KEY, or RECOLLECT_EMBED_KEY where ``url`` is given. ``batch`` sends many texts to the Batch
    API.
    """

    provider = "openai"
    most = 2048
    letters = 16_000  # about two a token, of which 8,192 are read; what is refused all the same is halved
    most_letters = 600_000  # 300,000 tokens

    def __init__(
        self,
        model: str = MODEL,
        *,
        url: str | None = None,
        key: str | None = None,
        variable: str | None = None,
        headers: Mapping[str, str] | None = None,
        dimensions: int | None = None,
        patience: Patience | None = None,
        concurrency: int = 4,
        batch: Batching | bool = False,
    ) -> None:
        variable = variable or (KEY if url in (None, HOME) else OTHER_KEY)
        address = url if url is not None else os.environ.get("OPENAI_BASE_URL") or HOME
        service = Service(address, PATH, key=key, variables=(variable,), headers=headers, longest=LONGEST_ANSWER)
        super().__init__(model, service, dimensions, patience, concurrency, batch)

    def _ask(self, texts: Sequence[str], query: bool, seconds: float) -> Sequence[Any]:
        answer = self._service.ask(self._body(list(texts)), seconds)
        return self._rows(answer)

    def _body(self, input: list[str] | str) -> dict[str, Any]:
        asked = {"model": self.model, "input": input, "encoding_format": "float"}
        return asked if self.dimensions is None else {**asked, "dimensions": self.dimensions}

    def _rows(self, answer: Any) -> list[Any]:
        """The vectors in the order of the texts, which is that of their index."""
        data = at(answer, "data")
        try:
            rows = {each["index"]: each["embedding"] for each in data}
            return [rows[place] for place in range(len(data))]
        except (TypeError, KeyError):
            raise Failure(f"{self._service.shown} gave no list of embeddings, each with its index.") from None

    def _batch(self, texts: Sequence[str], settings: Batching) -> Found:
        """Upload the requests as a file, have it run, wait, and read the file of answers: whatever is in it."""
        lines = [
            {"custom_id": str(number), "method": "POST", "url": "/v1/embeddings", "body": self._body(text)}
            for number, text in enumerate(texts)
        ]
        content = "\n".join(map(json.dumps, lines)).encode()
        upload = {"data": {"purpose": "batch"}, "files": {"file": ("texts.jsonl", content, "application/jsonl")}}
        file = self._id(self._called("POST", "/files", **upload), "a file")
        left = [file]
        try:
            order = {"input_file_id": file, "endpoint": "/v1/embeddings", "completion_window": "24h"}
            batch = self._id(self._called("POST", "/batches", order), "a batch")

            def look() -> Any:
                now = self._called("GET", f"/batches/{batch}")
                return now if at(now, "status") in ENDED else None

            ended = awaited(look, settings)
            if ended is None:
                self._called("POST", f"/batches/{batch}/cancel")
                raise Failure(f"{self._service.shown_at('/batches')} had no answer after {settings.timeout:g} s.")
            left += filter(None, (at(ended, "output_file_id"), at(ended, "error_file_id")))
            answers = at(ended, "output_file_id")
            if not answers:
                raise Failure(f"{self._service.shown_at('/batches')} ended the batch as {at(ended, 'status')!r}.")
            path = f"/files/{answers}/content"
            return self._answers(self._persisted(lambda seconds: self._service.call("GET", path, seconds)), len(texts))
        finally:
            for each in left:  # the texts are nobody's business any longer
                with contextlib.suppress(Failure):
                    self._called("DELETE", f"/files/{each}")

    def _id(self, answer: Any, what: str) -> str:
        id = at(answer, "id")
        if not isinstance(id, str) or not id:
            raise Failure(f"{self._service.shown_at('')} was to make {what}, and gave no id of it.")
        return id

    def _answers(self, content: bytes, count: int) -> Found:
        """The vectors of the requests that succeeded; a line that makes no sense is one that failed."""
        found: Found = {}
        for line in content.splitlines():
            with contextlib.suppress(ValueError, TypeError, Failure):
                said = json.loads(line)
                number = int(at(said, "custom_id"))
                if at(said, "response", "status_code") == 200 and 0 <= number < count:
                    (found[number],) = self._rows(at(said, "response", "body"))
        return found
