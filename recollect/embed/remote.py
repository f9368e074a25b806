"""What embedders behind HTTP share: names, dimensions, requests of a fitting size, and answers that are checked."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.embed.base import Refused, Vectors
from recollect.embed.batch_api import Batching, Found, in_batches
from recollect.embed.http import ABOUT_THE_INPUT, Failure, Patience, Persistence, Service
from recollect.errors import EmbeddingError, InvalidInput
from recollect.model import validation as check

LONGEST_ANSWER = 512 << 20  # bytes: a batch of 2,000 large vectors in JSON
PLAIN = "Does the embedder answer?"  # a text that nobody refuses
SHORTEST = 500  # letters: a text that is refused at this length is not refused for its length
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a model before it is asked: its dimensions, and what it wants before questions and texts."""

    dim: int
    question: str = ""
    text: str = ""


MODELS = {
    "text-embedding-3-small": Known(1536),
    "text-embedding-3-large": Known(3072),
    "text-embedding-ada-002": Known(1536),
    "gemini-embedding-001": Known(3072),
    "nomic-embed-text": Known(768, "search_query: ", "search_document: "),
    "mxbai-embed-large": Known(1024, "Represent this sentence for searching relevant passages: "),
    "embeddinggemma": Known(768, "task: search result | query: ", "title: none | text: "),
    "all-minilm": Known(384),
    "bge-m3": Known(1024),
}


