"""Memory files of datasets, built once and reused, and a cache of the local model's vectors."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

import recollect
from bench import datasets
from bench.datasets import BEGINNING, Dataset
from recollect.embed.base import TokenVectors
from recollect.embed.local import LocalEmbedder, LocalEmbedderV2
from recollect.mind import Mind
from recollect.model.limits import changed_limits

HOME = Path(recollect.__file__).parent
WRITING_PACKAGES = ("model", "text", "embed", "store", "ingest")  # whose code decides what a file contains
BATCH = 256  # texts
LARGEST_TEXT = 2_000_000  # bytes of a memory of any set
KEPT = 12  # files of a set that other versions of the code made
VECTORS = "a03845cda529"  # names the cache of token vectors; another one when the local model's vectors change


class CachedLocalEmbedder(LocalEmbedder):
    """The local embedder with a cache on disk, of the English that the model reads: another glossary needs no other.

    Token vectors are stored as float16, which is precise enough for sketches and sums of cosines.
    """

    def __init__(self, cache: Path) -> None:
        self._lock, self._model = Lock(), LocalEmbedderV2()
        self._file = apsw.Connection(str(cache / f"tokens-{VECTORS}.db"))
        self._file.set_busy_timeout(60_000)
        self._file.pragma("journal_mode", "wal")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS texts (key BLOB PRIMARY KEY, whole BLOB, tokens TEXT, vectors BLOB)"
        )

    def embed(self, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        return np.stack([np.frombuffer(whole, dtype=np.float32) for (whole,) in self._texts(texts, "whole")])

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        made = [_tokens(*row) for row in self._texts(texts, "whole, tokens, vectors")]
        return [
            each if (words := self.words_of(text)) is None else replace(each, words=words)
            for text, each in zip(texts, made, strict=True)
        ]

    def _texts(self, texts: Sequence[str], columns: str) -> list[tuple[Any, ...]]:
        """The rows of these texts; missing ones are computed. Some recipes call from another thread."""
        with self._lock:
            return self._rows(self.english(texts), columns)

    def _rows(self, texts: Sequence[str], columns: str) -> list[tuple[Any, ...]]:
        keys = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in texts]
        fetch = f"SELECT {columns} FROM texts WHERE key = ?"
        missing = [at for at, key in enumerate(keys) if self._file.execute(fetch, (key,)).fetchone() is None]
        for start in range(0, len(missing), BATCH):
            part = missing[start : start + BATCH]
            made = self._model.token_vectors([texts[at] for at in part])
            rows = [
                (keys[at], each.text_vector.tobytes(), " ".join(each.tokens), each.vectors.astype(np.float16).tobytes())
                for at, each in zip(part, made, strict=True)
            ]
            with self._file:
                self._file.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?, ?, ?)", rows)
        return [row for key in keys if (row := self._file.execute(fetch, (key,)).fetchone())]


def _tokens(whole: bytes, tokens: str, vectors: bytes) -> TokenVectors:
    matrix = np.frombuffer(vectors, dtype=np.float16).reshape(-1, LocalEmbedder.dim).astype(np.float32)
    return TokenVectors(tuple(tokens.split(" ") if tokens else ()), matrix, np.frombuffer(whole, dtype=np.float32))


def build_memory_file(set_: Dataset, embedder: LocalEmbedder, cache: Path, stale: bool = False) -> Path:
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
        large = changed_limits(memory_bytes=LARGEST_TEXT)  # some sets have whole documents as messages
        with large, Mind(new, embedder=embedder, clock=lambda: BEGINNING, durability="fast") as mind:
            mind.remember_many(set_.labelled.memories)
        if not path.exists():  # another process may have made it meanwhile, and have it open
            new.replace(path)
    for old in older[:-KEPT]:
        old.unlink(missing_ok=True)
    return path


def sources() -> str:
    files = sorted(each for room in WRITING_PACKAGES for each in (HOME / room).rglob("*.py"))
    files.append(Path(datasets.__file__))  # decides the fields of the memories
    return _digest(b"".join(each.read_bytes() for each in files))


def _digest(what: bytes) -> str:
    return hashlib.sha256(what).hexdigest()[:12]
