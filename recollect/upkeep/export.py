"""Export: everything in a store as JSON objects that ``import_`` reads back, or memories as Markdown pages."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from os import PathLike
from pathlib import Path

from recollect.errors import InvalidInput
from recollect.model import STATUSES, JsonObject, Memory, to_json
from recollect.model.json_records import EXPORT_FORMAT
from recollect.model.zones import to_zone
from recollect.store.base import Rows, Store
from recollect.store.retrying import retried
from recollect.text.words import slug

BATCH_SIZE = 512  # memories that are read at a time


def export_records(store: Store, now: datetime) -> Iterator[JsonObject]:
    """Memories (forgotten ones, too) with their use and history, then edges and relations."""
    yield {"type": "recollect", "format": EXPORT_FORMAT}
    rows = _stored_rows(store, now)
    exported: set[str] = set()
    for start in range(0, len(rows), BATCH_SIZE):
        batch = rows[start : start + BATCH_SIZE]
        ids = _ids(store, batch)
        histories = {id: store.history(id) for id in ids}  # first: a version that is replaced meanwhile is not lost
        for memory in _memories(store, batch):
            exported.add(memory.id)
            yield {"type": "memory", **to_json(memory)}
            for until, earlier in histories.get(memory.id, ()):
                yield {"type": "former", "until": until.isoformat(), "memory": to_json(earlier)}
    for edge in store.edges():
        if {edge.source, edge.target} <= exported:
            yield {"type": "edge", **to_json(edge)}
    for relation in store.entity_edges():
        yield {"type": "entity_edge", **to_json(relation)}


@retried
def _stored_rows(store: Store, now: datetime) -> Rows:
    with store.snapshot() as snapshot:
        scope = snapshot.scope(None, STATUSES, now, hidden=True)
        return snapshot.page(scope, "stored", scope.count)


@retried
def _ids(store: Store, rows: Rows) -> Sequence[str]:
    with store.snapshot() as snapshot:
        return snapshot.ids(rows)


@retried
def _memories(store: Store, rows: Rows) -> Sequence[Memory]:
    with store.snapshot() as snapshot:
        return snapshot.memories(rows)


MAX_NAME_CHARACTERS = 60  # of a title in a file name
MAX_NAMED = 3  # files that an error names
RESERVED_NAMES = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)),
}  # on Windows
EXPORTED_PAGE = re.compile(r"---\n(.*?)recollect: (\w+)\n---\n(.*)", re.DOTALL)
NO_DATE = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class MarkdownPage:
    """A page: its path below the folder, and its Markdown."""

    path: str
    markdown: str


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What an export to Markdown did."""

    memories: int
    pages: int
    changed: list[Path]  # files that are new, or had another content


def make_pages(memories: Iterable[Memory], zone: tzinfo | None = None) -> list[MarkdownPage]:
    """The pages of these memories, by path, with days of a time zone; the same memories give the same pages."""
    groups: dict[tuple[str, str, str], list[Memory]] = defaultdict(list)
    for memory in memories:
        if memory.created is not None:
            memory = replace(memory, created=to_zone(memory.created, zone or UTC))
        groups[_group(memory)].append(memory)
    return sorted((_make_page(*key, members) for key, members in groups.items()), key=lambda page: page.path)


def write_pages(
    folder: str | PathLike[str], memories: Sequence[Memory], force: bool = False, zone: tzinfo | None = None
) -> ExportResult:
    """Write the pages. A file that is not from an export, or was edited since, is overwritten only with ``force``."""
    pages, root = make_pages(memories, zone), Path(folder)
    try:
        outdated = [page for page in pages if not _has_content(root / page.path, page.markdown)]
        foreign = [page.path for page in outdated if not force and not _may_overwrite(root / page.path)]
        if foreign:
            some = ", ".join(foreign[:MAX_NAMED]) + (", …" if len(foreign) > MAX_NAMED else "")
            raise InvalidInput(
                f"{root} already contains {len(foreign)} of these files, not from an export or edited since: {some}. "
                "Choose another folder, or overwrite them with force=True. Nothing was written."
            )
        for page in outdated:
            path = root / page.path
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(".md.new")
            temporary.write_bytes(page.markdown.encode("utf-8"))
            temporary.replace(path)
    except OSError as error:
        raise InvalidInput(f"{error.filename or root} cannot be written: {error.strerror}.") from None
    return ExportResult(len(memories), len(pages), [root / page.path for page in outdated])


def _group(memory: Memory) -> tuple[str, str, str]:
    """The collection, folder and name of the page that a memory belongs to."""
    if memory.session:
        return memory.collection, "sessions", memory.session
    if memory.topic:
        return memory.collection, "topics", memory.topic
    return memory.collection, "days", _day(memory.created)


def _make_page(collection: str, folder: str, name: str, memories: list[Memory]) -> MarkdownPage:
    memories.sort(key=lambda each: (each.position is None, each.position or 0, each.created or NO_DATE, each.id))
    titles = {memory.title for memory in memories}
    shared_title = next(iter(titles)) if folder == "sessions" and len(titles) == 1 else ""  # of a conversation
    first = min((each.created for each in memories if each.created), default=None)
    title = " ".join((shared_title or name).split())
    file = f"{_day(first)}-{_file_name(shared_title, distinguish=name)}" if folder == "sessions" else _file_name(name)
    prefix = "" if collection == "main" else _file_name(collection) + "/"
    fields = {
        "title": title,
        "date": first.isoformat() if first else None,
        folder.removesuffix("s"): name,
        "collection": "" if collection == "main" else collection,
        "source": ", ".join(sorted({each.source for each in memories if each.source})),
    }
    front = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items() if value)
    body = "\n".join([f"\n# {title}\n", *(_section(memory, shared_title) for memory in memories)])
    return MarkdownPage(f"{prefix}{folder}/{file}.md", f"---\n{front}recollect: {_digest(front + body)}\n---\n{body}")


def _section(memory: Memory, shared_title: str) -> str:
    title = "" if memory.title == shared_title else " ".join(memory.title.split())
    time = memory.created.strftime("%Y-%m-%d %H:%M") if memory.created else ""
    head = " · ".join(filter(None, (title, memory.speaker or memory.role, time)))
    details = (
        memory.kind if memory.kind != "memory" else "",
        memory.status if memory.status != "active" else "",
        " ".join(f"#{slug(tag)}" for tag in memory.tags if slug(tag)),
        ", ".join(memory.entities),
        ", ".join((memory.path, *memory.files)) if memory.path else ", ".join(memory.files),
        f"^{memory.id}",
    )
    return f"## {head}\n\n{memory.text.strip()}\n\n*{' · '.join(filter(None, details))}*\n"


def _file_name(text: str, distinguish: str | None = None) -> str:
    """A file name for any system, with part of a digest where the name alone is ambiguous."""
    name = slug(text)[:MAX_NAME_CHARACTERS].strip("-")
    if distinguish is None and name == text and name not in RESERVED_NAMES:
        return name
    return "-".join(filter(None, (name, _digest(text if distinguish is None else distinguish)[:6])))


def _day(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d") if moment else "undated"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]


def _has_content(path: Path, markdown: str) -> bool:
    return path.is_file() and path.read_bytes() == markdown.encode("utf-8")


def _may_overwrite(path: Path) -> bool:
    """Is there no file, or a page that is as an export wrote it?"""
    if not path.exists() and not path.is_symlink():
        return True
    page = EXPORTED_PAGE.match(path.read_bytes().decode("utf-8", "replace")) if path.is_file() else None
    return page is not None and _digest(page[1] + page[3]) == page[2]
