"""Whatever is done to a folder, in whatever order: after a sync the index is what a new one would be."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.systems.openclaw.workspace import Workspace
from tests.conftest import examples
from tests.ingest.kit import VAULT, Counting, assert_exact, write
from tests.store.looking import sql

NAMES = ("a.md", "b.md", "sub/a.md", "sub/c.md")
PARTS = (
    "# One",
    "## Two",
    "otters swim",
    "badgers dig\nand dig",
    "```\ncode\n```",
    "word " * 400,
    "---\ntags: [x]\n---",
)

texts = st.lists(st.sampled_from(PARTS), max_size=5).map("\n\n".join)
names = st.sampled_from(NAMES)
Edit = Callable[[Path], None]


def writing(name: str, text: str) -> Edit:
    return lambda root: write(root, **{name: text})


def removing(name: str) -> Edit:
    return lambda root: (root / name).unlink(missing_ok=True)


def renaming(name: str, to: str) -> Edit:
    def rename(root: Path) -> None:
        if (root / name).is_file():
            (root / to).parent.mkdir(exist_ok=True)
            (root / name).replace(root / to)

    return rename


def dropping(_: str) -> Edit:
    return lambda root: shutil.rmtree(root / "sub", ignore_errors=True)


edits = st.one_of(
    st.builds(writing, names, texts),
    st.builds(writing, names, texts),
    st.builds(removing, names),
    st.builds(renaming, names, names),
    st.builds(dropping, names),
)


@given(st.lists(st.lists(edits, min_size=1, max_size=4), min_size=1, max_size=4))
@settings(max_examples=examples(20, 60), deadline=None)
def test_the_index_is_what_a_new_one_would_be(rounds: list[list[Edit]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root, db = Path(name) / "vault", Path(name) / "memory.db"
        root.mkdir()
        with Workspace(root, db=db, embedder=Counting(), settings=VAULT) as space:
            for done in rounds:
                for edit in done:
                    edit(root)
                space.sync()
                assert_exact(space)
                assert space.sync().has_changes is False
            memories = sql(db, "SELECT count(*) FROM memories")
            for table in ("words", "vectors", "chunks"):
                assert sql(db, f"SELECT count(*) FROM {table}") == memories
            assert sql(db, "SELECT count(*) FROM chunks WHERE file NOT IN (SELECT file FROM files)") == [(0,)]
