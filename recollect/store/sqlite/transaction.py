"""Writing: a transaction is one entry in the history; one or several are an operation, which undo takes back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, lru_cache
from struct import Struct
from typing import Any

import apsw
import numpy as np

from recollect.errors import NotFound
from recollect.model import Edge, EntityEdge, Memory, Use
from recollect.model.ids import new_id
from recollect.model.validation import micros
from recollect.store.base import Bound, EncodedText, Space, UndoResult, Version, WriteResult, check_space
from recollect.store.bounds import Owner, is_inside, owner_of
from recollect.store.decay import DECAYING, LAST_DECAYS, decayed_strengths
from recollect.store.erasing import Receipt
from recollect.store.rows import COLUMNS, CREATED, ENCODED, ID, SELECT, UPDATED, from_row, to_row, use_to_row
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.erasing import add_receipt
from recollect.store.sqlite.files import SqliteFileTransaction
from recollect.store.sqlite.migrations import TEXT_KEY, UNDISTINGUISHED
from recollect.store.sqlite.statements import bound_condition
from recollect.store.sqlite.undo import find_undo_texts, undo_operation
from recollect.store.sqlite.versions import ACTIVE, FileVersion
from recollect.store.text_fields import embedding_text, field_words
from recollect.store.told_times import pack_times, told_times
from recollect.store.writing import (
    NOT_UNDOABLE,
    SYNC,
    check_edge,
    check_relation,
    check_same_memory,
    external_id_taken,
    has_same_content,
    no_memory,
    outside_bound,
    owners_record,
)
from recollect.text.words import stem

INSERT = f"INSERT INTO memories (born, changed, {', '.join(COLUMNS)}) VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
UPDATE = f"UPDATE memories SET changed = ?, {', '.join(f'{name} = ?' for name in COLUMNS)} WHERE row = ?"
AMONG = "IN (SELECT value FROM json_each(?1))"
MAX_OCCURRENCES = 65_535  # of one word in one field; the number is stored in 16 bits


@lru_cache(maxsize=512)
def _packer(entries: int) -> Struct:
    """Packs so many entries of postings.ENTRY."""
    return Struct("<" + "IBH" * entries)


class WordNumbers(dict[str, int]):
    """The numbers of words that this process has not met before. Words that the file does not know are added to it."""

    def __init__(self, connection: apsw.Connection, known: Mapping[str, int]) -> None:
        self.connection = connection
        self.known = known

    def of(self, words: Collection[str]) -> list[int]:
        numbers = [self.known.get(word) or self.get(word, 0) for word in words]
        if 0 in numbers:
            self._find_or_add([word for word, number in zip(words, numbers, strict=True) if not number])
            numbers = [number or self[word] for word, number in zip(words, numbers, strict=True)]
        return numbers

    def _find_or_add(self, words: Sequence[str]) -> None:
        stored = fetch(self.connection, f"SELECT word, term FROM vocabulary WHERE word {AMONG}", (json.dumps(words),))
        self.update(stored)
        for word in words:
            if word not in self:
                self.connection.execute("INSERT INTO vocabulary (word, stem) VALUES (?, ?)", (word, stem(word)))
                self[word] = self.connection.last_insert_rowid()


class SqliteTransaction:
    """What may be done inside one transaction. It enters the history when it changes something."""

    def __init__(
        self,
        connection: apsw.Connection,
        path: str,
        verb: str,
        note: str,
        now: datetime,
        last_version: int,
        vocabulary: dict[str, int],
        bound: Bound,
        operation: int | None = None,
    ) -> None:
        self.connection = connection
        self.path = path
        self.verb = verb
        self.note = note
        self.now = now
        self.bound = bound
        self.undoable = verb not in NOT_UNDOABLE
        self.words = WordNumbers(connection, vocabulary)  # the latter is a cache that only commits feed
        self._operation = operation
        self._last_version = last_version  # before this transaction
        self._version: int | None = None
        self.entry: FileVersion | None = None  # in the history, once it is finished
        self._touched: set[Owner] = set()
        self._without_vector: set[int] = set()  # rows whose text is new in this transaction

    @property
    def version(self) -> int:
        """The number of this transaction in the history; asking for it means that there is a change."""
        if self._version is None:
            self._version = self._last_version + 1
        return self._version

    @property
    def operation(self) -> int:
        return self.version if self._operation is None else self._operation

    @property
    def changed(self) -> bool:
        return self._version is not None

    def finish(self) -> None:
        """Enter the transaction into the history, if it changed anything. The token tells copies of a file apart."""
        if self._without_vector:
            self.connection.executemany(
                "INSERT OR IGNORE INTO unembedded SELECT row FROM memories WHERE row = ?",
                ((row,) for row in self._without_vector),
            )
        if self._version is not None:
            self.entry = FileVersion(self._version, int.from_bytes(os.urandom(8)) >> 2 | 1)
            self.connection.execute(
                "INSERT INTO changes (version, at, verb, note, undone, token, operation, bounds) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(self._version, micros(self.now), self.verb, self.note, not self.undoable),
                    *(self.entry.token, self.operation, owners_record(self._touched)),
                ),
            )

    def touch(self, *owners: Owner) -> None:
        """Record to whom something belongs that this transaction changes; refuse what is outside the bound."""
        for owner in owners:
            if owner not in self._touched:
                if not is_inside(owner, self.bound):
                    raise outside_bound(self.bound)
                self._touched.add(owner)

    def forget_owners(self) -> None:
        """Do not record whose memories were touched: an erasure may have removed the last trace of them."""
        self._touched.clear()

    # Memories.

    def find(self, memory: Memory) -> Memory | None:
        existing = self._find_existing(memory)
        return existing[1] if existing is not None and self.bound.contains(existing[1]) else None

    def find_equal(self, memory: Memory) -> list[Memory]:
        condition, values = bound_condition(self.bound)
        sql = (  # the index has equal keys by row: the oldest comes first
            f"SELECT row FROM memories WHERE collection = ? AND user = ? AND {TEXT_KEY[0]} = ? AND {TEXT_KEY[1]} = ? "
            f"AND {UNDISTINGUISHED} AND text = ? AND kind = ? AND agent = ? AND status = 'active'{condition}"
        )
        owner, key = (memory.collection, memory.user), (len(memory.text.encode()), memory.text[-12:])
        found = fetch(self.connection, sql, (*owner, *key, memory.text, memory.kind, memory.agent, *values))
        return [self.stored(row) for (row,) in found]

    def last_position(self, memory: Memory, since: Version) -> int:
        sql = (  # by the index on changed
            "SELECT max(position) FROM memories WHERE changed > ? "
            "AND collection = ? AND user = ? AND agent = ? AND session = ?"
        )
        owner = (memory.collection, memory.user, memory.agent, memory.session)
        return self.connection.execute(sql, (int(since.partition(".")[0]), *owner)).get or 0

    def remember(self, memory: Memory) -> WriteResult:
        known = self._find_existing(memory)
        if known is None:
            return self._add(memory)
        row, stored = known
        check_same_memory(memory, stored, self.bound)
        memory = replace(memory, id=stored.id, created=memory.created or stored.created)
        return self._rewrite(row, stored, memory)

    def revise(self, id: str, revision: Callable[[Memory], Memory]) -> WriteResult:
        row = self.row(id)
        stored = self.stored(row)
        return self._rewrite(row, stored, revision(stored))

    def decay(self, rate: float) -> int:
        """One record for all earlier strengths; indexes follow by the entry in the history, not memory by memory."""
        condition, values = bound_condition(self.bound)
        memories = fetch(self.connection, f"SELECT {DECAYING} FROM memories WHERE true{condition} ORDER BY row", values)
        changed = decayed_strengths(memories, fetch(self.connection, LAST_DECAYS), micros(self.now), rate)
        if changed.rows:
            self.note = json.dumps(self.bound.values) if self.bound.values else ""
            self.touch(*self.owners(changed.rows))
            self._save("strengths", 0, [changed.rows, changed.before])
            self.set_strengths(changed.rows, changed.after)
        return len(changed.rows)

    def reindex(self, row: int) -> None:
        """Make the words of a memory again, and read the times that its text tells of."""
        memory = self.stored(row)
        self.connection.execute("INSERT OR REPLACE INTO words VALUES (?, ?)", (row, self._entries(memory)))
        self.connection.execute("DELETE FROM told_times WHERE row = ?", (row,))
        self._write_told_times(row, memory)

    def delete(self, rows: Sequence[int]) -> None:
        """Its history goes, too: the undo of an earlier operation has nothing left to restore."""
        if rows:
            self.touch(*self.owners(rows))
            self._delete_history(rows, "memory", "edge")
            self.remove(rows)

    def set_use(self, row: int, use: Use, by_day: Mapping[int, int] | None = None) -> None:
        self.require([row])
        self.connection.execute("INSERT OR REPLACE INTO use VALUES (?, ?, ?, ?, ?, ?, ?)", (row, *use_to_row(use)))
        if by_day is not None:
            self.connection.execute("DELETE FROM use_by_day WHERE row = ?", (row,))
            days = ((row, *each) for each in by_day.items())
            self.connection.executemany("INSERT INTO use_by_day VALUES (?, ?, ?)", days)

    def add_receipt(self, receipt: Receipt) -> None:
        add_receipt(self.connection, self.version, receipt)

    def add_history(self, row: int, memory: Memory, until: datetime) -> None:
        self.require([row])
        self._save("memory", row, to_row(memory), until=micros(until))

    def row(self, id: str) -> int:
        condition, values = bound_condition(self.bound)
        row = self.connection.execute(f"SELECT row FROM memories WHERE id = ?{condition}", (id, *values)).get
        if row is None:
            raise no_memory(id)
        return int(row)

    def require(self, rows: Sequence[int]) -> None:
        """Raise NotFound if one of these rows does not exist or is outside the bound."""
        if not rows:
            return
        condition, values = bound_condition(self.bound)
        sql = f"SELECT count(*) FROM memories WHERE row {AMONG}{condition}"
        if self.connection.execute(sql, (json.dumps(list(rows)), *values)).get < len(set(rows)):
            raise NotFound("A row does not exist in this store, or is outside its bound.")

    def row_with(self, id: str, text: str) -> int | None:
        condition, values = bound_condition(self.bound)
        sql = f"SELECT m.row, {SELECT} FROM memories m WHERE id = ?{condition}"
        for row, *stored in self.connection.execute(sql, (id, *values)):
            return int(row) if embedding_text(from_row(stored)) == text else None
        return None

    @cached_property
    def files(self) -> SqliteFileTransaction:
        return SqliteFileTransaction(self)

    # Vectors.

    def embed(self, rows: Sequence[int], texts: Sequence[EncodedText], space: Space) -> None:
        if not rows:
            return
        spaces = self._spaces()
        active = next((each for each, (_, is_active) in spaces.items() if is_active), None)
        if self.verb != "reembed":
            check_space(active, space, self.path)
        self.require([row for row in rows if row not in self._without_vector])
        number = spaces[space][0] if space in spaces else self._add_space(space, active is None)
        self._write_vectors(number, rows, texts)
        if active in (None, space):  # what is searched has changed
            earlier = [row for row in rows if row not in self._without_vector]
            self._without_vector.difference_update(rows)
            if earlier:
                self.connection.executemany("DELETE FROM unembedded WHERE row = ?", ((row,) for row in earlier))
                self.connection.executemany(
                    "UPDATE memories SET changed = ? WHERE row = ? AND changed <> ?",
                    ((self.version, row, self.version) for row in earlier),
                )

    def _write_vectors(self, number: int, rows: Sequence[int], texts: Sequence[EncodedText]) -> None:
        self.connection.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
            ((number, row, vector.astype(np.float16).tobytes()) for row, (vector, _) in zip(rows, texts, strict=True)),
        )
        sketches = [(number, row, sketch) for row, (_, sketch) in zip(rows, texts, strict=True)]
        if with_sketch := [each for each in sketches if each[2]]:
            self.connection.executemany("INSERT OR REPLACE INTO sketches VALUES (?, ?, ?)", with_sketch)
        if without := [each[:2] for each in sketches if not each[2]]:
            self.connection.executemany("DELETE FROM sketches WHERE space = ? AND row = ?", without)

    def note_vector(self, row: int) -> None:
        """Record that a row has got a vector in the space that is searched, if it has."""
        sql = f"SELECT 1 FROM vectors WHERE row = ? AND space = ({ACTIVE})"
        if self.connection.execute(sql, (row,)).get is not None:
            self._without_vector.discard(row)
            self.connection.execute("DELETE FROM unembedded WHERE row = ?", (row,))

    def space(self, space: Space) -> int:
        """The number of a space, which is added if it is new; the first one is searched."""
        spaces = self._spaces()
        return spaces[space][0] if space in spaces else self._add_space(space, not any(a for _, a in spaces.values()))

    def _spaces(self) -> dict[Space, tuple[int, bool]]:
        """All spaces, each with its number and whether it is searched."""
        found = self.connection.execute("SELECT space, name, dim, active FROM spaces")
        return {Space(name, dim): (number, bool(active)) for number, name, dim, active in found}

    def _add_space(self, space: Space, active: bool) -> int:
        self.connection.execute(
            "INSERT INTO spaces (name, dim, active) VALUES (?, ?, ?)", (space.name, space.dim, active)
        )
        return self.connection.last_insert_rowid()

    # Edges and relations.

    def link(self, edge: Edge) -> None:
        source, target = self.row(edge.source), self.row(edge.target)
        ends = [self.stored(row) for row in (source, target)]
        check_edge(edge, *ends)
        sql = "SELECT weight, created FROM edges WHERE source = ? AND target = ? AND kind = ?"
        stored = self.connection.execute(sql, (source, target, edge.kind)).get
        if stored is not None and stored[0] == edge.weight:
            return
        created = micros(edge.created or self.now) if stored is None else stored[1]  # another weight: the same edge
        self.touch(*map(owner_of, ends))
        self._save_edge(source, target, edge.kind)
        self.connection.execute(
            "INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?, ?)",
            (source, target, edge.kind, edge.weight, created, self.version),
        )

    def unlink(self, source: str, target: str, kind: str | None) -> int:
        ends = (self.row(source), self.row(target))
        kinds = fetch(self.connection, "SELECT kind FROM edges WHERE source = ? AND target = ?", ends)
        chosen = [stored for (stored,) in kinds if kind in (None, stored)]
        if chosen:
            self.touch(*self.owners(ends))
        for each in chosen:
            self._remove_edge(*ends, each)
        return len(chosen)

    def relate(self, edge: EntityEdge) -> None:
        check_relation(edge, self.bound)
        key = (edge.collection, edge.user, edge.subject, edge.relation, edge.object)
        stored = self.connection.execute(
            "SELECT * FROM entity_edges WHERE (collection, user, subject, relation, object) = (?, ?, ?, ?, ?)",
            key,
        ).fetchall()
        for values in stored:
            if (values[3], *values[6:8]) == (edge.weight, edge.classification, edge.source):
                return
            self._save("entity_edge", 0, list(values))
        self.touch((edge.collection, edge.user, "", ""))
        self.connection.execute(
            "INSERT OR REPLACE INTO entity_edges VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(edge.subject, edge.relation, edge.object, edge.weight, edge.collection, edge.user),
                *(edge.classification, edge.source, micros(edge.created or self.now), self.version),
            ),
        )

    # How a memory is written.

    def _find_existing(self, memory: Memory) -> tuple[int, Memory] | None:
        """The stored memory with its id or, when it has none, with its external id and owner."""
        values: tuple[str, ...]
        if memory.id:
            where, values = "id = ?", (memory.id,)
        elif memory.external_id:
            where = "external_id = ? AND external_id <> '' AND (collection, user, agent) = (?, ?, ?)"
            values = (memory.external_id, memory.collection, memory.user, memory.agent)
        else:
            return None
        for row, *stored in self.connection.execute(f"SELECT m.row, {SELECT} FROM memories m WHERE {where}", values):
            return row, from_row(stored)
        return None

    def stored(self, row: int) -> Memory:
        for stored in self.connection.execute(f"SELECT {SELECT} FROM memories m WHERE row = ?", (row,)):
            return from_row(stored)
        raise NotFound(f"There is no row {row}.")

    def _check_external_id(self, memory: Memory, row: int = 0) -> None:
        owner = (memory.collection, memory.user, memory.agent)
        where = "external_id = ? AND external_id <> '' AND (collection, user, agent) = (?, ?, ?) AND row <> ?"
        sql = f"SELECT 1 FROM memories WHERE {where}"
        if self.connection.execute(sql, (memory.external_id, *owner, row)).get is not None:
            raise external_id_taken(memory)

    def _add(self, memory: Memory) -> WriteResult:
        if memory.id and memory.external_id:
            self._check_external_id(memory)
        self.touch(owner_of(memory))
        version, now, values = self.version, micros(self.now), to_row(memory)
        id = values[ID] = memory.id or new_id()
        values[CREATED] = now if values[CREATED] is None else values[CREATED]
        values[UPDATED] = now if values[UPDATED] is None else values[UPDATED]
        self.connection.execute(INSERT, (version, version, *values))
        row = self.connection.last_insert_rowid()
        self.connection.execute("INSERT INTO words VALUES (?, ?)", (row, self._entries(memory)))
        self._write_told_times(row, memory)
        self._without_vector.add(row)
        return WriteResult(row, id, "added", self.now)

    def _rewrite(self, row: int, stored: Memory, memory: Memory) -> WriteResult:
        before, after = to_row(stored), to_row(memory)
        after[UPDATED] = before[UPDATED] if after[UPDATED] is None else after[UPDATED]
        if has_same_content(before, after):
            return WriteResult(row, stored.id, "same", self.now)
        if memory.external_id and memory.external_id != stored.external_id:
            self._check_external_id(memory, row)
        self.touch(owner_of(stored), owner_of(memory))
        if self.verb == SYNC:
            self._delete_history([row], "memory")  # an undo would restore what the file no longer says
        else:
            self._save("memory", row, before)
        if memory.updated is None or (memory.updated == stored.updated and self.verb != SYNC):
            memory = replace(memory, updated=self.now)
        self.write(row, memory, stored)
        if memory.collection != stored.collection:  # edges stay inside one collection
            sql = "SELECT source, target, kind FROM edges WHERE ?1 IN (source, target)"
            for source, target, kind in fetch(self.connection, sql, (row,)):
                self.touch(*self.owners((source, target)))
                self._remove_edge(source, target, kind)
        return WriteResult(row, memory.id, "changed", self.now)

    def write(self, row: int, memory: Memory, stored: Memory) -> None:
        """Write a memory in place of what is stored; without its vectors, if that was embedded from another text."""
        self.connection.execute(UPDATE, (self.version, *to_row(memory), row))
        self.connection.execute("UPDATE words SET entries = ? WHERE row = ?", (self._entries(memory), row))
        if (memory.text, memory.created) != (stored.text, stored.created):
            self.connection.execute("DELETE FROM told_times WHERE row = ?", (row,))
            self._write_told_times(row, memory)
        if (memory.text, memory.title) != (stored.text, stored.title):
            self._delete_vectors([row])

    def _entries(self, memory: Memory) -> bytes:
        """The words of a memory, packed for the postings."""
        packed = []
        for number, counts in field_words(memory):
            times: Iterable[int] = counts.values()
            if max(times, default=0) > MAX_OCCURRENCES:
                times = [min(each, MAX_OCCURRENCES) for each in times]
            entries = [number] * (3 * len(counts))  # word, field, times; word, field, times; …
            entries[::3] = self.words.of(counts)
            entries[2::3] = times
            packed.append(_packer(len(counts)).pack(*entries))
        return b"".join(packed)

    def _write_told_times(self, row: int, memory: Memory) -> None:
        times = told_times(memory.text, memory.created or self.now, self.now.tzinfo)
        if times:
            self.connection.execute("INSERT INTO told_times VALUES (?, ?)", (row, pack_times(times)))

    def set_strengths(self, rows: Sequence[int], strengths: Sequence[float]) -> None:
        pairs = zip(strengths, rows, strict=True)
        self.connection.executemany("UPDATE memories SET strength = ? WHERE row = ?", pairs)

    def _delete_vectors(self, rows: Sequence[int]) -> None:
        for table in (*ENCODED, "unembedded"):  # the latter is written when the transaction ends
            self.connection.execute(f"DELETE FROM {table} WHERE row {AMONG}", (json.dumps(rows),))
        self._without_vector.update(rows)

    def remove(self, rows: Sequence[int]) -> None:
        """Words, vectors, edges, use and chunks of a memory go with it, by their foreign keys."""
        self.connection.execute(f"DELETE FROM memories WHERE row {AMONG}", (json.dumps(rows),))
        self._without_vector.difference_update(rows)
        sql = "INSERT OR REPLACE INTO gone SELECT value, ?2 FROM json_each(?1)"
        self.connection.execute(sql, (json.dumps(rows), self.version))

    # The history: what a transaction replaced, so that it can be restored.

    def _save(self, what: str, row: int, values: list[Any], **more: int) -> None:
        named = {**dict(zip(COLUMNS, values, strict=True)), **more} if what == "memory" else values
        record = json.dumps(named, ensure_ascii=False)
        self.connection.execute("INSERT INTO former VALUES (?, ?, ?, ?)", (self.version, what, row, record))

    def _save_edge(self, source: int, target: int, kind: str) -> None:
        sql = "SELECT * FROM edges WHERE source = ? AND target = ? AND kind = ?"
        for stored in fetch(self.connection, sql, (source, target, kind)):
            self._save("edge", source, list(stored))

    def _remove_edge(self, source: int, target: int, kind: str) -> None:
        self._save_edge(source, target, kind)
        sql = "DELETE FROM edges WHERE source = ? AND target = ? AND kind = ?"
        self.connection.execute(sql, (source, target, kind))

    def _delete_history(self, rows: Sequence[int], *what: str) -> None:
        sql = f"DELETE FROM former WHERE row {AMONG} AND what IN (SELECT value FROM json_each(?2))"
        self.connection.execute(sql, (json.dumps(rows), json.dumps(what)))

    def undo(self, operation: int | None = None) -> UndoResult | None:
        return undo_operation(self, operation)

    def undo_texts(self, operation: int | None = None) -> dict[str, str]:
        return find_undo_texts(self, operation)

    def owners(self, rows: Sequence[int]) -> list[Owner]:
        sql = f"SELECT DISTINCT collection, user, agent, session FROM memories WHERE row {AMONG}"
        return [tuple(owner) for owner in fetch(self.connection, sql, (json.dumps(list(rows)),))]
