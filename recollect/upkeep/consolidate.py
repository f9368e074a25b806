"""Consolidation: summaries of sessions and of days, weeks or quarters, by rule or by a language model."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Literal

from recollect.chat import ChatModel, TimedHook, resolve_hook
from recollect.errors import InvalidInput
from recollect.model import Memory, check, lowest_trust
from recollect.model.zones import to_zone
from recollect.text.stopwords import ENGLISH
from recollect.text.words import stem, words

Period = Literal["daily", "weekly", "quarterly"]
Summarise = Callable[[Sequence[Memory]], str]
MAX_MEMORIES = 12  # in a note
MAX_SUMMARY_CHARACTERS = 4_000
MAX_REQUEST_CHARACTERS = 40_000  # of the texts that a chat model gets: the most representative ones
TASK = (
    "You get JSON with texts that somebody noted. Summarise them in a few paragraphs, in the language of the texts, "
    'with every name, number and date that matters, and nothing that they do not say. Reply as {"summary": "…"}.'
)


@dataclass(frozen=True, slots=True)
class PeriodNote:
    """A note about a day, week or quarter: its file name and its Markdown."""

    period: Period
    name: str
    markdown: str


class Summariser:
    """Summaries by a model with one deadline for all of them; by rule where it fails or the time is over."""

    def __init__(self, summarise: Summarise | ChatModel | str, seconds: float) -> None:
        by_chat = partial(partial, summarise_by_chat)
        hook = resolve_hook(summarise, "summarise", by_chat, "memories to a text")
        self._hook = TimedHook(hook, "summary", seconds, "Extracts are used instead.")

    def summary(self, memories: Sequence[Memory]) -> str | None:
        """A summary, or None when the rules have to do it."""
        return self._hook.call(memories, _check_summary)


def _check_summary(text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"the summary must be a text, not {check.short_repr(text)}")
    visible = "".join(each if each.isprintable() or each == "\n" else " " for each in text)
    return visible[:MAX_SUMMARY_CHARACTERS].strip()


def summarise_by_chat(model: ChatModel, memories: Sequence[Memory]) -> str:
    """A summary by a chat model."""
    texts, left = [], MAX_REQUEST_CHARACTERS
    for memory in select_representative(memories, limit=200):
        left -= len(memory.text)
        if left < 0:
            break
        texts.append({"created": memory.created and memory.created.isoformat(), "text": memory.text})
    summary = model.reply_object(TASK, {"texts": texts}, "summary")["summary"]
    return summary if isinstance(summary, str) else ""


def period_name(moment: datetime, period: Period) -> str:
    """The name of the day, ISO week or quarter that contains a moment."""
    if period == "daily":
        return moment.strftime("%Y-%m-%d")
    if period == "weekly":
        year, week, _ = moment.isocalendar()
        return f"{year}-W{week:02d}"
    if period == "quarterly":
        return f"{moment.year}-Q{(moment.month - 1) // 3 + 1}"
    raise InvalidInput(f"period must be 'daily', 'weekly' or 'quarterly', not {period!r}.")


def make_notes(
    memories: Sequence[Memory], period: Period, summariser: Summariser | None = None, zone: tzinfo | None = None
) -> list[PeriodNote]:
    """One note for each period of a time zone that has memories, oldest first; the same memories give the same."""
    periods: dict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        if memory.created is not None:
            periods[period_name(to_zone(memory.created, zone or UTC), period)].append(memory)
    return [
        PeriodNote(period, name, _note_markdown(name, members, summariser)) for name, members in sorted(periods.items())
    ]


def write_notes(folder: Path, notes: Sequence[PeriodNote], bound: Mapping[str, str]) -> list[Path]:
    """Write notes as ``consolidation/daily/2026-03-02.md``, those whose content changed; returns their paths.

    The front matter has the bound of the mind: no mind of another bound reads them.
    """
    header = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in bound.items())
    header = f"---\n{header}---\n\n" if header else ""
    written = []
    for note in notes:
        path = folder / "consolidation" / note.period / f"{note.name}.md"
        markdown = header + note.markdown
        if not path.exists() or path.read_text("utf-8") != markdown:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(".md.new")
            temporary.write_text(markdown, "utf-8")
            temporary.replace(path)
            written.append(path)
    return written


def session_summary(session: str, memories: Sequence[Memory], summariser: Summariser | None = None) -> Memory:
    """A memory that summarises a session; made again, it replaces the earlier one."""
    text = summariser.summary(memories) if summariser else None
    if text is None:
        text = "\n".join(" ".join(each.text.split()) for each in select_representative(memories))
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
        user=_common_value(memories, "user"),
        agent=_common_value(memories, "agent"),
        classification=max(memory.classification for memory in memories),  # it reveals what any of them reveals
        created=last,
        trust=lowest_trust(memories),
    )


def _common_value(memories: Sequence[Memory], name: str) -> str:
    """The value that all have in this field; empty if they differ, as a summary of several users belongs to none."""
    values = {getattr(memory, name) for memory in memories}
    return str(values.pop()) if len(values) == 1 else ""


def select_representative(memories: Sequence[Memory], limit: int = MAX_MEMORIES) -> list[Memory]:
    """The memories that cover most of what all of them say, in order of time.

    Greedy: each next one has the most words that none of the selected has, weighted by how many memories share them and
    by importance. Ties go to the earlier one.
    """
    terms_of = [{stem(word) for word in words(memory.text) if word not in ENGLISH} for memory in memories]
    shared = Counter(term for terms in terms_of for term in terms)
    selected: list[int] = []
    covered: set[str] = set()
    while len(selected) < min(limit, len(memories)):
        left = [at for at in range(len(memories)) if at not in selected]
        gains = {at: _gain(terms_of[at] - covered, shared, memories[at]) for at in left}
        at = max(left, key=lambda each: (gains[each], -each))
        if selected and gains[at] == 0:
            break
        selected.append(at)
        covered |= terms_of[at]
    return [memories[at] for at in sorted(selected, key=lambda at: (str(memories[at].created or ""), at))]


def _gain(new_terms: set[str], shared: Counter[str], memory: Memory) -> float:
    return math.fsum(math.log1p(shared[term]) for term in sorted(new_terms)) * (1 + max(0.0, memory.importance))


def _note_markdown(name: str, memories: list[Memory], summariser: Summariser | None) -> str:
    """A heading, then the memories by topic, each a paragraph, which is what a search returns."""
    lines = [f"# {name}", ""]
    summary = summariser.summary(memories) if summariser else None
    if summary is not None:
        return "\n".join([*lines, summary, ""])
    topics: dict[str, list[Memory]] = defaultdict(list)
    for memory in select_representative(memories):
        topics[memory.topic].append(memory)
    for topic, members in sorted(topics.items()):
        if topic:
            lines += [f"## {topic}", ""]
        for memory in members:
            lines += [" ".join(memory.text.split()), ""]
    return "\n".join(lines)
