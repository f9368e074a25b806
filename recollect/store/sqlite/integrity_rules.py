"""Consistency rules of a file that SQL can check and repair: a statement for each.

A finding repairs itself inside a transaction, so that everything is repaired, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import apsw

from recollect.model.memory import JSON_FIELDS
from recollect.store.rows import ENCODED
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.transaction import SqliteTransaction

Level = Literal["error", "warning", "note"]
Repair = Callable[[SqliteTransaction], None]
HOUR = 3_600_000_000  # microseconds: clocks that differ by less are no matter
DAY = 24 * 3_600_000_000  # microseconds
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem: what it is, how bad, what follows from it, and what a repair does (empty if there is none)."""

    name: str
    level: Level
    what: str
    means: str
    fix: str = ""
    repair: Repair | None = None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A problem that SQL can find and repair. ``?1`` is now, in microseconds; the first column is an example."""

    name: str
    level: Level
    find: str
    what: str  # {n} is how many
    means: str
    fix: str
    repair: tuple[str, ...]

    def check(self, connection: apsw.Connection, now: int) -> Finding | None:
        values = (now,) if "?1" in self.find else ()
        found = fetch(connection, self.find, values)
        if not found:
            return None

        def repair(transaction: SqliteTransaction) -> None:
            for sql in self.repair:
                transaction.connection.execute(sql, (now,) if "?1" in sql else ())

        some = tuple(str(row[0]) for row in found[:EXAMPLES])
        return Finding(self.name, self.level, self.what.format(n=len(found)), self.means, self.fix, repair, some)


ALL = "(SELECT row FROM memories)"
ENDS = f"source NOT IN {ALL} OR target NOT IN {ALL}"
STRAY = f"row NOT IN {ALL} OR space NOT IN (SELECT space FROM spaces)"
MISFIT = "length(vector) <> 2 * (SELECT dim FROM spaces s WHERE s.space = vectors.space)"
TWICE = "SELECT external_id FROM memories NOT INDEXED WHERE external_id <> '' GROUP BY collection, external_id"
LATEST = "SELECT row FROM (SELECT row, max(changed) FROM memories NOT INDEXED GROUP BY collection, external_id)"
LIKELY = "(SELECT space FROM vectors GROUP BY space ORDER BY count(*) DESC LIMIT 1)"
TORN_SKETCH = "length(sketch) % ((SELECT dim + 7 FROM spaces s WHERE s.space = sketches.space) / 8) <> 0"
FILELESS = "file NOT IN (SELECT file FROM files)"
SHAPES = {name: ("array" if empty == "[]" else "object", empty) for name, empty in JSON_FIELDS.items()}


def _unreadable(name: str) -> str:
    return f"CASE json_valid({name}) WHEN 1 THEN json_type({name}) <> '{SHAPES[name][0]}' ELSE 1 END"


RULES = (
    Rule(
        "unreadable details",
        "error",
        f"SELECT id FROM memories WHERE {' OR '.join(map(_unreadable, SHAPES))}",
        "Memories with tags, a context or another list that cannot be read: {n}.",
        "A recall that meets one of them fails.",
        "empties the list or context that cannot be read; text and everything else stay",
        tuple(f"UPDATE memories SET {name} = '{SHAPES[name][1]}' WHERE {_unreadable(name)}" for name in SHAPES),
    ),
    Rule(
        "words of no memory",
        "warning",
        f"SELECT row FROM words WHERE row NOT IN {ALL}",
        "Rows of the word index that belong to no memory: {n}.",
        "They take up room and are never found.",
        "removes them",
        (f"DELETE FROM words WHERE row NOT IN {ALL}",),
    ),
    Rule(
        "vectors of no memory",
        "error",
        " UNION ".join(f"SELECT row FROM {table} WHERE {STRAY}" for table in ENCODED),
        "Vectors or tokens that belong to no memory, or to no model: {n}.",
        "A search by meaning may fail, or take one memory's vector for another's.",
        "removes them",
        tuple(f"DELETE FROM {table} WHERE {STRAY}" for table in ENCODED),
    ),
    Rule(
        "use of no memory",
        "warning",
        f"SELECT row FROM use WHERE row NOT IN {ALL} UNION SELECT row FROM use_by_day WHERE row NOT IN {ALL}",
        "Marks of use that belong to no memory: {n}.",
        "They take up room; nothing reads them.",
        "removes them",
        (f"DELETE FROM use WHERE row NOT IN {ALL}", f"DELETE FROM use_by_day WHERE row NOT IN {ALL}"),
    ),
    Rule(
        "links to nowhere",
        "warning",
        f"SELECT source || ' → ' || target FROM edges WHERE {ENDS}",
        "Links that begin or end at a memory that is not there: {n}.",
        "Recipes that follow links lose their way there.",
        "removes them",
        (f"DELETE FROM edges WHERE {ENDS}",),
    ),
    Rule(
        "chunks that are not there",
        "error",
        f"SELECT row FROM chunks WHERE row NOT IN {ALL}",
        "Chunks of files that have no memory: {n}.",
        "What these files say is found in part only.",
        "has the files read again with the next sync",
        (
            f"UPDATE files SET modified = 0, hash = x'' WHERE file IN (SELECT file FROM chunks WHERE row NOT IN {ALL})",
            f"DELETE FROM chunks WHERE row NOT IN {ALL}",
        ),
    ),
    Rule(
        "chunks of no file",
        "warning",
        f"SELECT row FROM chunks WHERE {FILELESS}",
        "Chunks of files that the index does not know: {n}.",
        "They are found though their file may be gone, and no sync removes them.",
        "forgets them",
        (
            f"UPDATE memories SET status = 'forgotten' WHERE row IN (SELECT row FROM chunks WHERE {FILELESS})",
            f"DELETE FROM chunks WHERE {FILELESS}",
        ),
    ),
    Rule(
        "vectors of a wrong size",
        "error",
        f"SELECT row FROM vectors WHERE {MISFIT}",
        "Vectors of another size than their model's: {n}.",
        "Every search by meaning fails.",
        "removes them, and makes them anew if the embedder is there",
        (
            f"DELETE FROM sketches WHERE (space, row) IN (SELECT space, row FROM vectors WHERE {MISFIT})",
            f"DELETE FROM vectors WHERE {MISFIT}",
        ),
    ),
    Rule(
        "tokens of a wrong size",
        "error",
        f"SELECT row FROM sketches WHERE {TORN_SKETCH}",
        "Memories whose tokens are kept in another size than their model's: {n}.",
        "Searches that compare token by token fail.",
        "removes them, and makes them anew if the embedder is there",
        (f"DELETE FROM sketches WHERE {TORN_SKETCH}",),
    ),
    Rule(
        "which vectors to search",
        "error",
        "SELECT name FROM spaces WHERE (SELECT count(*) FROM spaces WHERE active) <> 1",
        "Models with vectors here, of which not exactly one is marked as the one to search: {n}.",
        "Searches by meaning find nothing, or look among the wrong vectors.",
        "marks the model with the most vectors",
        (f"UPDATE spaces SET active = (space = coalesce({LIKELY}, (SELECT min(space) FROM spaces)))",),
    ),
    Rule(
        "one external id twice",
        "error",
        f"{TWICE} HAVING count(*) > 1",
        "External ids that several memories have: {n}.",
        "Writing under such an id again updates any one of them.",
        "leaves the id to the memory that changed last; the others are kept without it",
        (f"UPDATE memories SET external_id = '' WHERE external_id <> '' AND row NOT IN ({LATEST})",),
    ),
    Rule(
        "a clock that was ahead",
        "warning",
        f"SELECT verb FROM changes WHERE at > ?1 + {HOUR} "
        f"UNION ALL SELECT id FROM memories WHERE updated > ?1 + {HOUR} "
        f"UNION ALL SELECT row FROM use WHERE last_accessed > ?1 + {HOUR} OR last_recalled > ?1 + {HOUR} "
        f"UNION ALL SELECT row FROM use_by_day WHERE day > (?1 + {HOUR}) / {DAY}",
        "Changes, updates or uses that are dated in the future: {n}.",
        "The clock was ahead when they were written, or is behind now: check it first. What is ranked by age is ranked "
        "wrongly until then.",
        "dates them now",
        (
            "UPDATE changes SET at = min(at, ?1)",
            "UPDATE memories SET updated = min(updated, ?1)",
            "UPDATE use SET last_accessed = min(last_accessed, ?1), last_recalled = min(last_recalled, ?1)",
            f"DELETE FROM use_by_day WHERE day > (?1 + {HOUR}) / {DAY}",
        ),
    ),
)  # fmt: skip
