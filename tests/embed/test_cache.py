"""The embedding cache: no text twice, whoever asks; of bounded size; and never in the way."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect import Embedder, EmbeddingError, InvalidInput, Mind, StoreError, Workspace
from recollect.embed import (
    CachedEmbedder,
    GeminiEmbedder,
    OpenAIEmbedder,
    TokenEmbedder,
    TokenVectors,
    cache_embeddings,
    embed_with_sketches,
    embed_with_tokens,
)
from recollect.embed.local import LocalEmbedder
from recollect.store.sqlite.embedding_cache import SqliteEmbeddingCache

from .kit import AT_ONCE, KEY, Gemini, OpenAI, Reply, serving, vector


class Counting:
    """Remembers what it was asked for."""

    name, dim = "counting", 8

    def __init__(self, provider: str = "own", fingerprint: str = "", scale: float = 1.0) -> None:
        self.provider, self.fingerprint, self.scale = provider, fingerprint, scale
        self.asked: list[str] = []
        self.failing = False

    def embed(self, texts: Sequence[str], query: bool = False) -> Any:
        if self.failing:
            raise RuntimeError("on holiday")
        self.asked += texts
        return [[self.scale * value + query for value in vector(text, 8)] for text in texts]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors"


@pytest.fixture
def cache(path: Path) -> Iterator[SqliteEmbeddingCache]:
    made = SqliteEmbeddingCache(path)
    yield made
    made.close()


def test_a_text_is_embedded_once(cache: SqliteEmbeddingCache) -> None:
    model = Counting()
    cached = CachedEmbedder(model, cache)
    first = cached.embed(["a cup", "a door", "a cup"])
    again = cached.embed(["a door", "a lamp", "a cup"])
    assert model.asked == ["a cup", "a door", "a lamp"]
    assert (first[0] == again[2]).all()
    assert (first[1] == again[0]).all()
    assert len(cache) == 3


def test_a_kept_vector_is_the_same_to_the_bit(cache: SqliteEmbeddingCache) -> None:
    model = Counting(scale=1 / 3)
    first, again = (CachedEmbedder(model, cache).embed(["a red cup"]) for _ in range(2))
    assert first.tobytes() == again.tobytes()
    assert first.dtype == again.dtype == np.float32


def test_it_is_still_there_after_the_end(path: Path) -> None:
    for asked in (["a cup"], []):
        cache, model = SqliteEmbeddingCache(path), Counting()
        CachedEmbedder(model, cache).embed(["a cup"])
        cache.close()
        assert model.asked == asked


def test_a_question_is_no_memory_unless_the_model_makes_no_difference(
    cache: SqliteEmbeddingCache, tmp_path: Path
) -> None:
    openai, gemini = OpenAI(), Gemini()
    with serving(openai) as there, serving(gemini) as here:
        for embedder in (OpenAIEmbedder("small", url=there), GeminiEmbedder("small", url=here)):
            cached = CachedEmbedder(embedder, cache)
            for query in (False, True, False, True):
                cached.embed(["a cup"], query=query)
    assert (len(openai.embedded), len(gemini.embedded)) == (1, 2)


def test_models_and_services_are_told_apart(cache: SqliteEmbeddingCache) -> None:
    models = [Counting(), Counting(provider="other"), Counting(fingerprint="there"), Counting(scale=-1.0)]
    models[3].name = "another"
    for model in models:
        CachedEmbedder(model, cache).embed(["a cup"])
    assert [len(model.asked) for model in models] == [1, 1, 1, 1]


def test_what_came_before_a_failure_is_kept(cache: SqliteEmbeddingCache) -> None:
    class Tiring(Counting):
        batch_size = 2

        def embed(self, texts: Sequence[str], query: bool = False) -> Any:
            self.failing = len(self.asked) == 4
            return super().embed(texts, query)

    model, texts = Tiring(), [f"cup {n}" for n in range(6)]
    with pytest.raises(EmbeddingError, match="holiday"):
        CachedEmbedder(model, cache).embed(texts)
    assert len(cache) == 4


def test_a_vector_that_is_none_is_not_kept(cache: SqliteEmbeddingCache) -> None:
    class Crooked(Counting):
        def embed(self, texts: Sequence[str], query: bool = False) -> Any:
            return [[float("nan")] * 8 for _ in texts]

    with pytest.raises(EmbeddingError, match="NaN"):
        CachedEmbedder(Crooked(), cache).embed(["a cup"])
    assert len(cache) == 0


def test_it_stays_within_its_limit_and_lets_the_least_recently_used_go(path: Path) -> None:
    class Large(Counting):
        dim = 1000

        def embed(self, texts: Sequence[str], query: bool = False) -> Any:
            self.asked += texts
            return np.ones((len(texts), 1000))

    limit = 200_000  # about 40 vectors
    cache, model = SqliteEmbeddingCache(path, limit), Large()
    cached = CachedEmbedder(model, cache)
    cached.embed(["a favourite"])
    for number in range(200):
        cached.embed([f"cup {number}", "a favourite"])
        assert cache.bytes <= limit
    assert model.asked.count("a favourite") == 1
    cached.embed(["cup 199", "cup 0"])
    assert model.asked.count("cup 199") == 1
    assert model.asked.count("cup 0") == 2
    cache.close()
    assert path.stat().st_size <= limit * 1.2


def test_uses_that_were_only_read_count_after_closing(path: Path) -> None:
    wide = b"\0" * 4000
    model_key = ("own", "wide", "")
    cache = SqliteEmbeddingCache(path)
    for at in range(30):
        cache.put(model_key, {bytes([at]) * 32: wide})
    cache.close()
    reader = SqliteEmbeddingCache(path)
    reader.get(model_key, [bytes([0]) * 32])
    reader.close()
    small = SqliteEmbeddingCache(path, 100_000)
    small.put(model_key, {b"x" * 32: wide})
    assert set(small.get(model_key, [bytes([0]) * 32, bytes([1]) * 32])) == {bytes([0]) * 32}
    small.close()


PROGRAM = """
import sys
from recollect.embed import CachedEmbedder
from recollect.store.sqlite.embedding_cache import SqliteEmbeddingCache

