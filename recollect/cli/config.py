"""The command that looks at the configuration: what holds, who says so, and what is wrong."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import Settings
from recollect.cli.terminal import answer, count, printable, say
from recollect.errors import InvalidInput, StoreError

if TYPE_CHECKING:
    from recollect.config import Config
    from recollect.config.document import Mistake

MOST_WIDE = 30  # letters for values, before the lines that say them
HIDDEN = "••••••"
BAD_CONFIG = 2
LOOKS = ("show", "check", "path")
What = Annotated[
    str, typer.Argument(help="show, check or path.", show_default=False, autocompletion=lambda: list(LOOKS))
]


def config(settings: Settings, what: What = "show") -> int:
    """Look at the configuration. It is shown with the line that says each value; or checked; or located."""
    if what not in LOOKS:
        raise InvalidInput(f"config can {', '.join(LOOKS)}; not {what!r}.")
    read = settings.read_config()
    match what:
        case "show":
            _show(read.checked(), settings.json)
        case "check":
            read = _with_followed(read, settings)
            _check(read, settings.json)
        case _:
            _paths(read, settings.json)
    return BAD_CONFIG if what == "check" and read.mistakes else 0


def own_config(root: str, config: Config, settings: Settings) -> Config:
    """The configuration of a folder that is followed: its files and mistakes are those that this one has not."""
    own = settings.read_config(root)
    if os.path.realpath(config.workspace) == root:  # the same files, under other names
        return replace(own, files=(), mistakes=())
    return replace(
        own,
        files=tuple(each for each in own.files if each not in config.files),
        mistakes=tuple(each for each in own.mistakes if each not in config.mistakes),
    )


def _with_followed(config: Config, settings: Settings) -> Config:
    """With the files and mistakes of the folders that the memory follows."""
    from recollect.systems.openclaw.workspace import followed

    try:
        roots = {record["root"] for record in followed(settings.path_by(config)).values()}
    except StoreError:  # the doctor has a word on that
        return config
    owns = [own_config(root, config, settings) for root in sorted(roots)]
    return replace(
        config,
        files=(*config.files, *(file for own in owns for file in own.files)),
        mistakes=(*config.mistakes, *(mistake for own in owns for mistake in own.mistakes)),
    )


def _show(config: Config, as_json: bool) -> None:
    from recollect.config.schema import KEYS

    shown = {name: HIDDEN if KEYS[name].secret and held.value else held.value for name, held in config.values.items()}
    if as_json:
        values = {name: {"value": shown[name], "origin": held.origin} for name, held in config.values.items()}
        answer(True, {"agent": config.agent, "files": config.files, "values": values, "notes": config.notes})
        return
    worded = {name: printable(_worded(value)) for name, value in shown.items()}
    wide = max(map(len, worded)), min(MOST_WIDE, max(map(len, worded.values())))
    for name, held in config.values.items():
        styles = ("", "cyan") if held.places else ("dim", "dim")
        told = f"{name.ljust(wide[0])}  {worded[name].ljust(wide[1])}  "
        say((told, styles[0]), (held.origin, styles[1]))
    for note in config.notes:
        say((note, "yellow"))


def _worded(value: Any) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "true" if value else "false"
        case list():
            return ", ".join(map(str, value)) or "–"
        case dict():
            return ", ".join(f"{name}: {each}" for name, each in value.items()) or "–"
        case _:
            return f"{value:g}" if isinstance(value, float) else str(value)


def _check(config: Config, as_json: bool) -> None:
    if as_json:
        told = [_as_json(mistake) for mistake in config.mistakes]
        answer(True, {"files": config.files, "mistakes": told, "notes": config.notes})
        return
    for mistake in config.mistakes:
        say((f"{mistake.place}: ", "cyan"), (mistake.key, "bold"), ": " if mistake.key else "", mistake.problem)
    for note in config.notes:
        say((note, "yellow"))
    files = ", ".join(config.files) or "no file: the defaults hold"
    say((f"{count(len(config.mistakes), 'mistake', 'mistakes')} ", "red" if config.mistakes else "green"), f"({files})")


def _as_json(mistake: Mistake) -> dict[str, Any]:
    place = {"file": mistake.place.file, "line": mistake.place.line}
    return {**place, "key": mistake.key, "problem": mistake.problem}


def _paths(config: Config, as_json: bool) -> None:
    from recollect.config import IN_WORKSPACE, user_file

    places = [user_file(), *(config.workspace / name for name in IN_WORKSPACE)]
    if as_json:
        answer(True, {"read": config.files, "looked": list(map(str, places))})
        return
    for place in dict.fromkeys([*map(str, places), *config.files]):
        there = place in config.files
        say((place, "bold" if there else "dim"), ("" if there else "  (not there)", "dim"))
