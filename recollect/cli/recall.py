"""The commands that recall and explain: recall, why, why-not, compare and recipes."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import Asking, Conditions, Settings
from recollect.cli.terminal import answer, complain, count, draw, say, short, snippet

if TYPE_CHECKING:
    from recollect.model import Memory
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
    stages: Annotated[bool, typer.Option("--stages", help="Say what each stage found; abmind always does.")] = False,
) -> int:
    """Bring back the memories that answer best, and say why."""
    with settings.open(embed=True) as mind:
        found = mind.recall(" ".join(query), **asking.options(conditions), track=not no_track)
    if settings.json:
        answer(True, _as_json(found, explain))
    else:
        _draw(found, explain, stages)
    return 0 if found else 1


def context(
    settings: Settings,
    query: Annotated[list[str], typer.Argument(help="The question.", show_default=False)],
    asking: Asking,
    conditions: Conditions,
    budget: Annotated[int, typer.Option(help="How many tokens it may have; a token is 4 letters.", min=1)] = 1000,
    no_track: Annotated[bool, typer.Option("--no-track", help="Leave no mark of use.")] = False,
) -> int:
    """Print what is remembered about a question as one text for a prompt, within a budget of tokens."""
    options = asking.options(conditions)
    del options["k"]  # a context holds as much as fits
    with settings.open(embed=True) as mind:
        made = mind.context(" ".join(query), budget, **options, track=not no_track)
    if settings.json:
        told = {"text": made.text, "tokens": made.tokens, "confidence": made.recall.confidence}
        answer(True, {"query": made.recall.trace.query, **told, "memories": made.memories})
    elif not made.text and made.best_needs > budget:
        say(f"Nothing fits into {count(budget, 'token', 'tokens')}: the best needs {made.best_needs:,}.", stderr=True)
    else:
        say(made.text or "Nothing found.")
    return 0 if made.memories else 1


def _draw(found: Recall, explain: bool, stages: bool) -> None:
    from recollect.cli import render as pictures

    for line in found.trace.stages() if stages else found.trace.facts.get("stages", ()):
        say((line, "dim"))
    if found:
        draw(pictures.results(found))
    else:
        late = any(step.reason.startswith("the deadline") for step in found.trace.steps)
        ending = ": the deadline passed before anything was found." if late else "."
        say("Nothing found for ", (f"“{snippet(found.trace.query, 200)}”", "bold"), ending)
    if explain:
        for result in found:
            _head(result.memory, before=f"\n{result.rank}  ")
            draw(pictures.why(result.why))
        say()
        draw(pictures.trace(found.trace))
    say()
    draw(pictures.footer(found))


def _as_json(found: Recall, explain: bool) -> dict[str, Any]:
    from recollect.cli.render import summary

    results = []
    for result in found:
        shown = {"rank": result.rank, "score": result.score, "id": result.memory.id}
        shown |= {"memory": result.memory, "summary": summary(result.why), "notes": result.notes}
        results.append({**shown, "why": result.why.as_dict()} if explain else shown)
    told = {"query": found.trace.query, "confidence": found.confidence}
    return {**told, "results": results, "trace": found.trace.as_dict()}


def _head(memory: Memory, before: str = "") -> None:
    say((before, "bold"), (short(memory.id), "cyan"), "  ", memory.text[:300])


def why(settings: Settings, query: Query, id: Id, asking: Asking, conditions: Conditions) -> int:
    """Ask again, and draw how a score came about."""
    with settings.open(embed=True) as mind:
        memory = mind.show(id)
        found = mind.recall(query, **asking.options(conditions), track=False)
        told = next((result.why for result in found if result.memory.id == memory.id), None)
    if told is None:
        complain(f"{memory.id} is not among the results; why-not says the reason.", "NotReturned", settings.json)
        return 1
    if settings.json:
        answer(True, {"query": query, "id": memory.id, "score": told.value, "why": told.as_dict()})
        return 0
    from recollect.cli import render as pictures

    _head(memory)
    draw(pictures.why(told))
    return 0


def why_not(settings: Settings, query: Query, id: Id, asking: Asking, conditions: Conditions) -> None:
    """Ask again, and say which step leaves a memory out."""
    with settings.open(embed=True) as mind:
        memory = mind.show(id)
        told = mind.why_not(query, memory.id, **asking.options(conditions))
    if settings.json:
        answer(True, {"query": query, **told.as_dict()})
        return
    from recollect.cli import render as pictures

    _head(memory)
    say((told.reason, "bold green" if told.returned else "bold yellow"))
    draw(pictures.verdict(told))


def compare(
    settings: Settings,
    query: Query,
    conditions: Conditions,
    recipe: Annotated[
        list[str] | None, typer.Option("--recipe", "-r", help="One to compare; several times.", show_default="all")
    ] = None,
    k: Annotated[int, typer.Option("-k", "--limit", help="How many results each.")] = 5,
) -> None:
    """Put one question to several recipes and show their answers side by side."""
    from recollect.recall.registry import RECIPES, get_recipe

    with settings.open(embed=True) as mind:
        made = [get_recipe(name, **settings.configured.settings_of(name)) for name in recipe or RECIPES]
        told = mind.compare(query, made, k, filter=conditions.filter())
    if settings.json:
        answer(True, told.as_dict())
        return
    from recollect.cli import render as pictures

    draw(pictures.comparison(told))


def recipes(settings: Settings) -> None:
    """List the ways of recalling."""
    from recollect.recall.registry import RECIPES

    made = {name: make() for name, make in RECIPES.items()}
    settable = {name: signature(make).parameters.values() for name, make in RECIPES.items()}
    if settings.json:
        shown = {name: {each.name: each.default for each in knobs} for name, knobs in settable.items()}
        told = [{"name": name, "about": made[name].about, "k": made[name].k, "settings": shown[name]} for name in made]
        answer(True, told)
        return
    width = max(map(len, made))
    for name, recipe in made.items():
        knobs = "".join(f"\n{' ' * width}  --set {each.name}={each.default}" for each in settable[name])
        say((name.ljust(width), "bold cyan"), "  ", recipe.about, (knobs, "dim"))
