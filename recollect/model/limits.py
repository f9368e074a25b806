"""Limits: how large the input of each call may be. One table; docs/limits.md lists it.

The defaults are such that calls with an input below them take less than a second of CPU, except for queries at the
limit by the recipe abmind, which take 1.4 s (``python bench/limits.py`` measures
it). Change them for the whole process with ``set_limits(query_bytes=50_000)``, the environment variable
RECOLLECT_LIMITS ("query_bytes=50000 results=200000"), or ``recollect.limits`` in your own configuration.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from recollect.errors import InvalidInput

VARIABLE = "RECOLLECT_LIMITS"


@dataclass(frozen=True, slots=True)
class Limit:
    """A default, and what it bounds."""

    default: int
    about: str


LIMITS: dict[str, Limit] = {
    "memory_bytes": Limit(
        131_072,
        "All texts of a memory in UTF-8: text, original, title, summary, lists, context. "
        "What the context repeats of the text counts once.",
    ),
    "name_bytes": Limit(10_000, "An id, or a keyword field such as collection, user, session, topic or path."),
    "list_items": Limit(1_000, "The items of a list of a memory: tags, keywords, entities, files, flags."),
    "json_depth": Limit(100, "How deep objects and lists of a context or a filter are nested."),
    "query_bytes": Limit(10_000, "A query in UTF-8, or a text in which names are looked for."),
    "history_turns": Limit(10_000, "The turns of a history; the last six are read."),
    "results": Limit(10_000, "k, how many results a recall returns; over HTTP and MCP at most 1,000."),
    "filter_items": Limit(10_000, "The values of one condition of a filter, and the parts of an or."),
    "import_record_bytes": Limit(
        67_108_864, "One record or line of an import, as it is read; a longer line is skipped."
    ),
    "import_files": Limit(100_000, "The files of one import from a folder or a zip file."),
    "front_matter_bytes": Limit(65_536, "The front matter of a Markdown file; a longer one is read as text."),
    "front_matter_keys": Limit(1_000, "The keys of a front matter, at any depth."),
    "vector_dimensions": Limit(16_384, "The dimensions of an embedder's vectors."),
    "vector_answer_bytes": Limit(1_048_576, "What an embedding service answers, for each text of a request."),
}
_current: dict[str, int] = {}


def limit(name: str) -> int:
    """The limit that holds now."""
    if not _current:
        _current.update({each: known.default for each, known in LIMITS.items()})
        _current.update(_parsed(os.environ.get(VARIABLE, "")))
    return _current[name]


def set_limits(**limits: int) -> None:
    """Change limits for the whole process."""
    checked = _checked(limits)
    limit("results")  # the defaults and the environment first
    _current.update(checked)


@contextmanager
def changed_limits(**limits: int) -> Iterator[None]:
    """Other limits inside a with block."""
    limit("results")
    before = dict(_current)
    set_limits(**limits)
    try:
        yield
    finally:
        _current.update(before)


def check_limit(name: str, size: int, what: str) -> None:
    """Refuse something that is larger than a limit; ``what`` is a sentence such as "The query has 30,000 bytes"."""
    allowed = limit(name)
    if size > allowed:
        raise InvalidInput(limit_message(name, what))


def limit_message(name: str, what: str) -> str:
    return (
        f"{what}; the limit {name} is {limit(name):,}. Give less, or change the limit: "
        f"{VARIABLE}={name}=N, recollect.limits in your configuration, or set_limits({name}=N)."
    )


def _parsed(text: str) -> dict[str, int]:
    pairs = [each.partition("=") for each in text.replace(",", " ").split()]
    if not all(equals and value.isascii() and value.isdigit() for _, equals, value in pairs):
        raise InvalidInput(f"{VARIABLE} must be like 'query_bytes=50000 results=200000', not {text!r}.")
    return _checked({name: int(value) for name, _, value in pairs})


def _checked(limits: Mapping[str, int]) -> dict[str, int]:
    for name, value in limits.items():
        if name not in LIMITS:
            raise InvalidInput(f"There is no limit {name!r}; the limits are: {', '.join(LIMITS)}.")
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidInput(f"The limit {name} must be a whole number of at least 1, not {value!r}.")
    return dict(limits)
