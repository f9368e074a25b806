"""The commands that look and change nothing: show, list and status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import Conditions, Settings
from recollect.cli.recalling import Id
from recollect.cli.screen import age, as_line, console, count, moment, printable, say, say_json, short, snippet, warn

if TYPE_CHECKING:
    from recollect.mind import Mind, Status
    from recollect.model import Edge, Memory

SHOWN_APART = {"id", "text", "status", "use", "created"}


def show(settings: Settings, id: Id) -> None:
    """Show a memory with all that is known of it: its details, its links and its history."""
    from recollect.model.portable import to_json

    with settings.open() as mind:
        memory = mind.show(id)
        links, history = mind.edges(memory.id), mind.history(memory.id)
        if settings.json:
            told = [{"until": until, "memory": to_json(former)} for until, former in history]
            say_json({"memory": to_json(memory), "links": [to_json(edge) for edge in links], "history": told})
        else:
            _draw_memory(memory)
            _draw_links(mind, memory, links)
            _draw_history(memory, history)


def _draw_memory(memory: Memory) -> None:
    from recollect.model.portable import to_json

    status = (memory.status, "green" if memory.status == "active" else "yellow")
    say((memory.id, "bold cyan"), "  ", status, (f"  {_dated(memory.created)}", "dim"), "\n")
    say(memory.text, "\n")
    rows = {name: value for name, value in to_json(memory).items() if name not in SHOWN_APART}
    told = {name: _value(value) for name, value in rows.items()}
    if memory.use.access_count:
        told["used"] = f"{memory.use.access_count} ×, last {age(memory.use.last_accessed)}"
    _pairs(told)


def _pairs(rows: dict[str, str]) -> None:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        grid.add_row(Text(name.replace("_", " "), "dim"), printable(value))
    console().print(grid)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return as_line(value) if isinstance(value, dict) else str(value)


def _dated(when: datetime | None) -> str:
    return "" if when is None else moment(when)


def _draw_links(mind: Mind, memory: Memory, links: Sequence[Edge]) -> None:
    if links:
        say(("\nLinks", "bold"))
    for edge in links:
        outward = edge.source == memory.id
        other = mind.show(edge.target if outward else edge.source)
        arrow = f"─{edge.kind}→" if outward else f"←{edge.kind}─"
        say(f"  {arrow} ", (short(other.id), "cyan"), f"  {snippet(other.text, 70)}", (f"  {edge.weight:g}", "dim"))


def _draw_history(memory: Memory, history: Sequence[tuple[datetime, Memory]]) -> None:
    """What the memory said before each change, oldest first."""
    if history:
        say(("\nHistory", "bold"))
    later = [former for _, former in history[1:]] + [memory]
    for (until, former), following in zip(history, later, strict=True):
        for name in (each.name for each in fields(former) if each.name not in ("use", "updated")):
            if (was := getattr(former, name)) != getattr(following, name):
                said = snippet(_value(list(was) if isinstance(was, tuple) else was), 200) or "nothing"
                say((f"  until {moment(until)}  ", "dim"), f"{name}: {said}")


def list_(
    settings: Settings,
    conditions: Conditions,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many.", min=1)] = 20,
    offset: Annotated[int, typer.Option(help="Leave out so many of the newest.", min=0)] = 0,
) -> None:
    """List memories, newest first; forgotten ones with --status forgotten."""
    from recollect.model.portable import to_json

    with settings.open() as mind:
        found = mind.list(conditions.filter(), limit=limit + 1, offset=offset)
    memories, more = found[:limit], len(found) > limit
    if settings.json:
        say_json([to_json(memory) for memory in memories])
    elif not memories:
        say("There are no such memories.")
    else:
        console().print(_table(memories))
        if more:
            say((f"There are more: --offset {offset + limit}", "dim"))


def _table(memories: Sequence[Memory]) -> Any:
    from rich.table import Column, Table
    from rich.text import Text

    collections = {memory.collection for memory in memories}
    grid = Table(
        Column("id", style="cyan", no_wrap=True),
        Column("created", style="dim", no_wrap=True),
        *([Column("collection", no_wrap=True)] if collections != {"main"} else []),
        Column("text", overflow="fold"),
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="bold",
    )
    for memory in memories:
        text = Text(snippet(f"{memory.title}: {memory.text}" if memory.title else memory.text, 200))
        if memory.status != "active":
            text.append(f"  {memory.status}", "yellow")
        for tag in memory.tags:
            text.append(f"  #{printable(tag)}", "blue")
        where = [printable(memory.collection)] if collections != {"main"} else []
        grid.add_row(short(memory.id), age(memory.created), *where, text)
    return grid


def status(settings: Settings) -> None:
    """Say what the file holds, and what it lacks."""
    from recollect.embed import resolve

    with settings.open() as mind:
        told = mind.status()
    chosen = resolve(settings.model)
    name = None if chosen is None else chosen.name
    if settings.json:
        say_json({**asdict(told.store), "embedder": name})
        return
    _draw_status(told, name)
    store = told.store
    made_by = next((space["name"] for space in store.spaces if space["active"]), None)
    if made_by is not None and name is not None and made_by != name:
        warn(f"The vectors were made by {made_by}: recall with --embedder none, or make them anew: recollect reembed")
    elif store.without_vector and name is not None:
        warn(f"{count(store.without_vector, 'memory')} without a vector, found by words alone: recollect reembed")


def _draw_status(told: Status, embedder: str | None) -> None:
    store = told.store
    vectors = [f"{space['vectors']:,} by {space['name']} ({space['dim']} dimensions)" for space in store.spaces]
    _pairs(
        {
            "file": f"{store.path}  {store.bytes / 1e6:,.1f} MB" + ("  read-only" if store.readonly else ""),
            "memories": _counts(store.memories) or "none yet",
            "collections": _counts(store.collections) or "none yet",
            "vectors": ", ".join(vectors) or "none",
            "words": f"{store.words:,}",
            "links": f"{store.edges:,} between memories, {store.entity_edges:,} between names",
            "last change": age(store.last_change) or "never",
            "embedder": embedder or "none: words alone",
        }
    )


def _counts(numbers: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items())
