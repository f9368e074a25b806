"""Files on their way into the index: what was read of one, as memories that wait to be written."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from recollect.ingest import markdown, transcripts
from recollect.ingest.chunking import Cutting
from recollect.ingest.scan import Found
from recollect.model import Memory
from recollect.store.base import FileState

BETWEEN = " > "  # headings


@dataclass(slots=True)
class Draft:
    """A file that was read and waits to be written."""

    state: FileState
    what: Literal["added", "changed", "renamed"]
    was: str  # its path in the index
    common: dict[str, Any]  # what its chunks share
    chunks: dict[bytes, list[Memory]] = field(default_factory=dict)  # by digest
    size: int = 0

    def add(self, text: str, lines: tuple[int, int], title: str = "", created: Any = None, **more: Any) -> None:
        """One more chunk. Its digest is that of what an embedder reads of it."""
        digest = blake2b(f"{title}\n{text}".encode(), digest_size=16).digest()
        same = self.chunks.setdefault(digest, [])
        name = f"{self.state.path}#{digest.hex()[:16]}" + (f"~{len(same) + 1}" if same else "")
        created = created or self.common["updated"]
        same.append(Memory(text, title, lines=lines, external_id=name, created=created, **self.common, **more))
        self.size += 1


def common_to(found: Found, collection: str, hidden: bool) -> dict[str, Any]:
    """What all chunks of a file share; what is being built out of sight is not to be found yet."""
    return {
        "collection": collection,
        "path": found.path,
        "source": found.kind,
        "kind": "turn" if found.kind == "transcript" else "note",
        "status": "forgotten" if hidden else "active",
        "updated": _moment(found.modified),
    }


def _moment(nanoseconds: int) -> datetime | None:
    """When a file says that it was written, if there is such a time."""
    try:
        return datetime.fromtimestamp(nanoseconds / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def fill(draft: Draft, found: Found, text: str, cutting: Cutting) -> str:
    """Cut a text into the draft's chunks; what was wrong with it."""
    return (_turns if found.kind == "transcript" else _notes)(draft, text, cutting)


def _notes(draft: Draft, text: str, cutting: Cutting) -> str:
    document = markdown.read(text, cutting)
    date = document.date or markdown.date_in(Path(draft.state.path).name)
    for chunk in document.chunks:
        headings = chunk.headings
        if document.title and document.title != (headings[0] if headings else ""):
            headings = (document.title, *headings)
        draft.add(
            chunk.text,
            (chunk.first, chunk.last),
            BETWEEN.join(headings),
            date,
            keywords=document.aliases if draft.size else (*document.aliases, *document.remarks),  # once a file
            tags=tuple(dict.fromkeys((*document.tags, *chunk.tags))),
            entities=chunk.links,
            context=document.context,
        )
    return document.problem


def _turns(draft: Draft, text: str, cutting: Cutting) -> str:
    told = transcripts.read(text, session=Path(draft.state.path).stem)
    for position, turn in enumerate(told.turns):
        about: dict[str, Any] = {
            "session": turn.session,
            "speaker": turn.speaker,
            "role": turn.role,
            "position": position,
        }
        for part in markdown.plain_chunks(turn.text, cutting):
            draft.add(part, (turn.line, turn.line), created=turn.at, **about)
    return f"{told.broken} of its lines {'is' if told.broken == 1 else 'are'} no JSON" if told.broken else ""
