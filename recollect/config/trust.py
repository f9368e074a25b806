"""Trust: which configuration files of folders may reach outside of their folder.

A folder that somebody else wrote may configure itself only. What it says about other folders, services and keys holds
once the user has trusted that file, as it is: a change of the file ends the trust (as with direnv).
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from recollect.errors import InvalidInput


def is_trusted(file: Path, store: Path) -> bool:
    """Has the user trusted this file, as it is now?"""
    return read_trusted(store).get(os.path.realpath(file)) == _digest(file)


def trust(files: list[Path], store: Path) -> list[str]:
    """Trust these files as they are now; their paths."""
    added = {os.path.realpath(file): _digest(file) for file in files}
    _write(store, {**read_trusted(store), **added})
    return sorted(added)


def distrust(folder: Path, store: Path) -> list[str]:
    """End the trust in a file, or in the files of a folder, which need not exist any more; their paths."""
    place = os.path.realpath(folder)
    known = read_trusted(store)
    removed = [path for path in known if place in (path, os.path.dirname(path))]
    _write(store, {path: digest for path, digest in known.items() if path not in removed})
    return sorted(removed)


def read_trusted(store: Path) -> dict[str, str]:
    """By the path of a trusted file: the hash of its content."""
    try:
        known = json.loads(store.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"The list of trusted files {store} cannot be read: {error}. Correct or delete it."
        ) from None
    if not isinstance(known, dict) or not all(isinstance(each, str) for each in known.values()):
        raise InvalidInput(f"The list of trusted files {store} is not a map of paths to hashes. Correct or delete it.")
    return known


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _write(store: Path, known: dict[str, str]) -> None:
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        temporary = store.with_suffix(".json.new")
        temporary.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n", "utf-8")
        temporary.replace(store)
    except OSError as error:
        raise InvalidInput(f"{store} cannot be written: {error.strerror}.") from None
