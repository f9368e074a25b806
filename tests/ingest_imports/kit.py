"""Small real files of every kind that an import reads."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# The tables of openmem-engine 0.4.0 and robotmem 0.1.3, as their first start makes them.
OPENMEM = """
CREATE TABLE memories (id TEXT PRIMARY KEY, type TEXT NOT NULL DEFAULT 'fact', text TEXT NOT NULL, gist TEXT,
    entities TEXT NOT NULL DEFAULT '[]', created_at REAL NOT NULL, updated_at REAL NOT NULL,
    strength REAL NOT NULL DEFAULT 1.0, confidence REAL NOT NULL DEFAULT 1.0,
    access_count INTEGER NOT NULL DEFAULT 0, last_accessed REAL, status TEXT NOT NULL DEFAULT 'active');
CREATE TABLE edges (id TEXT PRIMARY KEY, source_id TEXT NOT NULL, target_id TEXT NOT NULL,
    rel_type TEXT NOT NULL DEFAULT 'mentions', weight REAL NOT NULL DEFAULT 0.5, created_at REAL NOT NULL);
CREATE VIRTUAL TABLE memories_fts USING fts5(id UNINDEXED, text, gist, entities, content='memories',
    content_rowid='rowid');
"""
ROBOTMEM = """
CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT,
    collection TEXT NOT NULL DEFAULT 'default', type TEXT NOT NULL DEFAULT 'fact', content TEXT NOT NULL,
    human_summary TEXT, context TEXT, perception_type TEXT, perception_data BLOB, perception_metadata TEXT,
    concept TEXT, category TEXT DEFAULT 'observation', confidence REAL NOT NULL DEFAULT 0.9,
    decay_rate REAL NOT NULL DEFAULT 0.01, source TEXT DEFAULT 'tool', scope TEXT DEFAULT 'project',
    status TEXT NOT NULL DEFAULT 'active', superseded_by INTEGER, invalidated_reason TEXT, invalidated_at TEXT,
    content_hash TEXT, media_hash TEXT, access_count INTEGER DEFAULT 0, return_count INTEGER DEFAULT 0,
    last_accessed TEXT, last_validated TEXT, embedding BLOB, scope_files TEXT DEFAULT '[]',
    scope_entities TEXT DEFAULT '[]', created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now')),
    updated_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now')));
CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, external_id TEXT UNIQUE,
    collection TEXT NOT NULL DEFAULT 'default', context TEXT, session_count INTEGER DEFAULT 1,
    status TEXT DEFAULT 'active', client_type TEXT DEFAULT 'mcp_direct',
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now')),
    updated_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now')));
