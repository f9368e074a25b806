"""Enrichment: notes about results that share a topic or contradict each other (A15)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from recollect.model import Memory
from recollect.recall.hits import Annotate, HitOperation, Hits
from recollect.recall.run import Run, Skip
from recollect.records import dataclass

CONFLICT = "⚠️ Conflicts with another result"
TIMELINE_CHARACTERS = 48  # of each text
EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Enrichment:
    """Adds notes (A15): a timeline to results that share a topic, a warning to those linked by ``contradicts``."""

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
        links = run.edges(rows, ["contradicts"])
        pairs = zip(links.sources.tolist(), links.targets.tolist(), strict=True)
        conflicts = [pair for pair in pairs if memories.keys() >= {*pair}]
        for row in dict.fromkeys([source for source, _ in conflicts] + [target for _, target in conflicts]):
            notes.setdefault(row, []).append(self.conflict)
        if not notes:
            raise Skip("no results share a topic or contradict each other")
        return [Annotate(notes)]

    def _timeline(self, topic: str, memories: list[Memory], this: Memory) -> str:
        """``Timeline of “db”: 2025-01-05 “We chose MySQL.” → 2025-03-01 this``."""
        entries = []
        for memory in memories:
            day = memory.created.astimezone(self.zone).date().isoformat() if memory.created else "undated"
            text = " ".join(memory.text.split())
            short = text if len(text) <= TIMELINE_CHARACTERS else text[: TIMELINE_CHARACTERS - 1].rstrip() + "…"
            entries.append(f"{day} this" if memory is this else f"{day} “{short}”")
        return f"Timeline of “{topic}”: " + " → ".join(entries)
