"""The command line: all commands, their help pages, and the exit codes."""

from __future__ import annotations

import gc
import io
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from recollect import __version__
from recollect.cli.options import TYPED, GlobalOptions, expand_options
from recollect.cli.terminal import console, key_value_table, print_error
from recollect.errors import EmbeddingError, InvalidInput, NotFound, RecollectError

COMMANDS: dict[str, dict[str, tuple[str, ...]]] = {  # by section of the help page and by module: functions
    "Write": {
        "write": (
            *("remember", "edit", "supersede", "contradict", "link", "unlink"),
            *("relate", "reinforce", "decay", "forget", "undo", "consolidate", "extract"),
        ),
        "erase": ("erase",),
    },
    "Recall": {"recall": ("recall", "context", "why", "why_not", "compare", "recipes"), "evaluate": ("eval_", "tune")},
    "Folders": {"folders": ("sync", "watch", "search", "get")},
    "Inspect": {
        "inspect": ("list_", "show", "usage", "conflicts", "status"),
        "doctor": ("doctor", "audit"),
        "index": ("index",),
        "config": ("config", "trust"),
    },
    "Agents": {"mcp": ("mcp", "hook")},
    "Transfer": {"transfer": ("export", "import_", "migrate", "reembed"), "backup": ("backup", "restore")},
    "Serve": {"serve": ("serve", "ui", "token")},
}
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
TEXTS = ("text", "query", "new")  # arguments that are texts
TEXT_WITH_DASH = re.compile(r"-+(\d|[^=]*\s)")  # "-5 degrees", "- buy milk": a text, as no option looks like this


class MainGroup(TyperGroup):
    """All commands, and their help page on one screen. Typer's own page takes twice as long."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = LazyCommands()

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
        sections = {
            section: {
                command_name(name): _first_sentence(find_command(module, name).__doc__)
                for module, names in modules.items()
                for name in names
            }
            for section, modules in COMMANDS.items()
        }
        params: list[Any] = self.get_params(ctx)
        options = {", ".join(option.opts): _first_sentence(option.help) for option in params}
        return {**sections, "Options": options, "Exit codes": EXIT_CODES}


def _first_sentence(text: str | None) -> str:
    paragraph = (text or "").strip().partition("\n\n")[0]
    return " ".join(paragraph.split()).split(". ")[0].rstrip(".")


class LazyCommands(Mapping[str, Any]):
    """The commands by name. The module of a command is imported when the command is looked up."""

    def __getitem__(self, name: str) -> Any:
        return build_command(*_locations()[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_locations())

    def __len__(self) -> int:
        return len(_locations())


@cache
def _locations() -> dict[str, tuple[str, str, str]]:
    """By the name of the command: its section, module and function."""
    return {
        command_name(function): (section, module, function)
        for section, modules in COMMANDS.items()
        for module, functions in modules.items()
        for function in functions
    }


def command_name(function: str) -> str:
    return function.strip("_").replace("_", "-")


def find_command(module: str, function: str) -> Callable[..., int | None]:
    command: Callable[..., int | None] = getattr(import_module(f"recollect.cli.{module}"), function)
    return command


@cache
def build_command(section: str, module: str, function: str) -> Any:
    single = typer.Typer(rich_markup_mode="rich", add_completion=False, context_settings=CONTEXT_SETTINGS)
    add = single.command(command_name(function), cls=Subcommand, rich_help_panel=section)
    add(expand_options(find_command(module, function)))
    return typer.main.get_command(single)


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

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[TYPED] = tuple(args)
        return super().parse_args(ctx, args)

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


CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="recollect",
    cls=MainGroup,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings=CONTEXT_SETTINGS,
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


app.callback()(expand_options(recollect_))


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
        message, hint = error.format_message(), f"See {command} --help"
        if hasattr(error, "option_name") and error.option_name.startswith("-"):  # it is unknown
            parameters = error.ctx.command.params if error.ctx else []
            short = error.option_name.replace("--", "-", 1)
            if len(short) == 2 and any(short in each.opts for each in parameters):
                message = f"No such option: {error.option_name}. Did you mean {short}?"
            elif any(each.name in TEXTS for each in parameters):  # perhaps it is a text
                hint += f". A text that begins with a dash goes after --, as in: {command} -- '{error.option_name} …'"
        print_error(message, "Usage", as_json, hint)
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
    code = run(sys.argv[1:])
    gc.freeze()  # Python would look through all objects for garbage before it exits: a tenth of a second
    sys.exit(code)
