"""Session transcripts: JSON lines into turns, each with its role, speaker, time and place.

A line is a message by itself, ``{"role": …, "content": …}``, or holds one under ``message``, as agents' logs do; its
content is a text, or a list of parts of which the texts count. Other lines (tools, settings) are no turns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.errors import InvalidInput
from recollect.ingest.markdown import lines_of
from recollect.model import validation as check

MOMENTS = ("timestamp", "created_at", "created", "time", "date", "ts")
SPEAKERS = ("speaker", "name", "author", "user")
TEXTS = ("content", "text", "body")
SESSIONS = ("sessionId", "session_id", "session", "conversation_id")
MILLISECONDS = 1e11  # seconds since 1970 are fewer than this for the next 3,000 years


@dataclass(frozen=True, slots=True)
class Turn:
    """What somebody said in a session."""

    text: str
    line: int  # counted from 1
    role: str = ""
    speaker: str = ""
    at: datetime | None = None
    session: str = ""


@dataclass(slots=True)
class Transcript:
    """The turns of a file, and how many of its lines are no JSON."""

    turns: list[Turn]
    broken: int = 0


def read(text: str, session: str) -> Transcript:
    """The turns of a transcript, of this session unless the lines name another."""
    told = Transcript([])
    for number, line in enumerate(lines_of(text), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            told.broken += 1
            continue
        if not isinstance(record, dict):
            continue
        if record.get("type") == "session" and isinstance(record.get("id"), str):
            session = record["id"]
            continue
        turn = _turn(record, number, session)
        if turn is not None:
            told.turns.append(turn)
    return told


def _turn(record: dict[str, Any], line: int, session: str) -> Turn | None:
    message = record["message"] if isinstance(record.get("message"), dict) else record
    said = "\n".join(part for name in TEXTS for part in _texts(message.get(name))).strip()
    if not said:
        return None
    levels = (message, record)
    return Turn(
        text=check.clean(said),
        line=line,
        role=_first(levels, ("role",)) or (_first(levels, ("type",)) if message is not record else ""),
        speaker=_first(levels, SPEAKERS),
        at=next((at for level in levels for name in MOMENTS if (at := _moment(level.get(name)))), None),
        session=_first(levels, SESSIONS) or session,
    )


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, str):
                yield part
            elif isinstance(part, dict) and part.get("type", "text") in ("text", "input_text", "output_text"):
                yield from _texts(part.get("text"))


def _first(levels: tuple[dict[str, Any], ...], names: tuple[str, ...]) -> str:
    found = (level.get(name) for level in levels for name in names)
    return next((check.clean(value) for value in found if isinstance(value, str) and value), "")


def _moment(value: Any) -> datetime | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) > MILLISECONDS:
        value = value / 1000
    try:
        return None if value is None else check.moment(value, "time")
    except InvalidInput:
        return None
