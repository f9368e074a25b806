"""Splitting Markdown into chunks of bounded size at headings, paragraphs and sentences, with their lines and headings.

It scans line by line and knows headings, fences, lists and paragraphs, which is all that splitting needs. A full
parser (markdown-it-py) took 0.25 s of CPU per megabyte here, six times as much, for a tree that would be thrown away.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from recollect.errors import InvalidInput
from recollect.model import check
from recollect.text.words import SPACELESS

CHARACTERS_PER_TOKEN = 4  # roughly; in scripts without spaces every character is a token
SMALL_FRACTION = 8  # a section smaller than 1/8 of a chunk shares a chunk with the next

UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*\s+|[。！？]+")
SPACE = re.compile(r"\s+")
FENCED = re.compile(r"^[ \t>]*(```|~~~).*?(?:^[ \t>]*\1|\Z)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[\[([^\[\]|#^\n]+)")
TAG = re.compile(r"#(?<!\S#)([^\W\d_][\w/-]*)")  # starts with the literal #, which is searched fast


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """The maximum size of a chunk, and how much of one the next repeats, in tokens."""

    tokens: int = 400  # O13
    overlap: int = 80  # O13

    def __post_init__(self) -> None:
        for name in ("tokens", "overlap"):
            check.integer(getattr(self, name), name)
        if self.tokens < 1 or not 0 <= self.overlap < self.tokens:
            raise InvalidInput(
                f"tokens must be at least 1 and overlap must be from 0 to less than tokens, not {self.tokens} and "
                f"{self.overlap}."
            )


DEFAULT = ChunkSize()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a file: the text of its lines, or part of a line that was too long for a chunk."""

    text: str
    first: int  # lines, counted from 1
    last: int
    headings: tuple[str, ...] = ()  # that it stands under, outermost first
    tags: tuple[str, ...] = ()  # written as #tag
    links: tuple[str, ...] = ()  # written as [[name]]


def split_chunks(
    lines: Sequence[str], chunk_size: ChunkSize = DEFAULT, front: int = 0, front_is_text: bool = False
) -> Iterator[Chunk]:
    """The chunks of these lines. The first ``front`` lines are front matter, which is left out unless it is text."""
    return _Splitter(lines, chunk_size).split(front, front_is_text)


# Spans are pairs of offsets into the whole text.


@dataclass(slots=True)
class _Block:
    """Lines that belong together, by index: a heading, a paragraph, a list, a table or a fenced text."""

    first: int
    last: int
    heading: tuple[int, str] | None = None  # level and text
    fenced: bool = False


@dataclass(slots=True)
class _Section:
    """Blocks under a heading, and under further ones where they are small."""

    level: int
    path: tuple[str, ...]
    blocks: list[_Block]


