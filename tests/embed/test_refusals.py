"""A text that a service refuses costs the others nothing, and is named with the reason."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect import EmbeddingError, Mind
from recollect.embed import BatchSettings, OpenAIEmbedder, RetryPolicy
from recollect.ingest.folder import FolderSettings
from recollect.systems.openclaw.workspace import Workspace
from recollect.upkeep.doctor import Doctor

from .kit import AT_ONCE, OpenAI, Reply, Request, serving

REASON = "This text is against our rules."
CUPS = [f"cup{number} on the shelf" for number in range(40)]
BAD = "cup forbidden"


class Strict(OpenAI):
    """Refuses every request with a forbidden text in it, as services do: without saying which it was."""

    def _embeddings(self, request: Request) -> Reply:
        if any("forbidden" in text for text in request.body["input"]):
            return Reply.of({"error": {"message": REASON}}, status=400)
        return super()._embeddings(request)


def strict(url: str, **said: object) -> OpenAIEmbedder:
    return OpenAIEmbedder("small", url=f"{url}/v1", retry=AT_ONCE, **said)  # type: ignore[arg-type]


def test_one_refused_text_costs_the_others_of_its_batch_nothing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    provider = Strict()
    with serving(provider) as url, Mind(path, embedder=strict(url)) as mind, caplog.at_level(logging.WARNING):
        mind.remember_many([*CUPS[:20], BAD, *CUPS[20:]])
        assert mind.status().store.without_vector == 1
        assert [result.text for result in mind.recall("forbidden", 1)] == [BAD]  # by its words
    assert sorted(each for each in provider.embedded if each in CUPS) == sorted(CUPS)  # each was paid for once
    assert BAD in caplog.text
    assert REASON in caplog.text


def test_making_up_for_missing_vectors_names_what_is_refused(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        mind.remember_many(CUPS)
        mind.remember(BAD, id="bad")
    provider = Strict()
    with serving(provider) as url, Mind(path, embedder=strict(url)) as mind:
        with pytest.raises(EmbeddingError, match=rf"1 of the memories .* bad: .*400.*{REASON}"):
            mind.embed_missing()
        assert mind.status().store.without_vector == 1
        asked = len(provider.requests)
        with pytest.raises(EmbeddingError, match="bad: "):
            mind.embed_missing()
        assert len(provider.requests) == asked + 2  # that text alone, and one that nobody refuses
        mind.edit("bad", text="cup allowed")
        assert mind.embed_missing() == 0


def test_a_refused_text_does_not_keep_the_others_from_a_new_model(path: Path) -> None:
    with Mind(path, embedder="local") as mind:
        mind.remember_many(CUPS)
        mind.remember(BAD, id="bad")
    with serving(Strict()) as url:
        with pytest.raises(EmbeddingError, match=f"bad: .*{REASON}"):
            Mind.reembed(path, embedder=strict(url))
        with Mind(path, embedder=strict(url)) as mind:
            (space,) = mind.status().store.spaces
            assert (space["name"], space["vectors"]) == ("openai:small", len(CUPS))


def test_a_service_that_refuses_everything_is_not_asked_for_every_text() -> None:
    wrong = Reply.of({"error": {"message": "There is no such model."}}, status=400)
    provider = OpenAI(*[wrong] * 200)
    with serving(provider) as url, pytest.raises(EmbeddingError, match="There is no such model"):
        strict(url).embed(CUPS)
    assert len(provider.requests) < 10


def test_what_a_batch_leaves_out_because_it_is_refused_is_told_apart(path: Path) -> None:
    provider = Strict(without=(1,))
    batch = BatchSettings(min_texts=2, poll_seconds=0.0)
    with serving(provider) as url, Mind(path, embedder=strict(url, batch=batch)) as mind:
        mind.remember_many([CUPS[0], BAD, CUPS[1]])
        assert mind.status().store.without_vector == 1
    assert provider.paths().count("/v1/batches") == 1


def test_a_sync_names_the_file_of_a_refused_text(path: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number, text in enumerate(CUPS[:5]):
        (notes / f"{number}.md").write_text(text)
    (notes / "bad.md").write_text(BAD)
    provider = Strict()
    settings = FolderSettings(layout="vault")
    with serving(provider) as url, Workspace(notes, db=path, embedder=strict(url), settings=settings) as workspace:
        first = workspace.sync()
        assert (first.embedded, first.chunks_added) == (5, 6)
        assert "bad.md: " in first.without_vectors
        assert REASON in first.without_vectors
        asked = len(provider.requests)
        (notes / "0.md").write_text("cup allowed")
        workspace.sync()
        assert len(provider.requests) == asked + 1  # what is refused for good is not asked for again
        (notes / "bad.md").write_text("cup allowed, too")
        last = workspace.sync()
        assert (last.embedded, last.without_vectors) == (1, "")


def test_an_embedder_around_ours_that_sends_other_texts_ends_with_the_refusal(path: Path) -> None:
    class Prefixed:
        name, dim = "prefixed", 64

        def __init__(self, inner: OpenAIEmbedder) -> None:
            self.inner, self.dim = inner, inner.dim

        def embed(self, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
            return self.inner.embed([f"passage: {text}" for text in texts], query)

    provider = Strict()
    with serving(provider) as url, Mind(path, embedder=Prefixed(strict(url))) as mind:
        mind.remember_many([CUPS[0], BAD])
        assert mind.status().store.without_vector == 2


def test_a_question_that_is_refused_and_cut_ends_by_its_own_deadline() -> None:
    class Slow(Strict):
        def _embeddings(self, request: Request) -> Reply:
            time.sleep(0.3)
            return super()._embeddings(request)

    patience = RetryPolicy(query_timeout_seconds=0.5, backoff_seconds=0.0, cooldown_seconds=0.0)
    provider = Slow()
    with serving(provider) as url, pytest.raises(EmbeddingError):
        OpenAIEmbedder("small", url=f"{url}/v1", retry=patience).embed(["forbidden " * 400], query=True)
    assert len(provider.requests) <= 2  # not one for each half of a half


def test_the_doctor_says_which_memory_is_refused_and_why_and_embeds_the_others(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        mind.remember_many(CUPS)
        mind.remember(BAD, id="bad")
    with serving(Strict()) as url:
        found = {each.name: each for each in Doctor(path, strict(url)).repair().findings}
    assert "1 of 41" in found["memories without a vector"].what
    refused = found["texts that the embedder refuses"]
    assert refused.examples == ("bad",)
    assert f"For bad it says: {url}/v1/embeddings answered 400 Bad Request" in refused.what
    assert REASON in refused.what
