"""A disk that fails: every write, sync and truncate of a verb in turn, below SQLite and its checksums.

python -m tests.store.faults VERB [FIRST STEP]: prints how many operations were made to fail, as JSON. It is a program
of its own, because the disk must be in place before the library opens its first file.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

ROOT = Path(__file__).parents[2]
MODES = ("error", "full", "cut", "power")
NOW = datetime(2025, 6, 1, tzinfo=UTC)


class Faults:
    """Which operation fails, and how: ``error`` and ``full`` fail it once; ``cut`` does half of it, and nothing
    after it, as when a process is killed; ``power`` also loses a part of what was not synced."""

    def __init__(self) -> None:
        self.left, self.mode, self.dead = 0, "", False
        self.synced: dict[str, bytes] = {}  # content by path, as it was when it was last synced
        self.unsynced: dict[str, list[tuple[int, bytes]]] = {}  # writes since; data None for a truncation

    def arm(self, number: int, mode: str) -> None:
        self.left, self.mode, self.dead = number, mode, False
        self.synced.clear()
        self.unsynced.clear()

    def disarm(self) -> bool:
        """Go on without faults; whether one happened."""
        happened = self.mode != "" and self.left <= 0
        self.left, self.mode, self.dead = 0, "", False
        return happened

    def strikes(self) -> bool:
        """Is it this operation that fails?"""
        if self.dead:
            raise apsw.IOError("the disk is gone")
        if not self.mode:
            return False
        self.left -= 1
        return self.left == 0

    def strike(self) -> None:
        if self.mode == "full":
            raise apsw.FullError("no room")
        self.dead = self.mode in ("cut", "power")
        raise apsw.IOError("the disk failed")

    def lose_power(self, chance: random.Random) -> None:
        """Give each file what was synced, and any of the writes since."""
        for path, writes in self.unsynced.items():
            content = bytearray(self.synced.get(path, b""))
            for offset, data in writes:
                if chance.random() < 0.5:
                    content.extend(b"\0" * (offset - len(content)))
                    content[offset : offset + len(data)] = data
            if Path(path).exists():
                Path(path).write_bytes(content)


faults = Faults()


class FaultyFile(apsw.VFSFile):
    def __init__(self, base: str, name: Any, flags: list[int]) -> None:
        super().__init__(base, name, flags)
        self.path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if faults.strikes():
            if faults.mode in ("cut", "power"):
                super().xWrite(data[: len(data) // 2], offset)
                self._remember(offset, data[: len(data) // 2])
            faults.strike()
        self._remember(offset, data)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        if faults.strikes():
            faults.strike()
        super().xSync(flags)
        if faults.mode == "power":
            faults.synced[self.path] = self._content()
            faults.unsynced[self.path] = []

    def xTruncate(self, size: int) -> None:  # noqa: N802
        if faults.strikes():
            faults.strike()
        super().xTruncate(size)
        if faults.mode == "power":  # a truncation is taken for synced: SQLite does not rely on the contrary
            faults.synced[self.path] = self._content()
            faults.unsynced[self.path] = []

    def _remember(self, offset: int, data: bytes) -> None:
        if faults.mode == "power":
            if self.path not in faults.unsynced:
                faults.synced[self.path] = self._content()
            faults.unsynced.setdefault(self.path, []).append((offset, bytes(data)))

    def _content(self) -> bytes:
        size = self.xFileSize()
        return self.xRead(size, 0) if size else b""


class FaultyVFS(apsw.VFS):
    def __init__(self) -> None:
        self.base = apsw.vfs_names()[0]
        super().__init__("faulty", self.base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return FaultyFile(self.base, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        if faults.dead:
            raise apsw.IOError("the disk is gone")
        faults.unsynced.pop(filename, None)
        super().xDelete(filename, syncdir)


class Small:
    """An embedder that needs no model: texts that share words are near each other."""

    dim = 32

    def __init__(self, name: str = "small") -> None:
        self.name = name

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        rows = []
        for text in texts:
            row = [0.001] * self.dim
            for word in text.lower().split():
                row[sum(map(ord, word)) * (7 if self.name == "small" else 11) % self.dim] += 1
            rows.append(row)
        return rows


def mind_at(path: Path, embedder: Small | None = None) -> Any:
    from recollect import Mind

    return Mind(path, embedder=embedder or Small(), clock=lambda: NOW)


def prepare(path: Path) -> None:
    with mind_at(path) as mind:
        mind.remember_many({"id": f"m{n}", "text": f"cup number {n} on shelf s{n}"} for n in range(12))
        mind.edit("m1", text="the kettle whistles k1")


def remember(path: Path) -> None:
    with mind_at(path) as mind:
        mind.remember("a new fact about teapots", id="new")


def edit(path: Path) -> None:
    with mind_at(path) as mind:
        mind.edit("m2", text="the teapot is broken now", topic="tea")


def undo(path: Path) -> None:
    with mind_at(path) as mind:
        mind.undo()


def import_(path: Path) -> None:
    with mind_at(path) as mind:
        mind.import_([{"id": f"i{n}", "text": f"imported saucer number {n}"} for n in range(20)])


def sync(path: Path) -> None:
    from recollect import Workspace

    folder = path.parent / "notes"
    folder.mkdir(exist_ok=True)
    (folder / "MEMORY.md").write_text("# Tea\n\nThe sencha is in the blue tin.\n", "utf-8")
    with mind_at(path) as mind:
        Workspace(folder, mind=mind).sync()


def reembed(path: Path) -> None:
    from recollect import Mind

    Mind.reembed(path, embedder=Small("other"))


def migrate(path: Path) -> None:
    reading(path).close()


def erase(path: Path) -> None:
    with mind_at(path) as mind:
        mind.erase("m3")


def backup(path: Path) -> None:
    with mind_at(path) as mind:
        mind.backup(path.parent / "backups")


VERBS: dict[str, Callable[[Path], None]] = {
    each.__name__.strip("_"): each for each in (remember, edit, undo, import_, sync, reembed, migrate, erase, backup)
}


def observe(path: Path, verb: str) -> tuple[Any, ...]:
    """Every memory, and that words and meaning find each of them; the file must be sound."""
    from recollect.upkeep.doctor import Doctor

    stored = Small("other") if verb == "reembed" and active_model(path) == "other" else None
    with mind_at(path, stored) if verb != "migrate" else reading(path) as mind:
        if mind.embedder is not None:
            mind.embed_missing()
        memories = mind.list()
        for memory in memories if verb != "migrate" else memories[:5]:
            found = [result.memory.id for result in mind.recall(memory.text, 3, track=False)]
            assert memory.id in found, f"{memory.id} is not found"
        if mind.embedder is not None:
            assert mind.status().store.without_vector == 0
        state = tuple(sorted((memory.text, memory.topic, memory.status) for memory in memories))
    findings = [each for each in Doctor(path).diagnose().findings if each.level == "error"]
    assert not findings, findings
    return state


def reading(path: Path) -> Any:
    from recollect import Mind

    return Mind(path, embedder=None)


def active_model(path: Path) -> str:
    with reading(path) as mind:
        return next((space["name"] for space in mind.status().store.spaces if space["active"]), "")


def main(verb: str, first: int = 1, step: int = 1) -> dict[str, int]:
    """Make each operation fail in each way; what was acknowledged must be there, and nothing may be torn."""
    from recollect import RecollectError

    run, chance = VERBS[verb], random.Random(1)
    counts = dict.fromkeys((*MODES, "acknowledged"), 0)
    with tempfile.TemporaryDirectory() as name:
        folder, start = Path(name), Path(name) / "start.db"
        if verb == "migrate":
            shutil.copyfile(ROOT / "tests" / "fixtures" / "v0_1.db", start)
        else:
            prepare(start)
        done = Path(shutil.copyfile(start, folder / "done.db"))
        run(done)
        before, after = observe(Path(shutil.copyfile(start, folder / "before.db")), verb), observe(done, verb)
        for mode in MODES:
            number, finished = first, False
            while not finished:
                here = folder / f"{mode}{number}"
                here.mkdir()
                path = Path(shutil.copyfile(start, here / "memory.db"))
                faults.arm(number, mode)
                acknowledged = False
                with contextlib.suppress(RecollectError):  # any other error ends the test
                    run(path)
                    acknowledged = True
                happened = faults.disarm()
                if happened and mode == "power":
                    faults.lose_power(chance)
                finished = not happened
                found = observe(path, verb)
                durable = acknowledged and (verb, mode) != ("sync", "power")  # what a sync wrote is in the files
                assert found in ((after,) if durable else (before, after)), f"{verb}, {mode} at operation {number}"
                with contextlib.suppress(LookupError):  # what was done already
                    run(path) if not acknowledged and verb not in ("undo", "erase") else None
                counts[mode] += happened
                counts["acknowledged"] += acknowledged and happened
                shutil.rmtree(here)
                number += step
    return counts


if __name__ == "__main__":
    FaultyVFS_in_place = FaultyVFS()
    print(json.dumps(main(sys.argv[1], *map(int, sys.argv[2:]))))
