"""Writing: one change is one transaction, one entry in the history and one undo."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, lru_cache
from struct import Struct
from typing import Any

import apsw
import numpy as np

from recollect.errors import InvalidInput, NotFound
from recollect.model import Edge, EntityEdge, Memory, Use
from recollect.model.validation import from_micros, micros
from recollect.store.base import Encoded, Space, UndoResult, WriteResult, check_space
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.decay import fade, scope_note
from recollect.store.sqlite.files import SqliteFileTransaction
from recollect.store.sqlite.index import active_space
from recollect.store.sqlite.rows import (
    COLUMNS,
    CONTEXT,
    CREATED,
    ENCODED,
    ID,
    SELECT,
    UPDATED,
    as_values,
    from_row,
    to_row,
    use_to_row,
)
from recollect.store.text_fields import embedding_text, field_words
from recollect.text.words import stem

INSERT = f"INSERT INTO memories (born, changed, {', '.join(COLUMNS)}) VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
UPDATE = f"UPDATE memories SET changed = ?, {', '.join(f'{name} = ?' for name in COLUMNS)} WHERE row = ?"
LEARN = "INSERT INTO vocabulary (word, stem) VALUES (?, ?) ON CONFLICT DO NOTHING"  # RETURNING would double its time
SYNC = "sync"  # the verb of changes that follow files: what they replace can be had from the files, so nothing is kept
LASTING = ("undo", "embed", "reembed", SYNC)  # changes that undo passes over
PARTS = ("memories", "words", "use", "chunks")  # tables with a row for a memory
LETTERS = b"abcdefghijklmnopqrstuvwxyz234567" * 8  # one for each byte: five bits of it count
MOST_TIMES = 65_535  # of one word in one field; the field is 16 bits wide


def new_id() -> str:
    """80 random bits as 16 small letters and digits."""
    return secrets.token_bytes(16).translate(LETTERS).decode()


@lru_cache(maxsize=512)
def _packer(entries: int) -> Struct:
    """Packs so many entries of postings.ENTRY."""
    return Struct("<" + "IBH" * entries)


def _canonical(values: list[Any]) -> list[Any]:
    """A row whose context is spelt with its keys in order: the order is no content."""
    context = json.dumps(json.loads(values[CONTEXT]), sort_keys=True)
    return [*values[:CONTEXT], context, *values[CONTEXT + 1 :]]


class Terms(dict[str, int]):
    """The numbers of the words that a change has met. One that the file does not know yet is added to it."""

    def __init__(self, connection: apsw.Connection, known: Mapping[str, int]) -> None:
        self.connection = connection
        self.known = known

    def __missing__(self, word: str) -> int:
        number = self.known.get(word)
        if number is None:
            self.connection.execute(LEARN, (word, stem(word)))
            if self.connection.changes():
                number = self.connection.last_insert_rowid()
            else:
                number = self.connection.execute("SELECT term FROM vocabulary WHERE word = ?", (word,)).get
        self[word] = number
        return number


class SqliteTransaction:
    """What may be done inside one transaction. The history entry is written with the first real change."""

    def __init__(
        self,
        connection: apsw.Connection,
        path: str,
        verb: str,
        note: str,
        now: datetime,
        vocabulary: dict[str, int],
    ) -> None:
        self.connection = connection
        self.path = path
        self.verb = verb
        self.note = note
        self.now = now
        self.learned = Terms(connection, vocabulary)  # the latter is a cache that only commits feed
        self._version: int | None = None

    @property
    def version(self) -> int:
        """The number of this change; asking for it enters the change into the history."""
        return self.begin()

    def begin(self) -> int:
        """Enter this change into the history, if that is not done yet; its number."""
        if self._version is None:
            last = self.connection.execute("SELECT max(version) FROM changes").get or 0
            self._version = last + 1
            self.connection.execute(
                "INSERT INTO changes (version, at, verb, note) VALUES (?, ?, ?, ?)",
                (self._version, micros(self.now), self.verb, self.note),
            )
        return self._version

    def remember(self, memory: Memory) -> WriteResult:
        known = self._known(memory)
        if known is None:
            return self._add(memory)
        row, held = known
        if held.collection != memory.collection:  # one collection must not take a memory from another
            raise InvalidInput(
                f"The id {held.id!r} belongs to a memory of the collection {held.collection!r}; "
                "give another id, or none, to keep it here, too."
            )
        memory = replace(memory, id=held.id, created=memory.created or held.created)
        return self._rewrite(row, held, memory)

    def revise(self, id: str, revision: Callable[[Memory], Memory]) -> WriteResult:
        row = self.row(id)
        held = self._held(row)
        return self._rewrite(row, held, revision(held))

    def decay(self, rate: float, collection: str | None) -> int:
        """One record for all former strengths; images follow by the entry in the history, not memory by memory."""
        fading = fade(self.connection, micros(self.now), rate, collection)
        if fading.rows:
            self.note = scope_note(collection)
            self._keep("strengths", 0, [fading.rows, fading.former])
            self._set_strengths(fading.rows, fading.strength)
        return len(fading.rows)

    def reindex(self, row: int) -> None:
        """Make the words of a memory anew."""
        values = (row, self._entries(self._held(row)))
        self.connection.execute("INSERT OR REPLACE INTO words VALUES (?, ?)", values)

    def remove(self, rows: Sequence[int]) -> None:
        """Its former contents go, too: an undo of an earlier change has nothing left to bring back."""
        if rows:
            self._forget_former(rows, "memory", "edge")
            self._remove(rows)

    @cached_property
    def files(self) -> SqliteFileTransaction:
        return SqliteFileTransaction(self)

    def set_use(self, row: int, use: Use) -> None:
        self.connection.execute("INSERT OR REPLACE INTO use VALUES (?, ?, ?, ?, ?, ?, ?)", (row, *use_to_row(use)))

    def set_former(self, row: int, memory: Memory, until: datetime) -> None:
        self._keep("memory", row, to_row(memory), until=micros(until))

    def embed(self, rows: Sequence[int], texts: Sequence[Encoded], space: Space) -> None:
        if self.verb != "reembed":
            held = active_space(self.connection)
            check_space(held[1] if held else None, space, self.path)
        number = self.space(space)
        encoded = [(number, row, *each) for row, each in zip(rows, texts, strict=True)]
        self.connection.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
            ((number, row, vector.astype(np.float16).tobytes()) for number, row, vector, _ in encoded),
        )
        self.connection.executemany(
            "INSERT OR REPLACE INTO sketches VALUES (?, ?, ?)",
            ((number, row, sketch) for number, row, _, sketch in encoded if sketch),
        )
        self.connection.executemany(
            "DELETE FROM sketches WHERE space = ? AND row = ?",
            ((number, row) for number, row, _, sketch in encoded if not sketch),
        )
        held = active_space(self.connection)
        if held is not None and held[0] == number:  # what is searched has changed
            self.connection.executemany(
                "UPDATE memories SET changed = ? WHERE row = ? AND changed <> ?",
                ((self.version, row, self.version) for row in rows),
            )

    def link(self, edge: Edge) -> None:
        source, target = self.row(edge.source), self.row(edge.target)
        held = "SELECT weight FROM edges WHERE source = ? AND target = ? AND kind = ?"
        if self.connection.execute(held, (source, target, edge.kind)).get == edge.weight:
            return
        self._keep_edge(source, target, edge.kind)
        self.connection.execute(
            "INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?, ?)",
            (source, target, edge.kind, edge.weight, micros(edge.created or self.now), self.version),
        )

    def unlink(self, source: str, target: str, kind: str | None) -> int:
        ends = (self.row(source), self.row(target))
        kinds = fetch(self.connection, "SELECT kind FROM edges WHERE source = ? AND target = ?", ends)
        chosen = [held for (held,) in kinds if kind in (None, held)]
        for each in chosen:
            self._keep_edge(*ends, each)
            self.connection.execute("DELETE FROM edges WHERE source = ? AND target = ? AND kind = ?", (*ends, each))
        return len(chosen)

    def relate(self, edge: EntityEdge) -> None:
        key = (edge.collection, edge.user, edge.subject, edge.relation, edge.object)
        held = self.connection.execute(
            "SELECT * FROM entity_edges WHERE (collection, user, subject, relation, object) = (?, ?, ?, ?, ?)",
            key,
        ).fetchall()
        for values in held:
            if (values[3], *values[6:8]) == (edge.weight, edge.classification, edge.source):
                return
            self._keep("entity_edge", 0, list(values))
        self.connection.execute(
            "INSERT OR REPLACE INTO entity_edges VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(edge.subject, edge.relation, edge.object, edge.weight, edge.collection, edge.user),
                *(edge.classification, edge.source, micros(edge.created or self.now), self.version),
            ),
        )

    def _set_strengths(self, rows: Sequence[int], strengths: Sequence[float]) -> None:
        pairs = zip(strengths, rows, strict=True)
        self.connection.executemany("UPDATE memories SET strength = ? WHERE row = ?", pairs)

    # How a memory is written.

    def _known(self, memory: Memory) -> tuple[int, Memory] | None:
        """The stored memory with its id or, when it has none, with its external id in its collection."""
        values: tuple[str, ...]
        if memory.id:
            where, values = "id = ?", (memory.id,)
        elif memory.external_id:
            where = "external_id = ? AND external_id <> '' AND collection = ?"  # the second lets the index be used
            values = (memory.external_id, memory.collection)
        else:
            return None
        for row, *held in self.connection.execute(f"SELECT m.row, {SELECT} FROM memories m WHERE {where}", values):
            return row, from_row(held)
        return None

    def _held(self, row: int) -> Memory:
        for held in self.connection.execute(f"SELECT {SELECT} FROM memories m WHERE row = ?", (row,)):
            return from_row(held)
        raise NotFound(f"There is no row {row}.")

    def _add(self, memory: Memory) -> WriteResult:
        version, now, values = self.version, micros(self.now), to_row(memory)
        id = values[ID] = memory.id or new_id()
        values[CREATED] = now if values[CREATED] is None else values[CREATED]
        values[UPDATED] = now if values[UPDATED] is None else values[UPDATED]
        self.connection.execute(INSERT, (version, version, *values))
        row = self.connection.last_insert_rowid()
        self.connection.execute("INSERT INTO words VALUES (?, ?)", (row, self._entries(memory)))
        return WriteResult(row, id, "added", self.now)

    def _rewrite(self, row: int, held: Memory, memory: Memory) -> WriteResult:
        former, latter = to_row(held), to_row(memory)
        latter[UPDATED] = former[UPDATED] if latter[UPDATED] is None else latter[UPDATED]
        if latter == former or _canonical(latter) == _canonical(former):
            return WriteResult(row, held.id, "same", self.now)
        if self.verb == SYNC:
            self._forget_former([row], "memory")  # what an undo would bring back is no longer what the file says
        else:
            self._keep("memory", row, former)
        if memory.updated is None or (memory.updated == held.updated and self.verb != SYNC):
            memory = replace(memory, updated=self.now)
        self.connection.execute(UPDATE, (self.version, *to_row(memory), row))
        self.connection.execute("UPDATE words SET entries = ? WHERE row = ?", (self._entries(memory), row))
        if (memory.text, memory.title) != (held.text, held.title):
            self._forget_vectors([row])
        return WriteResult(row, memory.id, "changed", self.now)

    def _entries(self, memory: Memory) -> bytes:
        """The words of a memory, packed for the postings."""
        packed = []
        for number, counts in field_words(memory):
            times: Iterable[int] = counts.values()
            if max(times, default=0) > MOST_TIMES:
                times = [min(each, MOST_TIMES) for each in times]
            entries = [number] * (3 * len(counts))  # term, field, times; term, field, times; …
            entries[::3] = map(self.learned.__getitem__, counts)
            entries[2::3] = times
            packed.append(_packer(len(counts)).pack(*entries))
        return b"".join(packed)

    def space(self, space: Space) -> int:
        for number, name, dim in self.connection.execute("SELECT space, name, dim FROM spaces"):
            if (name, dim) == (space.name, space.dim):
                return int(number)
        first = active_space(self.connection) is None
        self.connection.execute(
            "INSERT INTO spaces (name, dim, active) VALUES (?, ?, ?)", (space.name, space.dim, first)
        )
        return self.connection.last_insert_rowid()

    def row(self, id: str) -> int:
        row = self.connection.execute("SELECT row FROM memories WHERE id = ?", (id,)).get
        if row is None:
            raise NotFound(f"There is no memory with the id {id!r}.")
        return int(row)

    def _is_here(self, row: int) -> bool:
        return self.connection.execute("SELECT 1 FROM memories WHERE row = ?", (row,)).get is not None

    def row_with(self, id: str, text: str) -> int | None:
        for row, *held in self.connection.execute(f"SELECT m.row, {SELECT} FROM memories m WHERE id = ?", (id,)):
            return int(row) if embedding_text(from_row(held)) == text else None
        return None

    # What is kept of what was, so that it can come back.

    def _keep(self, what: str, row: int, values: list[Any], **more: int) -> None:
        named = {**dict(zip(COLUMNS, values, strict=True)), **more} if what == "memory" else values
        record = json.dumps(named, ensure_ascii=False)
        self.connection.execute("INSERT INTO former VALUES (?, ?, ?, ?)", (self.version, what, row, record))

    def _keep_edge(self, source: int, target: int, kind: str) -> None:
        key = (source, target, kind)
        for held in self.connection.execute(
            "SELECT * FROM edges WHERE source = ? AND target = ? AND kind = ?", key
        ).fetchall():
            self._keep("edge", source, list(held))

    def undo(self) -> UndoResult | None:
        """Take the last change back: what it added goes, what it replaced returns."""
        last = fetch(
            self.connection,
            f"SELECT version, at, verb FROM changes WHERE NOT undone AND verb NOT IN {LASTING} "
            "ORDER BY version DESC LIMIT 1",
        )
        if not last:
            return None
        version, at, verb = last[0]
        added = fetch(self.connection, "SELECT row FROM memories WHERE born = ?", (version,))
        self._remove([row for (row,) in added])
        self.connection.execute("DELETE FROM edges WHERE born = ?", (version,))
        self.connection.execute("DELETE FROM entity_edges WHERE born = ?", (version,))
        kept = fetch(
            self.connection, "SELECT what, row, record FROM former WHERE version = ? ORDER BY _rowid_ DESC", (version,)
        )
        fresh, restored, ids = {row for (row,) in added}, 0, []
        for what, row, record in kept:
            values = as_values(json.loads(record))
            if values[-1] != version if what != "memory" else row not in fresh:  # not of this change itself
                restored += len(values[0]) if what == "strengths" else 1
                self._return(what, row, values)
                if what == "memory":
                    ids.append(values[ID])
        self.connection.execute("DELETE FROM former WHERE version = ?", (version,))
        self.connection.execute("UPDATE changes SET undone = 1 WHERE version = ?", (version,))
        self.begin()  # the undo is a change of its own, which images follow
        return UndoResult(verb, from_micros(at), len(added), restored, tuple(ids))

    def _forget_vectors(self, rows: Sequence[int]) -> None:
        spaces = "space IN (SELECT space FROM spaces)"  # by the index, which begins with the space
        among = "row IN (SELECT value FROM json_each(?))"
        for table in ENCODED:
            self.connection.execute(f"DELETE FROM {table} WHERE {spaces} AND {among}", (json.dumps(rows),))

    def _remove(self, rows: Sequence[int]) -> None:
        among, chosen = "IN (SELECT value FROM json_each(?1))", json.dumps(rows)
        for table in PARTS:
            self.connection.execute(f"DELETE FROM {table} WHERE row {among}", (chosen,))
        self._forget_vectors(rows)
        self.connection.execute(f"DELETE FROM edges WHERE source {among} OR target {among}", (chosen,))
        sql = "INSERT OR REPLACE INTO gone SELECT value, ?2 FROM json_each(?1)"
        self.connection.execute(sql, (chosen, self.version))

    def _forget_former(self, rows: Sequence[int], *what: str) -> None:
        among = "IN (SELECT value FROM json_each(?))"
        sql = f"DELETE FROM former WHERE what {among} AND row {among}"
        self.connection.execute(sql, (json.dumps(what), json.dumps(rows)))

    def _return(self, what: str, row: int, values: list[Any]) -> None:
        match what:
            case "memory":
                memory, current = from_row(values), self._held(row)
                self.connection.execute(UPDATE, (self.version, *values, row))
                self.connection.execute("UPDATE words SET entries = ? WHERE row = ?", (self._entries(memory), row))
                if (memory.text, memory.title) != (current.text, current.title):
                    self._forget_vectors([row])
            case "strengths":
                self._set_strengths(*values)
            case "edge":
                if all(self._is_here(end) for end in values[:2]):
                    self.connection.execute("INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?, ?)", values)
            case _:
                places = ", ".join("?" * len(values))
                self.connection.execute(f"INSERT OR REPLACE INTO entity_edges VALUES ({places})", values)
