"""The commands config, which shows and checks the configuration, and trust, which lets a folder configure more."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import GlobalOptions
from recollect.cli.terminal import pluralize, print_line, print_result, printable
from recollect.errors import InvalidInput, StoreError
from recollect.model import check

if TYPE_CHECKING:
    from recollect.config import Config
    from recollect.config.document import ConfigProblem

MAX_VALUE_WIDTH = 30  # characters
HIDDEN = "••••••"
BAD_CONFIG = 2
ACTIONS = ("show", "check", "path")
Action = Annotated[
    str, typer.Argument(help="show, check or path.", show_default=False, autocompletion=lambda: list(ACTIONS))
]


def config(options: GlobalOptions, action: Action = "show") -> int:
    """Show the configuration with the origin of each value, check it, or list its files."""
    check.choice(action, "action", ACTIONS)
    config = options.read_config()
    match action:
        case "show":
            _print_values(config.checked(), options.json)
        case "check":
            config = _with_folders(config, options)
            _print_problems(config, options.json)
        case _:
            _print_paths(config, options.json)
    return BAD_CONFIG if action == "check" and config.problems else 0


def folder_config(root: str, config: Config, options: GlobalOptions) -> Config:
    """The configuration of a synced folder, without the files and problems that ``config`` already has."""
    own = options.read_config(root)
    if os.path.realpath(config.workspace) == root:  # the same files under other names
        return replace(own, files=(), problems=())
    return replace(
        own,
        files=tuple(each for each in own.files if each not in config.files),
        problems=tuple(each for each in own.problems if each not in config.problems),
    )


def _with_folders(config: Config, options: GlobalOptions) -> Config:
    """The configuration with the files and problems of all synced folders."""
    from recollect.systems.openclaw.workspace import followed_folders

    if options.uses_server:
        return config
    try:
        roots = {record["root"] for record in followed_folders(options.db_path(config)).values()}
    except StoreError:  # reported by the doctor
        return config
    folders = [folder_config(root, config, options) for root in sorted(roots)]
    return replace(
        config,
        files=(*config.files, *(file for folder in folders for file in folder.files)),
        problems=(*config.problems, *(problem for folder in folders for problem in folder.problems)),
    )


def _print_values(config: Config, as_json: bool) -> None:
    from recollect.config.schema import KEYS

    shown = {
        name: HIDDEN if KEYS[name].secret and value.value else value.value for name, value in config.values.items()
    }
    if as_json:
        values = {name: {"value": shown[name], "origin": value.origin} for name, value in config.values.items()}
        print_result(True, {"agent": config.agent, "files": config.files, "values": values, "notes": config.notes})
        return
    formatted = {name: printable(_format_value(value)) for name, value in shown.items()}
    name_width, value_width = max(map(len, formatted)), min(MAX_VALUE_WIDTH, max(map(len, formatted.values())))
    for name, value in config.values.items():
        styles = ("", "cyan") if value.locations else ("dim", "dim")
        columns = f"{name.ljust(name_width)}  {formatted[name].ljust(value_width)}  "
        print_line((columns, styles[0]), (value.origin, styles[1]))
    for note in config.notes:
        print_line((note, "yellow"))


def _format_value(value: Any) -> str:
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


def _print_problems(config: Config, as_json: bool) -> None:
    if as_json:
        problems = [_as_json(problem) for problem in config.problems]
        print_result(True, {"files": config.files, "mistakes": problems, "notes": config.notes})
        return
    for problem in config.problems:
        print_line(
            (f"{problem.location}: ", "cyan"), (problem.key, "bold"), ": " if problem.key else "", problem.message
        )
    for note in config.notes:
        print_line((note, "yellow"))
    files = ", ".join(config.files) or "no file: the defaults are used"
    size = pluralize(len(config.problems), "problem", "problems")
    print_line((f"{size} ", "red" if config.problems else "green"), f"({files})")


def _as_json(problem: ConfigProblem) -> dict[str, Any]:
    location = {"file": problem.location.file, "line": problem.location.line}
    return {**location, "key": problem.key, "problem": problem.message}


def _print_paths(config: Config, as_json: bool) -> None:
    from recollect.config import WORKSPACE_FILES, user_config_file

    paths = [user_config_file(), *(config.workspace / name for name in WORKSPACE_FILES)]
    if as_json:
        print_result(True, {"read": config.files, "looked": list(map(str, paths))})
        return
    for path in dict.fromkeys([*map(str, paths), *config.files]):
        exists = path in config.files
        print_line((path, "bold" if exists else "dim"), ("" if exists else "  (does not exist)", "dim"))


def trust(
    options: GlobalOptions,
    folder: Annotated[str | None, typer.Argument(help="A folder with a recollect.yaml.", show_default=False)] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the trusted files.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Stop trusting this folder.")] = False,
) -> int:
    """Trust the configuration of a folder, so that it may name files and services elsewhere. Read it first.

    Editing the file ends the trust.
    """
    from recollect.config import WORKSPACE_FILES, trust_store
    from recollect.config import trust as trusting

    store = trust_store()
    if list_:
        known = trusting.read_trusted(store)
        valid = [path for path in known if os.path.isfile(path) and trusting.is_trusted(Path(path), store)]
        if options.json:
            print_result(True, {"trusted": valid, "changed": [path for path in known if path not in valid]})
        for path in sorted(known) if not options.json else ():
            print_line(path, ("" if path in valid else "  (changed or deleted since; not trusted any more)", "yellow"))
        return 0 if known else 1
    if folder is None:
        raise InvalidInput("Give a folder to trust, or --list.")
    root = Path(os.path.expanduser(folder))
    if remove:
        removed = trusting.distrust(root, store)
        message = f"No longer trusted: {', '.join(removed)}" if removed else f"{folder} was not trusted."
        print_result(options.json, {"removed": removed}, message)
        return 0 if removed else 1
    files = [root / name for name in WORKSPACE_FILES if (root / name).is_file()]
    if not files:
        raise InvalidInput(f"{folder} has no {' or '.join(WORKSPACE_FILES)}: there is nothing to trust.")
    trusted = trusting.trust(files, store)
    print_result(options.json, {"trusted": trusted}, f"Trusted as it is now: {', '.join(trusted)}")
    return 0
