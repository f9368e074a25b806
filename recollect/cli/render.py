"""Renders results, explanations, traces, verdicts and comparisons for the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from recollect.cli.terminal import (
    MIN_TEXT_WIDTH,
    bar,
    console,
    format_age,
    pluralize,
    printable,
    short_id,
    snippet,
    styled_text,
)
from recollect.recall.fencing import differing_owners

if TYPE_CHECKING:
    from recollect.model import Memory
    from recollect.recall.comparison import ComparedMemory, Comparison
    from recollect.recall.expressions import Explanation
    from recollect.recall.results import Recall, Result, Verdict
    from recollect.recall.trace import Trace

SCORE_BAR, WHY_BAR = 6, 24  # characters
SNIPPET_LINES = 3
QUOTED = re.compile("“(.+)”")
ORDER_OF_TIME = "order of time"  # the stage of questions for a time alone
OCCASIONAL = ("trigrams", "time", "history")  # cues that serve some queries only
OUTCOME = {"ran": "", "skipped": "dim", "failed": "yellow"}


def render_results(found: Recall) -> Table | Group:
    """One row for each result: rank, score, id, and the text with its age and the reason; stacked if it is narrow."""
    ids = [short_id(result.memory.id) for result in found]
    owners = differing_owners(result.memory for result in found)
    text_width = console().width - max(map(len, ids)) - SCORE_BAR - 14
    if text_width < MIN_TEXT_WIDTH:
        return _stacked(found, ids, owners)
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", style="bold")
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, style="cyan")
    grid.add_column(overflow="fold")
    best = max(abs(result.score) for result in found) or 1
    doubtful = found.low_confidence or bool(found.missing_time)
    for result, id in zip(found, ids, strict=True):
        score = Text(f"{result.score:.3f}", "dim" if doubtful else "")
        if not doubtful:
            score.append(" ").append_text(bar(abs(result.score) / best, SCORE_BAR, "green"))
        grid.add_row(str(result.rank), score, id, _body(result, text_width, owners))
    return grid


def _stacked(found: Recall, ids: list[str], owners: Sequence[str]) -> Group:
    lines = []
    for result, id in zip(found, ids, strict=True):
        lines.append(Text.assemble((f"{result.rank}  ", "bold"), f"{result.score:.3f}  ", (id, "cyan")))
        lines.append(_body(result, max(console().width, MIN_TEXT_WIDTH), owners))
    return Group(*lines)


def _body(result: Result, text_width: int, owners: Sequence[str]) -> Text:
    memory, why = result.memory, result.why
    title = f"{memory.title}: " if memory.title else ""
    body = Text(snippet(title + memory.text, text_width * SNIPPET_LINES))
    body.stylize("bold", 0, max(0, len(title) - 2))
    body.highlight_words(_terms(why), "bold green", case_sensitive=False)
    details = [format_age(memory.created), *(f"#{tag}" for tag in memory.tags), summarize(why)]
    if memory.path:
        details.insert(0, _file_location(memory))
    named = {"collection": "in"}  # in office
    details[:0] = [f"{named.get(name, name)} {value}" for name in owners if (value := getattr(memory, name))]
    if memory.status != "active":
        details.insert(0, memory.status)
    for note in result.notes:
        body.append("\n" + printable(note), "yellow")
    return body.append("\n" + printable(" · ".join(details)), "dim")


def _file_location(memory: Memory) -> str:
    """The path and lines as ``recollect get`` takes them: ``plan.md#L3-L9``."""
    return memory.path + ("#L{}-L{}".format(*memory.lines) if memory.lines else "")


