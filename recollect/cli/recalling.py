"""The commands that recall and explain: recall, why, why-not and recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import Asking, Conditions, Settings
from recollect.cli.screen import console, say, say_json, short

if TYPE_CHECKING:
    from recollect.recall.results import Recall

Query = Annotated[str, typer.Argument(help="What was asked; several words in quotes.", show_default=False)]
Id = Annotated[str, typer.Argument(help="A memory's id, or the beginning of it.", show_default=False)]


def recall(
    settings: Settings,
    query: Annotated[list[str], typer.Argument(help="The question.", show_default=False)],
    asking: Asking,
    conditions: Conditions,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every score's tree, and what each step did.")
    ] = False,
    no_track: Annotated[bool, typer.Option("--no-track", help="Leave no mark of use.")] = False,
) -> int:
    """Bring back the memories that answer best, and say why."""
    asked = " ".join(query)
    with settings.open(embed=True) as mind:
        found = mind.recall(asked, **asking.options(conditions), track=not no_track)
    if settings.json:
        say_json(_as_json(found, explain))
    else:
        _draw(found, explain)
    return 0 if found else 1


def _draw(found: Recall, explain: bool) -> None:
    from recollect.cli import pictures

    out = console()
    if found:
        out.print(pictures.results(found, out))
    else:
        say("Nothing found for ", (f"“{found.trace.query}”", "bold"), ".")
    if explain:
        for result in found:
            say("\n", (f"{result.rank}  {short(result.memory.id)}  ", "bold"), (result.text[:60], "dim"))
            out.print(pictures.why(result.why))
        out.print()
        out.print(pictures.trace(found.trace))
    out.print()
    out.print(pictures.footer(found))


def _as_json(found: Recall, explain: bool) -> dict[str, Any]:
    from recollect.cli.pictures import summary
    from recollect.model.portable import to_json

    results = []
    for result in found:
        shown = {"rank": result.rank, "score": result.score, "id": result.memory.id}
        shown |= {"memory": to_json(result.memory), "summary": summary(result.why)}
        results.append({**shown, "why": result.why.as_dict()} if explain else shown)
    return {"query": found.trace.query, "results": results, "trace": found.trace.as_dict()}


def why(settings: Settings, query: Query, id: Id, asking: Asking, conditions: Conditions) -> None:
    """Ask again, and draw how one result's score came about."""
    with settings.open(embed=True) as mind:
        memory = mind.show(id)
        told = mind.why(query, memory.id, **asking.options(conditions))
    if settings.json:
        say_json({"query": query, "id": memory.id, "score": told.value, "why": told.as_dict()})
        return
    from recollect.cli import pictures

    say((short(memory.id), "cyan"), "  ", memory.text[:300], "\n")
    console().print(pictures.why(told))


def why_not(settings: Settings, query: Query, id: Id, asking: Asking, conditions: Conditions) -> None:
    """Ask again, and say which step left a memory out, and by how much."""
    with settings.open(embed=True) as mind:
        memory = mind.show(id)
        told = mind.why_not(query, memory.id, **asking.options(conditions))
    if settings.json:
        say_json({"query": query, **told.as_dict()})
        return
    from recollect.cli import pictures

    say((short(memory.id), "cyan"), "  ", memory.text[:300], "\n")
    say((told.reason, "bold green" if told.returned else "bold yellow"))
    console().print(pictures.verdict(told))


def recipes(settings: Settings) -> None:
    """List the ways of recalling."""
    from recollect.recipes import RECIPES

    if settings.json:
        say_json([{"name": recipe.name, "about": recipe.about, "k": recipe.k} for recipe in RECIPES.values()])
        return
    width = max(map(len, RECIPES))
    for recipe in RECIPES.values():
        say((recipe.name.ljust(width), "bold cyan"), "  ", recipe.about)
