"""The recipes as hand-written code over a copy of the file: one connection, FTS5 tables beside the rows.

What a competent program would do that has the same libraries, does what a recipe's document asks, and need not explain
itself. In its favour: questions come to it read (their words are given), nothing is checked, filtered or traced, no
model is waited for, and results are dictionaries.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from bench.synthetic_data import BenchQuery, Vectors

TABLES = {"plain": "unicode61", "stems": "porter", "grams": "trigram"}
AMONG = "IN (SELECT value FROM json_each(?1))"
FETCH = f"SELECT m.row, m.*, u.* FROM memories m LEFT JOIN use u ON u.row = m.row WHERE m.row {AMONG}"
EMPTY: dict[str | None, Any] = {"[]": (), "{}": {}, None: ()}
JSON = ("keywords", "tags", "entities", "context", "files", "flags", "emotion_tags", "recall_times")
MARK = (
    "INSERT INTO use (row, access_count, last_accessed) SELECT value, 1, ?2 FROM json_each(?1) WHERE true "
    "ON CONFLICT (row) DO UPDATE SET access_count = access_count + 1, last_accessed = ?2"
)
REMEMBER = (
    "INSERT INTO use (row, recall_count, last_recalled, recall_times) VALUES (?1, 1, ?2, ?3) "
    "ON CONFLICT (row) DO UPDATE SET recall_count = recall_count + 1, last_recalled = ?2, recall_times = ?3"
)
WORTH = (
    "SELECT m.row, emotion, relevance, trust, credibility, tier, created, coalesce(recall_count, 0) "
    f"FROM memories m LEFT JOIN use u ON u.row = m.row WHERE m.row {AMONG}"
)
AROUND = (
    f"SELECT source, target, weight FROM edges WHERE source {AMONG} "
    f"UNION ALL SELECT target, source, weight FROM edges WHERE target {AMONG}"
)
STANDING = (
    "SELECT m.row, coalesce(last_accessed, created), strength, confidence, status "
    f"FROM memories m LEFT JOIN use u ON u.row = m.row WHERE m.row {AMONG}"
)
CONTRADICTIONS = f"SELECT source, target FROM edges WHERE kind = 'contradicts' AND source {AMONG}"
TOLD = f"SELECT row, created, status, session, speaker, role FROM memories WHERE row {AMONG}"
CODE = re.compile(r"^\s*(?:def|class|import|return|function|const)\b|[;{}]\s*$", re.MULTILINE)
DAY = 86_400e6  # microseconds
Ranked = list[tuple[int, float]]  # rows with their scores, best first


class HandWrittenRecipes:
    """A copy of a filled memory, and a method for each recipe that answers with rows."""

    def __init__(self, source: Path, vectors: Vectors) -> None:
        path = source.with_suffix(".straight.db")
        shutil.copy(source, path)
        self.connection = apsw.Connection(str(path))
        self.connection.pragma("journal_mode", "wal")
        self.connection.pragma("synchronous", "NORMAL")  # a mark of use need not survive a pulled plug
        for name, tokenizer in TABLES.items():
            self.connection.execute(f"CREATE VIRTUAL TABLE {name} USING fts5(text, tokenize = {tokenizer})")
            self.connection.execute(f"INSERT INTO {name} (rowid, text) SELECT row, text FROM memories")
        self._columns = [name for name, _ in self.connection.execute(FETCH, ("[1]",)).get_description()]
        self._vectors = vectors  # in the order of the rows, which count from 1

    def default(self, asked: BenchQuery, k: int) -> list[Any]:
        words = dict(self._match("stems", asked.words, -1))  # all: the neighbours' words count, too
        cosines = self._vectors @ asked.vector
        rows = {*list(words)[:50], *self._top(cosines, 50)}
        most = max(words.values(), default=1.0)
        near = {row: float(cosines[row - 1]) for row in rows}
        low, high = min(near.values()), max(near.values())
        now, factors = time.time_ns() // 1000, {"superseded": 0.5, "contradicted": 0.3}
        share = self._share([*list(words)[:4], *self._top(cosines, 4)])
        scores, sessions = dict[int, float](), dict[int, str]()
        for row, created, status, session, speaker, role in self._ask(TOLD, rows):
            blend = (1 - share) * words.get(row, 0.0) / most + share * (near[row] - low) / (high - low)
            blend *= 0.8 if speaker and speaker.lower() not in asked.text.lower() else 1.0
            recency = 0.98 + 0.02 * 2 ** (-(now - created) / DAY / 30)
            scores[row] = blend * (0.7 if role == "assistant" else 1.0) * recency * factors.get(status, 1.0)
            sessions[row] = session or str(row)
        best = dict[str, float]()
        for row, score in scores.items():
            best[sessions[row]] = max(best.get(sessions[row], 0.0), score)
        return self._answer({row: 0.7 * score + 0.3 * best[sessions[row]] for row, score in scores.items()}, k)

    def _share(self, rows: list[int]) -> float:
        """What vectors count beside words: more where the best candidates are long, and most where they are code."""
        texts = [text for (text,) in self._ask(f"SELECT text FROM memories WHERE row {AMONG}", rows)]
        if sum(bool(CODE.search(text)) for text in texts) * 2 > len(texts):
            return 0.8
        return 0.7 if sum(len(text.split()) > 50 for text in texts) * 2 > len(texts) else 0.5

    def robotmem(self, asked: BenchQuery, k: int) -> list[Any]:
        scores = self._ranks((self._match("plain", _all(asked), 2 * k), self._nearest(asked, 2 * k)))
        for row, context in self._ask(f"SELECT row, context FROM memories WHERE row {AMONG}", scores):
            if context != "{}" and json.loads(context).get("env", {}).get("sim_or_real") == "real":
                scores[row] *= 1.5
        return self._answer(scores, k)

    def openclaw(self, asked: BenchQuery, k: int) -> list[Any]:
        near = dict(self._nearest(asked, 4 * k))
        words = dict(self._match("plain", _all(asked), 4 * k, " AND "))
        if len(words) < 4 * k:
            words = dict(self._match("plain", _all(asked), 4 * k)) | words
        scores = {
            row: 0.7 * max(0.0, near.get(row, 0.0)) + 0.3 * words.get(row, 0.0) / (1 + words.get(row, 0.0))
            for row in near.keys() | words.keys()
        }
        return self._answer({row: score for row, score in scores.items() if score >= 0.35}, k)

    def abmind(self, asked: BenchQuery, k: int) -> list[Any]:
        """Words fill the places here, as they do in the recipe: no vectors, no signatures."""
        words = dict(self._match("grams", asked.words, 1000)) | dict(self._match("stems", asked.words, 1000))
        now, scores, feelings = time.time_ns() // 1000, {}, {}
        for row, emotion, relevance, trust, credibility, tier, created, recalls in self._ask(WORTH, words):
            feelings[row] = feeling = abs(emotion or 0.0)
            scores[row] = (
                (words[row] + 0.5 * math.log(1 + feeling))
                * (1 + 0.1 * recalls)
                * (1.2 if relevance and relevance > 0 else 1.0)
                * (0.5 + 0.5 * (trust or 0) / 3)
                * (1.25 if credibility is not None and credibility <= 2 else 1.0)
                * (1.3 if tier == "core" else 1.0)
                * max(0.3, 1 - (now - created) / DAY / 365)
                * (1 + feeling * 0.1)
            )
        best = sorted(scores, key=scores.__getitem__, reverse=True)[: 3 * k]
        times = {
            row: json.loads(said)
            for row, said in self._ask(f"SELECT row, recall_times FROM use WHERE row {AMONG}", best)
        }
        boosted = {row: (scores[row] + min(0.1, 0.02 * feelings[row])) * _spacing(times.get(row, [])) for row in best}
        order = self._diverse(boosted)[:k]
        self._ask(CONTRADICTIONS, order)
        rows = self._fetch(order)
        marks = [(row, now, json.dumps([*times.get(row, []), now][-20:])) for row in order]
        with self.connection:
            self.connection.executemany(REMEMBER, marks)
        return rows

    def openmem(self, asked: BenchQuery, k: int) -> list[Any]:
        words = dict(self._match("plain", _all(asked), 4 * k))
        most = max(words.values(), default=1.0)
        active = {row: score / most for row, score in words.items()}
        frontier: Iterable[int] = active
        for _ in range(2):
            before, offers = dict(active), dict[int, float]()
            for source, target, weight in self._ask(AROUND, frontier):
                offers[target] = max(offers.get(target, 0.0), before[source] * weight * 0.5)
            frontier = [row for row, lent in offers.items() if lent > before.get(row, 0.0)]
            active |= {row: offers[row] for row in frontier}
        now, scores, strengths = time.time_ns() // 1000, {}, {}
        for row, seen, strength, confidence, status in self._ask(STANDING, active):
            recency = math.exp(-0.05 * max(0.0, (now - seen) / DAY))
            penalty = {"superseded": 0.5, "contradicted": 0.3}.get(status, 1.0)
            scores[row] = penalty * (0.5 * active[row] + 0.2 * recency + 0.2 * strength + 0.1 * (confidence or 0.0))
            strengths[row] = strength * (confidence or 0.0) * recency
        pairs = [pair for pair in self._ask(CONTRADICTIONS, scores) if pair[1] in scores]
        for weaker in {min(pair, key=strengths.__getitem__) for pair in pairs}:
            scores[weaker] *= 0.3
        return self._answer(scores, k)

    def jeffsbrain(self, asked: BenchQuery, k: int) -> list[Any]:
        scores = self._ranks((self._match("stems", asked.words, 60), self._nearest(asked, 60)))
        paths = {
            row: named
            for row, *named in self._ask(f"SELECT row, path, title, id FROM memories WHERE row {AMONG}", scores)
        }
        return self._answer(scores, k, paths)

    def qmd(self, asked: BenchQuery, k: int) -> list[Any]:
        lists = self._match("stems", asked.words, 50), self._nearest(asked, 50)
        scores = self._ranks(lists, 2.0)
        for bonus, place in ((0.05, 0), (0.02, 1), (0.02, 2)):
            for row in {each[place][0] for each in lists if len(each) > place}:
                scores[row] += bonus
        return self._answer(scores, k)

    def _match(self, table: str, words: Sequence[str], limit: int, joined: str = " OR ") -> list[Any]:
        sql = f"SELECT rowid, -bm25({table}) AS score FROM {table} WHERE {table} MATCH ? ORDER BY score DESC LIMIT ?"
        return self.connection.execute(sql, (joined.join(f'"{word}"' for word in words), limit)).fetchall()

    def _nearest(self, asked: BenchQuery, limit: int) -> Ranked:
        cosines = self._vectors @ asked.vector
        return [(row, float(cosines[row - 1])) for row in self._top(cosines, limit)]

    def _top(self, scores: Vectors, limit: int) -> list[int]:
        best = np.argpartition(scores, -limit)[-limit:]
        return list((best[np.argsort(-scores[best])] + 1).tolist())

    def _ranks(self, lists: Sequence[Ranked], weight: float = 1.0) -> dict[int, float]:
        scores: dict[int, float] = {}
        for each in lists:
            for rank, (row, _) in enumerate(each):
                scores[row] = scores.get(row, 0.0) + weight / (60 + rank + 1)
        return scores

    def _diverse(self, scores: dict[int, float]) -> list[int]:
        """Maximal marginal relevance over the words of the texts."""
        texts = self._ask(f"SELECT row, text FROM memories WHERE row {AMONG}", scores)
        words = {row: set(re.findall(r"\w+", text.lower())) for row, text in texts}
        best, order = max(scores.values(), default=1.0), []
        nearest, left = dict.fromkeys(scores, 0.0), dict(scores)
        while left:
            pick = max(left, key=lambda row: 0.7 * scores[row] / best - 0.3 * nearest[row])
            order.append(pick)
            del left[pick]
            for row in left:
                shared = len(words[row] & words[pick])
                nearest[row] = max(nearest[row], shared / (len(words[row]) + len(words[pick]) - shared))
        return order

    def _answer(self, scores: dict[int, float], k: int, ties: dict[int, Any] | None = None) -> list[Any]:
        """The rows of the best, whose use is marked."""
        ordered = scores if ties is None else sorted(scores, key=ties.__getitem__)
        best = sorted(ordered, key=scores.__getitem__, reverse=True)[:k]
        rows = self._fetch(best)
        self.connection.execute(MARK, (json.dumps(best), time.time_ns() // 1000))
        return rows

    def _fetch(self, rows: list[int]) -> list[dict[str, Any]]:
        """Whole memories with their use, in this order, their JSON read."""
        cursor = self.connection.execute(FETCH, (json.dumps(rows),))
        found = {row[0]: dict(zip(self._columns, row, strict=True)) for row in cursor}
        for memory in found.values():
            for name in JSON:
                memory[name] = EMPTY[memory[name]] if memory[name] in EMPTY else json.loads(memory[name])
        return [found[row] for row in rows]

    def _ask(self, sql: str, rows: Iterable[int]) -> list[Any]:
        return self.connection.execute(sql, (json.dumps(list(rows)),)).fetchall()


def _all(asked: BenchQuery) -> list[str]:
    return asked.text.rstrip("?").lower().split()


def _spacing(times: list[int]) -> float:
    if len(times) < 2:
        return 1.0
    mean = (max(times) - min(times)) / DAY / (len(times) - 1)
    return 1.3 if mean >= 7 else 1.15 if mean >= 1 else 1.0