def summarize(why: Explanation) -> str:
    """The reason in one line, such as ``words 0.50 (cup) + vectors 0.43 × recency 0.97, not from May 2026 (×0.25)``."""
    node, session = why, ""
    factors: list[Explanation] = []
    while node.operation == "×" or _has_session(node):
        if _has_session(node):
            own, shared = node.parts
            node, session = own.parts[1], f", {shared.label}" if shared.label.startswith("session") else ""
            continue
        factors += node.parts[1:]
        node = node.parts[0]
    parts = node.parts if node.operation == "+" else (node,)
    total = " + ".join(_format_part(part) for part in parts if round(part.value, 2)) or "almost nothing"
    effective = [factor for factor in factors if round(factor.value, 2) != 1]
    reasons = [f", {each.label} (×{each.value:.2f})" for each in effective if each.role == "reason"]
    nouns = [f" × {_format_part(each)}" for each in effective if each.role != "reason"]
    base = f"({total})" if nouns and " + " in total else total
    return base + "".join(nouns) + "".join(reasons) + session


def _has_session(node: Explanation) -> bool:
    """Whether a score is the sum of its own share and that of the session, which has no name without a session."""
    return node.operation == "+" and node.parts[-1].role == "component" and node.parts[-1].name in ("session", "")


def _format_part(part: Explanation) -> str:
    weights = _terms(part)
    least = max(weights.values(), default=0.0) / 4
    words = [word for word in sorted(weights, key=lambda word: -weights[word]) if weights[word] >= least][:4]
    return f"{part.label.split(':')[0]} {part.value:.2f}" + (f" ({', '.join(words)})" if words else "")


def _terms(part: Explanation) -> dict[str, float]:
    """The words that contributed to a score, with their contributions."""
    if not part.value:
        return {}
    quoted = QUOTED.search(part.label)
    return {quoted[1]: part.value} if quoted else {word: v for each in part.parts for word, v in _terms(each).items()}


def render_shares(explanation: Explanation) -> Text:
    """A stacked bar of the components of a score, with a legend: ``███▓▓▒  █ words 50%  ▓ vectors 33%  ▒ tags 17%``."""
    stacked, legend = Text(), Text()
    styles = zip("█▓▒░", ("green", "blue", "magenta", "cyan"), strict=True)
    end = 0.0
    for (name, share), (block, style) in zip(explanation.shares(), [*styles, *[("·", "dim")] * 20], strict=False):
        start, end = end, end + share
        stacked.append(block * (round(end * WHY_BAR) - round(start * WHY_BAR)), style)
        legend.append(f"  {block} ", style).append(f"{printable(name)} {share:.0%}")
    return stacked.append_text(legend)


def render_explanation(explanation: Explanation) -> Table:
    """The tree of a score: one line for each part, with its value and a bar.

    The bar of a part of a sum is its share of the sum; other bars are relative to 1 or to the largest sibling.
    """
    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    branches = list(_branches(explanation, "", "", abs(explanation.value), "bold green"))
    longest = max(len(guides) + len(part.label) + 3 for guides, part, *_ in branches)
    width = min(WHY_BAR, max(8, console().width - longest - len(f"{explanation.value:.4f}") - 4))
    for guides, part, share, style in branches:
        label = styled_text((guides, "dim"), (part.label, style if part.parts else ""))
        if len(part.parts) > 1 and not part.label.startswith(part.operation):
            label.append(f"  {part.operation}", "dim")
        grid.add_row(label, Text(f"{part.value:.4f}", style), bar(share, width, style))
    return grid


def _branches(
    part: Explanation, first: str, rest: str, share: float, style: str
) -> Iterator[tuple[str, Explanation, float, str]]:
    yield first, part, share, "red" if part.value < 0 else style
    sizes = [abs(each.value) for each in part.parts]
    total = (sum(sizes) or 1.0) if part.operation == "+" else max([1.0, *sizes])
    for at, (each, size) in enumerate(zip(part.parts, sizes, strict=True), 1):
        branch, trunk = ("├─ ", "│  ") if at < len(sizes) else ("└─ ", "   ")
        lowers = part.operation == "×" and round(size, 4) < 1
        colour = "green" if part.operation == "+" else "yellow" if lowers else "blue"
        yield from _branches(each, rest + branch, rest + trunk, size / total, colour)


