"""The schema of the file, as named migrations. Each is applied once, in a transaction that also records it.

A migration that has shipped is never edited: a later one changes what it made.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import apsw

from recollect.errors import StoreError
from recollect.model.validation import from_micros
from recollect.store.sqlite.checksums import add_checksums, checksum_state, mark_complete, reserve_room
from recollect.store.sqlite.write_turns import wait_for_lock
from recollect.store.told_times import pack_times, told_times

log = logging.getLogger("recollect")
APPLICATION_ID = 0x7265636F  # "reco": tells our files from other programs' databases

FIRST = """
CREATE TABLE memories (
    row INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: logs and marks of use refer to it
    id TEXT NOT NULL UNIQUE,
    born INTEGER NOT NULL,       -- the change that added it
    changed INTEGER NOT NULL,    -- the last change that touched it: images of other processes follow by this
    status TEXT NOT NULL,
    collection TEXT NOT NULL,
    expires INTEGER,             -- moments are microseconds since 1970
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    speaker TEXT NOT NULL,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    topic TEXT NOT NULL,
    tier TEXT NOT NULL,
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    classification INTEGER NOT NULL,
    confidence REAL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    valid_from INTEGER,
    valid_to INTEGER,
    tags TEXT NOT NULL,          -- lists and objects are JSON
    context TEXT NOT NULL,
    external_id TEXT NOT NULL,
    first_line INTEGER,
    last_line INTEGER,
    position INTEGER,
    strength REAL NOT NULL,
    importance REAL NOT NULL,
    flags TEXT NOT NULL,
    relevance REAL NOT NULL,
    trust INTEGER,
    credibility INTEGER,
    emotion REAL NOT NULL,
    emotion_tags TEXT NOT NULL,
    title TEXT NOT NULL,
    summary TEXT NOT NULL,
    keywords TEXT NOT NULL,
    entities TEXT NOT NULL,
    files TEXT NOT NULL,
    text TEXT NOT NULL,
    original TEXT NOT NULL
);
CREATE UNIQUE INDEX memories_external ON memories (collection, external_id) WHERE external_id <> '';
CREATE INDEX memories_changed ON memories (changed);

-- Every word that was ever indexed, with the form under which questions look it up.
CREATE TABLE vocabulary (term INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, stem TEXT NOT NULL);
CREATE INDEX vocabulary_stem ON vocabulary (stem);

-- The words of each memory: packed (term, field, times), see postings.ENTRY.
CREATE TABLE words (row INTEGER PRIMARY KEY, entries BLOB NOT NULL);

-- Vectors belong to the model that made them; one space is searched, another may be under construction.
CREATE TABLE spaces (space INTEGER PRIMARY KEY, name TEXT NOT NULL, dim INTEGER NOT NULL, active INTEGER NOT NULL,
    UNIQUE (name, dim));
CREATE TABLE vectors (space INTEGER NOT NULL, row INTEGER NOT NULL, vector BLOB NOT NULL);  -- float16, unit length
CREATE UNIQUE INDEX vectors_row ON vectors (space, row);

CREATE TABLE edges (source INTEGER NOT NULL, target INTEGER NOT NULL, kind TEXT NOT NULL, weight REAL NOT NULL,
    created INTEGER NOT NULL, born INTEGER NOT NULL, PRIMARY KEY (source, kind, target)) WITHOUT ROWID;
CREATE INDEX edges_target ON edges (target);
CREATE TABLE entity_edges (subject TEXT NOT NULL, relation TEXT NOT NULL, object TEXT NOT NULL, weight REAL NOT NULL,
    collection TEXT NOT NULL, user TEXT NOT NULL, classification INTEGER NOT NULL, source TEXT NOT NULL,
    created INTEGER NOT NULL, born INTEGER NOT NULL,
    PRIMARY KEY (collection, user, subject, relation, object)) WITHOUT ROWID;

-- How memories are used: apart from their content, and not part of its version.
CREATE TABLE use (row INTEGER PRIMARY KEY, last_accessed INTEGER, access_count INTEGER NOT NULL DEFAULT 0,
    return_count INTEGER NOT NULL DEFAULT 0, recall_count INTEGER NOT NULL DEFAULT 0, last_recalled INTEGER,
    recall_times TEXT NOT NULL DEFAULT '[]');

