"""The commands that read and change nothing: show, list, conflicts and status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.index import format_index
from recollect.cli.options import FilterOptions, GlobalOptions
from recollect.cli.recall import Id
from recollect.cli.terminal import (
    MIN_TEXT_WIDTH,
    bar,
    console,
    format_age,
    format_time,
    json_text,
    key_value_table,
    pluralize,
    print_line,
    print_renderable,
    print_result,
    printable,
    progress,
    short_id,
    snippet,
    styled_text,
)
from recollect.cli.values import local_now, parse_json_object

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from recollect.client import Client
    from recollect.config.status_report import IndexedFolder, StatusReport
    from recollect.mind import Mind
    from recollect.model import Edge, Memory
    from recollect.store.base import StoreStatus
    from recollect.upkeep.probes import Probes
    from recollect.upkeep.usage import UsagePeriod

SORT_HELP = "newest, oldest, uses, access_count, return_count, recall_count, last_accessed or last_recalled."
BAR_WIDTH = 24  # columns of the longest bar
HEADER_FIELDS = {"id", "text", "status", "use", "created"}


def show(options: GlobalOptions, id: Id) -> None:
    """Show a memory with its details, links and history."""
    with options.connect() as mind:
        memory = mind.show(id)
        links, history = mind.edges(memory.id), mind.history(memory.id)
        if options.json:
            versions = [{"until": until, "memory": earlier} for until, earlier in history]
            print_result(True, {"memory": memory, "links": list(links), "history": versions})
            return
        _print_memory(memory)
        _print_links(mind, memory, links)
        _print_history(memory, history)


def _print_memory(memory: Memory) -> None:
    from recollect.model import to_json

    status = (memory.status, "green" if memory.status == "active" else "yellow")
    created = format_time(memory.created) if memory.created else ""
    print_line((memory.id, "bold cyan"), "  ", status, (f"  {created}", "dim"), f"\n\n{memory.text}\n")
    rows = {
        name.replace("_", " "): _format_value(getattr(memory, name))
        for name in to_json(memory)
        if name not in HEADER_FIELDS
    }
    if memory.updated == memory.created:
        rows.pop("updated", None)
    if memory.use.access_count:
        rows["used"] = f"{memory.use.access_count} ×, last {format_age(memory.use.last_accessed)}"
    if rows:
        print_renderable(key_value_table(rows))


def _format_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, datetime):
        return format_time(value)
    return json_text(value) if isinstance(value, dict) else str(value)


def _print_links(mind: Mind | Client, memory: Memory, links: Sequence[Edge]) -> None:
    if links:
        print_line(("\nLinks", "bold"))
    for edge in links:
        outgoing = edge.source == memory.id
        other = mind.show(edge.target if outgoing else edge.source)
        arrow = f"─{edge.kind}→" if outgoing else f"←{edge.kind}─"
        print_line(
            f"  {arrow} ", (short_id(other.id), "cyan"), f"  {snippet(other.text, 70)}", (f"  {edge.weight:g}", "dim")
        )


def _print_history(memory: Memory, history: Sequence[tuple[datetime, Memory]]) -> None:
    """The earlier values of each changed field, oldest first."""
    if not history:
        return
    print_line(("\nHistory", "bold"))
    next_versions = [version for _, version in history[1:]] + [memory]
    for (until, version), following in zip(history, next_versions, strict=True):
        for name in (each.name for each in fields(version) if each.name not in ("use", "updated")):
            if (previous := getattr(version, name)) != getattr(following, name):
                print_line(
                    (f"  until {format_time(until)}  ", "dim"),
                    f"{name}: {snippet(_format_value(previous), 200) or 'nothing'}",
                )


def list_(
    options: GlobalOptions,
    filters: FilterOptions,
    limit: Annotated[int, typer.Option("-k", "--limit", help="Maximum number of memories.", min=1)] = 20,
    offset: Annotated[int, typer.Option(help="Skip this many of the first.", min=0)] = 0,
    sort: Annotated[str, typer.Option(help=SORT_HELP)] = "newest",
    ascending: Annotated[bool, typer.Option("--ascending", help="Sort by use with the lowest first.")] = False,
    use: Annotated[
        str | None, typer.Option(help="""Condition on the use: '{"uses": 0}', '{"access_count": {"$gte": 3}}'.""")
    ] = None,
) -> int:
    """List memories, newest first. --status forgotten lists the forgotten ones."""
    conditions = None if use is None else parse_json_object(use, "--use", '{"uses": 0}')
    order: Any = sort
    with options.connect() as mind:
        found = mind.list(
            filters.filter(), sort=order, ascending=ascending, use=conditions, limit=limit + 1, offset=offset
        )
    memories = list(found[:limit])
    if options.json or not memories:
        print_result(options.json, memories, "No memory matches.")
        return 0 if memories else 1
    print_renderable(_table(memories))
    if len(found) > limit:
        print_line((f"There are more: --offset {offset + limit}", "dim"))
    return 0


def conflicts(
    options: GlobalOptions,
    filters: FilterOptions,
    limit: Annotated[int, typer.Option("-k", "--limit", help="Maximum number of pairs.", min=1)] = 20,
) -> int:
    """List pairs of memories that may state different values of the same thing. Nothing is changed."""
    with options.connect() as mind, progress("Comparing memories", "memories") as update:
        found = mind.conflicts(filters.filter(), limit=limit, progress=update)
    if options.json or not found:
        print_result(options.json, [pair.as_dict() for pair in found], "No two memories seem to conflict.")
        return 0
    for pair in found:
        for word, memory in (("older", pair.older), ("newer", pair.newer)):
            head = f"{word}  {printable(memory.id)}  {format_age(memory.created)}  "
            print_line((head, "cyan"), snippet(memory.text, 200))
        print_line((f"       {pair.reason}", "dim"))
        print_line((f"       recollect supersede {printable(pair.older.id)} {printable(pair.newer.id)}", "dim"))
    print_line(("supersede keeps the newer; contradict with the same ids marks both; or keep both.", "dim"))
    return 0


def usage(
    options: GlobalOptions,
    filters: FilterOptions,
    limit: Annotated[int, typer.Option("-k", "--limit", help="Memories in each list.", min=1)] = 5,
    period: Annotated[str, typer.Option(help="Of the plot over time: day, week or month.")] = "week",
    periods: Annotated[int, typer.Option(help="How many periods.", min=1, max=400)] = 12,
) -> int:
    """Show which memories are used most, least and never, and their use over time."""
    chosen: Any = period
    with options.connect() as mind:
        found = mind.usage(filters.filter(), limit=limit, period=chosen, periods=periods)
    if options.json or not found.memories:
        print_result(options.json, found.as_dict(), "No memory matches.")
        return 0 if found.memories else 1
    print_renderable(
        key_value_table(
            {
                "memories": f"{found.memories:,}, {found.used:,} of them used, {pluralize(found.uses, 'use', 'uses')}",
                "never recalled": f"{found.never_recalled:,}",
                **({"never returned": f"{found.never_returned:,} by robotmem"} if found.never_returned else {}),
            }
        )
    )
    highest = found.most_used[0].use.uses if found.most_used else 1
    for title, memories in (
        ("Most used", found.most_used),
        ("Least used", found.least_used),
        ("Never recalled, oldest first", found.unused),
        ("Recalled, but never returned by robotmem", found.unreturned),
    ):
        if memories:
            print_line((f"\n{title}", "bold"))
            print_renderable(_usage_table(memories, highest))
    print_line((f"\nBy {period}", "bold"))
    print_renderable(_plot(found.over_time))
    if found.undated_uses:
        uses = pluralize(found.undated_uses, "use has", "uses have")
        print_line((f"{uses} no day: they are of an earlier version, or were imported.", "dim"))
    return 0


def _usage_table(memories: Sequence[Memory], highest: int) -> RenderableType:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    for memory in memories:
        uses = memory.use.uses
        grid.add_row(
            bar(uses / highest, BAR_WIDTH // 2, "cyan"),
            f"{uses:,} ×",
            styled_text((short_id(memory.id), "cyan")),
            styled_text((format_age(memory.use.last_used) or "never used", "dim")),
            styled_text(snippet(memory.text, 80)),
        )
    return grid


def _plot(periods: Sequence[UsagePeriod]) -> RenderableType:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    most_created, most_uses = (
        max((getattr(each, name) for each in periods), default=0) for name in ("created", "uses")
    )
    grid.add_row("", "uses", "", "memories created", "", "last used")
    for each in periods:
        cells = [
            cell
            for count, highest, style in ((each.uses, most_uses, "cyan"), (each.created, most_created, "green"))
            for cell in (bar(count / (highest or 1), BAR_WIDTH, style), f"{count:,}")
        ]
        grid.add_row(each.begins.date().isoformat(), *cells, f"{each.last_used:,}")
    return grid


def _table(memories: Sequence[Memory]) -> RenderableType:
    """One row for each memory; on a narrow terminal, the text is below the other columns."""
    from rich.console import Group
    from rich.table import Column, Table

    from recollect.recall.fencing import differing_owners

    owners = differing_owners(memories)
    titles = {"id": "cyan", "created": "dim", **dict.fromkeys(owners, "")}
    rows = [
        (short_id(memory.id), format_age(memory.created), *(printable(getattr(memory, name)) for name in owners))
        for memory in memories
    ]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    if console().width - sum(widths) - 2 * len(widths) < MIN_TEXT_WIDTH:
        heads = [styled_text(*zip((f"{cell}  " for cell in row), titles.values(), strict=True)) for row in rows]
        return Group(
            *(line for head, each in zip(heads, memories, strict=True) for line in (head, _summary_line(each)))
        )
    columns = [Column(title, style=style, no_wrap=True) for title, style in titles.items()]
    grid = Table(*columns, Column("text", overflow="fold"), box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row, memory in zip(rows, memories, strict=True):
        grid.add_row(*row, _summary_line(memory))
    return grid


def _summary_line(memory: Memory) -> Text:
    text = styled_text(snippet(f"{memory.title}: {memory.text}" if memory.title else memory.text, 200))
    if memory.status != "active":
        text.append(f"  {memory.status}", "yellow")
    elif memory.expires is not None and memory.expires <= local_now():
        text.append("  expired", "yellow")
    for tag in memory.tags:
        text.append(f"  #{printable(tag)}", "blue")
    return text


def status(
    options: GlobalOptions,
    probe: Annotated[bool, typer.Option("--probe", help="Also test embedding and searching.")] = False,
) -> None:
    """Show what the file contains, which recipe and embedder are used, and what is missing."""
    from recollect.config.status_report import build_status_report
    from recollect.upkeep.probes import probe as run_probes

    config = options.checked_config
    with options.open() as mind:
        store, space = mind.status().store, mind.store.space
        choice = options.select_embedder(config).for_vectors_of(space.name if space else None)
        report = build_status_report(mind.store, config, choice, mind.clock())
        probes = run_probes(mind.store, choice.embedder, mind.clock()) if probe else None
    if options.json:
        shown = {**asdict(store), "embedder": report.model, **asdict(report)}
        print_result(True, shown if probes is None else {**shown, "probes": asdict(probes)})
        return
    print_renderable(
        key_value_table({**_store_rows(store), **_report_rows(report), **(_probe_rows(probes) if probes else {})})
    )
    for note in report.notes:
        print_line((note, "yellow"))
    if choice.embedder is not None and not report.vector_search.works:
        print_line((f"Vectors: {report.vector_search.told}; --embedder none recalls by words only.", "yellow"))
    elif store.without_vector:
        size = pluralize(store.without_vector, "memory has", "memories have")
        print_line(
            (f"{size} no vector and can be found by words only: recollect reembed creates the vectors, ", "yellow")
        )
        print_line(("and recollect doctor lists these memories and the reason.", "yellow"))


def _store_rows(store: StoreStatus) -> dict[str, str]:
    vectors = [f"{space['vectors']:,} by {space['name']} ({space['dim']} dimensions)" for space in store.spaces]
    return {
        "file": f"{store.path}  {store.bytes / 1e6:,.1f} MB" + ("  read-only" if store.readonly else ""),
        "memories": _format_counts(store.memories),
        **({"expired": f"{store.expired:,} of the active, no longer recalled"} if store.expired else {}),
        "collections": _format_counts(store.collections),
        "vectors": ", ".join(vectors) or "none",
        "words": f"{store.words:,}",
        "links": f"{store.edges:,} between memories, {store.entity_edges:,} between names",
        **({"index": format_index(store.index)} if store.index is not None else {}),
        "last change": format_age(store.last_change) or "never",
        **({"last backup": f"{format_age(backup.at)}, {backup.folder}"} if (backup := store.last_backup) else {}),
    }


def _report_rows(report: StatusReport) -> dict[str, str]:
    fallback = "  (the fallback)" if report.fallback else ""
    searches = ["full text", *(["vectors"] if report.vector_search.works else [])]
    return {
        "recipe": report.recipe,
        "folders": f"recipe {report.search_recipe}, backend {report.backend}"
        + ("" if report.enabled else ", memory_search switched off"),
        "embedder": f"{report.model or 'none: words only'}{fallback}",
        "why": report.why,
        "search": " and ".join(searches),
        **{f"folder {each.collection}": _format_folder(each) for each in report.folders},
    }


def _format_folder(folder: IndexedFolder) -> str:
    parts = [folder.root, pluralize(folder.files, "file", "files"), pluralize(folder.chunks, "chunk", "chunks")]
    parts += [f"{len(folder.problems)} with problems"] if folder.problems else []
    return ", ".join([*parts, f"last sync {format_age(folder.synced) or 'never'}"])


def _probe_rows(probes: Probes) -> dict[str, str]:
    return {
        f"probe: {name.name}": ("works: " if result.works else "fails: ") + result.told
        for name in fields(probes)
        for result in [getattr(probes, name.name)]
    }


def _format_counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items()) or "none"
