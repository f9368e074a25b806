"""Coming from elsewhere: import, ask, import again, carry on to another file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from recollect import EmbeddingError, Mind
from tests.ingest_imports import kit

SOURCES: dict[str, Callable[[Path], Path]] = {
    "claude": lambda folder: kit.zipped(folder / "x.zip", conversations=[kit.claude_talk()], users=[]),
    "chatgpt": lambda folder: kit.written(folder / "conversations.json", [kit.bread()]),
    "mem0": lambda folder: kit.written(folder / "m.json", {"results": [{"id": "1", "memory": "Likes tea"}]}),
    "openmem": lambda folder: kit.openmem(folder / "o.db"),
    "robotmem": lambda folder: kit.robotmem(folder / "r.db"),
    "jsonl": lambda folder: kit.written(folder / "a.jsonl", {"text": "A line", "extra": [1]}),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_second_time_nothing_changes(mind: Mind, tmp_path: Path, kind: str) -> None:
    source = SOURCES[kind](tmp_path)
    first = mind.import_from(source)
    assert (first.kind, first.failed) == (kind, 0)
    assert first.added > 0
    version, before = mind.status().store.version, list(mind.export())
    again = mind.import_from(source)
    assert (again.added, again.changed, again.failed) == (0, 0, 0)
    assert again.same == first.added
    assert mind.status().store.version == version
    assert list(mind.export()) == before


@pytest.mark.parametrize("kind", SOURCES)
def test_an_export_of_it_makes_an_equal_memory(mind: Mind, tmp_path: Path, kind: str) -> None:
    mind.import_from(SOURCES[kind](tmp_path))
    with Mind(tmp_path / "copy.db", embedder=None) as copy:
        copy.import_(mind.export())
        everything = {"status": ["active", "superseded", "contradicted", "forgotten"]}
        assert copy.list(everything) == mind.list(everything)
        assert list(copy.export()) == list(mind.export())


def test_a_message_is_recalled_with_its_session_by_words_and_by_meaning(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db") as mind:
        mind.import_from(SOURCES["claude"](tmp_path))
        mind.import_from(SOURCES["chatgpt"](tmp_path))
        assert mind.status().store.without_vector == 0
        best = mind.recall("public transport in Portugal")[0].memory
        assert (best.session, best.title, best.source) == ("c-1", "A trip to Lisbon", "claude")
        whole = mind.list({"session": best.session})
        assert [each.text for each in whole] == ["Tram 28 goes up to Graça.", "Which tram goes up to Graça?"]


class Weak:
    """An embedder that answers only when it is told to, and counts what it was asked."""

    name, dim = "weak", 2

    def __init__(self) -> None:
        self.works, self.asked = False, 0

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        self.asked += len(texts)
        if not self.works:
            raise EmbeddingError("Not today.")
        return [[1.0, float(len(text))] for text in texts]


def test_vectors_that_failed_are_made_by_importing_again_and_no_vector_twice(tmp_path: Path) -> None:
    source, embedder = SOURCES["claude"](tmp_path), Weak()
    with Mind(tmp_path / "memory.db", embedder=embedder) as mind:
        assert mind.import_from(source).added == 2
        assert mind.status().store.without_vector == 2
        embedder.works, embedder.asked = True, 0
        assert mind.import_from(source).same == 2
        assert mind.status().store.without_vector == 0
        assert mind.import_from(source).same == 2
        assert embedder.asked == 2


def test_an_import_stays_in_the_collection_of_its_mind(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=None, collection="old-chats") as mind:
        mind.import_from(SOURCES["chatgpt"](tmp_path))
        mind.import_from(SOURCES["robotmem"](tmp_path))
        assert set(mind.status().store.collections) == {"old-chats"}