-- The history: one entry a change; what it replaced (for undo, and as earlier versions); what is gone.
CREATE TABLE changes (version INTEGER PRIMARY KEY, at INTEGER NOT NULL, verb TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT '', undone INTEGER NOT NULL DEFAULT 0);
CREATE TABLE former (version INTEGER NOT NULL, what TEXT NOT NULL, row INTEGER NOT NULL, record TEXT NOT NULL);
CREATE INDEX former_version ON former (version);
CREATE INDEX former_row ON former (row);
CREATE TABLE gone (row INTEGER PRIMARY KEY, version INTEGER NOT NULL);
CREATE INDEX gone_version ON gone (version);
"""

FILES = """
-- Folders whose files are memories: where they are, how they are cut, and when they were last looked at (JSON).
CREATE TABLE folders (collection TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;

-- Their files as they were when last read, and what could not be read of them.
CREATE TABLE files (file INTEGER PRIMARY KEY, collection TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL,
    modified INTEGER NOT NULL, inode INTEGER NOT NULL, hash BLOB NOT NULL, problem TEXT NOT NULL);
CREATE UNIQUE INDEX files_path ON files (collection, path);

-- Which memories are chunks of which file; equal digests have equal vectors.
CREATE TABLE chunks (row INTEGER PRIMARY KEY, file INTEGER NOT NULL, digest BLOB NOT NULL);
CREATE INDEX chunks_file ON chunks (file);
CREATE INDEX chunks_digest ON chunks (digest);
"""

# The tokens of a text as signs (see embed/sketch.py), beside the vector that came from the same pass.
SKETCH_COLUMN = "ALTER TABLE vectors ADD COLUMN sketch BLOB NOT NULL DEFAULT x''"

# Sketches in a table of their own. Beside their vectors they made rows of two kilobytes, and pages of four that were a
# sixth empty. A row moves as it is deleted: the pages that it leaves are filled again, and the file does not grow. What
# may be ignored cannot stop the statement halfway, so SQLite keeps no copies of pages in memory for taking it back.
SKETCH_TABLE = """
ALTER TABLE vectors RENAME TO together;
DROP INDEX IF EXISTS vectors_row;
CREATE TABLE vectors (space INTEGER NOT NULL, row INTEGER NOT NULL, vector BLOB NOT NULL);  -- float16, unit length
CREATE UNIQUE INDEX vectors_row ON vectors (space, row);
CREATE TABLE sketches (space INTEGER NOT NULL, row INTEGER NOT NULL, sketch BLOB NOT NULL);  -- see embed/sketch.py
CREATE UNIQUE INDEX sketches_row ON sketches (space, row);
CREATE TRIGGER move AFTER DELETE ON together BEGIN
    INSERT OR IGNORE INTO vectors VALUES (old.space, old.row, old.vector);
    INSERT OR IGNORE INTO sketches SELECT old.space, old.row, old.sketch WHERE old.sketch <> x'';
END;
DELETE FROM together;
DROP TABLE together;
"""

# Version 0.2. Fields: a file of version 0.1 that is only read has none of them (see rows.py). Changes get a random
# token, which tells copies of a file apart; the operation that they belong to; and whose memories they touched (JSON,
# null for any). External ids are unique for a user and an agent of a collection. What belongs to a memory refers to it
# by a foreign key, and goes with it.
TEXT_KEY = ("octet_length(text)", "substr(text, -12)")  # short, and rarely the same for two texts
UNDISTINGUISHED = "external_id = '' AND session = '' AND position IS NULL"  # memories that an equal text can be
VERSION_0_2 = f"""
ALTER TABLE memories ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN mentions INTEGER NOT NULL DEFAULT 1;
DROP INDEX IF EXISTS memories_external;
CREATE UNIQUE INDEX memories_external ON memories (collection, user, agent, external_id) WHERE external_id <> '';
CREATE INDEX memories_text ON memories (collection, user, {", ".join(TEXT_KEY)}) WHERE {UNDISTINGUISHED};

ALTER TABLE changes ADD COLUMN token INTEGER NOT NULL DEFAULT 0;
ALTER TABLE changes ADD COLUMN operation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE changes ADD COLUMN bounds TEXT NOT NULL DEFAULT '[[null,null,null,null]]';
UPDATE changes SET undone = 1 WHERE verb IN ('undo', 'embed', 'reembed', 'sync');
UPDATE changes SET operation = version, token = (random() & 4611686018427387903) | 1;

-- A process of version 0.1 that still has the file open writes no token and no operation.
CREATE TRIGGER changes_of_version_0_1 AFTER INSERT ON changes WHEN new.operation = 0 BEGIN
    UPDATE changes SET operation = version, token = (random() & 4611686018427387903) | 1,
        undone = undone OR verb IN ('undo', 'embed', 'reembed', 'sync') WHERE version = new.version;
END;

CREATE TABLE new_words (row INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE, entries BLOB NOT NULL);
INSERT INTO new_words SELECT * FROM words WHERE row IN (SELECT row FROM memories);
DROP TABLE words;
ALTER TABLE new_words RENAME TO words;

CREATE TABLE new_vectors (space INTEGER NOT NULL REFERENCES spaces ON DELETE CASCADE,
    row INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE, vector BLOB NOT NULL);  -- float16, unit length
INSERT INTO new_vectors SELECT * FROM vectors
    WHERE row IN (SELECT row FROM memories) AND space IN (SELECT space FROM spaces);
DROP TABLE vectors;
ALTER TABLE new_vectors RENAME TO vectors;
CREATE UNIQUE INDEX vectors_row ON vectors (row, space);

CREATE TABLE new_sketches (space INTEGER NOT NULL REFERENCES spaces ON DELETE CASCADE,
    row INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE, sketch BLOB NOT NULL);  -- see embed/token_sketch.py
INSERT INTO new_sketches SELECT * FROM sketches
    WHERE row IN (SELECT row FROM memories) AND space IN (SELECT space FROM spaces);
DROP TABLE sketches;
ALTER TABLE new_sketches RENAME TO sketches;
CREATE UNIQUE INDEX sketches_row ON sketches (row, space);

CREATE TABLE new_edges (source INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    target INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE, kind TEXT NOT NULL, weight REAL NOT NULL,
    created INTEGER NOT NULL, born INTEGER NOT NULL, PRIMARY KEY (source, kind, target)) WITHOUT ROWID;
INSERT INTO new_edges SELECT * FROM edges
    WHERE source IN (SELECT row FROM memories) AND target IN (SELECT row FROM memories);
DROP TABLE edges;
ALTER TABLE new_edges RENAME TO edges;
CREATE INDEX edges_target ON edges (target);

CREATE TABLE new_use (row INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE, last_accessed INTEGER,
    access_count INTEGER NOT NULL DEFAULT 0, return_count INTEGER NOT NULL DEFAULT 0,
    recall_count INTEGER NOT NULL DEFAULT 0, last_recalled INTEGER, recall_times TEXT NOT NULL DEFAULT '[]');
INSERT INTO new_use SELECT * FROM use WHERE row IN (SELECT row FROM memories);
DROP TABLE use;
ALTER TABLE new_use RENAME TO use;

-- Memories without a vector in the space that is searched.
CREATE TABLE unembedded (row INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE);
INSERT INTO unembedded SELECT row FROM memories WHERE row NOT IN
    (SELECT row FROM vectors WHERE space IN (SELECT space FROM spaces WHERE active));

CREATE TABLE new_chunks (row INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE, digest BLOB NOT NULL);
INSERT INTO new_chunks SELECT * FROM chunks
    WHERE row IN (SELECT row FROM memories) AND file IN (SELECT file FROM files);
DROP TABLE chunks;
ALTER TABLE new_chunks RENAME TO chunks;
CREATE INDEX chunks_file ON chunks (file);
CREATE INDEX chunks_digest ON chunks (digest);
"""

# The times that texts tell of, as pairs of microseconds (see told_times.py); memories that tell of none have no row.
TOLD_TIMES = """
CREATE TABLE told_times (row INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE, times BLOB NOT NULL);
"""

# Accesses and recalls of a memory by day (see use_days.py). Like use, not part of the content's version.
USE_BY_DAY = """
CREATE TABLE use_by_day (row INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE, day INTEGER NOT NULL,
    uses INTEGER NOT NULL, PRIMARY KEY (row, day)) WITHOUT ROWID;
"""

# Erasures: their receipts, whose memories they erased (salted hashes), and what is still to do (see erasing.py).
# Changes count what was erased of them. Numbers of words are never used again: other processes may still have them.
ERASURES = """
CREATE TABLE erasures (version INTEGER PRIMARY KEY, at INTEGER NOT NULL, pending INTEGER NOT NULL, owners TEXT NOT NULL,
    receipt TEXT NOT NULL);
CREATE TABLE erasure_salt (salt BLOB NOT NULL);
INSERT INTO erasure_salt VALUES (randomblob(16));
ALTER TABLE changes ADD COLUMN erased INTEGER NOT NULL DEFAULT 0;

CREATE TABLE new_vocabulary (term INTEGER PRIMARY KEY AUTOINCREMENT, word TEXT NOT NULL UNIQUE, stem TEXT NOT NULL);
INSERT INTO new_vocabulary SELECT term, word, stem FROM vocabulary;
DROP TABLE vocabulary;
ALTER TABLE new_vocabulary RENAME TO vocabulary;
CREATE INDEX vocabulary_stem ON vocabulary (stem);
"""

# When the file was last backed up, by folder. A file that is restored knows its earlier backups.
BACKUPS = "CREATE TABLE backups (folder TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID"

MIGRATIONS: dict[str, str] = {
    "0001_memories": FIRST,
    "0002_files": FILES,
    "0003_tokens": SKETCH_COLUMN,
    "0004_sketches": SKETCH_TABLE,
    "0005_version_0_2": VERSION_0_2,
    "0006_told_times": TOLD_TIMES,
    "0007_use_by_day": USE_BY_DAY,
    "0008_erasures": ERASURES,
    "0009_backups": BACKUPS,
    "0010_checksums": "",  # every page of the file is written again, see checksums.py
}
CHECKSUMS = "0010_checksums"


def _fill_told_times(connection: apsw.Connection) -> None:
    memories = connection.execute("SELECT row, text, created FROM memories")
    found = ((row, told_times(text, from_micros(created))) for row, text, created in memories)
    rows = [(row, pack_times(times)) for row, times in found if times]
    connection.executemany("INSERT INTO told_times VALUES (?, ?)", rows)


FILLED_BY: dict[str, Callable[[apsw.Connection], None]] = {"0006_told_times": _fill_told_times}


def migrate(connection: apsw.Connection, path: str) -> None:
    """Apply the missing migrations; refuse a file of another program or of a newer version.

    A file gets checksums as soon as nobody else has it open and the disk has room; until then it is used without.
    """
    if is_up_to_date(connection, path):
        return
    empty = connection.pragma("page_count") == 0
    if empty:
        reserve_room(connection)
    with _ImmediateTransaction(connection):
        applied = _applied(connection, path)
        new = empty and not applied  # otherwise another process was faster
        if new:
            mark_complete(connection)
        if not applied:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute("CREATE TABLE migrations (name TEXT PRIMARY KEY, applied INTEGER NOT NULL)")
        for name, script in MIGRATIONS.items():
            if name not in applied and (name != CHECKSUMS or new):
                for _ in connection.execute(script):
                    pass
                if name in FILLED_BY:
                    FILLED_BY[name](connection)
                _record(connection, name)
    if not new and CHECKSUMS not in applied:
        _add_checksums(connection, path)


def _add_checksums(connection: apsw.Connection, path: str) -> None:
    try:
        complete = checksum_state(connection, path, APPLICATION_ID) == "complete"
        if complete or add_checksums(connection, path, APPLICATION_ID):
            with _ImmediateTransaction(connection):
                _record(connection, CHECKSUMS)
        else:
            log.info("%s is open elsewhere, and gets its checksums when it is next opened alone.", path)
    except apsw.FullError:
        log.warning("The disk has no room to give %s checksums; it is used without them.", path)
    finally:
        wait_for_lock(connection)


def _record(connection: apsw.Connection, name: str) -> None:
    connection.execute("INSERT OR IGNORE INTO migrations VALUES (?, ?)", (name, int(time.time() * 1e6)))


def is_up_to_date(connection: apsw.Connection, path: str) -> bool:
    """Refuse a file of another program or of a newer version; is this one up to date?"""
    applied = _applied(connection, path)
    newer = applied - MIGRATIONS.keys()
    if newer:
        raise StoreError(
            f"{path} was written by a newer version of Recollect (it has {', '.join(sorted(newer))}). "
            "Use a newer version of Recollect; nothing was changed."
        )
    return applied == MIGRATIONS.keys()


def _applied(connection: apsw.Connection, path: str) -> set[str]:
    # In this order: another process may be creating the file, its tables and this number in one transaction.
    has_tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if connection.pragma("application_id") == APPLICATION_ID:
        return {str(name) for (name,) in connection.execute("SELECT name FROM migrations")}
    if has_tables:
        raise StoreError(f"{path} is the database of another program. Choose another file; nothing was changed.")
    return set()


class _ImmediateTransaction:
    """BEGIN IMMEDIATE … COMMIT, so that two processes that open a new file do not both create its tables."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection

    def __enter__(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        self.connection.execute("COMMIT" if kind is None else "ROLLBACK")
