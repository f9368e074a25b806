"""Integrity of a file: do its indexes agree with its texts, are its vectors valid, and how problems are repaired."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.model import Memory
from recollect.model.validation import micros
from recollect.store.base import LastBackup, Space
from recollect.store.rows import ENCODED, from_row
from recollect.store.sqlite.backups import read_last_backup
from recollect.store.sqlite.checksums import new_copy
from recollect.store.sqlite.connections import Connections, fetch, translate_errors
from recollect.store.sqlite.files import read_folders
from recollect.store.sqlite.integrity_rules import EXAMPLES, MISFIT, RULES, Finding
from recollect.store.sqlite.migrations import CHECKSUMS, MIGRATIONS
from recollect.store.sqlite.postings import ENTRY
from recollect.store.sqlite.statements import select_columns
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.transaction import MAX_OCCURRENCES, SqliteTransaction
from recollect.store.sqlite.versions import active_space
from recollect.store.text_fields import embedding_text, field_words
from recollect.text.words import stem

LENGTH_ERROR = 0.01  # of a unit vector in float16
DAMAGED_PAGES = (
    "Pages of the file are torn: a bad disk, or a copy that was made while it was written. Some memories cannot be "
    "read. The best repair is a backup (recollect restore)."
)


def _check_all(connection: apsw.Connection, now: int) -> Iterator[Finding]:
    """Everything that is wrong inside the file, in the order in which it is to be repaired."""
    damage = [problem for (problem,) in fetch(connection, "PRAGMA integrity_check(20)") if problem != "ok"]
    if damage:
        yield _damage_finding(damage)
        if not all(map(_is_index, damage)):
            return  # what is read of a torn file proves nothing
    for check in (
        _missing_tables,
        *(rule.check for rule in RULES),
        _wrong_words,
        _wrong_stems,
        _invalid_vectors,
        _missing_indexes,
    ):
        if finding := check(connection, now):
            yield finding
            if check is _missing_tables and check(connection, now):
                return  # it was not repaired, and the other checks would fail on it


def _is_index(problem: str) -> bool:
    return " index " in f" {problem} "


def _damage_finding(damage: Sequence[str]) -> Finding:
    only_indexes = all(map(_is_index, damage))
    return Finding(
        "damage",
        "error",
        f"SQLite's own check finds: {damage[0]}" + (f" (and {len(damage) - 1} more)" if damage[1:] else ""),
        "An index does not agree with its table: some memories are not found by id or are there twice."
        if only_indexes
        else DAMAGED_PAGES,
        "builds the indexes anew" if only_indexes else "",
        _rebuild_indexes if only_indexes else None,
        tuple(damage[:EXAMPLES]),
    )


def _rebuild_indexes(transaction: SqliteTransaction) -> None:
    """Drop our own indexes: they are found missing and made again after their content is repaired. Rebuild SQLite's."""
    for name, (kind, _) in _schema().items():
        if kind == "index":
            transaction.connection.execute(f"DROP INDEX IF EXISTS {name}")
    transaction.connection.execute("REINDEX")


def _run(transaction: SqliteTransaction, *statements: str) -> None:
    for sql in statements:
        transaction.connection.execute(sql)


