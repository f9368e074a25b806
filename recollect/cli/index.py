"""The command index: shows, rebuilds and deletes the index files beside a database."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli.options import GlobalOptions
from recollect.cli.terminal import print_line, print_result
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.store.base import IndexStatus


def index(
    options: GlobalOptions,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Delete the index files and build them again.")] = False,
    drop: Annotated[
        bool, typer.Option("--drop", help="Delete the index files; the next recall builds them again.")
    ] = False,
) -> int:
    """Show the index files beside the database, rebuild or delete them. They stay up to date by themselves."""
    from recollect.store.sqlite import SqliteStore

    if rebuild and drop:
        raise InvalidInput("Give --rebuild or --drop, not both.")
    options.check_no_collection("index")
    with options.open() as mind:
        if not isinstance(mind.store, SqliteStore):
            raise InvalidInput(f"{mind.path} has no index files: only a memory in a SQLite file has some.")
        if drop or rebuild:
            mind.store.drop_index()
        if rebuild:
            mind.store.build_index()
        status = mind.store.index_status()
    if options.json:
        print_result(True, asdict(status))
    else:
        print_line(format_index(status))
    return 0


def format_index(status: IndexStatus) -> str:
    """The index in one line."""
    if status.state == "none":
        return "no files: with fewer than 5,000 memories the index is only in memory, made anew at each opening"
    size = f"{status.memories:,} memories, {status.bytes / 1e6:,.1f} MB in {status.folder}"
    if status.state == "unusable":
        return f"{size}: of another state of the database, or damaged; the next recall builds it again"
    return f"{size}, {status.changed:,} changed since" if status.changed else size
