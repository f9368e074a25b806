"""The cues of abmind beside full text: Markdown notes (S6, A8), relations of names (S8, A9), signatures (Ss, A7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from recollect.model import EntityEdge, Memory
from recollect.model.matching import Period
from recollect.recall.expressions import Expression, leaf
from recollect.recall.hits import Candidates, no_candidates
from recollect.recall.ordering import best_first
from recollect.recall.recipe import Depth, fixed, times
from recollect.recall.run import Run, Skip
from recollect.recall.stages.links import relation_fields
from recollect.store.base import Floats, Rows
from recollect.text.entity_names import possible_names
from recollect.text.signatures import Signature, hamming_similarity, text_signature
from recollect.text.words import stem, words

PERIODS = ("daily", "weekly", "quarterly")
WEEK = re.compile(r"(\d{4})-?W(\d{2})", re.IGNORECASE)
QUARTER = re.compile(r"(\d{4})-?Q([1-4])", re.IGNORECASE)
DAY = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")
STRING_FIELDS = ("user", "agent", "collection", "session", "topic", "tier")  # that front matter may have
DUPLICATE_CHARACTERS = 80  # two paragraphs of one time with the same beginning are duplicates


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note file and its paragraphs."""

    path: str  # relative to the folder of notes
    period: str  # daily, weekly or quarterly
    fields: dict[str, Any]  # from its front matter
    paragraphs: tuple[tuple[Paragraph, frozenset[str]], ...]  # each with the stems of its words and its heading's


@dataclass(frozen=True, slots=True)
class NotesCue:
    """Paragraphs that have a word of the query, in ``consolidation/{daily,weekly,quarterly}/*.md`` (A8)."""

    name: str = "notes"
    folder: str | PathLike[str] | None = None
    zone: tzinfo | None = None  # in which days begin; None is that of the machine
    fixed_score: float = 0.5
    depth: Depth = times(3)

    def find(self, run: Run) -> Candidates:
        if self.folder is None:
            raise Skip("no folder of notes was given")
        folder = Path(self.folder).expanduser() / "consolidation"
        if not folder.is_dir():
            raise Skip(f"there is no folder {folder}")
        query_words = {stem(term.word): term.word for term in run.query.terms}
        found: dict[tuple[str, datetime | None], tuple[tuple[Any, ...], Memory]] = {}
        matched: dict[str, None] = {}
        refused = 0
        for note, span in self._notes(run, folder):
            if not run.is_within_bound(note.fields):
                continue
            matching = [(paragraph, stems & query_words.keys()) for paragraph, stems in note.paragraphs]
            matching = [(paragraph, stems) for paragraph, stems in matching if stems]
            if matching and not run.allows_external(
                {"kind": "note", "path": note.path, "created": span, **note.fields}
            ):
                refused += len(matching)
                continue
            start = None if span is None else span[0]
            for paragraph, stems in matching:
                order = (-len(stems), -(start.timestamp() if start else 0.0), note.path, paragraph.first)
                found.setdefault(
                    (paragraph.text[:DUPLICATE_CHARACTERS], start), (order, _note_memory(note, paragraph, start))
                )
                matched.update(dict.fromkeys(query_words[each] for each in stems))
        best = [memory for _, memory in sorted(found.values(), key=lambda each: each[0])][: self.depth(run.k)]
        keys = np.array([run.add_external(memory) for memory in best], dtype=np.int64)
        score = leaf(np.full(len(keys), self.fixed_score), f"{self.name}: a paragraph of a note").tag(
            "component", self.name
        )
        return Candidates(self.name, keys, score, len(found), {"how": _describe(best, list(matched), refused)})

    def score(self, run: Run, rows: Rows) -> Expression:
        return leaf(np.zeros(len(rows)), f"{self.name}: a memory is not a note")

    def _notes(self, run: Run, folder: Path) -> Iterator[tuple[NoteFile, Period | None]]:
        unreadable, inside = [], Path(self.folder or ".").expanduser().resolve()
        for period in PERIODS:
            for path in sorted(folder.glob(f"{period}/*.md")):
                if not path.resolve().is_relative_to(inside):  # a link to elsewhere is not followed
                    continue
                try:
                    known = path.stat()
                    note = _read(str(path), period, known.st_mtime_ns, known.st_size)
                except OSError as problem:
                    unreadable.append(f"{path.name}: {problem.strerror}")
                    continue
                yield note, span_of(path.stem, period, self.zone)
        if unreadable:
            run.log("unreadable", unreadable)


