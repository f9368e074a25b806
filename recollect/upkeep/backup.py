"""Backup and restore: copies of a file in a folder, which share what did not change (see backup_folder.py)."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from os import PathLike
from pathlib import Path

from recollect.errors import InvalidInput, NotFound, StoreError
from recollect.model import Clock, check
from recollect.store.disk import Disk, create_private, locked, temporary_folder, translate_disk_errors
from recollect.store.erasing import Receipt, receipt_from_dict
from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.copies import (
    check_copy,
    copy_file,
    finish_copy,
    nobody_else,
    put_in_place,
    read_first_change,
    undo_after,
)
from recollect.store.sqlite.salvage import salvage_receipts
from recollect.store.sqlite.versions import read_database_id
from recollect.upkeep.backup_folder import BLOCK_BYTES, HASH_BYTES, LOCK, BackupFolder, Manifest, refuse_link
from recollect.upkeep.erasing import add_receipts, apply_receipts

log = logging.getLogger("recollect")
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
    warnings: tuple[str, ...] = ()  # earlier backups that cannot be used


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
    warnings: tuple[str, ...] = ()  # what may not be as expected, and why


@translate_disk_errors("The backup failed")
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
    refuse_link(path / LOCK)
    with locked(path / LOCK, BUSY.format(path)):
        target = BackupFolder(path, passphrase, disk, create=True)
        earlier, problems = target.manifests()
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
    return BackupResult(name, now, str(path), memories, size, written, len(blocks), new, gone, tuple(problems))


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
    with temporary_folder(Path(path).absolute().parent) as folder:
        copy = folder / "copy.db"
        copy_file(path, str(copy), progress)
        yield copy


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


@translate_disk_errors("The backups cannot be listed")
def list_backups(folder: str | PathLike[str], passphrase: str | None = None) -> list[BackupInfo]:
    """The backups in a folder, oldest first. Those that cannot be used are logged as warnings."""
    manifests, problems = BackupFolder(Path(folder), passphrase).manifests()
    for problem in problems:
        log.warning("%s", problem)
    return [_info(each) for each in manifests]


def _info(manifest: Manifest) -> BackupInfo:
    memories = manifest.counts.get("memories", 0)
    return BackupInfo(manifest.id, manifest.moment, manifest.source, memories, manifest.bytes, manifest.version)


@translate_disk_errors("The backups cannot be verified")
def verify_backups(
    folder: str | PathLike[str], passphrase: str | None = None, progress: Progress | None = None
) -> VerifyResult:
    """Read every block of every backup, and compare the newest backup as a whole with the hash of the file.

    Nothing is written: the file had passed its own checks before its hash was taken."""
    source = BackupFolder(Path(folder), passphrase)
    manifests, problems = source.manifests()
    blocks = sorted({block for manifest in manifests for block in manifest.blocks})
    for number, name in enumerate(blocks, 1):
        try:
            source.read_block(name)
        except StoreError as error:
            problems.append(str(error))
        if progress is not None:
            progress(number, len(blocks))
    if manifests and not problems:
        try:
            for _ in _read_file(source, manifests[-1]):
                pass
        except StoreError as error:
            problems.append(str(error))
    return VerifyResult(len(manifests), len(blocks), tuple(problems))


@translate_disk_errors("The restore failed")
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
    Memories that were erased since the backup are erased from the restored file, too: as the file tells that is
    replaced and the one that was backed up, if it can be read; otherwise a warning says so.
    """
    path, now = Path(to).absolute(), (clock or (lambda: datetime.now(UTC)))()
    moment = None if at is None else check.moment(at, "at")
    if path.exists() and not in_place:
        raise InvalidInput(f"{path} exists. Restore to another path, or in place of it with in_place=True.")
    source = BackupFolder(Path(folder), passphrase, disk)
    with _reading(source), temporary_folder(path.parent) as temporary:
        manifests, problems = source.manifests()
        if not manifests:
            missing = f"There is no complete backup in {source.path}"
            raise StoreError(f"{missing}: {problems[0]}") if problems else NotFound(f"{missing}.")
        receipts = [receipt_from_dict(receipt) for each in manifests for receipt in each.receipts]
        database = manifests[-1].database
        more, warnings = _receipts_in(path, database, receipts) if path.exists() else ([], [])
        receipts += more
        original = Path(manifests[-1].source)
        if not _is_same(original, path):
            more, unread = _receipts_of_original(original, database)
            receipts += more
            warnings += unread
        warnings += [f"{each} Erasures that only it knows of are not applied again." for each in problems]
        chosen = _choose(manifests, moment)
        if moment is not None and chosen.moment < moment:
            warnings.append(f"The newest backup is of {chosen.at}; what changed after it is in none.")
        new = temporary / "restored.db"
        replaced_name = f"{path.name}.before-restore-{now.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        aside = path.with_name(replaced_name) if path.exists() else None
        _write_file(source, chosen, new, progress)
        warnings += _check_moment(new, moment)
        with nobody_else(str(path)) if aside else nullcontext():
            undone, not_undone, erased = _bring_to_moment(new, receipts, chosen, moment, now)
            _record_backup(new, source, chosen, now)
            if aside:
                shutil.copymode(path, new)  # whoever could read the file still can, and nobody else
            put_in_place(new, path, aside)
            source.disk.sync_folder(path.parent)
    replaced = str(aside) if aside else None
    return RestoreResult(str(path), _info(chosen), undone, not_undone, erased, replaced, tuple(warnings))


