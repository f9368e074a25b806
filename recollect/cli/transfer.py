"""The commands export, import, migrate and reembed."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli.options import GlobalOptions
from recollect.cli.terminal import (
    PIPED_WIDTH,
    confirm_overwrite,
    explain_interrupt,
    format_time,
    json_text,
    key_value_table,
    open_output,
    pluralize,
    print_line,
    print_renderable,
    print_result,
    progress,
    snippet,
)
from recollect.cli.values import local_now
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.ingest.imports import ImportSummary, SourceRecord

MAX_SHOWN = 10  # problems; the rest are counted
SAMPLES = 3  # records that a dry run shows


class ExportFormat(StrEnum):
    """The formats of an export."""

    jsonl = "jsonl"
    markdown = "markdown"


def _format_names() -> list[str]:
    from recollect.ingest.imports import FORMATS

    return [*FORMATS]


Target = Annotated[
    str, typer.Argument(help="The file to write, or a folder for Markdown; - is stdout.", show_default=False)
]
Source = Annotated[
    str,
    typer.Argument(
        help="The file, zip file or database to read; - is stdin. Of a folder: conversations.json in it and in its "
        "direct subfolders.",
        show_default=False,
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="jsonl, json, csv, claude, claude-code, chatgpt, mem0, openmem or robotmem; detected when not given.",
        show_default=False,
        autocompletion=_format_names,
    ),
]


def export(
    options: GlobalOptions,
    file: Target = "-",
    format: Annotated[
        ExportFormat, typer.Option(help="JSON lines contain everything; Markdown is for reading, without histories.")
    ] = ExportFormat.jsonl,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite an existing file without asking.")] = False,
) -> int:
    """Export everything, with its history, as JSON lines, or as Markdown pages by session, topic or day."""
    if format is ExportFormat.markdown:
        return _export_pages(options, file, force)
    kinds: Counter[str] = Counter()
    with options.open() as mind:
        if not confirm_overwrite(file, db=mind.path, ask=lambda file: force or _ask_overwrite(file)):
            print_line("Nothing was written.", stderr=True)
            return 1
        with open_output(file) as out, progress("Exporting", "records") as update:
            for record in mind.export():
                print(json_text(record) if file == "-" else json.dumps(record, ensure_ascii=False), file=out)
                kinds[record["type"]] += 1
                if update is not None and kinds.total() % 1000 == 0:
                    update(kinds.total(), None)
    if file != "-":
        counts = {"memories": kinds["memory"], "formers": kinds["former"]}
        counts |= {"edges": kinds["edge"], "entity_edges": kinds["entity_edge"]}
        size = pluralize(kinds["memory"], "memory", "memories")
        print_result(options.json, {"file": file, **counts}, ("Exported ", "green"), size, " to ", (file, "bold"))
    return 0


def _ask_overwrite(file: str) -> bool:
    if not sys.stdin.isatty():
        raise InvalidInput(f"{file} exists already; --force overwrites it.")
    return typer.confirm(f"Overwrite {file}?", err=True)


def _export_pages(options: GlobalOptions, folder: str, force: bool) -> int:
    if folder == "-":
        raise InvalidInput("Markdown is written to a folder; give one: recollect export --format markdown notes/")
    with options.open() as mind:
        result = mind.export_markdown(folder, force=force)
    shown = {"folder": folder, "memories": result.memories, "pages": result.pages}
    shown["changed"] = [*map(str, result.changed)]
    size = pluralize(result.memories, "memory", "memories") + " on " + pluralize(result.pages, "page", "pages")
    new = f"; {len(result.changed):,} new."
    print_result(options.json, shown, ("Exported ", "green"), size, " to ", (folder, "bold"), new)
    return 0


def import_(
    options: GlobalOptions,
    source: Source,
    kind: From = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Read everything and report it; write nothing.")
    ] = False,
    strict: Annotated[
        bool | None,
        typer.Option(
            "--strict/--lenient",
            help="Import all records or none, or skip those that cannot be read. "
            "The default is strict for JSON and CSV, lenient for the others.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Import conversations, databases or JSON lines. Repeating an import adds only what is new."""
    from recollect.ingest.imports import FORMATS, detect_format, read_source

    chosen = kind or detect_format(source)
    items = read_source(source, chosen)
    if kind is None and source != "-" and not options.json:
        print_line(
            (f"Detected: {'; '.join(filter(None, (FORMATS[chosen].title, FORMATS[chosen].note)))}", "dim"), stderr=True
        )
    if dry_run:
        return _preview(options, items)
    summary = _import(options, source, chosen, strict)
    counts = f"{summary.added:,} added, {summary.changed:,} changed, {summary.same:,} the same"
    counts += f", {summary.forgotten:,} forgotten here and left as they are" if summary.forgotten else ""
    links = f", {pluralize(summary.links, 'link', 'links')}" if summary.links else ""
    print_result(options.json, summary, ("Imported: ", "green"), counts, links, ".")
    if not options.json:
        _print_problems(summary.problems, summary.failed)
    nothing = not (summary.added or summary.changed or summary.same or summary.forgotten or summary.links)
    return 1 if summary.failed or nothing else 0


