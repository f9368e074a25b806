"""The commands that look and change nothing: show, list and status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import Conditions, Settings
from recollect.cli.recall import Id
from recollect.cli.terminal import (
    LEAST_ROOM,
    age,
    answer,
    console,
    count,
    draw,
    json_text,
    line_of,
    moment,
    pairs,
    printable,
    say,
    short,
    snippet,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from recollect.config.status_report import Indexed, Standing
    from recollect.mind import Mind
    from recollect.model import Edge, Memory
    from recollect.store.base import StoreStatus
    from recollect.upkeep.probes import Probes

SHOWN_APART = {"id", "text", "status", "use", "created"}


def show(settings: Settings, id: Id) -> None:
    """Show a memory with its details, links and history."""
    with settings.open() as mind:
        memory = mind.show(id)
        links, history = mind.edges(memory.id), mind.history(memory.id)
        if settings.json:
            former = [{"until": until, "memory": earlier} for until, earlier in history]
            answer(True, {"memory": memory, "links": list(links), "history": former})
            return
        _draw_memory(memory)
        _draw_links(mind, memory, links)
        _draw_history(memory, history)


def _draw_memory(memory: Memory) -> None:
    from recollect.model.json_records import to_json

    status = (memory.status, "green" if memory.status == "active" else "yellow")
    created = moment(memory.created) if memory.created else ""
    say((memory.id, "bold cyan"), "  ", status, (f"  {created}", "dim"), f"\n\n{memory.text}\n")
    told = {
        name.replace("_", " "): _value(getattr(memory, name)) for name in to_json(memory) if name not in SHOWN_APART
    }
    if memory.updated == memory.created:
        told.pop("updated", None)
    if memory.use.access_count:
        told["used"] = f"{memory.use.access_count} ×, last {age(memory.use.last_accessed)}"
    if told:
        draw(pairs(told))


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, datetime):
        return moment(value)
    return json_text(value) if isinstance(value, dict) else str(value)


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
    if not history:
        return
    say(("\nHistory", "bold"))
    later = [former for _, former in history[1:]] + [memory]
    for (until, former), following in zip(history, later, strict=True):
        for name in (each.name for each in fields(former) if each.name not in ("use", "updated")):
            if (was := getattr(former, name)) != getattr(following, name):
                say((f"  until {moment(until)}  ", "dim"), f"{name}: {snippet(_value(was), 200) or 'nothing'}")


def list_(
    settings: Settings,
    conditions: Conditions,
    limit: Annotated[int, typer.Option("-k", "--limit", help="At most so many.", min=1)] = 20,
    offset: Annotated[int, typer.Option(help="Leave out so many of the newest.", min=0)] = 0,
) -> int:
    """List memories, newest first. Forgotten ones come with --status forgotten."""
    with settings.open() as mind:
        found = mind.list(conditions.filter(), limit=limit + 1, offset=offset)
    memories = list(found[:limit])
    if settings.json or not memories:
        answer(settings.json, memories, "There are no such memories.")
        return 0 if memories else 1
    draw(_table(memories))
    if len(found) > limit:
        say((f"There are more: --offset {offset + limit}", "dim"))
    return 0


def _table(memories: Sequence[Memory]) -> RenderableType:
    """A row a memory; where it is narrow, the text below the rest."""
    from rich.console import Group
    from rich.table import Column, Table

    several = len({memory.collection for memory in memories}) > 1
    titles = {"id": "cyan", "created": "dim", **({"collection": ""} if several else {})}
    rows = [(short(memory.id), age(memory.created), printable(memory.collection))[: len(titles)] for memory in memories]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    if console().width - sum(widths) - 2 * len(widths) < LEAST_ROOM:
        heads = [line_of(*zip(_apart(row), titles.values(), strict=True)) for row in rows]
        return Group(*(line for head, each in zip(heads, memories, strict=True) for line in (head, _line(each))))
    columns = [Column(title, style=style, no_wrap=True) for title, style in titles.items()]
    grid = Table(*columns, Column("text", overflow="fold"), box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row, memory in zip(rows, memories, strict=True):
        grid.add_row(*row, _line(memory))
    return grid


def _apart(words: Sequence[str]) -> list[str]:
    return [f"{word}  " for word in words]


def _line(memory: Memory) -> Text:
    text = line_of(snippet(f"{memory.title}: {memory.text}" if memory.title else memory.text, 200))
    if memory.status != "active":
        text.append(f"  {memory.status}", "yellow")
    for tag in memory.tags:
        text.append(f"  #{printable(tag)}", "blue")
    return text


def status(
    settings: Settings,
    probe: Annotated[bool, typer.Option("--probe", help="Try to embed and to search, too.")] = False,
) -> None:
    """Say what the file holds, who answers and who embeds, and what is lacking."""
    from recollect.config.status_report import standing
    from recollect.upkeep.probes import probe as tried

    config = settings.configured
    chosen = settings.model_by(config)
    with settings.open() as mind:
        store = mind.status().store
        told = standing(mind.store, config, chosen)
        probes = tried(mind.store, chosen.embedder, mind.clock()) if probe else None
    if settings.json:
        shown = {**asdict(store), "embedder": told.model, **asdict(told)}
        answer(True, shown if probes is None else {**shown, "probes": asdict(probes)})
        return
    draw(pairs({**_held(store), **_standing(told), **(_probed(probes) if probes else {})}))
    for note in told.notes:
        say((note, "yellow"))
    if chosen.embedder is not None and not told.vector_search.works:
        say((f"Vectors: {told.vector_search.told}; --embedder none recalls by words alone.", "yellow"))
    elif store.without_vector:
        size = count(store.without_vector, "memory has", "memories have")
        say((f"{size} no vector and can be found by words alone: recollect reembed makes them, ", "yellow"))
        say(("and recollect doctor says which they are and whether the embedder refuses their texts.", "yellow"))


def _held(store: StoreStatus) -> dict[str, str]:
    vectors = [f"{space['vectors']:,} by {space['name']} ({space['dim']} dimensions)" for space in store.spaces]
    return {
        "file": f"{store.path}  {store.bytes / 1e6:,.1f} MB" + ("  read-only" if store.readonly else ""),
        "memories": _counts(store.memories),
        "collections": _counts(store.collections),
        "vectors": ", ".join(vectors) or "none",
        "words": f"{store.words:,}",
        "links": f"{store.edges:,} between memories, {store.entity_edges:,} between names",
        "last change": age(store.last_change) or "never",
    }


def _standing(told: Standing) -> dict[str, str]:
    fallback = "  (the fallback)" if told.fallback else ""
    searches = ["full text", *(["vectors"] if told.vector_search.works else [])]
    return {
        "backend": f"{told.backend}, recipe {told.recipe}" + ("" if told.enabled else ", memory_search switched off"),
        "embedder": f"{told.model or 'none: words alone'}{fallback}",
        "why": told.why,
        "search": " and ".join(searches),
        **{f"folder {each.collection}": _folder(each) for each in told.folders},
    }


def _folder(folder: Indexed) -> str:
    parts = [folder.root, count(folder.files, "file", "files"), count(folder.chunks, "chunk", "chunks")]
    parts += [f"{len(folder.problems)} with problems"] if folder.problems else []
    return ", ".join([*parts, f"last sync {age(folder.synced) or 'never'}"])


def _probed(probes: Probes) -> dict[str, str]:
    return {
        f"probe: {name.name}": ("works: " if result.works else "fails: ") + result.told
        for name in fields(probes)
        for result in [getattr(probes, name.name)]
    }


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items()) or "none yet"
