"""SQLite FTS5 as it comes: the words of the question joined by OR, best BM25 first."""

import re
import sqlite3
from collections.abc import Sequence

from bench.peers.quality.serve import Ask, Haystack, Vectors, serve

MATCH = "SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?"


def build(haystack: Haystack) -> Ask:
    file = sqlite3.connect(f"{haystack.folder}/fts5.db")
    file.execute("CREATE VIRTUAL TABLE f USING fts5(text, tokenize = 'porter unicode61')")
    file.executemany("INSERT INTO f (rowid, text) VALUES (?, ?)", enumerate(haystack.texts))

    def ask(text: str, vector: Vectors, k: int) -> Sequence[int]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        return [row for (row,) in file.execute(MATCH, (words, k))] if words else []

    return ask


if __name__ == "__main__":
    serve("sqlite3", build)
