"""Files as memories: the chunks of a Markdown file, and the turns of a session transcript in JSON lines.

A line of a transcript is a message, ``{"role": …, "content": …}``, or has one under ``message``, as agents' logs do.
Its content is a text, or a list of parts of which the texts count. Other lines (tools, settings) are not turns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from recollect.errors import InvalidInput
from recollect.ingest.chunking import ChunkSize
from recollect.ingest.markdown import find_date, parse_markdown, split_lines, split_text
from recollect.ingest.scan import FoundFile
from recollect.ingest.secrets import SecretsPolicy, clean_value
from recollect.model import Memory, check
from recollect.store.base import FileState

FileChange = Literal["added", "changed", "renamed"]
HEADING_SEPARATOR = " > "
TIME_KEYS = ("timestamp", "created_at", "created", "time", "date", "ts")
SPEAKER_KEYS = ("speaker", "name", "author", "user")
TEXT_KEYS = ("content", "text", "body")
SESSION_KEYS = ("sessionId", "session_id", "session", "conversation_id")
MIN_MILLISECONDS = 1e11  # larger numbers are milliseconds: seconds since 1970 stay below it for 3,000 years


@dataclass(slots=True)
class ParsedFile:
    """A file that was read, and its chunks as memories that are still to be written."""

    state: FileState
    what: FileChange
    stored_path: str  # its path in the index
    shared_fields: dict[str, Any]  # of all its chunks
    zone: tzinfo | None = None  # of dates that name none
    chunks: dict[bytes, list[Memory]] = field(default_factory=dict)  # by digest
    size: int = 0

    def add_chunk(self, text: str, lines: tuple[int, int], title: str = "", created: Any = None, **fields: Any) -> None:
        """Add a chunk. Its digest is that of the text that is embedded."""
        digest = blake2b(f"{title}\n{text}".encode(), digest_size=16).digest()
        equal = self.chunks.setdefault(digest, [])
        name = f"{self.state.path}#{digest.hex()[:16]}" + (f"~{len(equal) + 1}" if equal else "")
        created = created or self.shared_fields["updated"]
        fields = {**self.shared_fields, **fields, "external_id": name, "created": created}
        equal.append(Memory(text, title, lines=lines, **fields))
        self.size += 1


def shared_fields(file: FoundFile, collection: str, hidden: bool) -> dict[str, Any]:
    """The fields that all chunks of a file share. The chunks of a rebuild are hidden until it is complete."""
    return {
        "collection": collection,
        "path": file.path,
        "source": file.kind,
        "kind": "turn" if file.kind == "transcript" else "note",
        "status": "forgotten" if hidden else "active",
        "updated": _from_nanoseconds(file.modified),
    }


def _from_nanoseconds(nanoseconds: int) -> datetime | None:
    """A file's modification time, if it is a valid one."""
    try:
        return datetime.fromtimestamp(nanoseconds / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def parse_chunks(
    parsed: ParsedFile, file: FoundFile, text: str, chunk_size: ChunkSize, secrets: SecretsPolicy = "store"
) -> str:
    """Split a text into the chunks of the parsed file; returns what was wrong with the text. An InvalidInput if it
    contains secrets that are refused: they are found before it is split, because a key may be longer than a chunk."""
    return (_parse_turns if file.kind == "transcript" else _parse_notes)(parsed, text, chunk_size, secrets)


def _parse_notes(parsed: ParsedFile, text: str, chunk_size: ChunkSize, secrets: SecretsPolicy) -> str:
    document = parse_markdown(clean_value(text, "it", secrets), chunk_size, parsed.zone)
    date = document.date or find_date(Path(parsed.state.path).name, parsed.zone)
    for chunk in document.chunks:
        headings = chunk.headings
        if document.title and document.title != (headings[0] if headings else ""):
            headings = (document.title, *headings)
        parsed.add_chunk(
            chunk.text,
            (chunk.first, chunk.last),
            HEADING_SEPARATOR.join(headings),
            date,
            keywords=document.aliases if parsed.size else (*document.aliases, *document.other_fields),  # once a file
            tags=tuple(dict.fromkeys((*document.tags, *chunk.tags))),
            entities=chunk.links,
            context=document.context,
        )
    return document.problem


def _parse_turns(parsed: ParsedFile, text: str, chunk_size: ChunkSize, secrets: SecretsPolicy) -> str:
    transcript = parse_transcript(text, Path(parsed.state.path).stem, parsed.zone)
    for position, turn in enumerate(transcript.turns):
        fields: dict[str, Any] = {
            "session": turn.session,
            "speaker": turn.speaker,
            "role": turn.role,
            "position": position,
        }
        for part in split_text(clean_value(turn.text, "it", secrets), chunk_size):
            parsed.add_chunk(part, (turn.line, turn.line), created=turn.at, **fields)
    invalid = transcript.invalid_lines
    return f"{invalid} of its lines {'is' if invalid == 1 else 'are'} not valid JSON" if invalid else ""


# Transcripts.


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a session."""

    text: str
    line: int  # counted from 1
    role: str = ""
    speaker: str = ""
    at: datetime | None = None
    session: str = ""


@dataclass(slots=True)
class Transcript:
    """The turns of a file, and how many of its lines are not JSON."""

    turns: list[Turn]
    invalid_lines: int = 0


def parse_transcript(text: str, session: str, zone: tzinfo | None = None) -> Transcript:
    """The turns of a transcript, of this session unless the lines name another."""
    transcript = Transcript([])
    for number, line in enumerate(split_lines(text), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            transcript.invalid_lines += 1
            continue
        if not isinstance(record, dict):
            continue
        if record.get("type") == "session" and isinstance(record.get("id"), str):
            session = record["id"]
            continue
        turn = _parse_turn(record, number, session, zone)
        if turn is not None:
            transcript.turns.append(turn)
    return transcript


def _parse_turn(record: dict[str, Any], line: int, session: str, zone: tzinfo | None) -> Turn | None:
    message = record["message"] if isinstance(record.get("message"), dict) else record
    text = "\n".join(part for key in TEXT_KEYS for part in _texts(message.get(key))).strip()
    if not text:
        return None
    levels = (message, record)
    return Turn(
        text=check.replace_surrogates(text),
        line=line,
        role=_first(levels, ("role",)) or (_first(levels, ("type",)) if message is not record else ""),
        speaker=_first(levels, SPEAKER_KEYS),
        at=next((at for level in levels for key in TIME_KEYS if (at := _parse_time(level.get(key), zone))), None),
        session=_first(levels, SESSION_KEYS) or session,
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


def _first(levels: tuple[dict[str, Any], ...], keys: tuple[str, ...]) -> str:
    values = (level.get(key) for level in levels for key in keys)
    return next((check.replace_surrogates(value) for value in values if isinstance(value, str) and value), "")


def _parse_time(value: Any, zone: tzinfo | None) -> datetime | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) > MIN_MILLISECONDS:
        value = value / 1000
    try:
        return None if value is None else check.moment(value, "time", zone)
    except InvalidInput:
        return None
