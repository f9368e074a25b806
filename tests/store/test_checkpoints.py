"""Checkpoints in a thread: they are never in the way of an erasure, of a commit or of a durable write."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from recollect import Mind
from recollect.store.sqlite import checkpoints, connections
from recollect.store.sqlite.connections import Connections
from recollect.store.sqlite.lineage import Lineage, read_lineage
from tests.store.looking import rare_word

PAGES = 3_000  # of 4 KB: more than a checkpoint waits for


@pytest.mark.contract("B6")
def test_an_erasure_from_a_large_file_leaves_no_byte_in_the_log(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        mind.remember_many([{"text": f"{rare_word(number)} " * 400, "id": f"m{number}"} for number in range(PAGES)])
        mind.remember("the zanzibar secret", id="secret")
        erased = mind.erase("secret", code=mind.erase("secret", dry_run=True).code)
        assert erased.pending == ()
        for file in path.parent.rglob("*"):
            assert not file.is_file() or b"zanzibar" not in file.read_bytes(), file


def test_a_checkpoint_that_cannot_begin_does_not_fail_the_commit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(work: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(checkpoints, "COPIED_PAGES", 1)
    monkeypatch.setattr(checkpoints, "run_in_thread", refuse)
    with Mind(path, embedder=None) as mind:
        mind.remember("The cup is on the shelf.")
        mind.recall("cup")
        mind.recall("cup")
        assert [memory.text for memory in mind.list()] == ["The cup is on the shelf."]


def test_after_ctrl_c_while_a_use_is_counted_the_next_write_is_durable(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: Connections, connection: object) -> None:
        raise KeyboardInterrupt

    with Mind(path, embedder=None) as mind:
        mind.remember("The cup is on the shelf.")
        with monkeypatch.context() as patch:
            patch.setattr(Connections, "_sync_fully", interrupt)
            with pytest.raises(KeyboardInterrupt):
                mind.recall("cup")
        with mind.store.transaction("test"):
            level = mind.store._file.connections.get().pragma("synchronous")  # type: ignore[attr-defined]
        assert level == 2, "FULL"


def test_what_is_read_in_the_middle_of_a_checkpoint_is_not_taken_for_the_history_of_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def torn(uri: str) -> Lineage | None:
        found = read_lineage(uri)
        return found and replace(found, version=99_999, token=0)

    with Mind(path, embedder=None) as mind:
        mind.remember("The cup is on the shelf.")
        with monkeypatch.context() as patch:
            patch.setattr(connections, "read_lineage", torn)
            os.utime(path, (1, 1))  # as if a checkpoint wrote to it
            mind.remember("The lamp is on the desk.")
        os.utime(path, (2, 2))
        mind.remember("The spoon is in the drawer.")
        assert len(mind.list()) == 3
