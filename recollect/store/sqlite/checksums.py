"""Page checksums: every page ends with one. SQLite's checksum VFS writes it, and verifies it when a page is read.

The VFS ships with apsw's wheels. It is active for files whose header reserves 8 bytes at the end of each page, so files
of earlier versions are opened by the same VFS. They get checksums when nobody else has them open (``add_checksums``).

Other programs can read a file with checksums. Pages that they write do not match: ``doctor --fix`` accepts them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import apsw

from recollect.errors import DamagedFile, StoreError
from recollect.store.disk import create_private

VFS = "cksmvfs"
RESERVED_BYTES = 8
COMPLETE = 0x63686362  # the user_version of a file all of whose pages have a checksum; its last bit is free for others
ChecksumState = Literal["none", "complete", "interrupted", "empty"]
RESERVED_AT, USER_VERSION_AT, APPLICATION_ID_AT, HEADER_BYTES = 20, 60, 68, 100
MAGIC = b"SQLite format 3\0"


@cache
def checksum_vfs() -> str:
    """The name of the VFS, which is registered once for a process. apsw's default VFS stays what it was."""
    if VFS not in apsw.vfs_names():
        default = apsw.vfs_names()[0]
        folder = Path(apsw.__file__).parent / "sqlite_extra_binaries"  # apsw.sqlite_extra takes 50 ms to import
        found = [str(each) for each in folder.glob("cksumvfs.*")]
        if not found:
            raise StoreError(
                f"The installed apsw has no checksum extension (nothing like cksumvfs.* in {folder}). Install its "
                "wheel: pip install --force-reinstall --only-binary apsw apsw"
            )
        connection = apsw.Connection(":memory:", vfs=default)
        try:
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1)
            connection.load_extension(found[0])
        finally:
            connection.close()
            apsw.set_default_vfs(default)
    return VFS


def connect(name: str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    """A connection to a file (a path, or with SQLITE_OPEN_URI a URI) whose pages are verified."""
    return apsw.Connection(name, flags=flags, vfs=checksum_vfs())


def checksum_state(connection: apsw.Connection, path: str, application_id: int) -> ChecksumState:
    """Whether the pages of a file have checksums, by its header as it is on disk; a DamagedFile if it contradicts."""
    readable, header = connection.read("main", 0, 0, HEADER_BYTES)
    if not readable or not header.startswith(MAGIC):
        return "empty"  # or no database: SQLite says so when it is read
    if _number(header, APPLICATION_ID_AT) != application_id:
        return "none"  # another program's
    match header[RESERVED_AT], _number(header, USER_VERSION_AT) & ~1:
        case 0, 0:
            return "none"
        case int(reserved), int(version) if reserved == RESERVED_BYTES and version == COMPLETE:
            return "complete"
        case int(reserved), 0 if reserved == RESERVED_BYTES:
            return "interrupted"
        case reserved, version:
            raise DamagedFile(path, f"its header is not one that Recollect writes ({reserved}, {version:#x})")


def _number(header: bytes, at: int) -> int:
    return int.from_bytes(header[at : at + 4], "big")


def reserve_room(connection: apsw.Connection) -> None:
    """Make a file that is still empty, or that is vacuumed next, have room for checksums."""
    connection.reserve_bytes("main", RESERVED_BYTES)


def mark_complete(connection: apsw.Connection) -> None:
    connection.pragma("user_version", COMPLETE)


def add_checksums(connection: apsw.Connection, path: str, application_id: int) -> bool:
    """Give every page a checksum, unless somebody else has the file open. It is left in rollback mode.

    A process of an earlier version would write pages without checksums, so nobody else may have it open meanwhile. The
    first VACUUM makes room for checksums; the second one writes them. If it is interrupted between the two, the header
    says so (its user_version is 0), checksums are not verified, and the next opening continues. Both run in WAL mode: a
    rollback journal would be played back through the VFS, which could take the pages for those with checksums.
    """
    if not lock_alone(connection):
        return False
    try:
        state = checksum_state(connection, path, application_id)
        if state == "none":
            reserve_room(connection)
            connection.execute("VACUUM")
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        if state != "complete":
            rewrite_pages(connection)
            mark_complete(connection)
    finally:
        unlock(connection)
    return True


def new_copy(source: apsw.Connection, path: str, to: str) -> apsw.Connection:
    """A new file for a copy of another one by SQLite's backup, with checksums if that one has them.

    The VFS knows that a file has checksums by its first page, which a backup may write late: so it is written here."""
    create_private(to, like=path)
    if checksum_state(source, path, source.pragma("application_id")) != "complete":
        return apsw.Connection(to)
    copy = connect(to)
    reserve_room(copy)
    mark_complete(copy)
    return copy


def lock_alone(connection: apsw.Connection) -> bool:
    """Keep everybody else out of a file, unless somebody has it open: then False."""
    connection.set_busy_timeout(0)
    try:
        alone = bool(connection.pragma("journal_mode", "delete") == "delete")  # refused while others have it open
        if alone:
            connection.pragma("locking_mode", "exclusive")
            alone = connection.pragma("journal_mode", "wal") == "wal"
    except apsw.BusyError:
        alone = False
    if not alone:
        connection.pragma("locking_mode", "normal")
    return alone


def unlock(connection: apsw.Connection) -> None:
    connection.pragma("journal_mode", "delete")  # with a checkpoint
    connection.pragma("locking_mode", "normal")
    connection.pragma("application_id")  # the lock is released after the next use


def rewrite_pages(connection: apsw.Connection) -> None:
    """Write all pages again as they are, each with the checksum of what it contains now."""
    connection.pragma("temp_store", "file")
    connection.pragma("checksum_verification", 0)
    connection.execute("VACUUM")
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.pragma("checksum_verification", 1)
    connection.pragma("temp_store", "memory")
