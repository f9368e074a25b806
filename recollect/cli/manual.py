"""The manual of the command line, as Markdown and as a man page, made from the definitions of the commands.

python -m recollect.cli.manual man/recollect.1
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from recollect import __version__
from recollect.cli.app import COMMANDS, EXIT_CODES, app, command_name

GLOBAL = "Global options"
ENVIRONMENT = {
    "RECOLLECT_DB": "The database file, instead of memory.db in the current folder.",
    "RECOLLECT_EMBEDDER": "The embedder, as in --embedder.",
    "RECOLLECT_CONFIG": "A configuration file, as in --config.",
    "NO_COLOR": "If set, output has no colours.",
}


@dataclass(frozen=True, slots=True)
class CommandParameter:
    """An option or an argument of a command: how it is written, and what it does."""

    names: tuple[str, ...]
    value: str  # such as <int>; empty for a flag
    help: str
    panel: str

    @property
    def usage(self) -> str:
        return ", ".join(self.names) + (f" {self.value}" if self.value else "")


@dataclass(frozen=True, slots=True)
class CommandManual:
    """What the manual says of one command."""

    name: str
    section: str
    usage: str
    help: str
    arguments: tuple[CommandParameter, ...]
    options: tuple[CommandParameter, ...]

    def panels(self) -> dict[str, list[CommandParameter]]:
        """The options by panel of the help page, those of all commands left out."""
        panels: dict[str, list[CommandParameter]] = {}
        for option in self.options:
            if option.panel != GLOBAL:
                panels.setdefault(option.panel or "Options", []).append(option)
        return panels


def describe_commands() -> list[CommandManual]:
    """All commands, in the order of the help page."""
    group: Any = typer.main.get_command(app)
    return [
        _describe(section, command_name(function), group.commands[command_name(function)])
        for section, modules in COMMANDS.items()
        for functions in modules.values()
        for function in functions
    ]


def describe_global_options() -> list[CommandParameter]:
    group: Any = typer.main.get_command(app)
    return [_parameter(each) for each in group.params]


def _describe(section: str, name: str, command: Any) -> CommandManual:
    context = command.make_context(name, [], resilient_parsing=True)
    pieces = " ".join(command.collect_usage_pieces(context))
    params: list[Any] = [each for each in command.get_params(context) if not getattr(each, "hidden", False)]
    return CommandManual(
        name=name,
        section=section,
        usage=f"recollect {name} {pieces}".replace("[OPTIONS]", "[options]"),
        help=" ".join((command.help or "").split()),
        arguments=tuple(_parameter(each) for each in params if each.param_type_name == "argument"),
        options=tuple(_parameter(each) for each in params if each.param_type_name == "option" and each.name != "help"),
    )


def _parameter(parameter: Any) -> CommandParameter:
    is_option = parameter.param_type_name == "option"
    names = (*parameter.opts, *parameter.secondary_opts) if is_option else (f"<{parameter.name}>",)
    value = ""
    if is_option and not parameter.is_flag:
        value = (
            parameter.metavar
            or f"<{ {'integer': 'int', 'text': 'str'}.get(parameter.type.name, parameter.type.name) }>"
        )
    help = " ".join((parameter.help or "").split())
    default = parameter.default
    if isinstance(default, (int, float, str)) and not isinstance(default, bool):
        help = f"{help.rstrip('.')}; by default {default}." if help else f"By default {default}."
    return CommandParameter(tuple(names), value, help, getattr(parameter, "rich_help_panel", None) or "")


def as_markdown() -> str:
    """The reference of all commands: one heading for a section, one for each command, tables of options."""
    return "\n".join(_markdown_lines())


def _markdown_lines() -> Iterator[str]:
    section = ""
    for command in describe_commands():
        if command.section != section:
            section = command.section
            yield f"\n## {section}"
        yield f"\n### {command.name}\n\n{_escape(command.help)}\n\n```text\n{command.usage}\n```"
        if command.arguments:
            yield from _table("Argument", list(command.arguments))
        for panel, options in command.panels().items():
            yield from _table(panel, options)
    yield "\n## Options of all commands\n\nThey may be given before or after the name of the command."
    yield from _table("Option", describe_global_options())
    yield "\n## Environment variables\n\n| Variable | What it does |\n|---|---|"
    yield from (f"| `{name}` | {_escape(help)} |" for name, help in ENVIRONMENT.items())
    yield "\n## Exit codes\n\n| Code | Meaning |\n|---|---|"
    yield from (f"| {code} | {_escape(meaning)} |" for code, meaning in EXIT_CODES.items())


def _table(title: str, parameters: list[CommandParameter]) -> Iterator[str]:
    yield f"\n| {title} | What it does |\n|---|---|"
    yield from (f"| `{each.usage}` | {_escape(each.help)} |" for each in parameters)


def _escape(text: str) -> str:
    """The text in Markdown, where it shows as it is."""
    for character in "\\|<>*_`{}[]$":
        text = text.replace(character, f"\\{character}")
    return text


def as_man_page() -> str:
    """The manual page recollect(1), in the man macros."""
    return "\n".join(_man_lines()) + "\n"


def _man_lines() -> Iterator[str]:
    yield f'.TH RECOLLECT 1 "" "Recollect {__version__}" "User Commands"'
    yield ".SH NAME\nrecollect \\- a memory for agents and robots in one file, which explains each result"
    yield ".SH SYNOPSIS\n.B recollect\n[options] \\fIcommand\\fR [\\fIargument\\fR ...]"
    yield ".SH DESCRIPTION"
    yield _roff(
        "Stores what agents and robots learn in one SQLite file, finds what is relevant to a question, and shows why "
        "each memory was returned, or was not. It works offline."
    )
    yield ".SH OPTIONS\nThey may be given before or after the name of the command."
    yield from _man_parameters(describe_global_options())
    section = ""
    for command in describe_commands():
        if command.section != section:
            section = command.section
            yield f".SH COMMANDS: {section.upper()}"
        yield f".SS {_roff(command.name)}\n{_roff(command.help)}\n.PP\n.B {_roff(command.usage)}"
        yield from _man_parameters([*command.arguments, *(o for each in command.panels().values() for o in each)])
    yield ".SH ENVIRONMENT"
    yield from (f".TP\n.B {name}\n{_roff(help)}" for name, help in ENVIRONMENT.items())
    yield '.SH "EXIT STATUS"'
    yield from (f".TP\n.B {code}\n{_roff(meaning)}" for code, meaning in EXIT_CODES.items())
    yield ".SH EXAMPLES\n.EX\nrecollect remember \\(dqThe blue cup is on the top shelf.\\(dq --tag kitchen"
    yield "recollect recall \\(dqwhere is the blue mug?\\(dq -k 3\n.EE"


def _man_parameters(parameters: list[CommandParameter]) -> Iterator[str]:
    yield from (f".TP\n.B {_roff(each.usage)}\n{_roff(each.help)}" for each in parameters)


def _roff(text: str) -> str:
    """The text in roff: ASCII only, hyphens that can be copied, no line that reads as a request."""
    for character, escape in (("\\", "\\(rs"), ("-", "\\-"), ('"', "\\(dq"), ("$", "\\(Do")):
        text = text.replace(character, escape)
    text = "".join(each if each.isascii() else f"\\[u{ord(each):04X}]" for each in text)
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_man_page(), "utf-8")
