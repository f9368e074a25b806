"""The commands that carry memories in and out, and make vectors anew: export, import and reembed."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Annotated

import typer

from recollect.cli.files import JsonLines, writing
from recollect.cli.options import Settings
from recollect.cli.screen import all_or_nothing, as_line, complain, count, progress, say, say_json
from recollect.errors import InvalidInput

RECORD = re.compile(r"^Record \d+: ")


def export(
    settings: Settings,
    file: Annotated[str, typer.Argument(help="Where to; - is stdout.", show_default=False)] = "-",
) -> None:
    """Write everything as JSON, one object a line: memories, links, and names' connections."""
    kinds: Counter[str] = Counter()
    with settings.open() as mind, writing(file, never=mind.path) as out, progress("Exporting") as done:
        for record in mind.export():
            print(as_line(record) if file == "-" else json.dumps(record, ensure_ascii=False), file=out)
            kinds[record["type"]] += 1
            if done is not None and kinds.total() % 1000 == 0:
                done(kinds.total(), None)
    if file == "-":
        return
    told = {"memories": kinds["memory"], "edges": kinds["edge"], "entity_edges": kinds["entity_edge"]}
    if settings.json:
        say_json({"file": file, **told})
    else:
        say(("Exported ", "green"), count(kinds["memory"], "memory"), " to ", (file, "bold"))


def import_(
    settings: Settings,
    file: Annotated[str, typer.Argument(help="JSON lines, from export or plain {text: …}; - is stdin.")],
) -> None:
    """Take in what export wrote, or one {"text": …} a line: all of it, or nothing."""
    with (
        settings.open(embed=True, create=True) as mind,
        all_or_nothing(mind, settings.json),
        progress("Importing") as done,
    ):
        lines = JsonLines(file, done)
        try:
            receipt = mind.import_(lines, progress=done)
        except InvalidInput as problem:
            if not RECORD.match(str(problem)):
                raise
            raise InvalidInput(f"{lines.where}: {RECORD.sub('', str(problem))} Nothing was written.") from None
    if settings.json:
        say_json({"ids": receipt.ids, "added": receipt.added, "changed": receipt.changed, "same": receipt.same})
    else:
        say(("Imported ", "green"), f"{receipt.added:,} added, {receipt.changed:,} changed, {receipt.same:,} the same.")


def reembed(settings: Settings) -> None:
    """Make the vectors that are missing, or all of them with another model."""
    settings.check_there()
    from recollect.mind import Mind

    model = settings.model
    if model is None:
        raise InvalidInput("reembed needs a model: --embedder local.")
    try:
        with progress("Embedding") as done:
            made = Mind.reembed(settings.path, embedder=model, progress=done)
    except KeyboardInterrupt:
        complain("Stopped: what is done is kept; reembed again goes on from here.", "Interrupted", settings.json)
        raise
    if settings.json:
        say_json({"embedded": made})
    else:
        say(("Made ", "green"), count(made, "vector"))