@lru_cache(maxsize=4096)
def _read(path: str, period: str, changed: int, size: int) -> NoteFile:
    """Read a file; cached as long as it does not change."""
    text = Path(path).read_text("utf-8", "replace")
    header = front_matter(text)
    fields: dict[str, Any] = {name: header[name] for name in STRING_FIELDS if header.get(name)}
    if re.fullmatch(r"-?\d{1,9}", header.get("classification", "")):
        fields["classification"] = int(header["classification"])
    with_stems = tuple((each, frozenset(map(stem, words(f"{each.heading}\n{each.text}")))) for each in paragraphs(text))
    return NoteFile("/".join(Path(path).parts[-3:]), period, fields, with_stems)


def span_of(name: str, period: str, zone: tzinfo | None) -> Period | None:
    """The days that a file covers, by its name: daily_2025-03-14, weekly_2025-W11, quarterly_2025-Q1.

    A date in the name is the first day; None for a name without one.
    """
    try:
        if week := WEEK.search(name):
            first = date.fromisocalendar(int(week[1]), int(week[2]), 1)
        elif quarter := QUARTER.search(name):
            first = date(int(quarter[1]), int(quarter[2]) * 3 - 2, 1)
        elif day := DAY.search(name):
            first = date(int(day[1]), int(day[2]), int(day[3] or 1))
        else:
            return None
        match period:
            case "daily":
                after = first + timedelta(days=1)
            case "weekly":
                after = first + timedelta(days=7)
            case _:
                months = first.month + 2
                after = date(first.year + months // 12, months % 12 + 1, 1)
        return _midnight(first, zone), _midnight(after, zone)
    except (ValueError, OverflowError):  # such as a thirteenth month
        return None


def _midnight(day: date, zone: tzinfo | None) -> datetime:
    naive = datetime.combine(day, time())
    return (naive.replace(tzinfo=zone) if zone is not None else naive.astimezone()).astimezone(UTC)


def _note_memory(note: NoteFile, paragraph: Paragraph, start: datetime | None) -> Memory:
    return Memory(
        paragraph.text,
        title=paragraph.heading,
        id=f"note:{note.path}#L{paragraph.first}-L{paragraph.last}",
        kind="note",
        source=note.period,
        path=note.path,
        lines=(paragraph.first, paragraph.last),
        confidence=None,
        created=start,
        **note.fields,
    )


def _describe(best: list[Memory], matched: list[str], refused: int) -> str:
    periods = " and ".join(period for period in PERIODS if any(each.source == period for each in best))
    found = f"{periods} notes mention " + ", ".join(f"“{word}”" for word in matched[:6]) if best else ""
    left_out = f"the filter left out {refused} that match" if refused else ""
    return "; ".join(each for each in (found, left_out) if each) or "no note has a word of the query"


HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*\s*$")
FIELD = re.compile(r"([A-Za-z_]+)\s*:\s*(.*)")


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    first: int  # line, counted from 1
    last: int
    heading: str  # the nearest one above it


def front_matter(text: str) -> dict[str, str]:
    """The fields between two lines of ``---`` at the beginning of a note, as ``name: value``."""
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---" or "---" not in (line.strip() for line in lines[1:]):
        return {}
    fields: dict[str, str] = {}
    for line in lines[1:]:
        if line.strip() == "---":
            break
        match = FIELD.fullmatch(line.strip())
        if match:
            fields[match[1].lower()] = match[2].strip().strip("\"'")
    return fields


def paragraphs(text: str) -> Iterator[Paragraph]:
    """The paragraphs in order, without headings and front matter.

    >>> [(each.text, each.heading) for each in paragraphs("# Week 10\\n\\nMoved to SQLite.\\nIt was easy.")]
    [('Moved to SQLite.\\nIt was easy.', 'Week 10')]
    """
    lines = text.lstrip("\ufeff").splitlines()
    skip = 0
    if front_matter(text):
        skip = next(at for at, line in enumerate(lines[1:], 1) if line.strip() == "---") + 1
    heading, first = "", 0
    block: list[str] = []
    for number, line in enumerate([*lines[skip:], ""], skip + 1):
        title = HEADING.match(line)
        if line.strip() and not title:
            first = first if block else number
            block.append(line.rstrip())
            continue
        if block:
            yield Paragraph("\n".join(block).strip(), first, number - 1, heading)
            block = []
        if title:
            heading = title[1]


@dataclass(frozen=True, slots=True)
class RelationsCue:
    """The relations of the first word that is a known name, strongest first: ``alice —[works_with]→ bob`` (A9).

    A name may have up to three words. A name whose relations the filter leaves out counts as unknown.
    """

    name: str = "relations"
    fixed_score: float = 0.6
    depth: Depth = fixed(100)

    def find(self, run: Run) -> Candidates:
        names = possible_names(run.query.text)
        if not names:
            raise Skip("the query has no words to look up")
        edges = [edge for edge in run.snapshot.relations(names) if run.allows_external(relation_fields(edge))]
        for name in names:
            matching = [edge for edge in edges if name in (edge.subject.casefold(), edge.object.casefold())]
            if matching:
                return self._candidates(run, name, matching)
        return Candidates(
            self.name, no_candidates("").keys, leaf(np.empty(0), self.name), 0, {"how": "no entity match"}
        )

    def score(self, run: Run, rows: Rows) -> Expression:
        return leaf(np.zeros(len(rows)), f"{self.name}: a memory is not a relation")

    def _candidates(self, run: Run, name: str, edges: list[EntityEdge]) -> Candidates:
        relations = {
            memory.id: memory for memory in map(_relation_memory, sorted(edges, key=lambda edge: -edge.weight))
        }
        shown = list(relations.values())[: self.depth(run.k)]
        keys = np.array([run.add_external(memory) for memory in shown], dtype=np.int64)
        score = leaf(np.full(len(keys), self.fixed_score), f"{self.name}: a relation of “{name}”").tag(
            "component", self.name
        )
        return Candidates(self.name, keys, score, len(relations), {"how": f"relations of “{name}”", "entity": name})


def _relation_memory(edge: EntityEdge) -> Memory:
    return Memory(
        f"{edge.subject} —[{edge.relation}]→ {edge.object}",
        id=f"relation:{edge.subject}/{edge.relation}/{edge.object}",
        kind="relation",
        entities=(edge.subject, edge.object),
        collection=edge.collection,
        user=edge.user,
        classification=edge.classification,
        source=edge.source,
        confidence=None,
        created=edge.created,
    )


@dataclass(frozen=True, slots=True)
class SignatureCue:
    """Hamming similarity of signatures, for memories that earlier cues have not found (A7)."""

    name: str = "signatures"
    bits: int = 256
    min_similarity: float = 0.65
    depth: Depth = fixed(5)

    def find(self, run: Run) -> Candidates:
        rows = run.snapshot.signature_candidates(self._query_signature(run), run.scope, self.min_similarity)
        seen = np.concatenate([np.empty(0, np.int64), *(each.keys for each in run.found.values())])
        rows = rows[~np.isin(rows, seen)]
        similarity = self._similarity(run, rows)
        best = best_first(run.snapshot, rows, similarity, self.depth(run.k))
        detail = {"how": f"signatures with at least {self.min_similarity:.0%} of {self.bits} bits in common"}
        return Candidates(self.name, rows[best], self._expression(similarity[best]), len(rows), detail)

    def score(self, run: Run, rows: Rows) -> Expression:
        return self._expression(self._similarity(run, rows))

    def _query_signature(self, run: Run) -> Signature:
        query_words = words(run.query.text)
        if not query_words:
            raise Skip("the query has no words to look up")
        return text_signature(query_words, self.bits)

    def _similarity(self, run: Run, rows: Rows) -> Floats:
        return hamming_similarity(self._query_signature(run), run.snapshot.signatures(self.bits, rows), self.bits)

    def _expression(self, similarity: Floats) -> Expression:
        return leaf(similarity, f"{self.name}: share of {self.bits} bits that are equal").tag("component", self.name)
