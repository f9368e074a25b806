"""The command that measures: eval."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import Settings, Words
from recollect.cli.terminal import answer, complain, count, draw, json_text, line_of, progress, say
from recollect.cli.text_files import writing
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.evaluation import Asker, Labelled, Outcome

TEMPLATE = 20  # lines, where the user does not say
QUESTIONS = "Your questions (JSON lines), a BEIR folder, or LongMemEval's or LoCoMo's file."
Limit = Annotated[int | None, typer.Option("--limit", help="Only the first so many.", show_default=False)]
Unit = Annotated[str, typer.Option("--unit", help="What a memory of LongMemEval is: session or turn.")]
Split = Annotated[str, typer.Option("--split", help="Which qrels of a BEIR folder.")]
Store = Annotated[
    str | None,
    typer.Option("--store", help="Keep a benchmark's memories in this file, and use them again.", show_default=False),
]


def eval_(
    settings: Settings,
    questions: Annotated[str | None, typer.Argument(help=QUESTIONS, show_default=False)] = None,
    recipe: Annotated[
        Words, typer.Option("--recipe", "-r", help="A way of recalling; several are shown side by side.")
    ] = None,
    fail_below: Annotated[
        Words, typer.Option("--fail-below", help="Exit with 1 below this, as in ndcg@10=0.6; several times.")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", help="Write a report in Markdown.", show_default=False)
    ] = None,
    limit: Limit = None,
    unit: Unit = "session",
    split: Split = "test",
    store: Store = None,
    template: Annotated[
        bool, typer.Option("--template", help=f"Print {TEMPLATE} lines (or --limit) of your memory to fill in.")
    ] = False,
) -> int:
    """Measure recall on labelled questions. A line is {"query": "…", "relevant": ["id"]}; --template writes some."""
    if template:
        return _template(settings, TEMPLATE if limit is None else limit)
    if questions is None:
        raise InvalidInput("Name a file of questions; recollect eval --template > questions.jsonl begins one.")
    from recollect.evaluation import Gate

    gates = [Gate.of(each) for each in fail_below or ()]
    labelled = asked_for(questions, limit, unit, split)
    outcome = _evaluate(settings, labelled, recipe or [settings.configured.recipe_name or "default"], store)
    if report is not None:
        with writing(report) as out:
            out.write(outcome.markdown())
    failed = outcome.failed(gates)
    if settings.json:
        answer(True, {**outcome.as_dict(), "failed": failed})
    else:
        _draw(outcome)
    for problem in failed:
        complain(problem, "BelowGate", settings.json)
    return 1 if failed else 0


def _template(settings: Settings, lines: int) -> int:
    from recollect.evaluation import template

    with settings.open() as mind:
        for line in template(mind, lines):
            print(json_text(line))
    return 0


def asked_for(questions: str, limit: int | None, unit: str, split: str) -> Labelled:
    from recollect.evaluation import read

    labelled = read(questions, unit=unit, split=split)  # type: ignore[arg-type]
    return labelled if limit is None else labelled.first(limit)


def _evaluate(settings: Settings, labelled: Labelled, recipes: list[str], store: str | None) -> Outcome:
    from recollect.evaluation import judge
    from recollect.recall.registry import get_recipe

    config = settings.configured
    made = {name: get_recipe(name, **config.settings_of(name)) for name in recipes}  # before any work
    answers: dict[str, Any] = {}
    with to_ask(settings, labelled, store) as (asker, labelled):
        for name, recipe in made.items():
            with progress(f"Asking {name}") as done:
                answers[name] = asker.answers(labelled.questions, recipe, progress=done)
    return judge(labelled, answers)


@contextmanager
def to_ask(settings: Settings, labelled: Labelled, store: str | None) -> Iterator[tuple[Asker, Labelled]]:
    """The memory at --db, to be asked; or, when the questions bring their own, a file filled with those."""
    from recollect.evaluation import Asker, asking, resolved

    if not labelled.memories:
        with settings.open(embed=True) as mind:
            yield Asker(mind), resolved(mind, labelled)
        return
    with ExitStack() as stack:
        path = store or str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "benchmark.db")
        asker = stack.enter_context(asking(path, settings.model))
        _fill(asker, labelled)
        yield asker, labelled


def _fill(asker: Asker, labelled: Labelled) -> None:
    """A file that holds as many already was filled by an earlier run, and is left as it is."""
    held = sum(asker.mind.status().store.memories.values())
    if held == len(labelled.memories):
        return
    if held:
        raise InvalidInput(f"{asker.mind.path} holds other memories; name a new file with --store.")
    with progress("Remembering") as done:
        asker.mind.remember_many(labelled.memories, progress=done)


def _draw(outcome: Outcome) -> None:
    from rich.table import Table

    told = outcome.as_dict()
    shown = Table(box=None, padding=(0, 2), header_style="bold")
    shown.add_column(outcome.name)
    for name in told["recipes"]:
        shown.add_column(name, justify="right", style="green")
    for row in outcome.rows(told):
        shown.add_row(*row)
    draw(shown)
    for category, values in told["recipes"][outcome.scores[0].name]["categories"].items():
        say((f"  {category}: ", "cyan"), f"R@10 {values['R@10']:.3f}  NDCG@10 {values['NDCG@10']:.3f}")
    size = count(told["questions"], "question", "questions")
    without = f", {outcome.unanswerable} without an answer" if outcome.unanswerable else ""
    star = "; * surely other than the first" if len(outcome.scores) > 1 else ""
    draw(line_of((f"\n{size}{without}; in brackets 95% intervals{star}", "dim")))
    for asked, _ in outcome.worst[:3]:
        say(("  worst: ", "yellow"), asked.text)
