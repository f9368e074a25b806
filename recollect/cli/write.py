"""The commands that write memories and links, from remember to undo, and that derive some: consolidate and extract."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import FilterOptions, GlobalOptions, MemoryOptions
from recollect.cli.recall import Id
from recollect.cli.terminal import (
    format_age,
    format_time,
    pluralize,
    print_line,
    print_result,
    progress,
    read_lines,
    read_text,
    report_interrupt,
    short_id,
    snippet,
)
from recollect.cli.values import local_now
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.client import Client
    from recollect.mind import Mind
    from recollect.model import FilterExpression, Memory
    from recollect.store.base import UndoResult

RECENT = timedelta(minutes=10)  # what is older is probably not what was to be undone
PAGE = 1_000  # memories that are listed at a time
Weight = Annotated[float, typer.Option(help="The strength of the link, from 0 to 1.")]
Text = Annotated[
    list[str] | None,
    typer.Argument(help="What to remember; - reads it from stdin.", show_default=False),
]


def remember(
    options: GlobalOptions,
    fields: MemoryOptions,
    text: Text = None,
    lines_from: Annotated[
        str | None, typer.Option(help="Remember each line of this file as a memory; - is stdin.")
    ] = None,
) -> None:
    """Store a memory. With an --external-id that exists, update that memory."""
    if text and lines_from:
        raise InvalidInput("Give a text or --lines-from a file, not both.")
    if not text and not lines_from:
        raise InvalidInput("Give a text to remember, - to read it from stdin, or --lines-from a file.")
    if lines_from:
        _remember_lines(options, fields, lines_from)
        return
    from recollect.model import make_memory

    values = fields.given_fields()
    checked = make_memory(_join(text or []), values)
    with options.connect(embed=True, create=True) as mind:
        summary = mind.remember_many([checked])
        memory = mind.show(summary.ids[0])
    label = "Remembered " if summary.added else "Changed " if summary.changed else "Unchanged "
    mentions = ""
    if summary.changed and not checked.external_id:  # only a repeated statement changes a memory without an external id
        label, mentions = "Already remembered ", f" (mentioned {memory.mentions} times)"
    print_result(options.json, memory, (label, "green"), (memory.id, "bold cyan"), (mentions, "dim"))
    _warn_of_dates(values)


def _warn_of_dates(values: Mapping[str, Any]) -> None:
    """Dates that are likely a typo: stored as they are, as both can be meant."""
    now, created, expires = local_now(), values.get("created"), values.get("expires")
    if created is not None and created > now:
        message = f"--created is in the future ({format_time(created)}): a question about now takes it for the newest."
        print_line(("Warning: ", "yellow"), message, stderr=True)
    if expires is not None and expires <= now:
        message = f"--expires is in the past ({format_time(expires)}): it is stored, and not recalled."
        print_line(("Warning: ", "yellow"), message, stderr=True)


def _join(words: list[str]) -> str:
    return read_text("-") if words == ["-"] else " ".join(words)


def _remember_lines(options: GlobalOptions, fields: MemoryOptions, file: str) -> None:
    values = fields.given_fields()
    if "external_id" in values:
        raise InvalidInput("--external-id names one memory, and --lines-from has many; give only one of them.")
    items = [{**values, "text": line} for line in read_lines(file) if line.strip()]
    with (
        options.connect(embed=True, create=True) as mind,
        report_interrupt(mind, options.json),
        progress("Remembering", "texts") as update,
    ):
        summary = mind.remember_many(items, progress=update)
    print_result(options.json, summary, ("Remembered ", "green"), pluralize(summary.added, "memory", "memories"))
    _warn_of_dates(values)


def edit(
    options: GlobalOptions,
    id: Id,
    fields: MemoryOptions,
    text: Annotated[str | None, typer.Option(help="The new text; - reads it from stdin.")] = None,
) -> None:
    """Change a memory. Its earlier content stays in its history; tags that you give replace all of its tags."""
    changes = fields.given_fields()
    if text is None and not changes:
        raise InvalidInput("Give what to change, such as --text 'The new text.' or --tag kitchen.")
    with options.connect(embed=True) as mind:
        memory = mind.edit(id, text=read_text("-") if text == "-" else text, **changes)
    print_result(options.json, memory, ("Edited ", "green"), (short_id(memory.id), "bold cyan"))


def link(
    options: GlobalOptions,
    source: Id,
    target: Id,
    kind: Annotated[str, typer.Option(help="Such as supports, contradicts, depends_on or supersedes.")] = "supports",
    weight: Weight = 1.0,
) -> None:
    """Link two memories. A link that exists gets the new weight."""
    with options.connect() as mind:
        edge = mind.link(source, target, kind, weight)
    ends = (short_id(edge.source), "cyan"), (short_id(edge.target), "cyan")
    print_result(options.json, edge, ends[0], f" ─{edge.kind}→ ", ends[1], f"  {edge.weight:g}")


def unlink(
    options: GlobalOptions,
    source: Id,
    target: Id,
    kind: Annotated[str | None, typer.Option(help="Only links of this kind.")] = None,
) -> int:
    """Remove the links from one memory to another."""
    with options.connect() as mind:
        removed = mind.unlink(source, target, kind)
    message = f"Removed {pluralize(removed, 'link', 'links')}." if removed else "There was no such link."
    print_result(options.json, {"removed": removed}, message)
    return 0 if removed else 1


def relate(
    options: GlobalOptions,
    subject: Annotated[str, typer.Argument(help="Such as alice.", show_default=False)],
    relation: Annotated[str, typer.Argument(help="Such as works_with.", show_default=False)],
    object: Annotated[str, typer.Argument(help="Such as bob.", show_default=False)],
    weight: Weight = 1.0,
    user: Annotated[str, typer.Option(help="The user whose knowledge it is.", show_default=False)] = "",
) -> None:
    """Store a relation between two names."""
    with options.connect(create=True) as mind:
        edge = mind.relate(subject, relation, object, weight, user=user)
    print_result(options.json, edge, (subject, "bold"), f" ─{relation}→ ", (object, "bold"), f"  {edge.weight:g}")


def supersede(
    options: GlobalOptions,
    id: Id,
    fields: MemoryOptions,
    text: Annotated[list[str], typer.Argument(help="The new text; - reads it from stdin.", show_default=False)],
) -> None:
    """Replace a memory by a new one. Both are kept; the old one is valid until now."""
    with options.connect(embed=True) as mind:
        old = mind.show(id)
        memory = mind.supersede(old.id, _join(text), **fields.given_fields())
    ends = (short_id(memory.id), "bold cyan"), (short_id(old.id), "cyan")
    print_result(options.json, memory, ends[0], " ─supersedes→ ", ends[1])


def contradict(
    options: GlobalOptions,
    a: Id,
    b: Id,
    weight: Weight = 1.0,
    loser: Annotated[str | None, typer.Option(help="The id of the one that is wrong; its status changes.")] = None,
) -> None:
    """Record that two memories contradict each other."""
    with options.connect() as mind:
        edge = mind.contradict(a, b, weight, loser=loser)
    ends = (short_id(edge.source), "cyan"), (short_id(edge.target), "cyan")
    print_result(options.json, edge, ends[0], " ─contradicts→ ", ends[1], f"  {edge.weight:g}")


def reinforce(
    options: GlobalOptions,
    id: Id,
    amount: Annotated[float, typer.Option(help="How much, from 0 to 1.")] = 0.1,
) -> None:
    """Increase the strength of a memory, up to 1."""
    with options.connect() as mind:
        memory = mind.reinforce(id, amount)
    print_result(options.json, memory, (short_id(memory.id), "cyan"), f"  strength {memory.strength:.3g}")


def decay(
    options: GlobalOptions,
    rate: Annotated[float, typer.Option(help="Per day: strength × exp(−rate × days).")] = 0.01,
) -> int:
    """Lower all strengths by the days since the last decay. Running it again at once changes nothing.

    The first decay of a memory counts from its creation, even if it was imported or reinforced today: after 100 days,
    37% of the strength is left, after two years less than 0.1%. So decay first, then reinforce. undo restores all.
    """
    with options.connect() as mind:
        faded = mind.decay(rate)
    print_result(options.json, {"faded": faded}, f"{pluralize(faded, 'memory', 'memories')} faded.")
    return 0 if faded else 1


def forget(
    options: GlobalOptions,
    filters: FilterOptions,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids, or their beginnings.", show_default=False)] = None,
    reason: Annotated[str, typer.Option(help="The reason; stored in the history.", show_default=False)] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be forgotten, and change nothing.")
    ] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            "-y",
            help="Do not ask. Forgetting several memories asks first on a terminal; with filters, --yes is needed "
            "where stdin is not one.",
        ),
    ] = False,
) -> int:
    """Exclude memories from recall, by their ids or by filters. undo restores them."""
    conditions = filters.filter()
    if bool(ids) == (conditions is not None):
        raise InvalidInput("Give ids, or filters such as --tag or --session: one of them.")
    with options.connect() as mind:
        if conditions is None:
            memories = [mind.show(id) for id in dict.fromkeys(ids or ())]
        else:
            memories = _matching(mind, conditions)
        if conditions is not None and not memories:
            print_result(options.json, {"forgotten": 0}, "No memory matches.")
            return 1
        size = pluralize(len(memories), "memory", "memories")
        if dry_run:
            shown = {"forgotten": 0, "would_forget": [memory.id for memory in memories]}
            print_result(options.json, shown, f"Would forget {size}.")
            if not options.json:
                _print_ids(memories)
            return 0
        if not yes and (len(memories) > 1 or conditions is not None):
            if conditions is not None and not sys.stdin.isatty():
                raise InvalidInput(f"This would forget {size}. Confirm with --yes.")
            if sys.stdin.isatty():
                _print_ids(memories, stderr=True)
                if not typer.confirm(f"Forget {size}?", err=True):
                    print_line("Nothing was forgotten.", stderr=True)
                    return 1
        forgotten = mind.forget(*(memory.id for memory in memories), reason=reason)
    if not forgotten:
        print_result(options.json, {"forgotten": 0}, "Already forgotten: there was nothing to do.")
        return 1
    size = pluralize(forgotten, "memory", "memories")
    print_result(options.json, {"forgotten": forgotten}, ("Forgot ", "green"), size, (" (undo restores)", "dim"))
    if not options.json:
        _print_ids(memories)
    return 0


def _matching(mind: Mind | Client, conditions: FilterExpression) -> list[Memory]:
    """All memories that pass a filter, which a server returns in pages."""
    found: list[Memory] = []
    while page := mind.list(conditions, limit=PAGE, offset=len(found)):
        found += page
    return found


def _print_ids(memories: Sequence[Memory], stderr: bool = False) -> None:
    for memory in memories:
        before = "  was forgotten before" if memory.status == "forgotten" else ""
        print_line((memory.id, "cyan"), "  ", snippet(memory.text, 80), (before, "dim"), stderr=stderr)


def undo(
    options: GlobalOptions,
    past_erasure: Annotated[
        bool, typer.Option("--past-erasure", help="Undo the change before an erasure, which itself cannot be undone.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask. On a terminal, what is older than ten minutes asks first.")
    ] = False,
) -> int:
    """Undo the last operation."""
    with options.connect(embed=True) as mind:
        if not yes and not options.json and sys.stdin.isatty():
            planned = mind.undo(past_erasure=past_erasure, dry_run=True)
            if planned is not None and local_now() - planned.at > RECENT:
                print_line(*_describe_undo("Would undo ", planned), stderr=True)
                _print_undone(planned, stderr=True)
                if not typer.confirm("Undo it?", err=True):
                    print_line("Nothing was undone.", stderr=True)
                    return 1
        undone = mind.undo(past_erasure=past_erasure)
    if undone is None:
        print_result(options.json, {"undone": None}, "There is nothing to undo.")
        return 1
    print_result(options.json, {"undone": undone}, *_describe_undo("Undid ", undone))
    if not options.json:
        _print_undone(undone)
    return 0


def _describe_undo(begin: str, undone: UndoResult) -> tuple[str | tuple[str, str], ...]:
    parts = [f"{pluralize(undone.removed, 'memory', 'memories')} removed"] if undone.removed else []
    parts += [f"{undone.restored:,} restored"] if undone.restored else []
    parts += [f"{undone.erased:,} not restored, because it was erased"] if undone.erased else []
    details = f", {format_age(undone.at)}: {', '.join(parts) or 'no memories changed'}."
    return (begin, "green"), (undone.verb, "bold"), details


def _print_undone(undone: UndoResult, stderr: bool = False) -> None:
    """The first memories that an undo changes, and how many more there are."""
    for each in undone.memories:
        print_line(f"  {each.change} ", (each.id, "cyan"), f"  {snippet(each.text, 80)}", stderr=stderr)
    more = undone.removed + len(undone.ids) - len(undone.memories)
    if undone.memories and more > 0:
        print_line((f"  and {pluralize(more, 'memory', 'memories')} more", "dim"), stderr=stderr)


Chat = Annotated[
    str | None,
    typer.Option(
        help="A chat model instead of rules: 'URL MODEL' of an OpenAI-compatible service, such as "
        "'http://localhost:11434/v1 qwen3:4b', or chat for the configured one. The texts are sent there.",
        show_default=False,
    ),
]
Deadline = Annotated[float, typer.Option(help="Seconds for the chat model; then the rules do the rest.", min=0.001)]


def consolidate(
    options: GlobalOptions,
    filters: FilterOptions,
    folder: Annotated[str, typer.Argument(help="Notes are written to consolidation/ in this folder.")],
    period: Annotated[str, typer.Option(help="A note for each: daily, weekly or quarterly.")] = "daily",
    chat: Chat = None,
    deadline: Deadline = 120.0,
) -> int:
    """Write notes about days, weeks or quarters, which recipe abmind searches."""
    chosen: Any = period
    with options.open() as mind:
        written = mind.consolidate(
            folder, chosen, filter=filters.filter(), summarise=options.chat_model(chat), deadline=deadline
        )
    paths = [str(path) for path in written]
    if options.json or not paths:
        print_result(options.json, {"written": paths}, "All notes are up to date.")
        return 0
    for path in paths:
        print_line(path)
    return 0


def extract(
    options: GlobalOptions,
    filters: FilterOptions,
    chat: Chat = None,
    deadline: Deadline = 120.0,
) -> int:
    """Fill in the names and the gist of memories that have none. undo reverts it."""
    with options.open() as mind, progress("Reading memories", "memories") as update:
        done = mind.extract(filters.filter(), extract=options.chat_model(chat), deadline=deadline, progress=update)
    if options.json:
        result = {"read": done.read, "changed": done.changed, "by_model": done.by_model, "failure": done.failure}
        print_result(True, result, "")
        return 0
    by_model = f", {done.by_model:,} by the chat model" if chat else ""
    print_line(f"{pluralize(done.read, 'memory', 'memories')} read{by_model}, {done.changed:,} changed.")
    if done.failure:
        print_line((f"The chat model failed, and rules did the rest. {done.failure}", "yellow"))
    return 0
