"""Folders for tests: files written in one call, a model that counts what it is asked, and what is indexed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recollect import Mind
from recollect.ingest.folder import FolderSettings
from recollect.systems.openclaw.workspace import Workspace

VAULT = FolderSettings(layout="vault")


class Counting:
    """A toy model that remembers every text it was given to embed."""

    name, dim = "counting-v1", 3

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.down = False

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        if self.down:
            raise RuntimeError("the model is down")
        if not query:
            self.texts += texts
        return [[float(len(text)), float(text.count("a")), 1.0] for text in texts]


def write(root: Path, **files: str) -> None:
    """``write(root, **{"memory/a.md": "…"})``"""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def chunks(space: Workspace) -> dict[str, list[tuple[tuple[int, int] | None, str]]]:
    """The chunks of the index, by path."""
    found: dict[str, list[tuple[tuple[int, int] | None, str]]] = {}
    for memory in space.mind.list(space.scope):
        found.setdefault(memory.path, []).append((memory.lines, memory.text))
    return {path: sorted(held, key=lambda each: each[0] or (0, 0)) for path, held in sorted(found.items())}


def paths(space: Workspace, query: str) -> list[str]:
    return [result["path"] for result in space.search(query)["results"]]


def assert_exact(space: Workspace) -> None:
    """Every chunk is what its lines say, and every file of the index has the chunks that a new index would give it."""
    for memory in space.mind.list(space.scope):
        assert memory.lines is not None
        first, last = memory.lines
        assert memory.text in "\n".join((space.folder.root / memory.path).read_text().split("\n")[first - 1 : last])
    with (
        Mind(":memory:", embedder=None) as mind,
        Workspace(space.folder.root, mind=mind, collection="fresh", settings=space.settings) as fresh,
    ):
        fresh.sync()
        assert chunks(fresh) == chunks(space)
