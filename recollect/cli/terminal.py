"""Talking to the terminal: consoles, JSON, progress, and small things said the same way everywhere."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from recollect.mind import Mind

PIPED_WIDTH = 120  # columns where there is no terminal to ask
LEAST_ROOM = 20  # columns for a text beside its id and score; with fewer it goes below them
SHORT_ID = 8  # letters of an id that tell it apart well enough on a screen
EIGHTHS = " ▏▎▍▌▋▊▉"
# A memory must not drive the terminal: control characters are shown, not sent.
VISIBLE = {**{code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"}, 0x7F: 0x2421}
VISIBLE |= dict.fromkeys([*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)

Piece = str | tuple[str, str]  # a text, or a text and its style


def console(stderr: bool = False) -> Console:
    """Where humans read. Nothing in a text is taken for markup."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def draw(picture: RenderableType) -> None:
    """A table or a text, without blanks at the ends of its lines."""
    out = console()
    with out.capture() as captured:
        out.print(picture)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def line_of(*pieces: Piece) -> Text:
    from rich.text import Text

    return Text.assemble(*(printable(p) if isinstance(p, str) else (printable(p[0]), p[1]) for p in pieces))


def say(*pieces: Piece, stderr: bool = False) -> None:
    """One line for humans."""
    console(stderr).print(line_of(*pieces), soft_wrap=True)


def answer(as_json: bool, value: Any, *pieces: Piece) -> None:
    """One JSON value on stdout (indented on a terminal, on one line in a pipe), or the same for humans."""
    if as_json:
        print(json_text(value, indent=2 if sys.stdout.isatty() else None))
    else:
        say(*pieces)


def complain(problem: str, kind: str, as_json: bool, hint: str = "") -> None:
    """One clear line on stderr."""
    if as_json:
        print(json_text({"error": problem, "kind": kind}), file=sys.stderr)
    else:
        say(("error: ", "bold red"), (problem, "red"), (hint and f"\n{hint}", "dim"), stderr=True)


def json_text(value: Any, indent: int | None = None) -> str:
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not unicode, indent=indent, default=_plain)


def _plain(value: Any) -> Any:
    from recollect.model import Edge, EntityEdge, Memory
    from recollect.model.json_records import to_json

    match value:
        case datetime():
            return value.isoformat()
        case Memory() | Edge() | EntityEdge():
            return to_json(value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
        case _:
            return str(value)


def printable(text: str) -> str:
    return text.translate(VISIBLE)


def snippet(text: str, letters: int) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(printable(text[: letters * 4]).split())
    return line if len(line) <= letters else line[: letters - 1].rstrip() + "…"


def short(id: str) -> str:
    """An id as a terminal shows it; a pipe gets the whole, and so does everybody for ids of the user's own."""
    return id[:SHORT_ID] if sys.stdout.isatty() and len(id) == 16 else printable(id)


def age(when: datetime | None) -> str:
    """How long ago, roughly; a date when it is long ago or still to come."""
    if when is None:
        return ""
    seconds = (datetime.now(UTC) - when).total_seconds()
    for unit, length, limit in (("s", 1, 60), ("min", 60, 3600), ("h", 3600, 86400), ("d", 86400, 30 * 86400)):
        if 0 <= seconds < limit:
            return "just now" if seconds < 10 else f"{int(seconds // length)} {unit} ago"
    return moment(when)


def moment(when: datetime) -> str:
    return when.astimezone().strftime("%Y-%m-%d %H:%M")


def count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def pairs(rows: Mapping[str, str], style: str = "dim", width: int = 0) -> Table:
    """Names and what they stand for, in two columns."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, min_width=width)
    for name, value in rows.items():
        grid.add_row(Text(printable(name), style), printable(value))
    return grid


def bar(share: float, width: int, style: str) -> Text:
    """A share from 0 to 1 as a bar, to an eighth of a letter."""
    from rich.text import Text

    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return Text(("█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()).ljust(width), style)


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """A bar on stderr while work is under way, where somebody can see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


@contextmanager
def all_or_nothing(mind: Mind, as_json: bool) -> Iterator[None]:
    """A Ctrl-C inside is told what became of the work."""
    before = mind.status().store.version
    try:
        yield
    except KeyboardInterrupt:
        late = mind.status().store.version != before
        told = (
            "Stopped too late: everything is written; undo takes it back." if late else "Stopped: nothing was written."
        )
        complain(told, "Interrupted", as_json)
        raise
