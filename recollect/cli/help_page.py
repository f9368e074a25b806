"""The front page of the help, drawn by ourselves: Typer's own costs twice the time to start."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from recollect.cli.terminal import console, pairs

EXIT_CODES = {
    "0": "done",
    "1": "nothing found, or nothing to do",
    "2": "bad input",
    "3": "no such id",
    "4": "the file or the embedder cannot serve",
    "130": "stopped by Ctrl-C",
}


class FrontPage(TyperGroup):
    """What Recollect is, its verbs, its options and its exit codes, on one screen."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from rich.text import Text

        out = console()
        with out.capture() as page:
            usage = Text.assemble(
                ("recollect ", "bold"), "[options] verb … ", ("(recollect verb --help says more)", "dim")
            )
            out.print(Text(f"{self.help}\n"), usage, sep="\n")
            for title, rows in self._sections(ctx).items():
                out.print(Text(f"\n{title}", "bold"))
                out.print(pairs({f"  {name}": about for name, about in rows.items()}, "cyan", width=22))
        formatter.write(page.get())

    def _sections(self, ctx: Any) -> dict[str, dict[str, str]]:
        sections: dict[str, dict[str, str]] = {}
        for name, command in self.commands.items():
            sections.setdefault(str(getattr(command, "rich_help_panel", "")), {})[name] = _first(command)
        options = {", ".join(option.opts): _first(option) for option in self.get_params(ctx)}
        return {**sections, "Options": options, "Exit codes": EXIT_CODES}


class Verb(TyperCommand):
    """A verb whose help names no type where that says nothing: a flag has none, and several words are words."""

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)
        for option in (each for each in params if each.param_type_name == "option" and each.metavar is None):
            if getattr(option, "is_flag", False):
                option.metavar = ""
            elif getattr(option, "multiple", False):
                option.metavar = "<str>"
        return params


def _first(described: Any) -> str:
    """The first sentence of a help text."""
    return (described.help or "").split(". ")[0].rstrip(".")
