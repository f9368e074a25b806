"""Pictures for the terminal: results, the tree of a score, the trace, and the verdict on what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Column, Table
from rich.text import Text

from recollect.cli.screen import age, bar, count, printable, short, snippet

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.recall.arithmetic import Explanation
    from recollect.recall.results import Recall, Result, Verdict
    from recollect.recall.trace import Step, Trace

SCORE_BAR, WHY_BAR = 6, 24  # letters
SNIPPET_LINES = 3
QUOTED = re.compile("“(.+)”")
OUTCOME = {"ran": "green", "skipped": "dim", "failed": "yellow"}


def results(found: Recall, console: Console) -> Table:
    """A row a result: rank, score, id, and the text with its age and the reason below."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", style="bold")
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, style="cyan")
    grid.add_column(overflow="fold")
    ids = [short(result.memory.id) for result in found]
    room = console.width - max(map(len, ids), default=0) - SCORE_BAR - 14
    best = max((abs(result.score) for result in found), default=0) or 1
    for result, id in zip(found, ids, strict=True):
        score = Text.assemble(f"{result.score:.3f} ", bar(abs(result.score) / best, SCORE_BAR, "green"))
        grid.add_row(str(result.rank), score, id, _body(result, max(room, 20)))
    return grid


def _body(result: Result, room: int) -> Text:
    memory, why = result.memory, result.why
    title = f"{memory.title}: " if memory.title else ""
    body = Text(snippet(title + memory.text, room * SNIPPET_LINES))
    if title:
        body.stylize("bold", 0, min(len(title) - 1, len(body)))
    body.highlight_words(_terms(why), "bold green", case_sensitive=False)
    told = [age(memory.created), *(f"#{tag}" for tag in memory.tags), summary(why)]
    if memory.status != "active":
        told.insert(0, memory.status)
    return body.append("\n" + printable(" · ".join(told)), "dim")


def summary(why: Explanation) -> str:
    """The reason in one line, such as ``words 0.50 (cup) + vectors 0.43 × recency 0.97``."""
    node, factors = why, []
    while node.operation == "×":
        factors += node.parts[1:]
        node = node.parts[0]
    parts = node.parts if node.operation == "+" else (node,)
    told = " + ".join(_told(part) for part in parts if round(part.value, 2)) or "nothing in common"
    changed = [factor for factor in factors if round(factor.value, 2) != 1]
    several = f"({told})" if changed and " + " in told else told
    return several + "".join(f" × {_told(factor)}" for factor in changed)


def _told(part: Explanation) -> str:
    terms = _terms(part)[:4]
    return f"{part.label.split(':')[0]} {part.value:.2f}" + (f" ({', '.join(terms)})" if terms else "")


def _terms(part: Explanation) -> list[str]:
    """The words that had a part in a score."""
    if not part.value:
        return []
    quoted = QUOTED.search(part.label)
    return [quoted[1]] if quoted else [word for each in part.parts for word in _terms(each)]


def why(explanation: Explanation) -> Table:
    """The tree of a score: a line a part, with its value and a bar.

    Parts of a sum are drawn as their share of it; anything else against 1, or against the largest beside it.
    """
    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    for guides, part, share, style in _branches(explanation, "", "", 1.0, "bold green"):
        label = Text.assemble((guides, "dim"), (printable(part.label), style if part.parts else ""))
        if len(part.parts) > 1:
            label.append(f"  {part.operation}", "dim")
        grid.add_row(label, Text(f"{part.value:.4f}", style), bar(share, WHY_BAR, style))
    return grid


def _branches(
    part: Explanation, first: str, rest: str, share: float, style: str
) -> Iterator[tuple[str, Explanation, float, str]]:
    yield first, part, share, "red" if part.value < 0 else style
    sizes = [abs(each.value) for each in part.parts]
    whole = (sum(sizes) or 1.0) if part.operation == "+" else max([1.0, *sizes])
    for at, (each, size) in enumerate(zip(part.parts, sizes, strict=True)):
        last = at == len(part.parts) - 1
        colour = "green" if part.operation == "+" else "yellow" if part.operation == "×" and size < 1 else "blue"
        yield from _branches(
            each, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), size / whole, colour
        )


def trace(told: Trace) -> Table:
    """What every step did, in how long, to how many."""
    grid = Table("step", "", *(Column(name, justify="right") for name in ("ms", "in", "out")), "notes", box=None)
    for step in told.steps:
        grid.add_row(
            step.kind,
            Text(step.name, OUTCOME[step.outcome]),
            f"{step.milliseconds:.2f}",
            "" if step.before is None else str(step.before),
            "" if step.after is None else str(step.after),
            Text(printable(_notes(step)), "yellow" if step.outcome == "failed" else "dim"),
        )
    return grid


def _notes(step: Step) -> str:
    told = [f"{step.outcome}: {step.reason}"] if step.outcome != "ran" else []
    return "; ".join([*told, *(f"{name}: {value}" for name, value in step.detail.items())])


def footer(found: Recall) -> Text:
    """How many, how long, by what; and what did not run."""
    told = found.trace
    line = Text(f"{count(len(found), 'result')} in {told.milliseconds:.0f} ms, recipe {told.recipe}", "dim")
    skipped = [f"{step.name} ({step.reason})" for step in told.steps if step.outcome == "skipped"]
    if skipped:
        line.append("; skipped: " + ", ".join(skipped), "dim")
    for step in told.failures:
        line.append(f"\n{step.name} failed: {printable(step.reason)}", "yellow")
    return line


def verdict(told: Verdict) -> Table:
    """The value against the threshold, and what each cue makes of the memory."""
    grid = Table.grid(padding=(0, 2))
    pair = [("value", told.value, "yellow"), ("threshold", told.threshold, "blue")]
    numbers: Sequence[tuple[str, float, str]] = [(name, v, style) for name, v, style in pair if v is not None]
    largest = max((abs(value) for _, value, _ in numbers), default=0) or 1
    if len(numbers) == 2:
        for name, value, style in numbers:
            grid.add_row(name, Text.assemble(bar(abs(value) / largest, WHY_BAR, style), f"  {value:.4g}"))
    for cue, opinion in told.cues.items():
        grid.add_row(Text(cue, "cyan"), printable(opinion))
    return grid
