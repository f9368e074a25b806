"""The commands that carry memories in and out, and make vectors anew: export, import and reembed."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli.options import Settings
from recollect.cli.terminal import (
    PIPED_WIDTH,
    all_or_nothing,
    answer,
    complain,
    count,
    draw,
    json_text,
    moment,
    pairs,
    progress,
    say,
    snippet,
)
from recollect.cli.text_files import check_free, writing
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.ingest.imports import Imported, Item

SHOWN = 10  # problems; the rest are counted
SAMPLES = 3  # records that a dry run shows


class Format(StrEnum):
    """What an export looks like."""

    jsonl = "jsonl"
    markdown = "markdown"


def _kinds() -> list[str]:
    from recollect.ingest.imports import KINDS

    return [*KINDS]


Target = Annotated[
    str, typer.Argument(help="Where to: a file, or a folder for Markdown; - is stdout.", show_default=False)
]
Source = Annotated[
    str, typer.Argument(help="A file, zip file or database of what you have; - is stdin.", show_default=False)
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="jsonl, json, csv, claude, chatgpt, mem0, openmem or robotmem; recognised when not said.",
        show_default=False,
        autocompletion=_kinds,
    ),
]


def export(
    settings: Settings,
    file: Target = "-",
    format: Annotated[
        Format, typer.Option(help="JSON lines hold everything; Markdown is for reading, without histories.")
    ] = Format.jsonl,
    force: Annotated[bool, typer.Option("--force", "-f", help="Write over a file that is there, unasked.")] = False,
) -> int:
    """Write everything, with its history, as JSON lines, or as Markdown pages by session, topic or day."""
    if format is Format.markdown:
        return _export_pages(settings, file, force)
    kinds: Counter[str] = Counter()
    with settings.open() as mind:
        if not check_free(file, never=mind.path, ask=lambda file: force or _agreed(file)):
            say("Nothing was written.", stderr=True)
            return 1
        with writing(file) as out, progress("Exporting") as done:
            for record in mind.export():
                print(json_text(record) if file == "-" else json.dumps(record, ensure_ascii=False), file=out)
                kinds[record["type"]] += 1
                if done is not None and kinds.total() % 1000 == 0:
                    done(kinds.total(), None)
    if file != "-":
        told = {"memories": kinds["memory"], "formers": kinds["former"]}
        told |= {"edges": kinds["edge"], "entity_edges": kinds["entity_edge"]}
        size = count(kinds["memory"], "memory", "memories")
        answer(settings.json, {"file": file, **told}, ("Exported ", "green"), size, " to ", (file, "bold"))
    return 0


def _agreed(file: str) -> bool:
    if not sys.stdin.isatty():
        raise InvalidInput(f"{file} is there already; --force writes over it.")
    return typer.confirm(f"Write over {file}?", err=True)


def _export_pages(settings: Settings, folder: str, force: bool) -> int:
    if folder == "-":
        raise InvalidInput("Markdown goes into a folder: recollect export --format markdown notes/")
    with settings.open() as mind:
        done = mind.export_markdown(folder, force=force)
    told = {"folder": folder, "memories": done.memories, "pages": done.pages, "changed": [*map(str, done.changed)]}
    size = count(done.memories, "memory", "memories") + " on " + count(done.pages, "page", "pages")
    answer(settings.json, told, ("Exported ", "green"), size, " to ", (folder, "bold"), f"; {len(done.changed):,} new.")
    return 0


def import_(
    settings: Settings,
    source: Source,
    kind: From = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Read all of it and say what is there.")] = False,
    strict: Annotated[
        bool | None,
        typer.Option(
            "--strict/--lenient",
            help="All or none, or go on past what cannot be read. Strict for JSON and CSV, lenient for the others.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Take in what you have elsewhere: conversations, databases, JSON lines. Again, it adds only what is new."""
    from recollect.ingest.imports import KINDS, detect, read

    chosen = kind or detect(source)
    items = read(source, chosen)
    if kind is None and source != "-" and not settings.json:
        say((f"Recognised: {'; '.join(filter(None, (KINDS[chosen].title, KINDS[chosen].note)))}", "dim"), stderr=True)
    if dry_run:
        return _rehearse(settings, items)
    whole = KINDS[chosen].strict if strict is None else strict
    done = _import_whole(settings, source, chosen) if whole else _import_on(settings, source, chosen)
    told = f"{done.added:,} added, {done.changed:,} changed, {done.same:,} the same"
    links = f", {count(done.links, 'link', 'links')}" if done.links else ""
    answer(settings.json, done, ("Imported: ", "green"), told, links, ".")
    if not settings.json:
        _tell(done.problems, done.failed)
    return 1 if done.failed else 0


def _import_whole(settings: Settings, source: str, kind: str) -> Imported:
    with (
        settings.open(embed=True, create=True) as mind,
        all_or_nothing(mind, settings.json),
        progress("Importing") as done,
    ):
        return mind.import_from(source, kind, strict=True, progress=done)


def _import_on(settings: Settings, source: str, kind: str) -> Imported:
    try:
        with settings.open(embed=True, create=True) as mind, progress("Importing") as done:
            return mind.import_from(source, kind, strict=False, progress=done)
    except KeyboardInterrupt:
        complain("Stopped: what is done is kept; import again goes on from here.", "Interrupted", settings.json)
        raise


def _rehearse(settings: Settings, items: Iterable[Item]) -> int:
    from recollect.ingest.imports import rehearse

    with progress("Reading") as done:
        found = rehearse(items, SAMPLES, done)
    if settings.json:
        answer(True, {each.name: getattr(found, each.name) for each in fields(found)})
        return 1 if found.failed else 0
    said = {
        "memories": f"{found.memories:,}",
        "sessions": f"{found.sessions:,}" if found.sessions else "",
        "links": f"{found.links:,}" if found.links else "",
        "created": f"{moment(found.first)} to {moment(found.last)}" if found.first and found.last else "",
    }
    draw(pairs({name: value for name, value in said.items() if value}))
    for memory in found.samples:
        about = ", ".join(
            filter(None, (memory.title, memory.speaker, moment(memory.created) if memory.created else ""))
        )
        say((f"\n{about}\n" if about else "\n", "dim"), snippet(memory.text, PIPED_WIDTH))
    _tell(found.problems, found.failed)
    say("Nothing was written.", stderr=True)
    return 1 if found.failed else 0


def _tell(problems: Sequence[str], failed: int) -> None:
    """What was left out, on stderr."""
    if failed:
        say((f"{count(failed, 'record was', 'records were')} left out:", "yellow"), stderr=True)
    for problem in problems[:SHOWN]:
        say(f"  {problem}", stderr=True)
    if failed > SHOWN:
        say(f"  … and {failed - SHOWN:,} more", stderr=True)


def reembed(settings: Settings) -> None:
    """Make missing vectors, or all of them with another model."""
    settings.check_there()
    if settings.model is None:
        raise InvalidInput("reembed needs a model: --embedder local.")
    from recollect.mind import Mind

    try:
        with progress("Embedding") as done:
            made = Mind.reembed(settings.path, embedder=settings.model, progress=done)
    except KeyboardInterrupt:
        complain("Stopped: what is done is kept; reembed again goes on from here.", "Interrupted", settings.json)
        raise
    answer(settings.json, {"embedded": made}, ("Made ", "green"), count(made, "vector", "vectors"))
