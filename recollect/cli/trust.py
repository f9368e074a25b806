"""The command trust: lets the configuration of a folder reach outside of that folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from recollect.cli.options import GlobalOptions
from recollect.cli.terminal import print_line, print_result
from recollect.errors import InvalidInput


def trust(
    options: GlobalOptions,
    folder: Annotated[str | None, typer.Argument(help="A folder with a recollect.yaml.", show_default=False)] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the trusted files.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="End the trust in this folder.")] = False,
) -> int:
    """Let the configuration of a folder reach outside of it. Read it first; a change of the file ends the trust."""
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
