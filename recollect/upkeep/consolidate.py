"""Consolidation: many memories into few words, by rule; a language model may be plugged in, none is needed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from recollect.errors import InvalidInput
from recollect.model import Memory
from recollect.text.stopwords import ENGLISH
from recollect.text.words import stem, words

Period = Literal["daily", "weekly", "quarterly"]
Summarise = Callable[[Sequence[Memory]], str]
MOST = 12  # memories a note


@dataclass(frozen=True, slots=True)
class Note:
    """A note about a stretch of time: its file's name and its Markdown."""

    period: Period
    name: str
    markdown: str


def period_of(moment: datetime, period: Period) -> str:
    """The name of the day, ISO week or quarter that a moment lies in."""
    if period == "daily":
        return moment.strftime("%Y-%m-%d")
    if period == "weekly":
        year, week, _ = moment.isocalendar()
        return f"{year}-W{week:02d}"
    if period == "quarterly":
        return f"{moment.year}-Q{(moment.month - 1) // 3 + 1}"
    raise InvalidInput(f"A period is daily, weekly or quarterly, not {period!r}.")


def notes(memories: Sequence[Memory], period: Period, summarise: Summarise | None = None) -> list[Note]:
    """One note for each stretch of time that has memories, oldest first; the same memories give the same notes."""
    stretches: dict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        if memory.created is not None:
            stretches[period_of(memory.created, period)].append(memory)
    return [Note(period, name, _markdown(name, held, summarise)) for name, held in sorted(stretches.items())]


def write(folder: Path, made: Sequence[Note]) -> list[Path]:
    """The notes as files: ``consolidation/daily/2026-03-02.md``; only those whose content changed are written."""
    written = []
    for note in made:
        path = folder / "consolidation" / note.period / f"{note.name}.md"
        if not path.exists() or path.read_text("utf-8") != note.markdown:
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(".md.new")
            fresh.write_text(note.markdown, "utf-8")
            fresh.replace(path)
            written.append(path)
    return written


def session_summary(session: str, memories: Sequence[Memory], summarise: Summarise | None = None) -> Memory:
    """One memory about a session; made again, it takes the place of the one before."""
    text = (
        summarise(memories).strip() if summarise else "\n".join(" ".join(each.text.split()) for each in gist(memories))
    )
    last = max((each.created for each in memories if each.created), default=None)
    entities = tuple(dict.fromkeys(name for memory in memories for name in memory.entities))
    return Memory(
        text=text,
        kind="summary",
        session=session,
        external_id=f"summary:{session}",
        source="consolidation",
        entities=entities,
        collection=memories[0].collection,
        user=memories[0].user,
        classification=max(memory.classification for memory in memories),  # it tells what any of them tells
        created=last,
    )


def gist(memories: Sequence[Memory], most: int = MOST) -> list[Memory]:
    """The memories that say most of what all of them say, in order of time.

    Greedy: each next one has the most words, weighted by how many memories share them and by importance, that none of
    the chosen has said yet. Ties go to the earlier one.
    """
    spoken = [{stem(word) for word in words(memory.text) if word not in ENGLISH} for memory in memories]
    shared = Counter(term for terms in spoken for term in terms)
    chosen: list[int] = []
    said: set[str] = set()
    while len(chosen) < min(most, len(memories)):
        left = [at for at in range(len(memories)) if at not in chosen]
        gains = {at: _gain(spoken[at] - said, shared, memories[at]) for at in left}
        at = max(left, key=lambda each: (gains[each], -each))
        if chosen and gains[at] == 0:
            break
        chosen.append(at)
        said |= spoken[at]
    return [memories[at] for at in sorted(chosen, key=lambda at: (str(memories[at].created or ""), at))]


def _gain(fresh: set[str], shared: Counter[str], memory: Memory) -> float:
    return math.fsum(math.log1p(shared[term]) for term in sorted(fresh)) * (1 + max(0.0, memory.importance))


def _markdown(name: str, memories: list[Memory], summarise: Summarise | None) -> str:
    """A heading, then a paragraph for each topic; a paragraph is what a search brings back."""
    lines = [f"# {name}", ""]
    if summarise is not None:
        lines += [summarise(memories).strip(), ""]
        return "\n".join(lines)
    topics: dict[str, list[Memory]] = defaultdict(list)
    for memory in gist(memories):
        topics[memory.topic].append(memory)
    for topic, held in sorted(topics.items()):
        if topic:
            lines += [f"## {topic}", ""]
        for memory in held:
            lines += [" ".join(memory.text.split()), ""]
    return "\n".join(lines)