class Model:
    name, dim = "m", 4
    def embed(self, texts, query=False):
        return [[len(text), 1, 2, 3] for text in texts]

cached = CachedEmbedder(Model(), SqliteEmbeddingCache(sys.argv[1]))
for number in range(61):
    cached.embed([f"{(number * int(sys.argv[2])) % 61} cup", f"only {sys.argv[2]} {number}"])
"""


def test_many_processes_share_it(path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(path), str(number)], stderr=subprocess.PIPE, text=True)
        for number in (1, 2, 3)
    ]
    for each in running:
        _, told = each.communicate()
        assert (each.returncode, told) == (0, "")
    cache = SqliteEmbeddingCache(path)
    assert len(cache) == 61 + 3 * 61  # each has them all once, in its own order, and as many of its own
    cache.close()


def test_threads_share_it(cache: SqliteEmbeddingCache) -> None:
    cached = CachedEmbedder(Counting(), cache)
    wrong: list[str] = []

    def work(seed: int) -> None:
        for number in range(30):
            text = f"cup{number * seed % 7}"
            if cached.embed([text])[0] != pytest.approx(np.array(vector(text, 8))):
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_cache_that_breaks_is_worked_without(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache, model = SqliteEmbeddingCache(path), Counting()
    cached = CachedEmbedder(model, cache)
    cache.close()
    assert cached.embed(["a cup"]).shape == (1, 8)
    assert "could not be read" in caplog.text
    assert "could not be written" in caplog.text


@pytest.mark.parametrize("content", [b"no database at all" * 100, "memory"])
def test_a_file_that_is_no_cache_is_refused_and_left_as_it_is(path: Path, content: bytes | str) -> None:
    if content == "memory":
        Mind(path, embedder=None).close()
    else:
        path.write_bytes(content)  # type: ignore[arg-type]
    before = path.read_bytes()
    with pytest.raises(StoreError):
        SqliteEmbeddingCache(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("limit", [0, -1, 1000, "much"])
def test_a_limit_that_makes_no_sense_is_a_clear_error(path: Path, limit: Any) -> None:
    with pytest.raises(InvalidInput):
        SqliteEmbeddingCache(path, limit)


# In a mind.


@pytest.fixture
def provider() -> OpenAI:
    return OpenAI()


@pytest.fixture
def remote(provider: OpenAI) -> Iterator[OpenAIEmbedder]:
    with serving(provider) as url:
        yield OpenAIEmbedder("small", url=url, key=KEY, retry=AT_ONCE)


def test_a_service_has_a_cache_beside_the_memory(tmp_path: Path, remote: OpenAIEmbedder, provider: OpenAI) -> None:
    memory = tmp_path / "memory.db"
    with Mind(memory, embedder=remote) as mind:
        first = mind.remember("a red cup")
        mind.forget(first.id)
        mind.remember("a red cup")
        mind.recall("a cup")
        mind.recall("a cup")
    assert provider.embedded == ["a red cup", "a cup"]
    assert (tmp_path / "memory.db-vectors").exists()
    memory.unlink()
    with Mind(memory, embedder=remote) as mind:
        mind.remember("a red cup")
    assert provider.embedded == ["a red cup", "a cup"]


def test_making_all_vectors_anew_uses_what_is_kept(tmp_path: Path, remote: OpenAIEmbedder, provider: OpenAI) -> None:
    memory = tmp_path / "memory.db"
    with Mind(memory, embedder=remote) as mind:
        mind.remember_many(["a red cup", "a door"])
    Mind.reembed(memory, embedder=Counting())
    assert Mind.reembed(memory, embedder=remote) == 2
    assert len(provider.embedded) == 2


def test_models_of_your_own_have_none_unless_it_is_asked_for(tmp_path: Path) -> None:
    model = Counting()
    for cache in (None, True, True):
        with Mind(tmp_path / "memory.db", embedder=model, embedding_cache=cache) as mind:
            mind.forget(mind.remember("a cup").id)
            assert (tmp_path / "memory.db-vectors").exists() == (cache is True)
            assert isinstance(mind.embedder, Embedder)
    assert model.asked == ["a cup"] * 2


class CountingLocal(LocalEmbedder):
    """The local model, with a record of the texts that it embedded."""

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], query: bool = False) -> Any:
        self.embedded += texts
        return super().embed(texts, query)

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        self.embedded += texts
        return super().token_vectors(texts)


def test_the_local_model_has_a_cache_only_when_asked(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder="local") as mind:
        assert isinstance(mind.embedder, LocalEmbedder)
    assert not (tmp_path / "memory.db-vectors").exists()
    with Mind(tmp_path / "memory.db", embedder="local", embedding_cache=True) as mind:
        assert isinstance(mind.embedder, TokenEmbedder)
        mind.remember("a cup")
    assert (tmp_path / "memory.db-vectors").exists()


@pytest.mark.contract("O16")
def test_notes_that_are_indexed_again_are_not_embedded_again_by_the_local_model(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("A walrus lives in the harbour.")
    model = CountingLocal()
    for _ in range(2):
        with (
            Mind(tmp_path / "memory.db", embedder=model, embedding_cache=True) as mind,
            Workspace(tmp_path / "notes", mind=mind) as space,
        ):
            space.sync()
            assert mind.recall("sea mammal")[0].memory.path == "MEMORY.md"
        (tmp_path / "memory.db").unlink()
    assert model.embedded == ["A walrus lives in the harbour.", "sea mammal"]


@pytest.mark.contract("O16")
def test_with_a_cache_the_local_model_embeds_no_text_twice(tmp_path: Path) -> None:
    model = CountingLocal()
    found = []
    for name in ("a.db", "b.db"):
        with Mind(tmp_path / name, embedder=model, embedding_cache=tmp_path / "shared") as mind:
            mind.remember("a red cup")
            mind.remember("a blue door", collection="other")
            found += [[result.text for result in mind.recall("which mug?")] for _ in range(2)]
    assert model.embedded == ["a red cup", "a blue door", "which mug?"]
    assert found[0] == found[1] == found[2] == found[3]


def test_vectors_and_sketches_from_the_cache_are_the_same_to_the_bit(cache: SqliteEmbeddingCache) -> None:
    texts = ["a red cup on the shelf", "", "?!", "架子上的杯子", "long " * 300]
    bare = embed_with_sketches(LocalEmbedder(), texts)
    queries, vectors = embed_with_tokens(LocalEmbedder(), texts, query=True)[::-1], []
    for _ in range(2):
        cached = cache_embeddings(LocalEmbedder(), cache)
        for (one, sketch), (other, same) in zip(bare, embed_with_sketches(cached, texts), strict=True):
            assert one.tobytes() == other.tobytes()
            assert sketch == same
        whole, tokens = embed_with_tokens(cached, texts, query=True)
        assert whole.tobytes() == queries[1].tobytes()
        assert tokens is not None
        assert queries[0] is not None
        vectors.append([each.vectors.tobytes() for each in tokens])
        assert vectors[-1] == [each.vectors.tobytes() for each in queries[0]]
        assert [each.tokens for each in tokens] == [each.tokens for each in queries[0]]


def test_a_cached_local_model_ranks_and_corrects_typos_as_without_a_cache(tmp_path: Path) -> None:
    texts = ["the charging dock is behind the sofa", "the blue cup is on the shelf", "anna likes green tea"]
    answers = []
    for name, cached in (("plain.db", False), ("cached.db", True)):
        with Mind(tmp_path / name, embedding_cache=cached) as mind:
            mind.remember_many([{"text": text, "id": str(at)} for at, text in enumerate(texts)])
            answers.append([[(each.memory.id, each.text) for each in mind.recall(q)] for q in ("chargin dok", "mug")])
    assert answers[0] == answers[1]


def test_the_cache_can_be_switched_off_or_shared(tmp_path: Path, remote: OpenAIEmbedder, provider: OpenAI) -> None:
    with Mind(tmp_path / "a.db", embedder=remote, embedding_cache=False) as mind:
        mind.remember("a cup")
    for name in ("b.db", "c.db"):
        with Mind(tmp_path / name, embedder=remote, embedding_cache=tmp_path / "shared") as mind:
            mind.remember("a cup")
    cache = SqliteEmbeddingCache(tmp_path / "shared")
    with Mind(tmp_path / "d.db", embedder=remote, embedding_cache=cache) as mind:
        mind.remember("a cup")
    assert (len(provider.embedded), len(cache)) == (2, 1)
    cache.close()
    assert not list(tmp_path.glob("*-vectors"))


def test_a_cache_beside_the_memory_that_is_none_is_worked_without(
    tmp_path: Path, remote: OpenAIEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "memory.db-vectors").write_bytes(b"nonsense" * 1000)
    with Mind(tmp_path / "memory.db", embedder=remote) as mind:
        mind.remember("a cup")
        assert mind.status().store.without_vector == 0
    assert "Vectors are not cached." in caplog.text
    with pytest.raises(StoreError):
        Mind(tmp_path / "memory.db", embedder=remote, embedding_cache=True)


def test_kept_vectors_are_used_while_the_service_is_away(
    tmp_path: Path, remote: OpenAIEmbedder, provider: OpenAI
) -> None:
    with Mind(tmp_path / "memory.db", embedder=remote) as mind:
        mind.remember("a red cup")
        mind.recall("mug")
        provider.troubles = [Reply(b"", 500)] * 99
        assert mind.recall("mug").trace.failures == []
        assert mind.recall("glass").trace.failures != []


@pytest.mark.contract("O16")
def test_a_configuration_turns_the_cache_of_the_included_model_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.config import load
    from recollect.config.apply import open_workspace

    texts: list[str] = []
    token_vectors = LocalEmbedder.token_vectors

    def counted(self: LocalEmbedder, batch: Sequence[str]) -> Any:
        texts.extend(batch)
        return token_vectors(self, batch)

    monkeypatch.setattr(LocalEmbedder, "token_vectors", counted)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    note = tmp_path / "MEMORY.md"
    (tmp_path / "recollect.yaml").write_text("recollect: {embeddingCache: true}", "utf-8")
    for content in ("The cup is blue.", "The door is open.", "The cup is blue."):
        note.write_text(content, "utf-8")
        with open_workspace(load(tmp_path).checked()) as workspace:
            assert workspace.search("cup")["results"]
    assert (tmp_path / "memory.db-vectors").exists()
    assert sorted(texts) == ["The cup is blue.", "The door is open.", "cup"]
