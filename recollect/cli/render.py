"""Pictures for the terminal: results, the tree of a score, the trace, and the verdict on what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from recollect.cli.terminal import LEAST_ROOM, age, bar, console, count, line_of, printable, short, snippet
from recollect.recall.stages.conversation import WITH_SESSION

if TYPE_CHECKING:
    from recollect.model import Memory
    from recollect.recall.compare import Comparison, Line
    from recollect.recall.expressions import Explanation
    from recollect.recall.results import Recall, Result, Verdict
from recollect.recall.trace import Trace

SCORE_BAR, WHY_BAR = 6, 24  # letters
SNIPPET_LINES = 3
QUOTED = re.compile("“(.+)”")
OUTCOME = {"ran": "", "skipped": "dim", "failed": "yellow"}


def results(found: Recall) -> Table | Group:
    """A row a result: rank, score, id, and the text with its age and reason; stacked where it is narrow."""
    ids = [short(result.memory.id) for result in found]
    several = len({result.memory.collection for result in found}) > 1
    room = console().width - max(map(len, ids)) - SCORE_BAR - 14
    if room < LEAST_ROOM:
        return _stacked(found, ids, several)
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", style="bold")
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, style="cyan")
    grid.add_column(overflow="fold")
    best = max(abs(result.score) for result in found) or 1
    for result, id in zip(found, ids, strict=True):
        score = Text.assemble(f"{result.score:.3f} ", bar(abs(result.score) / best, SCORE_BAR, "green"))
        grid.add_row(str(result.rank), score, id, _body(result, room, several))
    return grid


def _stacked(found: Recall, ids: list[str], several: bool) -> Group:
    lines = []
    for result, id in zip(found, ids, strict=True):
        lines.append(Text.assemble((f"{result.rank}  ", "bold"), f"{result.score:.3f}  ", (id, "cyan")))
        lines.append(_body(result, max(console().width, LEAST_ROOM), several))
    return Group(*lines)


def _body(result: Result, room: int, several: bool) -> Text:
    memory, why = result.memory, result.why
    title = f"{memory.title}: " if memory.title else ""
    body = Text(snippet(title + memory.text, room * SNIPPET_LINES))
    body.stylize("bold", 0, max(0, len(title) - 2))
    body.highlight_words(_terms(why), "bold green", case_sensitive=False)
    told = [age(memory.created), *(f"#{tag}" for tag in memory.tags), summary(why)]
    if memory.path:
        told.insert(0, _place_in_file(memory))
    if several:
        told.insert(0, f"in {memory.collection}")
    if memory.status != "active":
        told.insert(0, memory.status)
    for note in result.notes:
        body.append("\n" + printable(note), "yellow")
    return body.append("\n" + printable(" · ".join(told)), "dim")


def _place_in_file(memory: Memory) -> str:
    """Where to read on, as ``recollect get`` takes it: ``plan.md#L3-L9``."""
    return memory.path + ("#L{}-L{}".format(*memory.lines) if memory.lines else "")


def summary(why: Explanation) -> str:
    """The reason in one line, such as ``words 0.50 (cup) + vectors 0.43 × recency 0.97``."""
    node, beside = why, ""
    factors: list[Explanation] = []
    while node.operation == "×" or node.label == WITH_SESSION:
        if node.label == WITH_SESSION:
            own, lent = node.parts
            node, beside = own.parts[1], f", {lent.label}" if lent.label.startswith("session") else ""
            continue
        factors += node.parts[1:]
        node = node.parts[0]
    parts = node.parts if node.operation == "+" else (node,)
    told = " + ".join(_told(part) for part in parts if round(part.value, 2)) or "next to nothing"
    changed = [factor for factor in factors if round(factor.value, 2) != 1]
    several = f"({told})" if changed and " + " in told else told
    return several + "".join(f" × {_told(factor)}" for factor in changed) + beside


def _told(part: Explanation) -> str:
    weights = _terms(part)
    least = max(weights.values(), default=0.0) / 4
    words = [word for word in sorted(weights, key=lambda word: -weights[word]) if weights[word] >= least][:4]
    return f"{part.label.split(':')[0]} {part.value:.2f}" + (f" ({', '.join(words)})" if words else "")


def _terms(part: Explanation) -> dict[str, float]:
    """The words that had a part in a score, and how large it was."""
    if not part.value:
        return {}
    quoted = QUOTED.search(part.label)
    return {quoted[1]: part.value} if quoted else {word: v for each in part.parts for word, v in _terms(each).items()}


