"""The commands that write: from remember to undo."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from recollect.cli.options import Details, Settings
from recollect.cli.recall import Id
from recollect.cli.terminal import age, all_or_nothing, answer, count, progress, say, short, snippet
from recollect.cli.text_files import text_lines, whole_text
from recollect.errors import InvalidInput

Weight = Annotated[float, typer.Option(help="How strong, from 0 to 1.")]
Text = Annotated[list[str] | None, typer.Argument(help="What to remember, or - for stdin.", show_default=False)]


def remember(
    settings: Settings,
    details: Details,
    text: Text = None,
    lines_from: Annotated[str | None, typer.Option(help="One memory a line of this file; - is stdin.")] = None,
) -> None:
    """Keep a memory. The same --external-id again updates it."""
    if text and lines_from:
        raise InvalidInput("Give a text or --lines-from a file, not both.")
    if not text and not lines_from:
        raise InvalidInput("Give a text to remember, - to read it from stdin, or --lines-from a file.")
    if lines_from:
        _remember_lines(settings, details, lines_from)
        return
    words = whole_text("-") if text == ["-"] else " ".join(text or ())
    from recollect.model import validation as check

    checked = check.memory(words, details.said())
    with settings.open(embed=True, create=True) as mind:
        receipt = mind.remember_many([checked])
        memory = mind.show(receipt.ids[0])
    told = "Remembered " if receipt.added else "Changed " if receipt.changed else "Unchanged "
    answer(settings.json, memory, (told, "green"), (memory.id, "bold cyan"))


def _remember_lines(settings: Settings, details: Details, file: str) -> None:
    said = details.said()
    if "external_id" in said:
        raise InvalidInput("--external-id names one memory; with --lines-from there are many.")
    items = [{**said, "text": line} for line in text_lines(file) if line.strip()]
    with (
        settings.open(embed=True, create=True) as mind,
        all_or_nothing(mind, settings.json),
        progress("Remembering") as done,
    ):
        receipt = mind.remember_many(items, progress=done)
    answer(settings.json, receipt, ("Remembered ", "green"), count(receipt.added, "memory", "memories"))


def edit(
    settings: Settings,
    id: Id,
    details: Details,
    text: Annotated[str | None, typer.Option(help="The new text, or - for stdin.")] = None,
) -> None:
    """Correct a memory in place. Its earlier content stays in its history; given tags replace all tags."""
    said = details.said()
    if text is None and not said:
        raise InvalidInput("Say what to change, such as --text 'The new text.' or --tag kitchen.")
    with settings.open(embed=True) as mind:
        memory = mind.edit(id, text=whole_text("-") if text == "-" else text, **said)
    answer(settings.json, memory, ("Edited ", "green"), (short(memory.id), "bold cyan"))


def link(
    settings: Settings,
    source: Id,
    target: Id,
    kind: Annotated[str, typer.Option(help="Such as supports, contradicts, depends_on or supersedes.")] = "supports",
    weight: Weight = 1.0,
) -> None:
    """Connect two memories. The same link again sets its weight."""
    with settings.open() as mind:
        edge = mind.link(source, target, kind, weight)
    ends = (short(edge.source), "cyan"), (short(edge.target), "cyan")
    answer(settings.json, edge, ends[0], f" ─{edge.kind}→ ", ends[1], f"  {edge.weight:g}")


def unlink(
    settings: Settings,
    source: Id,
    target: Id,
    kind: Annotated[str | None, typer.Option(help="Only links of this kind.")] = None,
) -> int:
    """Remove the links from one memory to another."""
    with settings.open() as mind:
        removed = mind.unlink(source, target, kind)
    told = f"Removed {count(removed, 'link', 'links')}." if removed else "There was no such link."
    answer(settings.json, {"removed": removed}, told)
    return 0 if removed else 1


def relate(
    settings: Settings,
    subject: Annotated[str, typer.Argument(help="Such as alice.", show_default=False)],
    relation: Annotated[str, typer.Argument(help="Such as works_with.", show_default=False)],
    object: Annotated[str, typer.Argument(help="Such as bob.", show_default=False)],
    weight: Weight = 1.0,
    user: Annotated[str, typer.Option(help="Whose knowledge it is.", show_default=False)] = "",
) -> None:
    """Connect two names."""
    with settings.open(create=True) as mind:
        edge = mind.relate(subject, relation, object, weight, user=user)
    answer(settings.json, edge, (subject, "bold"), f" ─{relation}→ ", (object, "bold"), f"  {edge.weight:g}")


def supersede(
    settings: Settings,
    id: Id,
    details: Details,
    text: Annotated[list[str], typer.Argument(help="What holds now, or - for stdin.", show_default=False)],
) -> None:
    """Let a new memory take the place of an old one. Both are kept; the old one held until now."""
    words = whole_text("-") if text == ["-"] else " ".join(text)
    with settings.open(embed=True) as mind:
        old = mind.show(id)
        memory = mind.supersede(old.id, words, **details.said())
    answer(settings.json, memory, (short(memory.id), "bold cyan"), " ─supersedes→ ", (short(old.id), "cyan"))


def contradict(
    settings: Settings,
    a: Id,
    b: Id,
    weight: Weight = 1.0,
    loser: Annotated[str | None, typer.Option(help="Which of the two is wrong: it is marked so.")] = None,
) -> None:
    """Say that two memories contradict each other."""
    with settings.open() as mind:
        edge = mind.contradict(a, b, weight, loser=loser)
    ends = (short(edge.source), "cyan"), (short(edge.target), "cyan")
    answer(settings.json, edge, ends[0], " ─contradicts→ ", ends[1], f"  {edge.weight:g}")


def reinforce(
    settings: Settings,
    id: Id,
    amount: Annotated[float, typer.Option(help="How much, from 0 to 1.")] = 0.1,
) -> None:
    """Make a memory stronger, up to 1."""
    with settings.open() as mind:
        memory = mind.reinforce(id, amount)
    answer(settings.json, memory, (short(memory.id), "cyan"), f"  strength {memory.strength:.3g}")


def decay(
    settings: Settings,
    rate: Annotated[float, typer.Option(help="A day: strength × exp(−rate × days).")] = 0.01,
) -> int:
    """Let strengths fade by the days since the last decay. Again at once does nothing."""
    with settings.open() as mind:
        faded = mind.decay(rate)
    answer(settings.json, {"faded": faded}, f"{count(faded, 'memory', 'memories')} faded.")
    return 0 if faded else 1


def forget(
    settings: Settings,
    ids: Annotated[list[str], typer.Argument(help="Ids, or their beginnings.", show_default=False)],
    reason: Annotated[str, typer.Option(help="Why; kept in the history.", show_default=False)] = "",
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask. Forgetting several at once asks, on a terminal.")
    ] = False,
) -> int:
    """Let memories go: no recall returns them. undo brings them back."""
    with settings.open() as mind:
        if len(ids) > 1 and not yes and sys.stdin.isatty():
            for memory in map(mind.show, ids):
                say((memory.id, "cyan"), "  ", snippet(memory.text, 80), stderr=True)
            if not typer.confirm(f"Forget these {len(ids)} memories?", err=True):
                say("Nothing was forgotten.", stderr=True)
                return 1
        gone = mind.forget(*ids, reason=reason)
    if not gone:
        answer(settings.json, {"forgotten": 0}, "Already forgotten: there was nothing to do.")
        return 1
    told = count(gone, "memory", "memories")
    answer(settings.json, {"forgotten": gone}, ("Forgot ", "green"), told, (" (undo takes it back)", "dim"))
    return 0


def undo(settings: Settings) -> int:
    """Take back the last change to the file."""
    with settings.open(embed=True) as mind:
        undone = mind.undo()
    if undone is None:
        answer(settings.json, {"undone": None}, "There is nothing left to take back.")
        return 1
    told = [f"{count(undone.removed, 'memory', 'memories')} removed"] if undone.removed else []
    told += [f"{undone.restored:,} restored"] if undone.restored else []
    said = f", {age(undone.at)}: {', '.join(told) or 'no memories touched'}."
    answer(settings.json, {"undone": undone}, ("Took back ", "green"), (undone.verb, "bold"), said)
    return 0