class Remote:
    """An embedder behind HTTP. Kinds of it say how texts become a request and an answer vectors: ``_ask``."""

    provider: ClassVar[str]
    most: ClassVar[int]  # texts in a request
    letters: ClassVar[int]  # UTF-8 bytes of a text that are sent; the rest would be refused or not read
    most_letters: ClassVar[int]  # the same for all texts of a request

    def __init__(
        self,
        model: str,
        service: Service,
        dimensions: int | None,
        patience: Patience | None,
        concurrency: int,
        batch: Batching | bool = False,
    ) -> None:
        self.model = check.string(model, "model")
        if not self.model:
            raise InvalidInput("model is empty; name one.")
        if dimensions is not None and check.whole(dimensions, "dimensions") < 1:
            raise InvalidInput(f"dimensions must be at least 1, not {dimensions}.")
        if check.whole(concurrency, "concurrency") < 1:
            raise InvalidInput(f"concurrency must be at least 1, not {concurrency}.")
        self.dimensions = dimensions
        self.concurrency = concurrency
        self.batch = Batching() if batch is True else batch or None
        self._service = service
        self._persistence = Persistence(patience or Patience())
        self._around_batches = Persistence(replace(self._persistence.patience, rest=0.0))  # direct calls may well work
        self._known = MODELS.get(self.model.partition(":")[0], Known(0))
        self._dim: int | None = dimensions or self._known.dim or None

    @property
    def name(self) -> str:
        """Says which vectors can be compared; ``resolve`` understands it."""
        return f"{self.provider}:{self.model}" + (f"@{self.dimensions}" if self.dimensions else "")

    @property
    def fingerprint(self) -> str:
        """Tells two services with a model of the same name apart, without a secret in it."""
        settings = [self._service.shown, self.model, self.dimensions, self._known.question, self._known.text]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:16]

    @property
    def known_dim(self) -> int | None:
        """The dimensions as far as they are known without asking."""
        return self._dim

    @property
    def dim(self) -> int:
        return self._dim or self.embed(["dimensions"]).shape[1]

    @property
    def tells_questions(self) -> bool:
        """Does a question get another vector than a memory of the same text?"""
        return bool(self._known.question or self._known.text)

    @property
    def at_once(self) -> int | None:
        """How many texts it is best given at a time, if it minds."""
        return self.batch.at_once if self.batch else None

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        before = self._known.question if query else self._known.text
        sent = [self._cut(before + text) for text in texts]
        try:
            found: Found = {}
            if self.batch and not query and len(sent) >= self.batch.least:
                found = in_batches(sent, self.batch, self._in_batch)
            missing = [at for at in range(len(sent)) if at not in found]
            rows = {**found, **dict(zip(missing, self._directly([sent[at] for at in missing], query), strict=True))}
            refused = {at: str(row) for at, row in rows.items() if isinstance(row, Failure)}
            taken = [at for at in range(len(texts)) if at not in refused]
            vectors = self._checked([rows[at] for at in taken]) if taken else np.empty((0, 0), np.float32)
        except Failure as failure:
            raise EmbeddingError(str(failure)) from None
        if refused:
            made = dict(zip((texts[at] for at in taken), vectors, strict=True))
            raise Refused({texts[at]: why for at, why in sorted(refused.items())}, made)
        return vectors

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r} at {self._service.shown!r})"

    # What a kind must have.

    def _ask(self, texts: Sequence[str], query: bool, seconds: float) -> Sequence[Any]:
        """One request: a vector a text, in their order."""
        raise NotImplementedError

    def _batch(self, texts: Sequence[str], settings: Batching) -> Found:
        """One batch, from its start to its end."""
        raise NotImplementedError

    # What they share.

    def _directly(self, texts: Sequence[str], query: bool) -> list[Any]:
        groups = list(self._groups(texts))
        if len(groups) == 1:
            return list(self._insisted(groups[0], query))
        with ThreadPoolExecutor(self.concurrency, "recollect-embed") as pool:
            return [row for rows in pool.map(lambda group: self._insisted(group, query), groups) for row in rows]

    def _insisted(self, texts: Sequence[str], query: bool, until: float | None = None) -> Sequence[Any]:
        """The vectors; where a request is refused, those of its halves, until one text is left.

        A text that is refused by itself has its Failure in place of a vector, if the service takes others. Somebody
        waits for a question: all of its requests together are done by one moment.
        """
        patience = self._persistence.patience
        seconds = patience.question if query else patience.timeout
        if until is not None:
            seconds = max(1e-3, until - time.monotonic())
        end = time.monotonic() + seconds if query else None
        try:
            rows = self._persistence.call(lambda left: self._ask(texts, query, left), seconds)
        except Failure as failure:
            if failure.status not in ABOUT_THE_INPUT or texts == [PLAIN]:
                raise
            if len(texts) == 1 and len(texts[0]) > SHORTEST:
                return self._insisted([texts[0][: len(texts[0]) // 2]], query, end)
            if len(texts) == 1:
                self._insisted([PLAIN], query, end)  # fails where a refusal is not about the text: a wrong model or key
                return [failure]
            half = len(texts) // 2
            return [*self._insisted(texts[:half], query, end), *self._insisted(texts[half:], query, end)]
        if len(rows) != len(texts):
            asked = "a single text" if len(texts) == 1 else f"{len(texts)} texts"
            raise Failure(f"{self._service.shown} gave {len(rows)} vectors for {asked}.")
        return rows

    def _in_batch(self, texts: Sequence[str]) -> Found:
        assert self.batch is not None
        return self._batch(texts, self.batch)

    def _called(self, method: str, path: str, body: Any = None, **sent: Any) -> Any:
        """A call around a batch, with the patience of all others."""
        return self._persisted(lambda left: self._service.json(method, path, left, body, **sent))

    def _persisted(self, attempt: Callable[[float], T]) -> T:
        return self._around_batches.call(attempt, self._around_batches.patience.timeout)

    def _cut(self, text: str) -> str:
        clean = check.clean(text)
        encoded = clean.encode()
        return (clean if len(encoded) <= self.letters else encoded[: self.letters].decode(errors="ignore")) or " "

    def _groups(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Texts for one request each."""
        group: list[str] = []
        room = self.most_letters
        for text in texts:
            size = len(text.encode())
            if group and (len(group) == self.most or size > room):
                yield group
                group, room = [], self.most_letters
            group.append(text)
            room -= size
        if group:
            yield group

    def _checked(self, rows: list[Any]) -> Vectors:
        """The rows as vectors of the right dimension."""
        shown = self._service.shown
        try:
            vectors: NDArray[Any] = np.asarray(rows)
        except ValueError:
            raise Failure(f"{shown} gave vectors of different dimensions.") from None
        if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or not vectors.shape[1]:
            raise Failure(f"{shown} gave something that is no list of vectors.")
        dim = vectors.shape[1]
        if self._dim not in (None, dim):
            raise Failure(f"{shown} gave vectors of {dim} dimensions; those of {self.name!r} have {self._dim}.")
        self._dim = dim
        return vectors.astype(np.float32)


def at(answer: Any, *way: str) -> Any:
    """What stands there in an answer; None where there is no such place."""
    for name in way:
        answer = answer.get(name) if isinstance(answer, Mapping) else None
    return answer
