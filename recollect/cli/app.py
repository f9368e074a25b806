"""The command line: every verb of the Mind, and how a command ends."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from recollect import __version__
from recollect.cli.config import config
from recollect.cli.doctor import doctor
from recollect.cli.evaluate import eval_
from recollect.cli.folders import get, search, sync, watch
from recollect.cli.help_page import FrontPage, Verb
from recollect.cli.inspect import list_, show, status
from recollect.cli.options import Settings, flat
from recollect.cli.recall import compare, context, recall, recipes, why, why_not
from recollect.cli.terminal import complain
from recollect.cli.transfer import export, import_, reembed
from recollect.cli.tune import tune
from recollect.cli.write import (
    contradict,
    decay,
    edit,
    forget,
    link,
    reinforce,
    relate,
    remember,
    supersede,
    undo,
    unlink,
)
from recollect.errors import EmbeddingError, InvalidInput, NotFound, RecollectError

BAD_INPUT, NO_SUCH_ID, STORE_ERROR, STOPPED = 2, 3, 4, 130
UsageError: Any = typer.BadParameter.__mro__[1]  # Typer's own; where it lives differs between versions

app = typer.Typer(
    name="recollect",
    cls=FrontPage,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"recollect {__version__}")
        raise typer.Exit


def recollect_(
    settings: Settings,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version and leave.")
    ] = False,
) -> None:
    """A memory for agents and robots: one file, and the reason why each memory comes back."""


VERBS: dict[str, tuple[Callable[..., int | None], ...]] = {
    "Remember": (remember, edit, supersede, contradict, link, unlink, relate, reinforce, decay, forget, undo),
    "Recall": (recall, context, why, why_not, compare, recipes, eval_, tune),
    "Folders": (sync, watch, search, get),
    "Look": (list_, show, status, doctor, config),
    "Carry": (export, import_, reembed),
}
app.callback()(flat(recollect_))
for panel, verbs in VERBS.items():
    for verb in verbs:
        app.command(verb.__name__.strip("_").replace("_", "-"), cls=Verb, rich_help_panel=panel)(flat(verb))


def run(arguments: Sequence[str]) -> int:
    """One command, from its words to its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    as_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
    try:
        code = app(args=list(arguments) or ["--help"], prog_name="recollect", standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except UsageError as problem:
        asked = problem.ctx.command_path if problem.ctx else "recollect"
        complain(problem.format_message(), "Usage", as_json, hint=f"See {asked} --help")
        return BAD_INPUT
    except RecollectError as problem:
        hint = "--embedder none recalls by words alone." if isinstance(problem, EmbeddingError) else ""
        complain(str(problem), type(problem).__name__, as_json, hint)
        return {InvalidInput: BAD_INPUT, NotFound: NO_SUCH_ID}.get(type(problem), STORE_ERROR)
    except UnicodeEncodeError:
        complain("An argument holds bytes that are no text (not UTF-8).", "InvalidInput", as_json)
        return BAD_INPUT
    except OSError as problem:
        complain(f"{problem.filename or 'The system'}: {problem.strerror}.", "OSError", as_json)
        return STORE_ERROR
    except (typer.Abort, KeyboardInterrupt):
        return STOPPED


def main() -> None:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed, as by >&-
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    if hasattr(signal, "SIGPIPE"):  # as every Unix tool: end quietly when nobody reads on
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(run(sys.argv[1:]))
