"""The command line: all commands, their help pages, and the exit codes."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from recollect import __version__
from recollect.cli.config import config
from recollect.cli.doctor import doctor
from recollect.cli.evaluate import eval_, tune
from recollect.cli.folders import get, search, sync, watch
from recollect.cli.inspect import conflicts, list_, show, status
from recollect.cli.options import GlobalOptions, expand_options
from recollect.cli.recall import compare, context, recall, recipes, why, why_not
from recollect.cli.terminal import console, key_value_table, print_error
from recollect.cli.transfer import export, import_, reembed
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

BAD_INPUT, NO_SUCH_ID, STORE_ERROR, INTERRUPTED = 2, 3, 4, 130
EXIT_CODES = {
    "0": "success",
    "1": "nothing found, or nothing to do",
    "2": "invalid input",
    "3": "no such id",
    "4": "an error of the file or the embedder",
    "130": "interrupted by Ctrl-C",
}
UsageError: Any = typer.BadParameter.__mro__[1]  # the module of this class differs between versions of Typer
TEXT_WITH_DASH = re.compile(r"-+(\d|[^=]*\s)")  # "-5 degrees", "- buy milk": a text, as no option looks like this


class MainHelp(TyperGroup):
    """The help page of ``recollect`` without a command, on one screen. Typer's own page takes twice as long."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from rich.text import Text

        out = console()
        with out.capture() as page:
            usage = Text.assemble(
                ("recollect ", "bold"), "[options] command … ", ("(see also recollect command --help)", "dim")
            )
            out.print(Text(f"{self.help}\n"), usage, sep="\n")
            for title, rows in self._sections(ctx).items():
                out.print(Text(f"\n{title}", "bold"))
                out.print(key_value_table({f"  {name}": about for name, about in rows.items()}, "cyan", width=22))
        formatter.write(page.get())

    def _sections(self, ctx: Any) -> dict[str, dict[str, str]]:
        sections: dict[str, dict[str, str]] = {}
        for name, command in self.commands.items():
            sections.setdefault(str(getattr(command, "rich_help_panel", "")), {})[name] = _first_sentence(command)
        options = {", ".join(option.opts): _first_sentence(option) for option in self.get_params(ctx)}
        return {**sections, "Options": options, "Exit codes": EXIT_CODES}


def _first_sentence(described: Any) -> str:
    return (described.help or "").split(". ")[0].rstrip(".")


class Subcommand(TyperCommand):
    """A command that accepts texts that begin with a dash, and whose help shows types only where they are useful."""

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)
        for option in (each for each in params if each.param_type_name == "option" and each.metavar is None):
            if getattr(option, "is_flag", False):
                option.metavar = ""
            elif getattr(option, "multiple", False):
                option.metavar = "<str>"
        return params

    def make_parser(self, ctx: Any) -> Any:
        """Click's parser, which reads each argument with a dash as options, except for what is clearly a text."""
        parser: Any = super().make_parser(ctx)
        process_options = parser._process_opts

        def process(argument: str, state: Any) -> None:
            if TEXT_WITH_DASH.match(argument) and argument[:2] not in parser._short_opt:  # not "-tkitchen table"
                state.largs.append(argument)
            else:
                process_options(argument, state)

        parser._process_opts = process
        return parser


app = typer.Typer(
    name="recollect",
    cls=MainHelp,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"recollect {__version__}")
        raise typer.Exit


def recollect_(
    options: GlobalOptions,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A memory for agents and robots in one file, which explains each result."""


COMMANDS: dict[str, tuple[Callable[..., int | None], ...]] = {
    "Write": (remember, edit, supersede, contradict, link, unlink, relate, reinforce, decay, forget, undo),
    "Recall": (recall, context, why, why_not, compare, recipes, eval_, tune),
    "Folders": (sync, watch, search, get),
    "Inspect": (list_, show, conflicts, status, doctor, config),
    "Transfer": (export, import_, reembed),
}
app.callback()(expand_options(recollect_))
for panel, commands in COMMANDS.items():
    for command in commands:
        name = command.__name__.strip("_").replace("_", "-")
        app.command(name, cls=Subcommand, rich_help_panel=panel)(expand_options(command))


def run(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    as_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
    try:
        code = app(args=list(arguments) or ["--help"], prog_name="recollect", standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "recollect"
        hint = f"See {command} --help"
        if hasattr(error, "option_name") and error.option_name.startswith("-"):  # unknown: perhaps meant as a text
            hint += f". A text that begins with a dash goes after --, as in: {command} -- '{error.option_name} …'"
        print_error(error.format_message(), "Usage", as_json, hint)
        return BAD_INPUT
    except RecollectError as error:
        hint = "--embedder none recalls by words only." if isinstance(error, EmbeddingError) else ""
        print_error(str(error), type(error).__name__, as_json, hint)
        return {InvalidInput: BAD_INPUT, NotFound: NO_SUCH_ID}.get(type(error), STORE_ERROR)
    except UnicodeEncodeError:
        print_error("An argument contains bytes that are not UTF-8 text.", "InvalidInput", as_json)
        return BAD_INPUT
    except OSError as error:
        print_error(f"{error.filename or 'The system'}: {error.strerror}.", "OSError", as_json)
        return STORE_ERROR
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED


def main() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts faster, and one query does not need more
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed, as by >&-
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    if hasattr(signal, "SIGPIPE"):  # end without an error when the reader of a pipe stops, as Unix tools do
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(run(sys.argv[1:]))
