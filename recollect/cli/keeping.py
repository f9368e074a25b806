"""The commands that write: remember, edit, link, unlink, relate, forget and undo."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from recollect.cli.files import text_lines, whole_text
from recollect.cli.options import Details, Settings
from recollect.cli.recalling import Id
from recollect.cli.screen import age, all_or_nothing, count, progress, say, say_json, short
from recollect.errors import InvalidInput

Weight = Annotated[float, typer.Option(help="How strong, from 0 to 1.")]


def remember(
    settings: Settings,
    details: Details,
    text: Annotated[
        list[str] | None, typer.Argument(help="What to remember, or - to read it from stdin.", show_default=False)
    ] = None,
    lines_from: Annotated[
        str | None, typer.Option(help="One memory for each line of this file (- is stdin).", show_default=False)
    ] = None,
) -> None:
    """Keep a memory. The same --external-id again updates it."""
    from recollect.model.portable import to_json

    if lines_from is not None:
        if text:
            raise InvalidInput("Give a text or --lines-from, not both.")
        return _remember_lines(settings, details, lines_from)
    if not text:
        raise InvalidInput("There is nothing to remember. Give a text, or - to read it from stdin.")
    words = whole_text("-") if text == ["-"] else " ".join(text)
    with settings.open(embed=True, create=True) as mind:
        memory = mind.remember(words, **details.said())
    if settings.json:
        say_json(to_json(memory))
    else:
        say(("Remembered ", "green"), (memory.id, "bold cyan"))
    return None


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
    if settings.json:
        say_json({"ids": receipt.ids, "added": receipt.added, "changed": receipt.changed, "same": receipt.same})
    else:
        say(("Remembered ", "green"), count(receipt.added, "memory"))


def edit(
    settings: Settings,
    id: Id,
    details: Details,
    text: Annotated[str | None, typer.Option(help="The new text, or - to read it from stdin.")] = None,
) -> None:
    """Correct a memory in place; its earlier content stays in its history. Given tags replace all tags."""
    from recollect.model.portable import to_json

    said = details.said()
    if text is None and not said:
        raise InvalidInput("Say what to change, such as --text 'The new text.' or --tag kitchen.")
    with settings.open(embed=True) as mind:
        memory = mind.edit(id, text=whole_text("-") if text == "-" else text, **said)
    if settings.json:
        say_json(to_json(memory))
    else:
        say(("Edited ", "green"), (short(memory.id), "bold cyan"))


def link(
    settings: Settings,
    source: Id,
    target: Id,
    kind: Annotated[str, typer.Option(help="Such as supports, contradicts, depends_on or supersedes.")] = "supports",
    weight: Weight = 1.0,
) -> None:
    """Connect two memories. The same link again sets its weight."""
    from recollect.model.portable import to_json

    with settings.open() as mind:
        edge = mind.link(source, target, kind, weight)
    if settings.json:
        say_json(to_json(edge))
    else:
        say((short(edge.source), "cyan"), f" ─{edge.kind}→ ", (short(edge.target), "cyan"), f"  {edge.weight:g}")


def unlink(
    settings: Settings,
    source: Id,
    target: Id,
    kind: Annotated[str | None, typer.Option(help="Only links of this kind.", show_default=False)] = None,
) -> int:
    """Remove the links from one memory to another."""
    with settings.open() as mind:
        removed = mind.unlink(source, target, kind)
    if settings.json:
        say_json({"removed": removed})
    else:
        say(f"Removed {count(removed, 'link')}." if removed else "There was no such link.")
    return 0 if removed else 1


def relate(
    settings: Settings,
    subject: Annotated[str, typer.Argument(help="Such as alice.", show_default=False)],
    relation: Annotated[str, typer.Argument(help="Such as works_with.", show_default=False)],
    object: Annotated[str, typer.Argument(help="Such as bob.", show_default=False)],
    weight: Weight = 1.0,
    user: Annotated[str | None, typer.Option(help="Whose knowledge it is.", show_default=False)] = None,
) -> None:
    """Connect two names."""
    from recollect.model.portable import to_json

    with settings.open(create=True) as mind:
        edge = mind.relate(subject, relation, object, weight, **({"user": user} if user else {}))
    if settings.json:
        say_json(to_json(edge))
    else:
        say((edge.subject, "bold"), f" ─{edge.relation}→ ", (edge.object, "bold"), f"  {edge.weight:g}")


def forget(
    settings: Settings,
    ids: Annotated[list[str], typer.Argument(help="Ids, or their beginnings.", show_default=False)],
    reason: Annotated[str, typer.Option(help="Why; kept in the history.", show_default=False)] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> int:
    """Let memories go: no recall returns them. undo brings them back."""
    with settings.open() as mind:
        if len(ids) > 1 and not yes and sys.stdin.isatty():
            for id in ids:
                memory = mind.show(id)
                typer.echo(f"{memory.id}  {memory.text[:80]!r}", err=True)
            if not typer.confirm(f"Forget these {len(ids)} memories?", err=True):
                return 1
        gone = mind.forget(*ids, reason=reason)
    if settings.json:
        say_json({"forgotten": gone})
    else:
        say(("Forgot ", "green"), count(gone, "memory"), (" (undo brings them back)", "dim"))
    return 0


def undo(settings: Settings) -> int:
    """Take back the last change to the file."""
    with settings.open(embed=True) as mind:
        undone = mind.undo()
    if undone is None:
        say_json({"undone": None}) if settings.json else say("There is nothing left to take back.")
        return 1
    if settings.json:
        told = {"verb": undone.verb, "at": undone.at, "removed": undone.removed, "restored": undone.restored}
        say_json({"undone": told})
    else:
        parts = [f"{count(undone.removed, 'memory')} removed"] if undone.removed else []
        parts += [f"{undone.restored} restored"] if undone.restored else []
        say(("Took back ", "green"), (undone.verb, "bold"), f", {age(undone.at)}: {', '.join(parts) or 'no memories'}.")
    return 0
