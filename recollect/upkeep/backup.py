"""Backup and restore: copies of a file in a folder, which share what did not change (see backup_folder.py)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from os import PathLike
from pathlib import Path

from recollect.errors import InvalidInput, NotFound, StoreError
from recollect.model import validation as check
from recollect.model.memory import Clock
from recollect.store.erasing import Receipt, receipt_from_dict
from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.copies import (
    check_copy,
    copy_file,
    finish_copy,
    nobody_else,
    put_in_place,
    undo_after,
)
from recollect.upkeep.backup_folder import BLOCK_BYTES, HASH_BYTES, LOCK, BackupFolder, Manifest
from recollect.upkeep.disk import Disk, locked
from recollect.upkeep.erasing import apply_receipts

Progress = Callable[[int, int], None]  # steps that are done, and how many there are
BUSY = "Another process is using the backups in {}. Try again when it has finished."


@dataclass(frozen=True, slots=True)
class BackupResult:
    """A backup that was made: its id, what it contains, and what it cost."""

    id: str
    at: datetime
    folder: str
    memories: int
    bytes: int  # of the file
    written: int  # bytes that were not in the folder before
    blocks: int
    new_blocks: int
    removed: tuple[str, ...] = ()  # backups that were not to be kept


@dataclass(frozen=True, slots=True)
class BackupInfo:
    """A backup in a folder."""

    id: str
    at: datetime
    source: str
    memories: int
    bytes: int
    version: str


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """How many backups and blocks were read and found right; ``problems`` names what was not."""

    backups: int
    blocks: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """A file that was restored, and from which backup."""

    path: str
    backup: BackupInfo
    undone: int = 0  # operations after the moment that was asked for
    not_undone: tuple[str, ...] = ()  # verbs of changes after it that undo does not take back
    erased: int = 0  # memories that were erased since the backup, and are erased again
    replaced: str | None = None  # where the file is that was there before


def backup(
    store: SqliteStore,
    folder: str | PathLike[str],
    clock: Clock,
    *,
    passphrase: str | None = None,
    keep: int | None = None,
    keep_days: float | None = None,
    progress: Progress | None = None,
    disk: Disk | None = None,
) -> BackupResult:
    """Back up a file into a folder, while it is in use; then remove the backups that are not to be kept."""
    if store.bound.values:
        raise InvalidInput("A backup contains the whole file; open it without a bound.")
    if keep is not None:
        check.integer(keep, "keep", low=1)
    if keep_days is not None:
        check.number(keep_days, "keep_days", low=0)
    path, now = Path(folder), clock()
    with locked(path / LOCK, BUSY.format(path)):
        target = BackupFolder(path, passphrase, disk, create=True)
        earlier = target.manifests()
        with _temporary_copy(store.path, progress) as copy:
            summary = check_copy(str(copy))
            if earlier and earlier[-1].database != summary.database:
                raise InvalidInput(f"{path} has backups of another memory ({earlier[-1].source}); choose another.")
            known = {block for each in earlier for block in each.blocks}
            blocks, written, new, digest = _write_blocks(target, copy, known, progress)
            name = now.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ-") + secrets.token_hex(2)
            receipts = [each.as_dict() for each in store.receipts()]
            size = copy.stat().st_size
        source = os.path.abspath(store.path)
        counts, version = summary.counts, summary.version
        manifest = Manifest(
            name, now.isoformat(), source, summary.database, size, digest, version, counts, blocks, receipts
        )
        target.write_manifest(manifest)
        removed = _choose_removed([*earlier, manifest], now, keep, keep_days)
        if removed:
            target.remove(removed)
    if not store.readonly:
        store.record_backup(str(path.absolute()), now)
    memories = counts["memories"]
    gone = tuple(each.id for each in removed)
    return BackupResult(name, now, str(path), memories, size, written, len(blocks), new, gone)


def _write_blocks(
    folder: BackupFolder, copy: Path, known: set[str], progress: Progress | None
) -> tuple[list[str], int, int, str]:
    names, written, new, digest = [], 0, 0, hashlib.blake2b(digest_size=HASH_BYTES)
    total = -(-copy.stat().st_size // BLOCK_BYTES)
    with copy.open("rb") as file:
        while content := file.read(BLOCK_BYTES):
            digest.update(content)
            name, size = folder.write_block(content, known)
            if size and folder.read_block(name) != content:
                raise StoreError(f"A block of the backup in {folder.path} was not written as it should be.")
            names.append(name)
            written, new = written + size, new + (size > 0)
            if progress is not None:
                progress(len(names), total)
    return names, written, new, digest.hexdigest()


@contextmanager
def _temporary_copy(path: str, progress: Progress | None) -> Iterator[Path]:
    """A copy beside the file itself, where it is as protected as the file is."""
    folder = Path(tempfile.mkdtemp(prefix=".recollect-backup-", dir=Path(path).absolute().parent))
    try:
        copy = folder / "copy.db"
        copy_file(path, str(copy), progress)
        yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _choose_removed(
    manifests: Sequence[Manifest], now: datetime, keep: int | None, keep_days: float | None
) -> list[Manifest]:
    """Backups beyond the newest ``keep`` that are also older than ``keep_days``. The newest one always stays."""
    if keep is None and keep_days is None:
        return []
    old = list(manifests[: -(keep or 1)])
    if keep_days is not None:
        oldest = now - timedelta(days=keep_days)
        old = [each for each in old if each.moment < oldest]
    return old


def list_backups(folder: str | PathLike[str], passphrase: str | None = None) -> list[BackupInfo]:
    """The backups in a folder, oldest first."""
    return [_info(each) for each in BackupFolder(Path(folder), passphrase).manifests()]


def _info(manifest: Manifest) -> BackupInfo:
    memories = manifest.counts.get("memories", 0)
    return BackupInfo(manifest.id, manifest.moment, manifest.source, memories, manifest.bytes, manifest.version)


def verify_backups(
    folder: str | PathLike[str], passphrase: str | None = None, progress: Progress | None = None
) -> VerifyResult:
    """Read every block of every backup, and restore the newest one into a temporary folder to check it."""
    source = BackupFolder(Path(folder), passphrase)
    problems, manifests = [], []
    for name in source.names():
        try:
            manifests.append(source.manifest(name))
        except StoreError as error:
            problems.append(str(error))
    blocks = sorted({block for manifest in manifests for block in manifest.blocks})
    for number, name in enumerate(blocks, 1):
        try:
            source.read_block(name)
        except StoreError as error:
            problems.append(str(error))
        if progress is not None:
            progress(number, len(blocks))
    if manifests and not problems:
        newest = max(manifests, key=lambda each: each.moment)
        with tempfile.TemporaryDirectory(prefix="recollect-verify-") as temporary:
            try:
                _write_file(source, newest, Path(temporary) / "copy.db", None)
            except StoreError as error:
                problems.append(str(error))
    return VerifyResult(len(manifests), len(blocks), tuple(problems))


def restore(
    folder: str | PathLike[str],
    to: str | PathLike[str],
    *,
    at: datetime | str | None = None,
    passphrase: str | None = None,
    in_place: bool = False,
    progress: Progress | None = None,
    clock: Clock | None = None,
    disk: Disk | None = None,
) -> RestoreResult:
    """Restore a file from a folder of backups: the newest one, or what the file contained at a moment.

    ``to`` must not exist, unless ``in_place`` is set: then nobody may have it open, and it is kept under another name.
    Memories that were erased since the backup are erased from the restored file, too.
    """
    path, now = Path(to).absolute(), (clock or (lambda: datetime.now(UTC)))()
    moment = None if at is None else check.moment(at, "at")
    if path.exists() and not in_place:
        raise InvalidInput(f"{path} exists. Restore to another path, or in place of it (in_place=True, --in-place).")
    source = BackupFolder(Path(folder), passphrase, disk)
    receipts = _receipts_in(path) if path.exists() else []
    with locked(source.path / LOCK, BUSY.format(source.path)):
        manifests = source.manifests()
        if not manifests:
            raise NotFound(f"There is no complete backup in {source.path}.")
        chosen = _choose(manifests, moment)
        new = path.with_name(f".{path.name}.restoring-{secrets.token_hex(4)}")
        replaced_name = f"{path.name}.before-restore-{now.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        aside = path.with_name(replaced_name) if path.exists() else None
        try:
            _write_file(source, chosen, new, progress)
            with nobody_else(str(path)) if aside else contextlib.nullcontext():
                receipts += [receipt_from_dict(receipt) for each in manifests for receipt in each.receipts]
                undone, not_undone, erased = _bring_to_moment(new, receipts, moment, now)
                _record_backup(new, source, chosen, now)
                put_in_place(new, path, aside)
                source.disk.sync_folder(path.parent)
        finally:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{new}{suffix}").unlink(missing_ok=True)
    replaced = str(aside) if aside else None
    return RestoreResult(str(path), _info(chosen), undone, not_undone, erased, replaced)


def _choose(manifests: Sequence[Manifest], moment: datetime | None) -> Manifest:
    """The first backup that was made at or after the moment: its history reaches back to it. Otherwise the newest."""
    later = [each for each in manifests if moment is not None and each.moment >= moment]
    return later[0] if later else manifests[-1]


def _write_file(folder: BackupFolder, manifest: Manifest, to: Path, progress: Progress | None) -> None:
    """Write the file of a backup, and check that it is what was backed up."""
    digest, disk = hashlib.blake2b(digest_size=HASH_BYTES), folder.disk
    with to.open("xb") as file:
        for number, name in enumerate(manifest.blocks, 1):
            content = folder.read_block(name)
            digest.update(content)
            disk.put(file, content)
            if progress is not None:
                progress(number, len(manifest.blocks))
        disk.sync(file)
    if digest.hexdigest() != manifest.hash or to.stat().st_size != manifest.bytes:
        raise StoreError(f"The backup {manifest.id} in {folder.path} does not give the file that was backed up.")
    if check_copy(str(to)).counts != manifest.counts:
        raise StoreError(f"The backup {manifest.id} in {folder.path} has other contents than when it was made.")


def _receipts_in(path: Path) -> list[Receipt]:
    """The erasures that a file knows of, which is replaced; none if it cannot be read."""
    try:
        store = SqliteStore(str(path), lambda: datetime.now(UTC), readonly=True)
    except StoreError:
        return []
    try:
        return store.receipts()
    except StoreError:
        return []
    finally:
        store.close()


def _record_backup(new: Path, source: BackupFolder, chosen: Manifest, now: datetime) -> None:
    """A restored file knows the backup that it came from, so that an erasure can name it."""
    store = SqliteStore(str(new), lambda: now)
    try:
        store.record_backup(str(source.path.absolute()), chosen.moment)
    finally:
        store.close()
    finish_copy(str(new))


def _bring_to_moment(
    new: Path, receipts: Sequence[Receipt], moment: datetime | None, now: datetime
) -> tuple[int, tuple[str, ...], int]:
    """Undo what came after the moment, and erase again what was erased since."""
    store = SqliteStore(str(new), lambda: now)
    try:
        undone, not_undone = (0, ()) if moment is None else undo_after(store, moment)
        known = store.receipts()  # what is in the file in spite of them was written after them
        erasure = apply_receipts(store, [each for each in receipts if each not in known], now)
        erased = erasure.removed.get("memories", 0) if erasure else 0
    finally:
        store.close()
    finish_copy(str(new))
    return undone, not_undone, erased
