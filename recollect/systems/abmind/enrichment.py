"""Enrichment: notes about results that share a topic or contradict each other (A15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from recollect.model import Memory
from recollect.recall.hits import Annotate, HitOperation, Hits
from recollect.recall.run import Run, Skip
from recollect.recall.statements import CONFLICT_REASONS, DECIDED_EDGES, SAMPLE, Statements, usual_cosine
from recollect.store.base import Rows

CONFLICT = "⚠️ Conflicts with another result"
QUOTE_CHARACTERS = 48  # of a text in a note
EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Enrichment:
    """Adds notes (A15): a timeline to results that share a topic, a warning to those that conflict.

    Results conflict if a ``contradicts`` edge connects them, or by the rules of ``recall/statements.py`` (B17) unless
    somebody has decided about the two (``supersedes``, ``same_as``).
    """

    zone: tzinfo | None = None  # of the dates shown; None is that of the machine
    conflict: str = CONFLICT
    name: str = "enrichment"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        keys = hits.keys[: run.k]
        rows = keys[keys > 0]
        notes: dict[int, list[str]] = {}
        memories = dict(zip(rows.tolist(), run.memories(rows), strict=True))
        by_topic: dict[str, list[int]] = {}
        for row, memory in memories.items():
            by_topic.setdefault(memory.topic, []).append(row)
        for topic, sharing in by_topic.items():
            if topic and len(sharing) > 1:
                sharing.sort(key=lambda row: memories[row].created or EARLIEST)
                for row in sharing:
                    notes.setdefault(row, []).append(
                        self._timeline(topic, [memories[each] for each in sharing], memories[row])
                    )
        for row, reasons in self._conflicts(run, rows, memories).items():
            notes.setdefault(row, []).extend([self.conflict, *reasons])
        if not notes:
            raise Skip("no results share a topic or contradict each other")
        return [Annotate(notes)]

    def _conflicts(self, run: Run, rows: Rows, memories: Mapping[int, Memory]) -> dict[int, list[str]]:
        """The results that conflict with another, each with the reasons of the conflicts that rules found."""
        links = run.edges(rows, DECIDED_EDGES)
        linked = list(zip(links.sources.tolist(), links.targets.tolist(), links.kinds, strict=True))
        decided = {frozenset(pair) for *pair, _ in linked}
        found: dict[int, list[str]] = {}
        for source, target, kind in linked:
            if kind == "contradicts" and memories.keys() >= {source, target}:
                found.setdefault(source, []), found.setdefault(target, [])
        usual = usual_cosine(run.snapshot, run.snapshot.page(run.scope, "stored", SAMPLE))
        statements = Statements.of(run.snapshot, rows, usual)
        for older, newer, rule in statements.conflicts():
            pair = int(rows[older]), int(rows[newer])
            if frozenset(pair) in decided:
                continue
            for row, other in (pair, pair[::-1]):
                found.setdefault(row, []).append(f"{CONFLICT_REASONS[rule]}: “{_short(memories[other].text)}”")
        return found

    def _timeline(self, topic: str, memories: list[Memory], this: Memory) -> str:
        """``Timeline of “db”: 2025-01-05 “We chose MySQL.” → 2025-03-01 this``."""
        entries = []
        for memory in memories:
            day = memory.created.astimezone(self.zone).date().isoformat() if memory.created else "undated"
            entries.append(f"{day} this" if memory is this else f"{day} “{_short(memory.text)}”")
        return f"Timeline of “{topic}”: " + " → ".join(entries)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTE_CHARACTERS else line[: QUOTE_CHARACTERS - 1].rstrip() + "…"
