"""The terminal: consoles, JSON, errors, progress bars, formatted values, and text files and pipes."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Protocol

from recollect.errors import InvalidInput
from recollect.model.zones import to_zone

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from recollect.client import Client
    from recollect.mind import Mind

PIPED_WIDTH = 120  # columns where the output is not a terminal
MIN_TEXT_WIDTH = 20  # columns for a text beside its id and score; with fewer it is printed below them
SHORT_ID_LENGTH = 8  # characters of an id on a terminal
EIGHTHS = " ▏▎▍▌▋▊▉"
# A text must not control the terminal: control characters are replaced by visible ones.
VISIBLE = {**{code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"}, 0x7F: 0x2421}
VISIBLE |= dict.fromkeys([*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)

StyledPart = str | tuple[str, str]  # a text, or a text and its style


def console(stderr: bool = False) -> Console:
    """A console that prints texts as they are, without markup."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def print_renderable(renderable: RenderableType) -> None:
    """Print a table or a text, without spaces at the ends of lines."""
    out = console()
    with out.capture() as captured:
        out.print(renderable)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def styled_text(*parts: StyledPart) -> Text:
    from rich.text import Text

    return Text.assemble(*(printable(p) if isinstance(p, str) else (printable(p[0]), p[1]) for p in parts))


def print_line(*parts: StyledPart, stderr: bool = False) -> None:
    """Print one line for a person to read."""
    console(stderr).print(styled_text(*parts), soft_wrap=True)


def print_result(as_json: bool, value: Any, *parts: StyledPart) -> None:
    """Print a value as JSON (indented on a terminal, on one line in a pipe), or these parts as a line."""
    if as_json:
        print(json_text(value, indent=2 if sys.stdout.isatty() else None))
    else:
        print_line(*parts)


def print_error(message: str, kind: str, as_json: bool, hint: str = "") -> None:
    """Print an error on stderr."""
    if as_json:
        print(json_text({"error": message, "kind": kind}), file=sys.stderr)
    else:
        print_line(("error: ", "bold red"), (message, "red"), (hint and f"\n{hint}", "dim"), stderr=True)


def json_text(value: Any, indent: int | None = None) -> str:
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not unicode, indent=indent, default=_to_plain)


def _to_plain(value: Any) -> Any:
    from recollect.model import Edge, EntityEdge, Memory, to_json

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


def snippet(text: str, max_length: int) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(printable(text[: max_length * 4]).split())
    return line if len(line) <= max_length else line[: max_length - 1].rstrip() + "…"


def short_id(id: str) -> str:
    """An id, shortened on a terminal unless the user chose it; complete in a pipe."""
    return id[:SHORT_ID_LENGTH] if sys.stdout.isatty() and len(id) == 16 else printable(id)


def format_age(when: datetime | None) -> str:
    """How long ago, rounded; a date when it is more than 30 days ago or in the future."""
    if when is None:
        return ""
    seconds = (datetime.now(UTC) - when).total_seconds()
    for unit, length, limit in (("s", 1, 60), ("min", 60, 3600), ("h", 3600, 86400), ("d", 86400, 30 * 86400)):
        if 0 <= seconds < limit:
            return "just now" if seconds < 10 else f"{int(seconds // length)} {unit} ago"
    return format_time(when)


def format_time(when: datetime) -> str:
    return to_zone(when, None).strftime("%Y-%m-%d %H:%M")


def pluralize(number: int, one: str, many: str) -> str:
    """The number with the singular or the plural of a noun."""
    return f"{number:,} {one if number == 1 else many}"


def key_value_table(rows: Mapping[str, str], style: str = "dim", width: int = 0) -> Table:
    """Names and their values in two columns."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, min_width=width)
    for name, value in rows.items():
        grid.add_row(Text(printable(name), style), printable(value))
    return grid


def bar(share: float, width: int, style: str) -> Text:
    """A share from 0 to 1 as a bar, to an eighth of a character."""
    from rich.text import Text

    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return Text(("█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()).ljust(width), style)


class ProgressUpdate(Protocol):
    """Updates a progress bar: how many are done, of how many if that is known."""

    def __call__(self, done: int, total: int | None, units: int | None = None) -> None:
        """``units`` is what the rate is computed from, if that is not ``done``."""


@contextmanager
def explain_interrupt(message: str, as_json: bool) -> Iterator[None]:
    """On Ctrl-C, print what was done so far."""
    try:
        yield
    except KeyboardInterrupt:
        print_error(message, "Interrupted", as_json)
        raise


@contextmanager
def progress(label: str, unit: str) -> Iterator[ProgressUpdate | None]:
    """A progress bar on stderr with the units per second and the remaining time.

    Yields the function that updates it, or None where stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    rate, remaining = TextColumn("{task.fields[rate]}"), TimeRemainingColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), rate, remaining)
    start = time.monotonic()
    with Progress(*columns, console=console(stderr=True), transient=True) as display:
        task = display.add_task(label, total=None, rate="")

        def update(done: int, total: int | None, units: int | None = None) -> None:
            per_second = (done if units is None else units) / max(time.monotonic() - start, 0.001)
            shown = f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.1f}"
            display.update(task, completed=done, total=total, rate=f"{shown} {unit}/s")

        yield update


@contextmanager
def report_interrupt(mind: Mind | Client, as_json: bool) -> Iterator[None]:
    """On Ctrl-C, print whether the changes were written."""
    before = mind.status().store.version
    try:
        yield
    except KeyboardInterrupt:
        written = mind.status().store.version != before
        message = (
            "Stopped after writing: run it again to complete it, or undo it."
            if written
            else "Stopped: nothing was written."
        )
        print_error(message, "Interrupted", as_json)
        raise


def read_text(file: str) -> str:
    """The text of a file, or of stdin, without the line break at its end."""
    return "\n".join(read_lines(file))


def read_lines(file: str) -> Iterator[str]:
    """The lines of a file, or of stdin, without line breaks."""
    from recollect.ingest.imports.sources import open_source, source_name

    with open_source(file) as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                byte, column = line[error.start], error.start + 1
                raise InvalidInput(
                    f"{source_name(file)}, line {number} is not UTF-8 text: byte {byte:#04x} at column {column}. "
                    "Nothing was written."
                ) from None
            yield text.rstrip("\r\n")


def confirm_overwrite(file: str, db: str, ask: Callable[[str], bool]) -> bool:
    """Whether a file may be written: an existing one only if the user agrees, the database never."""
    if file == "-" or not os.path.exists(file):
        return True
    if os.path.samefile(file, db):
        raise InvalidInput(f"{file} is the database itself; export to another file.")
    return not os.path.isfile(file) or ask(file)  # writing to a pipe or a device overwrites nothing


@contextmanager
def open_output(file: str) -> Iterator[IO[str]]:
    """A text file opened for writing, or stdout."""
    if file == "-":
        yield sys.stdout
        return
    try:
        stream = open(file, "w", encoding="utf-8", newline="\n")  # noqa: SIM115
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror}.") from None
    with stream:
        yield stream
