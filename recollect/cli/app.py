"""The command line: every verb of the Mind, and how a command ends."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

import recollect
from recollect.cli import carrying, keeping, looking, recalling
from recollect.cli.options import Settings, flat
from recollect.cli.screen import complain
from recollect.errors import EmbeddingError, InvalidInput, NotFound, RecollectError

BAD_INPUT, NO_SUCH_ID, STORE_ERROR, STOPPED = 2, 3, 4, 130
EXIT_CODES = (
    "Exit codes: 0 done · 1 nothing found, nothing to do · 2 bad input · 3 no such id · "
    "4 the file or the embedder cannot serve · 130 stopped by Ctrl-C"
)
UsageError: Any = typer.BadParameter.__mro__[1]  # Typer's own; where it lives differs between versions

app = typer.Typer(
    name="recollect",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"recollect {recollect.__version__}")
        raise typer.Exit


def recollect_(
    settings: Settings,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version and leave.")
    ] = False,
) -> None:
    """A memory for agents and robots: one file, and the reason why each memory comes back."""


app.callback()(flat(recollect_))
for panel, commands in {
    "Remember": {
        "remember": keeping.remember,
        "edit": keeping.edit,
        "link": keeping.link,
        "unlink": keeping.unlink,
        "relate": keeping.relate,
        "forget": keeping.forget,
        "undo": keeping.undo,
    },
    "Recall": {
        "recall": recalling.recall,
        "why": recalling.why,
        "why-not": recalling.why_not,
        "recipes": recalling.recipes,
    },
    "Look": {"list": looking.list_, "show": looking.show, "status": looking.status},
    "Carry": {"export": carrying.export, "import": carrying.import_, "reembed": carrying.reembed},
}.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=panel)(flat(command))


def run(arguments: Sequence[str]) -> int:
    """One command, from its words to its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    as_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
    try:
        code = app(args=list(arguments), prog_name="recollect", standalone_mode=False)
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
    if hasattr(signal, "SIGPIPE"):  # as every Unix tool: end quietly when nobody reads on
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(run(sys.argv[1:]))
