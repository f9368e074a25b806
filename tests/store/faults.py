"""A disk that fails: every write, sync and truncate of a verb in turn, below SQLite and its checksums, and every write,
sync, rename and deletion of files outside of it (backups, the index).

python -m tests.store.faults VERB [FIRST STEP]: prints how many operations were made to fail, as JSON. It is a program
of its own, because the disk must be in place before the library opens its first file.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import apsw

from recollect.store.disk import Disk

ROOT = Path(__file__).parents[2]
MODES = ("error", "full", "cut", "power")
NOW = datetime(2025, 6, 1, tzinfo=UTC)


class Faults:
    """Which operation fails, and how: ``error`` and ``full`` fail it once; ``cut`` does half of it, and nothing
    after it, as when a process is killed; ``power`` also loses a part of what was not synced."""

    def __init__(self) -> None:
        self.left, self.mode, self.dead = 0, "", False
        self.synced: dict[str, bytes] = {}  # content by path, as it was when it was last synced
        self.unsynced: dict[str, list[tuple[int, bytes]]] = {}  # writes since
        self.unsynced_files: set[int] = set()  # outside of SQLite, by inode
        self.renamed: list[tuple[Path, bytes | None]] = []  # in folders that were not synced since; what was there

    def arm(self, number: int, mode: str) -> None:
        self.left, self.mode, self.dead = number, mode, False
        self.synced.clear()
        self.unsynced.clear()
        self.unsynced_files.clear()
        self.renamed.clear()

    def disarm(self) -> bool:
        """Go on without faults; whether one happened."""
        happened = self.mode != "" and self.left <= 0
        self.left, self.mode, self.dead = 0, "", False
        return happened

    def strikes(self, gone: Exception | None = None) -> bool:
        """Is it this operation that fails?"""
        if self.dead:
            raise gone or apsw.IOError("the disk is gone")
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
        for renamed, before in self.renamed:
            if chance.random() < 0.5 and renamed.exists():
                renamed.unlink() if before is None else renamed.write_bytes(before)

    def lose_files(self, folder: Path, chance: random.Random) -> None:
        """Cut or blank the files of a folder that were not synced."""
        for path in folder.rglob("*"):
            if path.is_file() and path.stat().st_ino in self.unsynced_files:
                content = path.read_bytes()
                size = chance.randrange(len(content) + 1)
                path.write_bytes(content[:size] + b"\0" * (chance.random() < 0.5) * (len(content) - size))


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


class FaultyDisk(Disk):
    """Files outside of SQLite. After a power cut, a file that was not synced may have any part of its content, and a
    rename whose folder was not synced may not have happened."""

    def put(self, file: BinaryIO, content: bytes) -> None:
        if self._strikes():
            if faults.mode in ("cut", "power"):
                super().put(file, content[: len(content) // 2])
            self._strike()
        if faults.mode == "power":
            faults.unsynced_files.add(os.fstat(file.fileno()).st_ino)
        super().put(file, content)

    def sync(self, file: BinaryIO) -> None:
        if self._strikes():
            self._strike()
        super().sync(file)
        faults.unsynced_files.discard(os.fstat(file.fileno()).st_ino)

    def rename(self, path: Path, to: Path, sync: bool = True) -> None:
        if self._strikes():
            self._strike()
        before = to.read_bytes() if faults.mode == "power" and to.exists() else None
        os.replace(path, to)
        if faults.mode == "power":
            faults.renamed.append((to, before))
        if sync:
            self.sync_folder(to.parent)

    def sync_folder(self, folder: Path) -> None:
        if self._strikes():
            self._strike()
        super().sync_folder(folder)
        faults.renamed = [(path, before) for path, before in faults.renamed if path.parent != folder]

    def delete(self, path: Path) -> None:
        if self._strikes():
            self._strike()
        super().delete(path)

    def _strikes(self) -> bool:
        return faults.strikes(OSError(errno.EIO, "the disk is gone"))

    def _strike(self) -> None:
        faults.dead = faults.mode in ("cut", "power")
        number = errno.ENOSPC if faults.mode == "full" else errno.EIO
        raise OSError(number, os.strerror(number))


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


@contextlib.contextmanager
def indexed_mind(path: Path) -> Iterator[Any]:
    """A mind whose index is in files, from the second memory on."""
    from recollect import Mind
    from recollect.store.sqlite import SqliteStore
    from recollect.store.sqlite.index import IndexLimits

    limits = IndexLimits(min_saved=2, max_tail=4, max_segment=20)
    with contextlib.closing(SqliteStore(str(path), lambda: NOW, index_limits=limits)) as store:
        yield Mind(store=store, embedder=Small(), clock=lambda: NOW)


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


def index(path: Path) -> None:
    """Build files of the index, then others that replace some of them."""
    with indexed_mind(path) as mind:
        mind.recall("cup", track=False)
        mind.remember_many({"id": f"x{n}", "text": f"another saucer {n} on shelf t{n}"} for n in range(8))
        mind.recall("cup", track=False)


def erase_indexed(path: Path) -> None:
    with indexed_mind(path) as mind:
        mind.recall("cup", track=False)
        mind.erase("m3")


VERBS: dict[str, Callable[[Path], None]] = {
    each.__name__.strip("_"): each
    for each in (remember, edit, undo, import_, sync, reembed, migrate, erase, backup, index, erase_indexed)
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
    if verb in ("index", "erase_indexed"):  # what the files of the index answer is what the rows answer
        with indexed_mind(path) as mind, mind_at(path) as plain:
            for query in ("cup", "saucer", "shelf s4", "kettle"):
                found, wanted = (
                    [(each.memory.id, each.score) for each in some.recall(query, 30, track=False)]
                    for some in (mind, plain)
                )
                assert found == wanted, query
    check_backups(path.parent / "backups")
    findings = [each for each in Doctor(path).diagnose().findings if each.level == "error"]
    assert not findings, findings
    return state


def check_backups(folder: Path, least: int = 0) -> None:
    """Every backup that is listed is whole."""
    from recollect.errors import NotFound
    from recollect.upkeep.backup import list_backups, verify_backups

    try:
        listed = list_backups(folder)
    except NotFound:  # it was interrupted before there was a folder of backups
        listed = []
    assert len(listed) >= least, f"{len(listed)} backups"
    assert not listed or verify_backups(folder).problems == ()


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
                    faults.lose_files(here, chance)
                finished = not happened
                found = observe(path, verb)
                durable = acknowledged and (verb, mode) != ("sync", "power")  # what a sync wrote is in the files
                assert found in ((after,) if durable else (before, after)), f"{verb}, {mode} at operation {number}"
                if verb == "backup":
                    check_backups(here / "backups", least=int(acknowledged))
                with contextlib.suppress(LookupError):  # what was done already
                    run(path) if not acknowledged and verb not in ("undo", "erase", "erase_indexed") else None
                counts[mode] += happened
                counts["acknowledged"] += acknowledged and happened
                shutil.rmtree(here)
                number += step
    return counts


if __name__ == "__main__":
    from recollect.store.sqlite import index_folder
    from recollect.upkeep import backup_folder

    FaultyVFS_in_place = FaultyVFS()
    for module in (index_folder, backup_folder):
        vars(module)["Disk"] = FaultyDisk
    print(json.dumps(main(sys.argv[1], *map(int, sys.argv[2:]))))