def _import(options: GlobalOptions, source: str, kind: str, strict: bool | None) -> ImportSummary:
    message = "Stopped: what was imported is kept; the same import continues from here."
    with (
        explain_interrupt(message, options.json),
        options.open(embed=True, create=True) as mind,
        progress("Importing", "texts") as update,
    ):
        return mind.import_from(source, kind, strict=strict, progress=update)


def _preview(options: GlobalOptions, items: Iterable[SourceRecord]) -> int:
    from recollect.ingest.imports import preview_import

    with progress("Reading", "records") as update:
        found = preview_import(items, SAMPLES, update)
    if options.json:
        print_result(True, {each.name: getattr(found, each.name) for each in fields(found)})
        return 1 if found.failed else 0
    rows = {
        "memories": f"{found.memories:,}",
        "sessions": f"{found.sessions:,}" if found.sessions else "",
        "links": f"{found.links:,}" if found.links else "",
        "created": f"{format_time(found.first)} to {format_time(found.last)}" if found.first and found.last else "",
    }
    print_renderable(key_value_table({name: value for name, value in rows.items() if value}))
    for memory in found.samples:
        about = ", ".join(
            filter(None, (memory.title, memory.speaker, format_time(memory.created) if memory.created else ""))
        )
        print_line((f"\n{about}\n" if about else "\n", "dim"), snippet(memory.text, PIPED_WIDTH))
    _print_problems(found.problems, found.failed)
    print_line("Nothing was written.", stderr=True)
    return 1 if found.failed else 0


def _print_problems(problems: Sequence[str], failed: int) -> None:
    """Print the records that were left out, on stderr."""
    if failed:
        print_line((f"{pluralize(failed, 'record was', 'records were')} left out:", "yellow"), stderr=True)
    for problem in problems[:MAX_SHOWN]:
        print_line(f"  {problem}", stderr=True)
    if failed > MAX_SHOWN:
        print_line(f"  … and {failed - MAX_SHOWN:,} more", stderr=True)


def migrate(
    options: GlobalOptions,
    source: Annotated[str, typer.Argument(help="The file or the URL of the memory to copy.", show_default=False)],
    destination: Annotated[
        str, typer.Argument(help="The file or URL to copy it to, which must be empty.", show_default=False)
    ],
) -> int:
    """Copy a whole memory, with its history, vectors and folders, between files and PostgreSQL, and check the copy."""
    from recollect.upkeep.copying import migrate

    options.check_no_collection("migrate")
    message = "Stopped: what was copied is kept; the same command continues from here."
    with explain_interrupt(message, options.json), progress("Copying", "memories") as update:
        done = migrate(source, destination, update, local_now)
    size = pluralize(done.counts.get("memories", 0), "memory", "memories")
    print_result(options.json, done, ("Copied ", "green"), size, " to ", (done.destination, "bold"), ".")
    if not options.json:
        print_renderable(key_value_table({kind: f"{count:,}" for kind, count in done.counts.items()}))
        print_line("Counts and checksums are the same in both.")
    return 0


def reembed(options: GlobalOptions) -> None:
    """Create the missing vectors, or all of them with another embedder."""
    options.check_no_server()
    options.check_no_collection("reembed")
    options.check_db_exists()
    if options.selected_embedder is None:
        raise InvalidInput("reembed needs an embedder, such as --embedder local.")
    from recollect.mind import Mind

    message = "Stopped: the vectors so far are kept; reembed continues from here."
    with explain_interrupt(message, options.json), progress("Embedding", "texts") as update:
        created = Mind.reembed(options.path, embedder=options.selected_embedder, progress=update)
    print_result(options.json, {"embedded": created}, ("Created ", "green"), pluralize(created, "vector", "vectors"))
