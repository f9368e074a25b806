"""The area ``wide``: the files of the area ``scale`` with vectors of 1,536 dimensions, beside their 384.

A wide vector has four views of the same text: its vector plus 0.4 of the difference of two others, with other ones in
each view. A question's wide vector is its own one four times.
"""

from __future__ import annotations

import contextlib
import shutil
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from bench.report import Report
from bench.scale import QUESTIONS, K, _recaller, fill
from bench.scale_data import BATCH, NaturalTexts, QuestionEmbedder, read_natural_texts
from bench.synthetic_data import unit
from bench.timing import interleave
from recollect import Mind
from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.checksums import connect

VIEWS, PAGE = 4, 50


class WideEmbedder(QuestionEmbedder):
    """Knows the wide vectors of some questions."""

    name, dim = "wide", VIEWS * QuestionEmbedder.dim

    def embed(self, texts: Any, query: bool = False) -> Any:
        return unit(np.tile(super().embed(texts), VIEWS))


def run(options: Namespace, cache: Path, folder: Path, report: Report) -> None:
    place = cache / "scale"
    place.mkdir(exist_ok=True)
    texts = read_natural_texts(options.data, cache)
    for size in options.sizes:
        narrow = fill(place, size, texts)
        wide = _widened(narrow, place / f"wide-{size}.db", size, texts)
        with ExitStack() as stack:
            embedders = {"384 dimensions": QuestionEmbedder, "1,536 dimensions": WideEmbedder}
            minds = {
                name: stack.enter_context(Mind(path, embedder=each(texts.questions)))
                for (name, each), path in zip(embedders.items(), (narrow, wide), strict=True)
            }
            asked = list(texts.questions)
            taken = interleave({name: _recaller(mind, asked) for name, mind in minds.items()}, QUESTIONS, warm=5)
        ours, theirs = taken["1,536 dimensions"], taken["384 dimensions"]
        report.compare(f"hybrid, {size:,}, 1,536 dimensions", ours, theirs, "384 dimensions", None)
        report.details[f"vectors found at {size:,}"] = _completeness(wide, texts)
        index = sum(each.stat().st_size for each in Path(f"{wide}-index").rglob("*"))
        without = index / size - 2 * WideEmbedder.dim
        report.details[f"index at {size:,}"] = {
            "size": f"{index / 1e6:,.0f} MB",
            "without vectors": f"{without:,.0f} bytes a memory",
        }


def _widened(narrow: Path, path: Path, size: int, texts: NaturalTexts) -> Path:
    """A copy of the file with wide vectors and without token sketches: made now, or earlier."""
    unfinished = path.with_name(f"part-{path.name}")
    if not path.exists():
        shutil.copy2(narrow, unfinished)
        with contextlib.closing(connect(str(unfinished), apsw.SQLITE_OPEN_READWRITE)) as connection:
            for pragma in ("journal_mode = WAL", "synchronous = OFF", "foreign_keys = OFF"):
                connection.execute(f"PRAGMA {pragma}")
            with connection:
                connection.execute("DELETE FROM vectors; DELETE FROM sketches")
                connection.execute("UPDATE spaces SET name = ?, dim = ?", (WideEmbedder.name, WideEmbedder.dim))
                for first in range(0, size, BATCH):
                    vectors = _wide_vectors(texts, first)[: size - first].astype(np.float16)
                    rows = ((1, first + at + 1, vector.tobytes()) for at, vector in enumerate(vectors))
                    connection.executemany("INSERT INTO vectors VALUES (?, ?, ?)", rows)
        unfinished.rename(path)
    return path


def _wide_vectors(texts: NaturalTexts, first: int) -> NDArray[np.float32]:
    """The wide vectors of a batch."""
    one = texts._drawn(first)[0]
    views = [texts.batch_vectors(first)]
    for view in range(1, VIEWS):
        other, third = np.random.default_rng((first, view)).integers(0, len(texts.sentences), (2, BATCH))
        views.append(unit(texts.vectors[one] + np.float32(0.4) * (texts.vectors[other] - texts.vectors[third])))
    return unit(np.concatenate(views, axis=1))


def _completeness(path: Path, texts: NaturalTexts) -> dict[str, str]:
    """How much of the exact first page and of the exact best ten an approximate search finds."""
    embedder, pages, best = WideEmbedder(texts.questions), [], []
    with Mind(path, embedder=embedder) as mind:
        exact_store = SqliteStore(str(path), mind.clock, vector_search="exact")
        with mind.store.snapshot() as snapshot, exact_store.snapshot() as exact:
            scopes = [each.scope(None, ("active",), mind.clock()) for each in (snapshot, exact)]
            for text in list(texts.questions)[:QUESTIONS]:
                (query,) = embedder.embed([text])
                rows = exact.nearest(query, scopes[1], PAGE).rows
                order = np.argsort(-(exact.vectors(rows).astype(np.float64) @ query), kind="stable")[:PAGE]
                found = snapshot.nearest(query, scopes[0], PAGE)
                inside = np.isin(rows[order], found.rows)
                pages.append(inside.mean())
                best.append(inside[:K].all())
        exact_store.close()
    mode = "approximate" if found.approximate else "exact"
    return {"mode": mode, "first pages": f"{np.mean(pages):.4f}", "best ten equal": f"{np.mean(best):.3f}"}