def why(explanation: Explanation) -> Table:
    """The tree of a score: a line a part, with its value and a bar.

    Parts of a sum are drawn as their share of it; anything else against 1, or against the largest beside it.
    """
    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    branches = list(_branches(explanation, "", "", abs(explanation.value), "bold green"))
    longest = max(len(guides) + len(part.label) + 3 for guides, part, *_ in branches)
    width = min(WHY_BAR, max(8, console().width - longest - len(f"{explanation.value:.4f}") - 4))
    for guides, part, share, style in branches:
        label = line_of((guides, "dim"), (part.label, style if part.parts else ""))
        if len(part.parts) > 1 and not part.label.startswith(part.operation):
            label.append(f"  {part.operation}", "dim")
        grid.add_row(label, Text(f"{part.value:.4f}", style), bar(share, width, style))
    return grid


def _branches(
    part: Explanation, first: str, rest: str, share: float, style: str
) -> Iterator[tuple[str, Explanation, float, str]]:
    yield first, part, share, "red" if part.value < 0 else style
    sizes = [abs(each.value) for each in part.parts]
    whole = (sum(sizes) or 1.0) if part.operation == "+" else max([1.0, *sizes])
    for at, (each, size) in enumerate(zip(part.parts, sizes, strict=True), 1):
        branch, trunk = ("├─ ", "│  ") if at < len(sizes) else ("└─ ", "   ")
        lowers = part.operation == "×" and round(size, 4) < 1
        colour = "green" if part.operation == "+" else "yellow" if lowers else "blue"
        yield from _branches(each, rest + branch, rest + trunk, size / whole, colour)


def trace(told: Trace) -> Text:
    """What every step did, in how long, to how many."""
    lines = printable(str(told)).splitlines()
    styles = ["bold", *(OUTCOME[step.outcome] for step in told.steps)]
    return Text("\n").join(Text(line, style) for line, style in zip(lines, styles, strict=False))


def footer(found: Recall) -> Text:
    """How many, how long, by what; and what did not run."""
    told = found.trace
    size = count(len(found), "result", "results")
    sure = "" if found.confidence is None else f", confidence {found.confidence:.2f}"
    line = line_of((f"{size} in {told.milliseconds:.0f} ms, recipe {told.recipe}{sure}", "dim"))
    # A stage without anything to do is no news; --explain shows it.
    skipped = [
        f"{step.name} ({step.reason})"
        for step in told.steps
        if step.outcome == "skipped" and (step.kind == "cue" or "rerank" in step.name)
    ]
    if skipped:
        line.append(printable("\nskipped: " + ", ".join(skipped)), "dim")
    for step in told.failures:
        line.append(printable(f"\n{step.name} failed: {step.reason}"), "yellow")
    return line


def verdict(told: Verdict) -> Table:
    """The value against the threshold, and what each cue makes of the memory."""
    grid = Table.grid(padding=(0, 2))
    if told.value is not None and told.threshold is not None:
        largest = max(abs(told.value), abs(told.threshold)) or 1
        for name, value, style in (("value", told.value, "yellow"), ("threshold", told.threshold, "blue")):
            grid.add_row(name, Text.assemble(bar(abs(value) / largest, WHY_BAR, style), f"  {value:.4g}"))
    for cue, opinion in told.cues.items():
        grid.add_row(Text(cue, "cyan"), printable(opinion))
    return grid


def comparison(told: Comparison) -> Table:
    """A row a memory: its rank with each recipe, how far that is from the first recipe's, and why."""
    grid = Table(box=None, padding=(0, 1), header_style="bold")
    grid.add_column("memory", overflow="fold", ratio=2)
    for name, recall in told.recalls.items():
        grid.add_column(f"{name}\n{recall.trace.milliseconds:.0f} ms", overflow="fold", ratio=1)
    first = next(iter(told.recalls))
    for line in told.lines:
        cells = [_place(told, line, name, first) for name in told.recalls]
        grid.add_row(Text(snippet(line.memory.text, 120)), *cells)
    return grid


def _place(told: Comparison, line: Line, name: str, first: str) -> Text:
    if name not in line.ranks:
        return Text("–", "dim")
    move = line.move(name, first)
    if move is None:
        moved = Text(" new", "yellow")
    elif move == 0:
        moved = Text("")
    else:
        moved = Text(f" ↑{move}", "green") if move > 0 else Text(f" ↓{-move}", "red")
    reason = summary(told.recalls[name][line.ranks[name] - 1].why)
    return Text.assemble((str(line.ranks[name]), "bold"), moved, "\n", (printable(reason), "dim"))
