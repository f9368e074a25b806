"""Stores that are built once a set and kept: a change of a recipe embeds nothing again."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

import recollect
from bench.sets import BEGINNING, Set
from recollect.embed.base import TokenVectors
from recollect.embed.local import SHA256, LocalEmbedder
from recollect.mind import Mind

HOME = Path(recollect.__file__).parent
WRITING = ("model", "text", "embed", "store", "ingest")  # the rooms that decide what a file holds
AT_ONCE = 256  # texts a pass, kept together


class Kept(LocalEmbedder):
    """The local embedder with a long memory: what it made of a text or a question is on disk.

    Tokens' vectors are kept as float16, which a sketch or a sum of cosines does not notice.
    """

    def __init__(self, cache: Path) -> None:
        self._one_at_a_time = Lock()
        self._file = apsw.Connection(str(cache / f"tokens-{SHA256[:12]}.db"))
        self._file.set_busy_timeout(60_000)
        self._file.pragma("journal_mode", "wal")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS texts (key BLOB PRIMARY KEY, whole BLOB, tokens TEXT, vectors BLOB)"
        )

    def embed(self, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        return np.stack([np.frombuffer(whole, dtype=np.float32) for (whole,) in self._texts(texts, "whole")])

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        return [_tokens(*row) for row in self._texts(texts, "whole, tokens, vectors")]

    def _texts(self, texts: Sequence[str], columns: str) -> list[tuple[Any, ...]]:
        """The rows of these texts; those that are missing are made now. Some recipes ask from a thread."""
        with self._one_at_a_time:
            return self._rows(texts, columns)

    def _rows(self, texts: Sequence[str], columns: str) -> list[tuple[Any, ...]]:
        keys = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in texts]
        fetch = f"SELECT {columns} FROM texts WHERE key = ?"
        missing = [at for at, key in enumerate(keys) if self._file.execute(fetch, (key,)).fetchone() is None]
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            made = super().token_vectors([texts[at] for at in part])
            rows = [
                (keys[at], each.whole.tobytes(), " ".join(each.tokens), each.vectors.astype(np.float16).tobytes())
                for at, each in zip(part, made, strict=True)
            ]
            with self._file:
                self._file.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?, ?, ?)", rows)
        return [row for key in keys if (row := self._file.execute(fetch, (key,)).fetchone())]


def _tokens(whole: bytes, tokens: str, vectors: bytes) -> TokenVectors:
    matrix = np.frombuffer(vectors, dtype=np.float16).reshape(-1, LocalEmbedder.dim).astype(np.float32)
    return TokenVectors(tuple(tokens.split(" ") if tokens else ()), matrix, np.frombuffer(whole, dtype=np.float32))


def built(set_: Set, embedder: LocalEmbedder, cache: Path, stale: bool = False) -> Path:
    """The file with the set's memories: made now, or earlier from the same data by the same code.

    With ``stale``, code that has changed since does not matter.
    """
    data = f"{set_.name}-{_digest(json.dumps([set_.files, embedder.name]).encode())}"
    path = cache / f"{data}-{sources()}.db"
    older = sorted(cache.glob(f"{data}-*.db"), key=lambda each: each.stat().st_mtime)
    if path.exists() or (stale and older):
        return path if path.exists() else older[-1]
    with tempfile.TemporaryDirectory(dir=cache) as folder:  # nobody sees a half of it
        new = Path(folder) / path.name
        with Mind(new, embedder=embedder, clock=lambda: BEGINNING, durability="fast") as mind:
            mind.remember_many(set_.labelled.memories)
        new.replace(path)
    for old in older:
        old.unlink(missing_ok=True)
    return path


def sources() -> str:
    files = sorted(each for room in WRITING for each in (HOME / room).rglob("*.py"))
    return _digest(b"".join(each.read_bytes() for each in files))


def _digest(what: bytes) -> str:
    return hashlib.sha256(what).hexdigest()[:12]