def render_trace(trace: Trace) -> Text:
    """What each step did, how long it took, and to how many candidates."""
    lines = printable(str(trace)).splitlines()
    styles = ["bold", *(OUTCOME[step.outcome] for step in trace.steps)]
    return Text("\n").join(Text(line, style) for line, style in zip(lines, styles, strict=False))


def render_footer(found: Recall) -> Text:
    """The number of results, the time, the recipe, and the steps that did not run."""
    trace = found.trace
    size = pluralize(len(found), "result", "results")
    confidence = "" if found.confidence is None else f", confidence {found.confidence:.2f}"
    line = styled_text((f"{size} in {trace.milliseconds:.0f} ms, recipe {trace.recipe}{confidence}", "dim"))
    # Stages that had nothing to do, and cues that serve some queries only, are shown by --explain only.
    skipped: dict[str, list[str]] = {}  # by reason: the steps
    for step in trace.steps:
        if step.outcome == "skipped" and (step.kind == "cue" or "rerank" in step.name) and step.name not in OCCASIONAL:
            skipped.setdefault(step.reason, []).append(step.name)
    if skipped:
        reasons = (f"{', '.join(names)} ({reason})" for reason, names in skipped.items())
        line.append(printable("\nskipped: " + ", ".join(reasons)), "dim")
    if len(found) and any(step.name == ORDER_OF_TIME and step.outcome == "ran" for step in trace.steps):
        line.append("\nin order of time; plans, small talk and answers last", "dim")
    for step in trace.steps:
        if step.name == "TimeReader" and "time" in step.detail:
            outcome = "; no memory is of that time" if found.missing_time else ""
            line.append(printable(f"\ntime read: {step.detail['time']}{outcome}"), "dim")
    for step in trace.failures:
        line.append(printable(f"\n{step.name} failed: {step.reason}"), "yellow")
    return line


def render_verdict(verdict: Verdict) -> Table:
    """The value and the threshold, and what each cue found."""
    grid = Table.grid(padding=(0, 2))
    if verdict.value is not None and verdict.threshold is not None:
        largest = max(abs(verdict.value), abs(verdict.threshold)) or 1
        for name, value, style in (("value", verdict.value, "yellow"), ("threshold", verdict.threshold, "blue")):
            grid.add_row(name, Text.assemble(bar(abs(value) / largest, WHY_BAR, style), f"  {value:.4g}"))
    for cue, result in verdict.cues.items():
        grid.add_row(Text(cue, "cyan"), printable(result))
    return grid


def render_comparison(comparison: Comparison) -> Table:
    """One row for each memory: its rank with each recipe, the difference to the first recipe, and the reason."""
    grid = Table(box=None, padding=(0, 1), header_style="bold")
    grid.add_column("memory", overflow="fold", ratio=2)
    for name, recall in comparison.recalls.items():
        grid.add_column(f"{name}\n{recall.trace.milliseconds:.0f} ms", overflow="fold", ratio=1)
    first = next(iter(comparison.recalls))
    for line in comparison.lines:
        cells = [_rank_cell(comparison, line, name, first) for name in comparison.recalls]
        grid.add_row(Text(snippet(line.memory.text, 120)), *cells)
    return grid


def _rank_cell(comparison: Comparison, line: ComparedMemory, name: str, first: str) -> Text:
    if name not in line.ranks:
        return Text("–", "dim")
    move = line.move(name, first)
    if move is None:
        moved = Text(" new", "yellow")
    elif move == 0:
        moved = Text("")
    else:
        moved = Text(f" ↑{move}", "green") if move > 0 else Text(f" ↓{-move}", "red")
    reason = summarize(comparison.recalls[name][line.ranks[name] - 1].why)
    return Text.assemble((str(line.ranks[name]), "bold"), moved, "\n", (printable(reason), "dim"))
