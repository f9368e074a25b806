"""The commands eval, which measures recall on labelled questions, and tune, which searches for better settings."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import GlobalOptions, Texts
from recollect.cli.terminal import (
    json_text,
    open_output,
    pluralize,
    print_error,
    print_line,
    print_renderable,
    print_result,
    progress,
    styled_text,
)
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.evaluation import EvaluationReport, LabelledSet, RecallRunner, TuningResult

TEMPLATE_LINES = 20
QUESTIONS_HELP = "A file of questions (JSON lines), a BEIR folder, or the file of LongMemEval or LoCoMo."
Limit = Annotated[int | None, typer.Option("--limit", help="Use only this many questions.", show_default=False)]
Unit = Annotated[str, typer.Option("--unit", help="What becomes a memory in LongMemEval: session or turn.")]
Split = Annotated[str, typer.Option("--split", help="Which qrels file of a BEIR folder.")]
Store = Annotated[
    str | None,
    typer.Option(
        "--store", help="Store the memories of a benchmark in this file, to be used again.", show_default=False
    ),
]


def eval_(
    options: GlobalOptions,
    questions: Annotated[str | None, typer.Argument(help=QUESTIONS_HELP, show_default=False)] = None,
    recipe: Annotated[Texts, typer.Option("--recipe", "-r", help="A recipe; several are shown side by side.")] = None,
    fail_below: Annotated[
        Texts,
        typer.Option("--fail-below", help="Exit with 1 below this, as in ndcg@10=0.6; may be given several times."),
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", help="Write a report in Markdown.", show_default=False)
    ] = None,
    limit: Limit = None,
    unit: Unit = "session",
    split: Split = "test",
    store: Store = None,
    template: Annotated[
        bool,
        typer.Option(
            "--template", help=f"Print {TEMPLATE_LINES} (or --limit) lines with memories of the file, to be completed."
        ),
    ] = False,
) -> int:
    """Measure recall on labelled questions. A line is {"query": "…", "relevant": ["id"]}; --template writes some."""
    if template:
        return _print_template(options, TEMPLATE_LINES if limit is None else limit)
    if questions is None:
        raise InvalidInput("Give a file of questions; recollect eval --template > questions.jsonl starts one.")
    from recollect.evaluation import QualityGate

    gates = [QualityGate.parse(each) for each in fail_below or ()]
    labelled = _read_questions(questions, limit, unit, split)
    recipes = recipe or [options.checked_config.recipe_name or "default"]
    result = _evaluate(options, labelled, recipes, store)
    if report is not None:
        with open_output(report) as out:
            out.write(result.markdown())
    failed = result.failed(gates)
    if options.json:
        print_result(True, {**result.as_dict(), "failed": failed})
    else:
        _print_report(result)
    for problem in failed:
        print_error(problem, "BelowGate", options.json)
    return 1 if failed else 0


def _print_template(options: GlobalOptions, lines: int) -> int:
    from recollect.evaluation import question_template

    with options.open() as mind:
        for line in question_template(mind, lines):
            print(json_text(line))
    return 0


def _read_questions(questions: str, limit: int | None, unit: str, split: str) -> LabelledSet:
    from recollect.evaluation import read

    labelled = read(questions, unit=unit, split=split)  # type: ignore[arg-type]
    return labelled if limit is None else labelled.first(limit)


def _evaluate(options: GlobalOptions, labelled: LabelledSet, recipes: list[str], store: str | None) -> EvaluationReport:
    from recollect.evaluation import build_report
    from recollect.recall.registry import get_recipe

    config = options.checked_config
    built = {
        name: get_recipe(name, **config.recipe_settings(name)) for name in recipes
    }  # first, so that a wrong name fails early
    answers: dict[str, Any] = {}
    with _open_runner(options, labelled, store) as (runner, labelled):
        for name, recipe in built.items():
            with progress(f"Recalling with {name}", "questions") as update:
                answers[name] = runner.answers(labelled.questions, recipe, progress=update)
    return build_report(labelled, answers)


@contextmanager
def _open_runner(
    options: GlobalOptions, labelled: LabelledSet, store: str | None
) -> Iterator[tuple[RecallRunner, LabelledSet]]:
    """Opens the database or, when the questions come with memories, a file with those."""
    from recollect.evaluation import RecallRunner, open_runner, resolve_ids

    if not labelled.memories:
        with options.open(embed=True) as mind:
            yield RecallRunner(mind), resolve_ids(mind, labelled)
        return
    options.check_no_bound("A set with memories of its own")
    with ExitStack() as stack:
        path = store or str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "benchmark.db")
        runner = stack.enter_context(open_runner(path, options.selected_embedder))
        _fill(runner, labelled)
        yield runner, labelled


def _fill(runner: RecallRunner, labelled: LabelledSet) -> None:
    """Stores the memories, unless an earlier run has stored them in this file."""
    stored = sum(runner.mind.status().store.memories.values())
    if stored == len(labelled.memories):
        return
    if stored:
        raise InvalidInput(f"{runner.mind.path} contains other memories; give a new file with --store.")
    with progress("Remembering", "texts") as update:
        runner.mind.remember_many(labelled.memories, progress=update)


def _print_report(report: EvaluationReport) -> None:
    from rich.table import Table

    values = report.as_dict()
    table = Table(box=None, padding=(0, 2), header_style="bold")
    table.add_column(report.name)
    for name in values["recipes"]:
        table.add_column(name, justify="right", style="green")
    for row in report.rows(values):
        table.add_row(*row)
    print_renderable(table)
    for category, measures in values["recipes"][report.scores[0].name]["categories"].items():
        print_line((f"  {category}: ", "cyan"), f"R@10 {measures['R@10']:.3f}  NDCG@10 {measures['NDCG@10']:.3f}")
    size = pluralize(values["questions"], "question", "questions")
    without = f", {report.unanswerable} without an answer" if report.unanswerable else ""
    star = "; * significantly different from the first" if len(report.scores) > 1 else ""
    print_renderable(styled_text((f"\n{size}{without}; 95% intervals in brackets{star}", "dim")))
    for question, _ in report.worst[:3]:
        print_line(("  worst: ", "yellow"), question.text)


def tune(
    options: GlobalOptions,
    questions: Annotated[str, typer.Argument(help=QUESTIONS_HELP, show_default=False)],
    write: Annotated[
        bool, typer.Option("--write", help="Write the settings to the configuration, if they are significantly better.")
    ] = False,
    limit: Limit = None,
    unit: Unit = "session",
    split: Split = "test",
    store: Store = None,
) -> int:
    """Search for better settings of the default recipe, and show their gain on questions not used in the search."""
    from recollect.config.edit import write_settings
    from recollect.evaluation import tune
    from recollect.evaluation.tuning import RECIPE

    config = options.checked_config
    labelled_set = _read_questions(questions, limit, unit, split)
    with (
        _open_runner(options, labelled_set, store) as (runner, labelled),
        progress("Trying settings", "trials") as update,
    ):
        tuned = tune(runner, labelled.questions, progress=update)
    refused = write and not tuned.worth_it
    written = write_settings(config, RECIPE, tuned.settings, options.config) if write and not refused else None
    if options.json:
        print_result(True, {**tuned.as_dict(), "written": written})
    else:
        _print_tuning(tuned)
        if written:
            print_line(("Written to ", "green"), (str(written), "bold"))
    if refused:
        print_error("Nothing was written: no other settings are significantly better.", "NotBetter", options.json)
    return 1 if refused else 0


def _print_tuning(tuned: TuningResult) -> None:
    from recollect.config.edit import format_settings
    from recollect.evaluation.tuning import FEW_QUESTIONS, MEASURE, RECIPE

    gain = tuned.gain
    print_line(
        ("Before: ", "dim"),
        f"{MEASURE} {tuned.before:.3f} over {tuned.questions:,} questions, with the recipe's own settings",
    )
    print_line(
        ("Gain:   ", "dim"),
        (f"{gain.mean:+.3f}", "bold"),
        f" [{gain.low:+.3f} to {gain.high:+.3f}] on questions that were not used to choose the settings",
    )
    print_line((tuned.verdict(), "bold green" if tuned.worth_it else "bold yellow"))
    if tuned.few:
        print_line((f"With fewer than {FEW_QUESTIONS} questions, this result is uncertain.", "yellow"))
    if tuned.settings and gain.mean > 0:
        print_line(f"\n{format_settings(RECIPE, tuned.settings)}")