@contextmanager
def _reading(source: BackupFolder) -> Iterator[None]:
    """Keep the backups from being removed meanwhile; a folder that cannot be written, such as a CD, needs no lock."""
    if os.access(source.path, os.W_OK):
        refuse_link(source.path / LOCK)
        with locked(source.path / LOCK, BUSY.format(source.path)):
            yield
    else:
        yield


def _check_moment(path: Path, moment: datetime | None) -> list[str]:
    """A moment before the first change gives an empty file, which is seldom meant."""
    first = read_first_change(str(path))
    if moment is None or first is None or first <= moment:
        return []
    return [f"At {moment.isoformat()} there was nothing yet: the first change is of {first.isoformat()}."]


def _choose(manifests: Sequence[Manifest], moment: datetime | None) -> Manifest:
    """The first backup that was made at or after the moment: its history reaches back to it. Otherwise the newest."""
    later = [each for each in manifests if moment is not None and each.moment >= moment]
    return later[0] if later else manifests[-1]


def _read_file(folder: BackupFolder, manifest: Manifest) -> Iterator[bytes]:
    """The file of a backup, block by block; a StoreError at the end if it is not what was backed up."""
    digest, size = hashlib.blake2b(digest_size=HASH_BYTES), 0
    for name in manifest.blocks:
        content = folder.read_block(name)
        digest.update(content)
        size += len(content)
        yield content
    if digest.hexdigest() != manifest.hash or size != manifest.bytes:
        raise StoreError(f"The backup {manifest.id} in {folder.path} does not give the file that was backed up.")


def _write_file(folder: BackupFolder, manifest: Manifest, to: Path, progress: Progress | None) -> None:
    """Write the file of a backup, and check that it is what was backed up."""
    disk = folder.disk
    create_private(str(to))
    with to.open("r+b") as file:
        for number, content in enumerate(_read_file(folder, manifest), 1):
            disk.put(file, content)
            if progress is not None:
                progress(number, len(manifest.blocks))
        disk.sync(file)
    if check_copy(str(to)).counts != manifest.counts:
        raise StoreError(f"The backup {manifest.id} in {folder.path} has other contents than when it was made.")


def _read_receipts(path: Path, database: int) -> tuple[list[Receipt], list[str]]:
    """The erasures that a file knows of, and a warning if it is another memory than the one that was backed up. They
    are applied nevertheless: it may be a migrated or salvaged copy of it."""
    with closing(SqliteStore(str(path), lambda: datetime.now(UTC), readonly=True)) as store:
        found = store.receipts()
        if not found or read_database_id(store.connection) == database:
            return found, []
    what = f"{path} is another memory than the one that was backed up, or a copy that was migrated or salvaged"
    return found, [f"{what}. What was erased from it is erased here, too; to restore without that, move it away first."]


def _receipts_in(path: Path, database: int, known: Sequence[Receipt]) -> tuple[list[Receipt], list[str]]:
    """The erasures that a file knows of, which is replaced, and a warning if it is too damaged to tell all of them."""
    try:
        return _read_receipts(path, database)
    except StoreError as error:
        found = salvage_receipts(path, known)
        count = len({hash for each in found for hash in each.ids})
        unread = f"because the file that is replaced is too damaged to be read: {error}"
        told = f"{count:,} erased memories were found in its bytes, and are erased again" if count else ""
        others = f"other memories that were erased since the newest backup may be there again, {unread}"
        return found, [f"{told}; {others}" if told else others[0].upper() + others[1:]]


def _is_same(one: Path, other: Path) -> bool:
    """Whether a restore to ``other`` replaces the file ``one``."""
    return other.exists() and one.exists() and other.samefile(one)


def _receipts_of_original(path: Path, database: int) -> tuple[list[Receipt], list[str]]:
    """The erasures that the file knows of that was backed up, or a warning if it cannot be read."""
    try:
        if not path.is_file():  # the folder says which: it may name a pipe or a device
            raise StoreError(f"There is no file {path}.")
        return _read_receipts(path, database)
    except (StoreError, OSError) as error:
        what = (
            "Memories that were erased since the newest backup may be there again, because the file that was backed up"
        )
        return [], [f"{what} cannot be read: {error}"]


def _record_backup(new: Path, source: BackupFolder, chosen: Manifest, now: datetime) -> None:
    """A restored file knows the backup that it came from, so that an erasure can name it."""
    with closing(SqliteStore(str(new), lambda: now)) as store:
        store.record_backup(str(source.path.absolute()), chosen.moment)
    finish_copy(str(new))


def _bring_to_moment(
    new: Path, receipts: Sequence[Receipt], chosen: Manifest, moment: datetime | None, now: datetime
) -> tuple[int, tuple[str, ...], int]:
    """Erase again what was erased since, and undo what came after the moment.

    What was remembered later is erased before it is undone, or its words would stay; what undoing brings back, after.
    """
    with closing(SqliteStore(str(new), lambda: now)) as store:
        known = {_key(each) for each in store.receipts()}  # what is in the file in spite of them was written after them
        distinct = {_key(each): each for each in receipts}
        missing = sorted((distinct[key] for key in distinct.keys() - known), key=lambda each: each.at)
        erased = apply_receipts(store, missing, now, chosen.moment).get("memories", 0)
        undone, not_undone = (0, ()) if moment is None else undo_after(store, moment)
        if moment is not None:
            not_undone = tuple(verb for verb in not_undone if verb != "erase")  # they are to stay
            erased += apply_receipts(store, missing, now, chosen.moment).get("memories", 0)
        add_receipts(store, missing)
    finish_copy(str(new))
    return undone, not_undone, erased


def _key(receipt: Receipt) -> tuple[object, ...]:
    return receipt.at, receipt.salt, receipt.ids, *sorted(receipt.bound.items())