CREATE TABLE session_outcomes (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, score REAL,
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now')));
CREATE TABLE memory_tags (memory_id INTEGER NOT NULL, tag TEXT NOT NULL, source TEXT NOT NULL DEFAULT 'auto',
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now')), PRIMARY KEY (memory_id, tag));
CREATE TABLE tag_meta (tag TEXT PRIMARY KEY, parent TEXT, display_name TEXT,
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now')));
CREATE VIRTUAL TABLE memories_fts USING fts5(content, human_summary, scope_files, scope_entities, content='');
"""


def database(path: Path, tables: str, **rows: Sequence[Mapping[str, Any]]) -> Path:
    """A database with these tables and rows."""
    connection = sqlite3.connect(path)
    connection.executescript(tables)
    for table, each in rows.items():
        for row in each:
            names, places = ", ".join(row), ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", tuple(row.values()))
    connection.commit()
    connection.close()
    return path


def openmem(path: Path) -> Path:
    kitchen = {"id": "k1", "type": "decision", "text": "The dock moved to the kitchen.", "entities": '["dock"]'}
    hall = {"id": "h1", "text": "The dock is in the hallway.", "gist": "dock: hallway", "status": "superseded"}
    when = {"created_at": 1767225600.5, "updated_at": 1767225700.0}
    used = {"strength": 0.75, "confidence": 0.5, "access_count": 3, "last_accessed": 1767225800.0}
    edge = {"id": "e1", "source_id": "k1", "target_id": "h1", "rel_type": "same_as", "weight": 0.25}
    return database(path, OPENMEM, memories=[hall | when, kitchen | when | used], edges=[edge | {"created_at": 1.5}])


def robotmem(path: Path) -> Path:
    grip = {
        "session_id": "ep1",
        "content": "Grip mugs with 12.5 N.",
        "human_summary": "Grip mugs with 12.5 N.",
        "context": '{"params": {"force": {"value": 12.5}}, "task": {"success": true}}',
        "category": "constraint",
        "scope_entities": '["mug"]',
        "embedding": b"\0" * 1536,
        "access_count": 2,
        "return_count": 1,
        "last_accessed": "2026-01-02T00:00:00.000",
        "created_at": "2026-01-01T10:00:00.123",
        "updated_at": "2026-01-01T10:00:00.123",
    }
    felt = {
        "content": "Grasp, 30 steps.",
        "type": "perception",
        "perception_type": "procedural",
        "perception_data": "[[1, 2]]",
        "created_at": "2026-01-01T10:01:00.000",
    }
    raw = {"content": "A picture.", "type": "perception", "perception_type": "visual", "perception_data": b"\x89PNG"}
    gone = {"content": "The dock is in the hall.", "status": "invalidated", "invalidated_reason": "moved"}
    old = {"content": "Grip mugs firmly.", "status": "superseded", "superseded_by": 1}
    day = {"created_at": "2026-01-01T11:00:00.000", "updated_at": "2026-01-01T11:00:00.000"}
    session = {"external_id": "ep1", "status": "ended", "created_at": "2026-01-01T09:59:00.000"}
    return database(
        path,
        ROBOTMEM,
        memories=[grip, felt | {"updated_at": felt["created_at"]}, raw | day, gone | day, old | day],
        memory_tags=[{"memory_id": 1, "tag": "grasping"}],
        sessions=[session | {"updated_at": "2026-01-01T10:30:00.000"}],
        session_outcomes=[{"session_id": "ep1", "score": 0.8}],
    )


def said(uuid: str, sender: str, text: str, **more: Any) -> dict[str, Any]:
    """A message as Claude exports it."""
    block = {"type": "text", "text": text, "start_timestamp": "2026-03-02T10:31:00.000000Z", "citations": []}
    about = {"uuid": uuid, "sender": sender, "created_at": "2026-03-02T10:31:00.000000Z", "attachments": []}
    return {**about, "text": text, "content": [block], "files": [], **more}


def claude_talk(uuid: str = "c-1", name: str = "A trip to Lisbon", *messages: dict[str, Any]) -> dict[str, Any]:
    told = messages or (
        said("m-1", "human", "Which tram goes up to Graça?"),
        said("m-2", "assistant", "Tram 28 goes up to Graça.", created_at="2026-03-02T10:31:07.250000Z"),
    )
    times = {"created_at": "2026-03-02T10:30:00.000000Z", "updated_at": "2026-03-02T10:40:00.000000Z"}
    return {"uuid": uuid, "name": name, **times, "account": {"uuid": "a-1"}, "chat_messages": [*told]}


def node(id: str, parent: str | None, role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    """A node of ChatGPT's tree; ``more`` goes into its message."""
    content = {"content_type": "text", "parts": [*parts]}
    message = {"id": id, "author": {"role": role, "name": None, "metadata": {}}, "create_time": 1772447460.5}
    return {"id": id, "parent": parent, "children": [], "message": {**message, "content": content, **more}}


def chatgpt_talk(*nodes: dict[str, Any], current: str | None, **more: Any) -> dict[str, Any]:
    about = {"title": "Sourdough", "create_time": 1772447400.0, "update_time": 1772447500.0, "conversation_id": "g-1"}
    return {**about, "mapping": {each["id"]: each for each in nodes}, "current_node": current, **more}


def bread() -> dict[str, Any]:
    """A conversation whose second question was asked twice; the later answer is the one shown."""
    return chatgpt_talk(
        {"id": "root", "parent": None, "children": ["s"], "message": None},
        node("s", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        node("u1", "s", "user", "How long does a starter take?"),
        node("t1", "u1", "assistant", "search('starter')", recipient="browser"),
        node("t2", "t1", "tool", "Results …"),
        node("a1", "t2", "assistant", "About seven days."),
        node("u2-draft", "a1", "user", "And rye?"),
        node(
            "u2", "a1", "user", {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}, "And with spelt?"
        ),
        node("a2", "u2", "assistant", "Five days with spelt."),
        current="a2",
    )


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def zipped(path: Path, **files: Any) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in files.items():
            archive.writestr(f"export/{name}.json", json.dumps(value))
    return path
