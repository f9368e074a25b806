"""How things stand: who answers, who embeds and why, what is indexed, and which searches there are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime

from recollect.config import Config
from recollect.embed import Choice
from recollect.store.base import Store, StoreStatus
from recollect.upkeep.probes import Probe


@dataclass(frozen=True, slots=True)
class Indexed:
    """A folder whose files are memories."""

    collection: str
    root: str
    files: int
    chunks: int
    problems: dict[str, str]  # by file
    synced: datetime | None  # when all of it was last in step with the files


@dataclass(frozen=True, slots=True)
class Standing:
    """What ``status`` tells (O19)."""

    enabled: bool
    backend: str
    recipe: str
    provider: str
    model: str | None
    why: str
    fallback: bool  # is the fallback in use?
    vector_search: Probe
    full_text: Probe
    folders: list[Indexed]
    notes: list[str]


def standing(store: Store, config: Config, chosen: Choice) -> Standing:
    backend = config["memory.backend"]
    held = store.status()
    folders = [_indexed(store, name) for name in store.folders()]
    return Standing(
        enabled=config["memorySearch.enabled"],
        backend=backend,
        recipe="qmd" if backend == "qmd" else "openclaw",
        provider=getattr(chosen.embedder, "provider", "local") if chosen.embedder else "none",
        model=chosen.embedder.name if chosen.embedder else None,
        why=chosen.why,
        fallback=chosen.fallback,
        vector_search=_vectors(held, chosen),
        full_text=Probe(True, f"{held.words:,} words are indexed"),
        folders=folders,
        notes=[*config.notes, *(_gone(each) for each in folders if not os.path.isdir(each.root))],
    )


def _vectors(held: StoreStatus, chosen: Choice) -> Probe:
    made = next((space for space in held.spaces if space["active"]), None)
    if chosen.embedder is None:
        return Probe(False, chosen.why)
    if made is not None and made["name"] != chosen.embedder.name:
        return Probe(False, f"those in the file are by {made['name']}: recollect reembed makes them anew")
    return Probe(True, f"{made['vectors'] if made else 0:,} by {chosen.embedder.name}")


def _gone(folder: Indexed) -> str:
    return f"{folder.root} ({folder.collection}) is not there; what was read from it before is kept."


def _indexed(store: Store, collection: str) -> Indexed:
    record, files = store.folders()[collection], store.files(collection)
    synced = record.get("synced")
    return Indexed(
        collection=collection,
        root=str(record["root"]),
        files=len(files),
        chunks=len(store.chunk_ids(collection)),
        problems={path: each.problem for path, each in files.items() if each.problem},
        synced=datetime.fromisoformat(synced) if synced else None,
    )
