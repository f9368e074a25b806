"""The commands consolidate and extract: what is made from memories, by rule or by a chat model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from recollect.cli.options import FilterOptions, GlobalOptions
from recollect.cli.terminal import pluralize, print_line, print_result, progress

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
    """Fill in the names and the gist of memories that have none. undo takes it back."""
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
