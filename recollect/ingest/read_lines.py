"""Reading lines of files that are indexed, and refusing all others (O2)."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

from recollect.errors import InvalidInput, NotFound
from recollect.ingest.folder import Folder
from recollect.ingest.markdown import lines_of
from recollect.ingest.scan import Found, read_file, within
from recollect.model import JsonObject
from recollect.store.base import FileState


def inside(root: Path, path: str) -> str:
    """A path as the index would have it: from the root or, elsewhere, the whole of it."""
    if not path.strip() or "\0" in path:
        raise InvalidInput(f"No file has this path: {path!r}.")
    asked = Path(os.path.expanduser(path))
    if not asked.is_absolute():
        if ".." in asked.parts:
            raise InvalidInput(f"{path} leads out of the folder; give a path as search results have it.")
        return asked.as_posix()
    whole = os.path.normpath(asked)
    return PurePath(os.path.relpath(whole, root) if within(whole, str(root)) else whole).as_posix()


def lines_in(folder: Folder, path: str, state: FileState | None, first: int, count: int | None) -> JsonObject:
    """So many lines of a file (all when None), from one on, if the index has it and it still lies inside the folder."""
    if state is None:
        if os.path.isabs(path):
            raise InvalidInput(f"{path} is outside of {folder.root} and its extra paths.")
        raise NotFound(f"{path} is not in the index; give a path as search results have it.")
    if not state.hash:
        raise InvalidInput(f"{path} is not indexed: {state.problem}.")
    lines = lines_of(_text(folder, path))
    if first > len(lines):
        raise InvalidInput(
            f"{path} has {len(lines)} {'line' if len(lines) == 1 else 'lines'}; there is no line {first}."
        )
    chosen = lines[first - 1 : None if count is None else first - 1 + count]
    last = first + len(chosen) - 1
    return {"path": path, "text": "\n".join(chosen), "startLine": first, "endLine": last, "lines": len(lines)}


def _text(folder: Folder, path: str) -> str:
    real = os.path.realpath(folder.root / path)
    if not any(within(real, root) for root in folder.scanner().roots):
        raise InvalidInput(f"{path} is a link that leads out of the folder.")
    try:
        about = os.stat(real)
        found = Found(path, real, "file", about.st_size, about.st_mtime_ns, about.st_ino)
        content = read_file(found, folder.settings.max_file_bytes)
    except OSError as problem:
        raise NotFound(f"{path} cannot be read: {problem.strerror}.") from None
    if not content.hash:
        raise InvalidInput(f"{path} cannot be shown: {content.problem}.")
    return content.text
