"""A comparison of several recipes on one query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recollect.model import Memory
from recollect.recall.results import Recall


@dataclass(frozen=True, slots=True)
class ComparedMemory:
    """A memory and its rank (from 1) with each recipe that returned it."""

    memory: Memory
    ranks: dict[str, int]

    def move(self, recipe: str, against: str) -> int | None:
        """How many ranks higher (positive) or lower than with another recipe; None when one of them left it out."""
        if recipe in self.ranks and against in self.ranks:
            return self.ranks[against] - self.ranks[recipe]
        return None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answers of several recipes to one query."""

    query: str
    recalls: dict[str, Recall]

    @property
    def lines(self) -> list[ComparedMemory]:
        """Every memory that any recipe returned, in the order of the first recipe, then of the second, …"""
        memories: dict[str, Memory] = {}
        ranks: dict[str, dict[str, int]] = {}
        for name, recall in self.recalls.items():
            for result in recall:
                memories.setdefault(result.memory.id, result.memory)
                ranks.setdefault(result.memory.id, {})[name] = result.rank
        return [ComparedMemory(memory, ranks[id]) for id, memory in memories.items()]

    def as_dict(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "recipes": {
                name: {
                    "milliseconds": round(recall.trace.milliseconds, 3),
                    "results": [
                        {
                            "rank": result.rank,
                            "id": result.memory.id,
                            "score": result.score,
                            "text": result.text,
                            "notes": list(result.notes),
                            "why": result.why.as_dict(),
                        }
                        for result in recall
                    ],
                    "trace": recall.trace.as_dict(),
                }
                for name, recall in self.recalls.items()
            },
        }
