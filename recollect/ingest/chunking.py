"""Cutting a Markdown text into chunks: pieces of bounded size, where the writing pauses, with their lines and headings.

The scanner goes line by line and knows headings, fences, lists and paragraphs, which is all that cutting needs. A full
parser (markdown-it-py) took 0.25 s of CPU a megabyte here, six times as much, for a tree that would be thrown away.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.text.words import SPACELESS

PER_TOKEN = 4  # characters, roughly; in scripts without spaces a character is a token by itself
SMALL = 8  # a section below 1 in so many of a chunk is not worth one of its own

UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*\s+|[。！？]+")
FENCED = re.compile(r"^[ \t>]*(```|~~~).*?(?:^[ \t>]*\1|\Z)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[\[([^\[\]|#^\n]+)")
TAG = re.compile(r"#(?<!\S#)([^\W\d_][\w/-]*)")  # the mark first, by which it is searched fast


@dataclass(frozen=True, slots=True)
class Cutting:
    """How large chunks are, and how much of one the next repeats, in tokens."""

    tokens: int = 400  # O13
    overlap: int = 80  # O13

    def __post_init__(self) -> None:
        for name in ("tokens", "overlap"):
            check.whole(getattr(self, name), name)
        if self.tokens < 1 or not 0 <= self.overlap < self.tokens:
            raise InvalidInput(
                f"A chunk has at least 1 token and repeats fewer than it has, not {self.tokens} and {self.overlap}."
            )


DEFAULT = Cutting()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file: the text of its lines, or of a part of one that was too long for a chunk."""

    text: str
    first: int  # lines, counted from 1
    last: int
    headings: tuple[str, ...] = ()  # above all of it, outermost first
    tags: tuple[str, ...] = ()  # written as #tag
    links: tuple[str, ...] = ()  # written as [[name]]


def chunks(
    lines: Sequence[str], cutting: Cutting = DEFAULT, front: int = 0, front_is_text: bool = False
) -> Iterator[Chunk]:
    """The chunks of these lines, of which so many at the beginning are front matter: no text, as a rule."""
    return _Cutter(lines, cutting).chunks(front, front_is_text)


# A place is an offset into the whole text, a span two of them.


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


