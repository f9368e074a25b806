"""The commands that recall and explain: recall, context, why, why-not, compare and recipes."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import FilterOptions, GlobalOptions, RecallOptions
from recollect.cli.terminal import print_error, print_line, print_renderable, print_result, short_id, snippet

if TYPE_CHECKING:
    from recollect.model import Memory
    from recollect.recall.results import Recall

Query = Annotated[str, typer.Argument(help="The query; quote several words.", show_default=False)]
Id = Annotated[str, typer.Argument(help="The id of a memory, or its beginning.", show_default=False)]


def recall(
    options: GlobalOptions,
    query: Annotated[list[str], typer.Argument(help="The query.", show_default=False)],
    recall_options: RecallOptions,
    filters: FilterOptions,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how each score was computed, and what each step did.")
    ] = False,
    no_track: Annotated[bool, typer.Option("--no-track", help="Do not record the use of the results.")] = False,
    stages: Annotated[
        bool, typer.Option("--stages", help="Show what each stage found; always shown for abmind.")
    ] = False,
) -> int:
    """Find the memories that answer a query best, with the reasons."""
    with options.connect(embed=True) as mind:
        found = mind.recall(" ".join(query), **recall_options.arguments(filters, mind), track=not no_track)
    if options.json:
        print_result(True, _as_json(found, explain))
    else:
        _print_results(found, explain, stages)
    return 0 if found else 1


def context(
    options: GlobalOptions,
    query: Annotated[list[str], typer.Argument(help="The query.", show_default=False)],
    recall_options: RecallOptions,
    filters: FilterOptions,
    budget: Annotated[int, typer.Option(help="Maximum tokens of the text; a token is 4 characters.", min=1)] = 1000,
    no_track: Annotated[bool, typer.Option("--no-track", help="Do not record the use of the results.")] = False,
) -> int:
    """Print the memories about a query as one text for a prompt, within a budget of tokens."""
    with options.connect(embed=True) as mind:
        arguments = recall_options.arguments(filters, mind)
        del arguments["k"]  # a context takes as many memories as fit
        built = mind.context(" ".join(query), budget, **arguments, track=not no_track)
    if options.json:
        shown = {"text": built.text, "tokens": built.tokens, **_summary(built.recall)}
        print_result(True, {**shown, "memories": built.memories})
    elif not built.text and built.best_needs > budget:
        from recollect.recall.packing import nothing_fits

        print_line(nothing_fits(budget, built.best_needs), stderr=True)
    else:
        print_line(built.text or "Nothing found.")
        if built.text and (built.recall.low_confidence or built.recall.missing_time):
            print_line(_warning(built.recall), stderr=True)  # the text itself goes into a prompt
    return 0 if built.memories else 1


def _print_results(found: Recall, explain: bool, stages: bool) -> None:
    from recollect.cli.render import render_explanation, render_footer, render_results, render_trace

    for line in found.trace.stages() if stages else found.trace.facts.get("stages", ()):
        print_line((line, "dim"))
    if found:
        if found.low_confidence or found.missing_time:
            print_line((_warning(found), "yellow"))
        print_renderable(render_results(found))
    else:
        timed_out = any(step.reason.startswith("the deadline") for step in found.trace.steps)
        reason = "the deadline passed before anything was found" if timed_out else found.low_confidence_reason
        ending = "." if reason in ("", "nothing was found") else f": {reason}."
        print_line("Nothing found for ", (f"“{snippet(found.trace.query, 200)}”", "bold"), ending)
    if explain:
        for result in found:
            _print_memory(result.memory, before=f"\n{result.rank}  ")
            print_renderable(render_explanation(result.why))
        print_line()
        print_renderable(render_trace(found.trace))
    print_line()
    print_renderable(render_footer(found))


def _as_json(found: Recall, explain: bool) -> dict[str, Any]:
    from recollect.cli.render import summarize

    results = []
    for result in found:
        shown = {"rank": result.rank, "score": result.score, "id": result.memory.id}
        shown |= {"memory": result.memory, "summary": summarize(result.why), "notes": result.notes}
        results.append({**shown, "why": result.why.as_dict()} if explain else shown)
    return {**_summary(found), "results": results, "trace": found.trace.as_dict()}


def _summary(found: Recall) -> dict[str, Any]:
    return {
        "query": found.trace.query,
        "confidence": found.confidence,
        "low_confidence": found.low_confidence,
        "low_confidence_reason": found.low_confidence_reason,
        "missing_time": found.missing_time,
    }


def _warning(found: Recall) -> str:
    if found.missing_time:
        return f"No memory is of the time asked for ({found.missing_time}); these are the nearest."
    reason = f" ({found.low_confidence_reason})" if found.low_confidence_reason else ""
    return f"Low confidence ({found.confidence:.2f}): probably no memory answers this{reason}."


def _print_memory(memory: Memory, before: str = "") -> None:
    print_line((before, "bold"), (short_id(memory.id), "cyan"), "  ", memory.text[:300])


def why(
    options: GlobalOptions,
    query: Query,
    id: Id,
    recall_options: RecallOptions,
    filters: FilterOptions,
    full: Annotated[bool, typer.Option("--full", help="Show the whole calculation.")] = False,
) -> int:
    """Run a query again and explain the score of a memory: in a sentence, or with --full as a tree."""
    with options.connect(embed=True) as mind:
        memory = mind.show(id)
        found = mind.recall(query, **recall_options.arguments(filters, mind), track=False)
        result = next((each for each in found if each.memory.id == memory.id), None)
    if result is None:
        print_error(f"{memory.id} is not among the results; why-not gives the reason.", "NotReturned", options.json)
        return 1
    explanation = result.why
    if options.json:
        shares = [{"component": name, "share": share} for name, share in explanation.shares()]
        short = {"summary": explanation.summary(), "shares": shares, "notes": result.notes}
        shown = {"query": query, "id": memory.id, "score": result.score, **short, "why": explanation.as_dict()}
        print_result(True, shown)
        return 0
    from recollect.cli.render import render_explanation, render_shares

    _print_memory(memory)
    print_line((f"rank {result.rank}, score {result.score:.3f}: ", "bold"), explanation.summary())
    print_renderable(render_shares(explanation))
    for note in result.notes:
        print_line((note, "yellow"))
    if full:
        print_renderable(render_explanation(explanation))
    else:
        print_line(("--full shows the whole calculation.", "dim"))
    return 0


def why_not(
    options: GlobalOptions, query: Query, id: Id, recall_options: RecallOptions, filters: FilterOptions
) -> None:
    """Run a query again and show which step leaves a memory out."""
    with options.connect(embed=True) as mind:
        memory = mind.show(id)
        verdict = mind.why_not(query, memory.id, **recall_options.arguments(filters, mind))
    if options.json:
        print_result(True, {"query": query, **verdict.as_dict()})
        return
    from recollect.cli.render import render_verdict

    _print_memory(memory)
    print_line((verdict.reason, "bold green" if verdict.returned else "bold yellow"))
    print_renderable(render_verdict(verdict))


def compare(
    options: GlobalOptions,
    query: Query,
    filters: FilterOptions,
    recipe: Annotated[
        list[str] | None,
        typer.Option("--recipe", "-r", help="A recipe to compare; may be given several times.", show_default="all"),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--limit", help="How many results of each.")] = 5,
) -> None:
    """Run one query with several recipes and show the results side by side."""
    from recollect.mind import Mind
    from recollect.recall.registry import RECIPES, get_recipe

    with options.connect(embed=True) as mind:
        if isinstance(mind, Mind):
            built = [get_recipe(name, **options.checked_config.recipe_settings(name)) for name in recipe or RECIPES]
            comparison = mind.compare(query, built, k, filter=filters.filter())
        else:  # the server has settings of its own
            comparison = mind.compare(query, recipe or list(RECIPES), k, filter=filters.filter())
    if options.json:
        print_result(True, comparison.as_dict())
        return
    from recollect.cli.render import render_comparison

    print_renderable(render_comparison(comparison))


def recipes(options: GlobalOptions) -> None:
    """List the recipes and their settings."""
    from recollect.recall.registry import RECIPES

    built = {name: factory() for name, factory in RECIPES.items()}
    parameters = {name: signature(factory).parameters.values() for name, factory in RECIPES.items()}
    if options.json:
        shown = {name: {each.name: each.default for each in settings} for name, settings in parameters.items()}
        print_result(
            True,
            [{"name": name, "about": each.about, "k": each.k, "settings": shown[name]} for name, each in built.items()],
        )
        return
    width = max(map(len, built))
    for name, recipe in built.items():
        settings = "".join(f"\n{' ' * width}  --set {each.name}={each.default}" for each in parameters[name])
        print_line((name.ljust(width), "bold cyan"), "  ", recipe.about, (settings, "dim"))
