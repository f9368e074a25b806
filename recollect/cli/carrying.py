"""The commands that carry memories in and out, and make vectors anew: export, import and reembed."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from typing import Annotated

import typer

from recollect.cli.files import JsonLines, check_free, name, writing
from recollect.cli.options import Settings
from recollect.cli.screen import all_or_nothing, answer, complain, count, json_text, progress, say
from recollect.errors import InvalidInput, NotFound

RECORD = re.compile(r"^Record \d+: ")
Target = Annotated[str, typer.Argument(help="Where to; - is stdout.", show_default=False)]
Source = Annotated[str, typer.Argument(help="JSON lines, from export or plain; - is stdin.", show_default=False)]


def export(
    settings: Settings,
    file: Target = "-",
    force: Annotated[bool, typer.Option("--force", "-f", help="Write over a file that is there, unasked.")] = False,
) -> int:
    """Write everything as JSON lines. They hold memories with their use, links, and names' connections."""
    kinds: Counter[str] = Counter()
    with settings.open() as mind:
        if not check_free(file, never=mind.path, ask=lambda file: force or _agreed(file)):
            say("Nothing was written.", stderr=True)
            return 1
        with writing(file) as out, progress("Exporting") as done:
            for record in mind.export():
                print(json_text(record) if file == "-" else json.dumps(record, ensure_ascii=False), file=out)
                kinds[record["type"]] += 1
                if done is not None and kinds.total() % 1000 == 0:
                    done(kinds.total(), None)
    if file != "-":
        told = {"memories": kinds["memory"], "edges": kinds["edge"], "entity_edges": kinds["entity_edge"]}
        size = count(kinds["memory"], "memory", "memories")
        answer(settings.json, {"file": file, **told}, ("Exported ", "green"), size, " to ", (file, "bold"))
    return 0


def _agreed(file: str) -> bool:
    if not sys.stdin.isatty():
        raise InvalidInput(f"{file} is there already; --force writes over it.")
    return typer.confirm(f"Write over {file}?", err=True)


def import_(settings: Settings, file: Source) -> None:
    """Take in JSON lines, all or none. They come from export, or are plain objects such as {"text": "…"}."""
    lines = JsonLines(file)
    with (
        settings.open(embed=True, create=True) as mind,
        all_or_nothing(mind, settings.json),
        progress("Importing") as done,
    ):
        lines.progress = done
        try:
            receipt = mind.import_(lines, progress=done)
        except InvalidInput as problem:
            if not RECORD.match(str(problem)):
                raise
            raise InvalidInput(f"{lines.where}: {RECORD.sub('', str(problem))} Nothing was written.") from None
        except NotFound as problem:
            where = next((line for id, line in lines.ends.items() if repr(id) in str(problem)), name(file))
            raise InvalidInput(f"{where}: {problem} Nothing was written.") from None
    told = f"{receipt.added:,} added, {receipt.changed:,} changed, {receipt.same:,} the same."
    answer(settings.json, receipt, ("Imported: ", "green"), told)


def reembed(settings: Settings) -> None:
    """Make missing vectors, or all of them with another model."""
    settings.check_there()
    if settings.model is None:
        raise InvalidInput("reembed needs a model: --embedder local.")
    from recollect.mind import Mind

    try:
        with progress("Embedding") as done:
            made = Mind.reembed(settings.path, embedder=settings.model, progress=done)
    except KeyboardInterrupt:
        complain("Stopped: what is done is kept; reembed again goes on from here.", "Interrupted", settings.json)
        raise
    answer(settings.json, {"embedded": made}, ("Made ", "green"), count(made, "vector", "vectors"))