class _Splitter:
    """Splits one text: lines form blocks, blocks sections, sections units that stay whole, and units chunks."""

    def __init__(self, lines: Sequence[str], chunk_size: ChunkSize) -> None:
        self.lines = lines
        self.text = "\n".join(lines)
        self.starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self.max_size = chunk_size.tokens * CHARACTERS_PER_TOKEN
        self.overlap = chunk_size.overlap * CHARACTERS_PER_TOKEN
        self.small = self.max_size // SMALL_FRACTION
        self.has_spaceless_script = not self.text.isascii() and SPACELESS.search(self.text) is not None

    def split(self, front: int, front_is_text: bool) -> Iterator[Chunk]:
        blocks = self._blocks(front)
        if front_is_text:
            blocks = chain([_Block(1, front - 2)], blocks)  # the lines between the two ---
        for section in self._sections(blocks):
            for start, end in self._pack(self._units(section)):
                text = self.text[start:end]
                first, last = bisect_right(self.starts, start), bisect_left(self.starts, end)
                tags, links = _tags_and_links(self.text[max(start, self.starts[front]) : end])
                yield Chunk(text, first, last, section.path, tags, links)

    def _size(self, start: int, end: int) -> int:
        size = end - start
        if self.has_spaceless_script:
            size += (CHARACTERS_PER_TOKEN - 1) * sum(map(len, SPACELESS.findall(self.text, start, end)))
        return size

    def _span(self, first: int, last: int) -> tuple[int, int]:
        """From the beginning of a line to the end of another."""
        return self.starts[first], self.starts[last + 1] - 1

    def _sections(self, blocks: Iterable[_Block]) -> Iterator[_Section]:
        """Group blocks by heading. A heading continues a small section of the same or a higher level."""
        above: list[tuple[int, str]] = []
        section: _Section | None = None
        for block in blocks:
            if block.heading is None:
                if section is None:
                    section = _Section(0, (), [])
                section.blocks.append(block)
                continue
            level = block.heading[0]
            above = [*(each for each in above if each[0] < level), block.heading]
            path = tuple(text for _, text in above if text)
            if section is not None and level >= section.level and self._is_small(section):
                section.blocks.append(block)
                section.path = _common_path(section.path, path)
                continue
            if section is not None:
                yield section
            section = _Section(level, path, [block])
        if section is not None:
            yield section

    def _is_small(self, section: _Section) -> bool:
        return self._size(*self._span(section.blocks[0].first, section.blocks[-1].last)) < self.small

    def _blocks(self, begin: int) -> Iterator[_Block]:
        lines, at, count = self.lines, begin, len(self.lines)
        while at < count:
            line = lines[at]
            if not line or line.isspace():
                at += 1
                continue
            first = at
            at += 1
            if fence := _fence(line):
                while at < count and not _closes(lines[at], fence):
                    at += 1
                last = min(at, count - 1)
                while last > first and not lines[last].strip():  # an unclosed fence
                    last -= 1
                yield _Block(first, last, fenced=True)
                at += 1
            elif heading := _heading(line):
                yield _Block(first, first, heading)
            elif at < count and UNDERLINE.match(lines[at]) and not ITEM.match(line):
                yield _Block(first, at, (1 if "=" in lines[at] else 2, line.strip()))
                at += 1
            else:
                while at < count and (line := lines[at]) and not (line.isspace() or _fence(line) or _heading(line)):
                    at += 1
                yield _Block(first, at - 1)

    def _units(self, section: _Section) -> Iterator[tuple[int, int]]:
        """Spans that should not be split, none larger than a chunk; a heading stays with the text below it."""
        heading_start: int | None = None  # of a heading without text so far
        heading_end = 0
        for block in section.blocks:
            if block.heading is not None and self._size(*self._span(block.first, block.last)) <= self.max_size:
                heading_start = self.starts[block.first] if heading_start is None else heading_start
                heading_end = self._span(block.first, block.last)[1]
                continue
            max_size = self.max_size
            if heading_start is not None and not block.fenced:  # rather split the block than leave the heading alone
                max_size = max(max_size - (self.starts[block.first] - heading_start), max_size // 2)
            for start, end in self._fitting(block.first, block.last, max_size):
                if heading_start is not None and self._size(heading_start, end) <= self.max_size:
                    start = heading_start
                elif heading_start is not None:
                    yield from self._headings(heading_start, heading_end)
                heading_start = None
                yield start, end
        if heading_start is not None:
            yield from self._headings(heading_start, heading_end)

    def _headings(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Consecutive headings that did not fit beside a text."""
        if self._size(start, end) <= self.max_size:
            yield start, end
        else:
            yield from self._by_line(bisect_right(self.starts, start) - 1, bisect_left(self.starts, end) - 1)

    def _fitting(self, first: int, last: int, max_size: int) -> Iterator[tuple[int, int]]:
        """The whole block if it fits, else its parts: list items or what blank lines separate, then lines."""
        span = self._span(first, last)
        if self._size(*span) <= max_size:
            yield span
            return
        part_starts = [at for at in range(first + 1, last + 1) if self._begins_part(at)]
        for start, after in zip([first, *part_starts], [*part_starts, last + 1], strict=True):
            end = after - 1
            while end > start and not self.lines[end].strip():
                end -= 1
            span = self._span(start, end)
            if self._size(*span) <= max_size:
                yield span
            else:
                yield from self._by_line(start, end)

    def _begins_part(self, at: int) -> bool:
        line = self.lines[at]
        return bool(line.strip()) and (ITEM.match(line) is not None or not self.lines[at - 1].strip())

    def _by_line(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        for at in range(first, last + 1):
            if self.lines[at].strip():
                start, end = self._span(at, at)
                if self._size(start, end) <= self.max_size:
                    yield start, end
                else:
                    yield from self._sentences(start, end)

    def _sentences(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Split a long line into sentences; a sentence that is too long is split between words, or anywhere."""
        bounds = [found.end() for found in SENTENCE_END.finditer(self.text, start, end)]
        for bound in [*bounds, end]:
            while bound - start > self.max_size or self._size(start, bound) > self.max_size:
                room = self._room(start, bound)
                space = self.text.rfind(" ", start + 1, start + room)
                cut = start + room if space < 0 else space + 1
                yield from self._trimmed(start, cut)
                start = cut
            yield from self._trimmed(start, bound)
            start = bound

    def _room(self, start: int, end: int) -> int:
        """How many characters from an offset on fit into a chunk."""
        room = min(self.max_size, end - start)
        while room > 1 and self._size(start, start + room) > self.max_size:
            room -= max(1, (self._size(start, start + room) - self.max_size) // CHARACTERS_PER_TOKEN)
        return room

    def _trimmed(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        text = self.text[start:end]
        if text.strip():
            yield start + len(text) - len(text.lstrip()), start + len(text.rstrip())

    def _pack(self, units: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Put as many units into a chunk as fit; each chunk repeats the end of the one before it."""
        unit_starts: list[int] = []  # of this chunk
        start = end = -1
        for unit_start, unit_end in units:
            if start < 0:
                start, unit_starts = unit_start, []
            elif self._size(start, unit_end) > self.max_size:
                yield start, end
                start, unit_starts = self._overlap_start(start, end, unit_start, unit_end, unit_starts), []
            unit_starts.append(unit_start)
            end = unit_end
        if start >= 0:
            yield start, end

    def _overlap_start(self, start: int, end: int, unit_start: int, unit_end: int, unit_starts: list[int]) -> int:
        """Where the next chunk begins so that it repeats the end of the last: whole lines (or sentences of a long
        one), or also the end of a line if whole lines are less than two thirds of what fits."""
        first_new = max(start + 1, unit_starts[0])  # nothing is repeated twice
        lowest = self._lowest_overlap(first_new, end, unit_end)
        line = bisect_right(self.starts, end) - 1
        starts = [at for at in unit_starts if at >= lowest]
        while self.starts[line] >= lowest:
            if self.lines[line].strip():
                starts.append(self.starts[line])
            line -= 1
        best = min(starts, default=end)
        if (end - best) * 3 < (end - lowest) * 2:
            best = self._start_within_line(lowest, best)
        return best if best < end else unit_start

    def _lowest_overlap(self, start: int, end: int, unit_end: int) -> int:
        """The first offset from which the end of the last chunk is no more than the overlap, and the next chunk is not
        too large; the end of the last chunk if there is none."""
        lowest = max(start, end - self.overlap, unit_end - self.max_size)
        while lowest < end:
            excess = max(self._size(lowest, end) - self.overlap, self._size(lowest, unit_end) - self.max_size)
            if excess <= 0:
                return lowest
            lowest += max(1, excess // CHARACTERS_PER_TOKEN)
        return end

    def _start_within_line(self, lowest: int, end: int) -> int:
        """The first sentence between two offsets, if it begins in the first half; or the first word; or the end."""
        sentence = SENTENCE_END.search(self.text, max(0, lowest - 2), (lowest + end) // 2)
        if sentence and lowest <= sentence.end():
            return sentence.end()
        if SPACELESS.match(self.text, lowest):
            return lowest
        space = SPACE.search(self.text, lowest - 1, end)
        return space.end() if space else end


def _fence(line: str) -> str | None:
    """The fence characters, if this line opens a fenced block."""
    if "```" not in line and "~~~" not in line:
        return None
    found = FENCE.match(line)
    return found[1] if found else None


def _closes(line: str, fence: str) -> bool:
    marks = line.strip(" \t>")
    return len(marks) >= len(fence) and not marks.strip(fence[0])


def _heading(line: str) -> tuple[int, str] | None:
    """The level and text of a heading, without Markdown characters."""
    if "#" not in line[:4]:
        return None
    marked = line.lstrip(" ")
    text = marked.lstrip("#")
    level = len(marked) - len(text)
    if len(line) - len(marked) > 3 or not 1 <= level <= 6 or text[:1].strip():
        return None
    text = text.rstrip()
    without = text.rstrip("#")
    if not without.strip() or without[-1] in " \t":  # a closing run of # does not belong to the text
        text = without
    return level, text.replace("**", "").replace("`", "").strip()


def _common_path(path: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The deeper of two heading paths if one contains the other, else their common beginning."""
    for shared, (heading, other_heading) in enumerate(zip(path, other, strict=False)):
        if heading != other_heading:
            return path[:shared]
    return max(path, other, key=len)


def _tags_and_links(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The #tags and the [[names]] in a text, outside of fenced blocks."""
    if "#" not in text and "[[" not in text:
        return (), ()
    if "```" in text or "~~~" in text:
        text = FENCED.sub("", text)
    tags = dict.fromkeys(TAG.findall(text)) if "#" in text else ()
    links = dict.fromkeys(name.strip() for name in LINK.findall(text)) if "[[" in text else ()
    return tuple(tags), tuple(name for name in links if name)
