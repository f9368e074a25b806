"""The commands backup and restore."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from recollect.cli.options import GlobalOptions
from recollect.cli.terminal import format_time, pluralize, print_line, print_result, progress
from recollect.cli.values import parse_moment
from recollect.errors import InvalidInput

PASSPHRASE = "RECOLLECT_BACKUP_PASSPHRASE"
Folder = Annotated[str, typer.Argument(help="The folder of the backups.", show_default=False)]
PassphraseFile = Annotated[
    str | None,
    typer.Option("--passphrase-file", help=f"A file with the passphrase; or ${PASSPHRASE}.", show_default=False),
]


def backup(
    options: GlobalOptions,
    folder: Folder,
    list_: Annotated[bool, typer.Option("--list", help="List the backups in the folder.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read all backups in the folder and check that they are intact.")
    ] = False,
    keep: Annotated[
        int | None, typer.Option(help="Keep this many of the newest backups.", min=1, show_default=False)
    ] = None,
    keep_days: Annotated[
        float | None, typer.Option(help="Keep backups for this many days.", min=0, show_default=False)
    ] = None,
    encrypt: Annotated[bool, typer.Option("--encrypt", help="Encrypt the backups with a passphrase.")] = False,
    passphrase_file: PassphraseFile = None,
) -> int:
    """Back up the file into a folder, while it is in use. Repeated backups store only what changed."""
    passphrase = _passphrase(folder, passphrase_file, encrypt and not (list_ or verify))
    if list_:
        return _list(options, folder, passphrase)
    if verify:
        return _verify(options, folder, passphrase)
    options.check_no_collection("backup")
    with options.open() as mind, progress("Backing up", "steps") as update:
        done = mind.backup(folder, passphrase=passphrase, keep=keep, keep_days=keep_days, progress=update)
    size = f"{pluralize(done.memories, 'memory', 'memories')}, {_megabytes(done.bytes)}"
    cost = f"; {_megabytes(done.written)} were new"
    removed = f"; {pluralize(len(done.removed), 'old backup', 'old backups')} removed" if done.removed else ""
    print_result(options.json, done, ("Backed up ", "green"), size, " to ", (folder, "bold"), cost, removed, ".")
    _print_warnings(options, done.warnings)
    return 0


def restore(
    options: GlobalOptions,
    folder: Folder,
    to: Annotated[
        str | None, typer.Option(help="Restore to this path, which must not exist.", show_default=False)
    ] = None,
    in_place: Annotated[
        bool,
        typer.Option(
            "--in-place",
            help="Replace the database file, if no process has it open. The old file is kept under another name.",
        ),
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(
            help="Restore what the file contained at this moment: an ISO date, or words such as yesterday.",
            show_default=False,
        ),
    ] = None,
    passphrase_file: PassphraseFile = None,
) -> int:
    """Restore the file from a folder of backups: the newest one, or as it was at a moment."""
    from recollect.upkeep.backup import restore

    if (to is None) == (not in_place):
        raise InvalidInput("Give either --to PATH, or --in-place, which replaces the database file.")
    if in_place:
        options.check_no_server()
    path = options.db_path(options.read_config()) if to is None else to
    passphrase = _passphrase(folder, passphrase_file)
    moment = None if at is None else parse_moment(at, "--at")
    with progress("Restoring", "blocks") as update:
        done = restore(folder, path, at=moment, passphrase=passphrase, in_place=in_place, progress=update)
    size = pluralize(done.backup.memories, "memory", "memories")
    made = f" from the backup of {format_time(done.backup.at)} ({size})."
    print_result(options.json, done, ("Restored ", "green"), (done.path, "bold"), made)
    _print_warnings(options, done.warnings)
    if options.json:
        return 0
    if done.undone:
        print_line(f"{pluralize(done.undone, 'later operation was', 'later operations were')} undone.")
    if done.not_undone:
        print_line((f"Later changes that cannot be undone are still there: {', '.join(done.not_undone)}.", "yellow"))
    if done.erased:
        print_line(f"{pluralize(done.erased, 'memory was', 'memories were')} erased again.")
    if done.replaced:
        print_line((f"The file that was there before is {done.replaced}", "dim"))
    return 0


def _list(options: GlobalOptions, folder: str, passphrase: str | None) -> int:
    from recollect.upkeep.backup import list_backups

    found = list_backups(folder, passphrase)
    if options.json:
        print_result(True, {"backups": found})
    for each in () if options.json else found:
        size = f"{pluralize(each.memories, 'memory', 'memories')}, {_megabytes(each.bytes)}"
        print_line(f"{format_time(each.at)}  {size}  {each.source}  ", (each.id, "dim"))
    return 0 if found else 1


def _verify(options: GlobalOptions, folder: str, passphrase: str | None) -> int:
    from recollect.upkeep.backup import verify_backups

    with progress("Verifying", "blocks") as update:
        found = verify_backups(folder, passphrase, update)
    size = f"{pluralize(found.backups, 'backup', 'backups')}, {pluralize(found.blocks, 'block', 'blocks')}"
    state = ("Problems in ", "red") if found.problems else ("Intact: ", "green")
    print_result(options.json, found, state, size)
    for problem in () if options.json else found.problems:
        print_line(problem)
    return 1 if found.problems else 0


def _print_warnings(options: GlobalOptions, warnings: Sequence[str]) -> None:
    for warning in () if options.json else warnings:
        print_line(("Warning: ", "yellow"), warning, stderr=True)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def _passphrase(folder: str, file: str | None, new: bool = False) -> str | None:
    """From a file, the environment or, where the backups are encrypted, the terminal."""
    if file is not None:
        return Path(file).read_text("utf-8").rstrip("\r\n")
    from recollect.upkeep.backup_folder import is_encrypted

    encrypted = is_encrypted(Path(folder))
    if new and encrypted is False:
        raise InvalidInput(f"The backups in {folder} are not encrypted; --encrypt needs a new folder.")
    if not (encrypted or new):
        return None
    if PASSPHRASE in os.environ:
        return os.environ[PASSPHRASE]
    if not sys.stdin.isatty():
        raise InvalidInput(f"A passphrase is needed: set ${PASSPHRASE}, or give --passphrase-file.")
    typed: str = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=not encrypted, err=True)
    return typed