class _Cutter:
    """One text. Blocks become sections, sections units that should stay whole, and units chunks."""

    def __init__(self, lines: Sequence[str], cutting: Cutting) -> None:
        self.lines = lines
        self.text = "\n".join(lines)
        self.starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self.most = cutting.tokens * PER_TOKEN
        self.repeat = cutting.overlap * PER_TOKEN
        self.small = self.most // SMALL
        self.wide = not self.text.isascii() and SPACELESS.search(self.text) is not None

    def chunks(self, front: int, front_is_text: bool) -> Iterator[Chunk]:
        blocks = self._blocks(front)
        if front_is_text:
            blocks = chain([_Block(1, front - 2)], blocks)  # what stands between its rules
        for section in self._sections(blocks):
            for start, end in self._packed(self._units(section)):
                text = self.text[start:end]
                first, last = bisect_right(self.starts, start), bisect_left(self.starts, end)
                yield Chunk(text, first, last, section.path, *_marks(self.text[max(start, self.starts[front]) : end]))

    def _size(self, start: int, end: int) -> int:
        size = end - start
        if self.wide:
            size += (PER_TOKEN - 1) * sum(map(len, SPACELESS.findall(self.text, start, end)))
        return size

    def _span(self, first: int, last: int) -> tuple[int, int]:
        """From the beginning of a line to the end of another."""
        return self.starts[first], self.starts[last + 1] - 1

    def _sections(self, blocks: Iterable[_Block]) -> Iterator[_Section]:
        """A section begins at a heading, unless the one before it is small and not of a lower level."""
        above: list[tuple[int, str]] = []
        held: _Section | None = None
        for block in blocks:
            if block.heading is None:
                if held is None:
                    held = _Section(0, (), [])
                held.blocks.append(block)
                continue
            level = block.heading[0]
            above = [*(each for each in above if each[0] < level), block.heading]
            path = tuple(text for _, text in above if text)
            if held is not None and level >= held.level and self._is_small(held):
                held.blocks.append(block)
                held.path = _joined(held.path, path)
                continue
            if held is not None:
                yield held
            held = _Section(level, path, [block])
        if held is not None:
            yield held

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
                while last > first and not lines[last].strip():  # a fence that nobody closed
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
        """Spans that should not be cut, none larger than a chunk; a heading goes with what follows it."""
        waiting: int | None = None  # where a heading begins that nothing has followed yet
        reach = 0
        for block in section.blocks:
            if block.heading is not None and self._size(*self._span(block.first, block.last)) <= self.most:
                waiting = self.starts[block.first] if waiting is None else waiting
                reach = self._span(block.first, block.last)[1]
                continue
            most = self.most
            if waiting is not None and not block.fenced:  # rather a part beside its heading than the heading alone
                most = max(most - (self.starts[block.first] - waiting), most // 2)
            for start, end in self._fitting(block.first, block.last, most):
                if waiting is not None and self._size(waiting, end) <= self.most:
                    start = waiting
                elif waiting is not None:
                    yield from self._headings(waiting, reach)
                waiting = None
                yield start, end
        if waiting is not None:
            yield from self._headings(waiting, reach)

    def _headings(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Headings in a row that found no place beside a text."""
        if self._size(start, end) <= self.most:
            yield start, end
        else:
            yield from self._by_line(bisect_right(self.starts, start) - 1, bisect_left(self.starts, end) - 1)

    def _fitting(self, first: int, last: int, most: int) -> Iterator[tuple[int, int]]:
        """A block as it is when it fits, else its parts: items of a list or what blank lines divide, then lines."""
        span = self._span(first, last)
        if self._size(*span) <= most:
            yield span
            return
        begins = [at for at in range(first + 1, last + 1) if self._begins_part(at)]
        for start, after in zip([first, *begins], [*begins, last + 1], strict=True):
            end = after - 1
            while end > start and not self.lines[end].strip():
                end -= 1
            span = self._span(start, end)
            if self._size(*span) <= most:
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
                if self._size(start, end) <= self.most:
                    yield start, end
                else:
                    yield from self._sentences(start, end)

    def _sentences(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """A line that is too long, by its sentences; what is too long without one is cut between words, or anywhere."""
        bounds = [found.end() for found in SENTENCE_END.finditer(self.text, start, end)]
        for bound in [*bounds, end]:
            while bound - start > self.most or self._size(start, bound) > self.most:
                room = self._room(start, bound)
                space = self.text.rfind(" ", start + 1, start + room)
                cut = start + room if space < 0 else space + 1
                yield from self._trimmed(start, cut)
                start = cut
            yield from self._trimmed(start, bound)
            start = bound

    def _room(self, start: int, end: int) -> int:
        """How many characters from a place on fit into a chunk."""
        room = min(self.most, end - start)
        while room > 1 and self._size(start, start + room) > self.most:
            room -= max(1, (self._size(start, start + room) - self.most) // PER_TOKEN)
        return room

    def _trimmed(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        text = self.text[start:end]
        if text.strip():
            yield start + len(text) - len(text.lstrip()), start + len(text.rstrip())

    def _packed(self, units: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """As many units to a chunk as fit, each chunk repeating the end of the one before it."""
        begins: list[int] = []  # of the units of this chunk
        start = end = -1
        for unit_start, unit_end in units:
            if start < 0:
                start, begins = unit_start, []
            elif self._size(start, unit_end) > self.most:
                yield start, end
                start, begins = self._repeating(start, end, unit_start, unit_end, begins), []
            begins.append(unit_start)
            end = unit_end
        if start >= 0:
            yield start, end

    def _repeating(self, start: int, end: int, unit_start: int, unit_end: int, begins: list[int]) -> int:
        """Where the next chunk begins so that it repeats whole lines (or sentences of a long one) of the last."""
        line = bisect_right(self.starts, end) - 1
        places = [at for at in begins if at > start]
        while self.starts[line] > start and end - self.starts[line] <= self.repeat:
            if self.lines[line].strip():
                places.append(self.starts[line])
            line -= 1
        allowed = (at for at in places if self._size(at, end) <= self.repeat and self._size(at, unit_end) <= self.most)
        return min(allowed, default=unit_start)


def _fence(line: str) -> str | None:
    """The marks that begin a fenced text, if this line does."""
    if "```" not in line and "~~~" not in line:
        return None
    found = FENCE.match(line)
    return found[1] if found else None


def _closes(line: str, fence: str) -> bool:
    marks = line.strip(" \t>")
    return len(marks) >= len(fence) and not marks.strip(fence[0])


def _heading(line: str) -> tuple[int, str] | None:
    """The level and text of a heading, without the marks that it is drawn with."""
    if "#" not in line[:4]:
        return None
    marked = line.lstrip(" ")
    text = marked.lstrip("#")
    level = len(marked) - len(text)
    if len(line) - len(marked) > 3 or not 1 <= level <= 6 or text[:1].strip():
        return None
    text = text.rstrip()
    without = text.rstrip("#")
    if not without.strip() or without[-1] in " \t":  # a closing run of # is none of it
        text = without
    return level, text.replace("**", "").replace("`", "").strip()


def _joined(path: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The deeper of two headings where one stands under the other, else what both stand under."""
    for shared, (mine, theirs) in enumerate(zip(path, other, strict=False)):
        if mine != theirs:
            return path[:shared]
    return max(path, other, key=len)


def _marks(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The #tags and the [[names]] in a text, but for what is fenced."""
    if "#" not in text and "[[" not in text:
        return (), ()
    if "```" in text or "~~~" in text:
        text = FENCED.sub("", text)
    tags = dict.fromkeys(TAG.findall(text)) if "#" in text else ()
    links = dict.fromkeys(name.strip() for name in LINK.findall(text)) if "[[" in text else ()
    return tuple(tags), tuple(name for name in links if name)