@cache
def _schema() -> dict[str, tuple[str, str]]:
    """Name → kind and statement of every table and index that the migrations make."""
    fresh = apsw.Connection(":memory:")
    for script in MIGRATIONS.values():
        fresh.execute(script).fetchall()
    made = fetch(fresh, "SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    return {name: (kind, sql) for name, kind, sql in made if not name.startswith("sqlite_")}


def _missing_tables(connection: apsw.Connection, _: int) -> Finding | None:
    return _missing(connection, "table")


def _missing_indexes(connection: apsw.Connection, _: int) -> Finding | None:
    return _missing(connection, "index")


def _missing(connection: apsw.Connection, kind: str) -> Finding | None:
    stored = {name for (name,) in fetch(connection, "SELECT name FROM sqlite_schema")}
    missing = {name: sql for name, (made, sql) in _schema().items() if made == kind and name not in stored}
    if not missing:
        return None
    what = f"The file lacks the {kind} {', '.join(missing)}."
    if "memories" in missing:
        return Finding("missing table", "error", what, "The memories themselves are gone: put a backup in its place.")
    return Finding(
        f"missing {kind}",
        "error",
        what,
        f"Another program has changed it. {'What was in there is gone.' if kind == 'table' else 'Searches are slow.'}",
        f"makes the {kind} anew" + (", empty" if kind == "table" else ""),
        lambda transaction: _run(transaction, *missing.values()),
    )


def _wrong_words(connection: apsw.Connection, _: int) -> Finding | None:
    """Are the words in the index those of the texts?"""
    vocabulary = dict(fetch(connection, "SELECT term, word FROM vocabulary"))
    entries = dict(fetch(connection, "SELECT row, entries FROM words"))
    wrong = [
        (row, memory.id)
        for row, memory in _memories(connection)
        if row not in entries or _unpack(entries[row], vocabulary) != _expected_words(memory)
    ]
    if not wrong:
        return None

    def repair(transaction: SqliteTransaction) -> None:
        for row, _ in wrong:
            transaction.reindex(row)

    return Finding(
        "words that are not those of the text",
        "error",
        f"Memories that are indexed under other words than those of their texts: {len(wrong)}.",
        "Searches by words miss them, or find them wrongly; where the words are missing altogether, recalls fail.",
        "indexes their texts anew",
        repair,
        tuple(id for _, id in wrong[:EXAMPLES]),
    )


def _expected_words(memory: Memory) -> dict[tuple[int, str], int]:
    return {
        (field, word): min(times, MAX_OCCURRENCES)
        for field, counts in field_words(memory)
        for word, times in counts.items()
    }


def _unpack(packed: bytes, vocabulary: dict[int, str]) -> dict[tuple[int, str], int] | None:
    if len(packed) % ENTRY.itemsize:
        return None
    read = np.frombuffer(packed, dtype=ENTRY).tolist()
    return {(field, vocabulary.get(term, "")): times for term, field, times in read}


def _wrong_stems(connection: apsw.Connection, _: int) -> Finding | None:
    """Is every word looked up under the stem that questions will ask for?"""
    known = fetch(connection, "SELECT term, word, stem FROM vocabulary")
    wrong = [(stem(word), term) for term, word, stored in known if stored != stem(word)]
    if not wrong:
        return None
    return Finding(
        "stems of another stemmer",
        "warning",
        f"Words that are kept under another stem than today's: {len(wrong)}.",
        "Another version of the stemmer wrote them; other forms of these words do not find them.",
        "stems them anew",
        lambda transaction: _executemany(transaction, "UPDATE vocabulary SET stem = ? WHERE term = ?", wrong),
    )


def _executemany(transaction: SqliteTransaction, sql: str, values: Sequence[tuple[object, ...]]) -> None:
    transaction.connection.executemany(sql, values)


def _invalid_vectors(connection: apsw.Connection, _: int) -> Finding | None:
    """Is every vector finite, and of unit length?"""
    sql = f"SELECT space, row, vector FROM vectors WHERE NOT ({MISFIT})"
    wrong = [(space, row) for space, row, packed in connection.execute(sql) if not _is_valid(packed)]
    if not wrong:
        return None

    def repair(transaction: SqliteTransaction) -> None:
        for table in ENCODED:
            _executemany(transaction, f"DELETE FROM {table} WHERE space = ? AND row = ?", wrong)

    return Finding(
        "invalid vectors",
        "error",
        f"Vectors that hold NaN or infinity, or are not of unit length: {len(wrong)}.",
        "Their memories come first or last in every search by meaning, whatever was asked.",
        "removes them, and makes them anew if the embedder is there",
        repair,
        tuple(str(row) for _, row in wrong[:EXAMPLES]),
    )


def _is_valid(packed: bytes) -> bool:
    length = float(np.linalg.norm(_vector(packed)))
    return length == 0 or abs(length - 1) < LENGTH_ERROR  # NaN is neither


def _vector(packed: bytes) -> NDArray[np.float64]:
    return np.frombuffer(packed, dtype=np.float16).astype(np.float64)


class FileInspector:
    """A file under examination. It is opened for reading: looking changes nothing."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._connections = Connections(path, readonly=True, durable=True)

    @property
    def pending(self) -> list[str]:
        """Steps of the file's shape that are still to be taken."""
        applied = {name for (name,) in self._fetch("SELECT name FROM migrations")}
        return [name for name in MIGRATIONS if name not in applied and name != CHECKSUMS]

    @property
    def last_backup(self) -> LastBackup | None:
        with translate_errors(self.path):
            return read_last_backup(self._connections.get())

    @property
    def has_checksums(self) -> bool:
        return CHECKSUMS in {name for (name,) in self._fetch("SELECT name FROM migrations")}

    def findings(self, now: datetime) -> list[Finding]:
        with translate_errors(self.path):
            return list(_check_all(self._connections.get(), micros(now)))

    @property
    def space(self) -> Space | None:
        """The model whose vectors are searched."""
        with translate_errors(self.path):
            stored = active_space(self._connections.get())
        return stored[1] if stored else None

    def vectors(self) -> dict[str, NDArray[np.float64]]:
        """The sound vectors that are searched, by the ids of their memories."""
        stored = self._fetch(
            "SELECT m.id, v.vector FROM vectors v JOIN memories m ON m.row = v.row JOIN spaces s ON s.space = v.space "
            "WHERE s.active AND m.status <> 'forgotten' AND length(v.vector) = 2 * s.dim ORDER BY v.row"
        )
        return {id: _vector(packed) for id, packed in stored if _is_valid(packed)}

    def without_sketches(self) -> set[str]:
        """The ids of memories that have a vector and no tokens beside it, or torn ones."""
        sql = (
            "SELECT m.id FROM vectors v JOIN memories m ON m.row = v.row JOIN spaces s ON s.space = v.space "
            "LEFT JOIN sketches k ON k.space = v.space AND k.row = v.row "
            "WHERE s.active AND (ifnull(length(k.sketch), 0) = 0 OR length(k.sketch) % ((s.dim + 7) / 8) <> 0)"
        )
        return {id for (id,) in self._fetch(sql)}

    def folders(self) -> dict[str, str]:
        """The roots of the folders whose files are memories, by collection."""
        with translate_errors(self.path):
            return {name: str(record["root"]) for name, record in read_folders(self._connections.get()).items()}

    def texts(self) -> dict[str, str]:
        """What an embedder reads of each memory, by id."""
        with translate_errors(self.path):
            read = _memories(self._connections.get())
            return {each.id: embedding_text(each) for _, each in read if each.status != "forgotten"}

    def copy_to(self, to: str) -> None:
        """A copy of the whole file, as it is now."""
        stored = self._connections.get()
        with (
            translate_errors(to),
            contextlib.closing(new_copy(stored, self.path, to)) as new,
            new.backup("main", stored, "main") as copy,
        ):
            copy.step()

    def close(self) -> None:
        self._connections.close()

    def _fetch(self, sql: str) -> list[Any]:
        with translate_errors(self.path):
            return fetch(self._connections.get(), sql)


def repair_file(
    path: str,
    clock: Callable[[], datetime],
    fresh: Mapping[str, tuple[str, Any]],
    space: Space | None,
    rebuild: bool = False,
) -> None:
    """Repair what can be repaired in one transaction; ``fresh`` has a text and its vector for ids that need one.

    With ``rebuild`` everything that is derived from the texts without a model is made again."""
    store = SqliteStore(path, clock)
    try:
        with store.transaction("doctor") as transaction:
            if rebuild:
                _rebuild(transaction)
            for finding in _check_all(transaction.connection, micros(clock())):
                if finding.repair is not None:
                    finding.repair(transaction)
            if space is not None:
                rows = {transaction.row_with(id, text): vector for id, (text, vector) in fresh.items()}
                rows.pop(None, None)  # it has another text by now
                if rows:
                    transaction.embed([row for row in rows if row is not None], list(rows.values()), space)
            _finish(transaction)
    finally:
        store.close()


def _rebuild(transaction: SqliteTransaction) -> None:
    """Make words, vocabulary, told times and SQLite's own indexes again, from the texts.

    Other processes have the numbers of words in memory: with new tokens, the file is another one to them."""
    _run(transaction, "UPDATE changes SET token = (random() & 4611686018427387903) | 1")
    _run(transaction, "DELETE FROM words", "DELETE FROM told_times", "DELETE FROM vocabulary")
    transaction.words.known = {}  # numbers of words that were known before
    for (row,) in fetch(transaction.connection, "SELECT row FROM memories ORDER BY row"):
        transaction.reindex(row)
    _rebuild_indexes(transaction)


def checkpoint_log(path: str) -> None:
    """Write the log's pages into the file, so that it may begin anew."""
    connections = Connections(path, readonly=False, durable=True)
    with translate_errors(path):
        connections.get().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connections.close()


def _finish(transaction: SqliteTransaction) -> None:
    """Make every index be built again. There is nothing in a repair that undo could take back."""
    transaction.connection.execute("UPDATE memories SET changed = ?", (transaction.version,))
    transaction.undoable = False


def _memories(connection: apsw.Connection) -> Iterator[tuple[int, Memory]]:
    for row, *values in connection.execute(f"SELECT m.row, {select_columns(connection)} FROM memories m"):
        try:
            yield int(row), from_row(values)
        except (ValueError, TypeError):  # its details cannot be read: a rule of its own says so
            continue
