"""Extraction: the names and the gist of a text, by rule or by a language model, for memories that have none.

OpenMem and robotmem search both fields beside the text; OpenMem's users have a model fill them in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from recollect.chat import ChatModel, TimedHook, one_line, resolve_hook
from recollect.model import Memory, check
from recollect.store.base import Store
from recollect.text.entity_names import find_names

ExtractFields = Callable[[str], Mapping[str, Any]]  # from a text to {"gist": …, "entities": […]}
Progress = Callable[[int, int], None]

MAX_NAMES, MAX_NAME_CHARACTERS = 20, 80
MAX_GIST_CHARACTERS = 300
LONG_TEXT = 200  # characters from which a text gets a gist: a shorter one is its own
MAX_REQUEST_CHARACTERS = 20_000
SENTENCE = re.compile(r".+?[.!?。！？](?=\s|$|[^\x00-\x7f])|.+", re.S)
TASK = (
    "You get JSON with a text that somebody noted. Find the names of people, places, organisations and things in it, "
    "written as in the text, and summarise it in one sentence in its language. Reply as "
    '{"gist": "…", "entities": ["…"]}.'
)


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a text is about: its gist (empty for a short text) and the names in it."""

    gist: str
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExtractSummary:
    """How many memories were read and changed, how many of those by a model, and why not more of them."""

    read: int
    changed: int
    by_model: int
    failure: str = ""


class Extractor:
    """Extractions by a model with one deadline for all of them; by rule where it fails or the time is over."""

    def __init__(self, known: Sequence[str], extract: ExtractFields | ChatModel | str | None, seconds: float) -> None:
        self._known = known
        by_chat, function = partial(partial, extract_by_chat), "a text to an object with gist and entities"
        hook = resolve_hook(extract, "extract", by_chat, function)
        self.hook = TimedHook(hook, "extraction", seconds, "The rules do the rest.")

    def extraction(self, text: str) -> Extraction:
        found = self.hook.call(text, lambda reply: check_extraction(reply, text))
        return extract_by_rules(text, self._known) if found is None else found


def extract_by_rules(text: str, known: Sequence[str] = ()) -> Extraction:
    """Names that are known or capitalised, and the first sentence of a long text."""
    first = SENTENCE.match(text.strip()) if len(text.strip()) >= LONG_TEXT else None
    gist = one_line(first[0], MAX_GIST_CHARACTERS) if first else ""
    return Extraction(gist, tuple(find_names(text, known)[:MAX_NAMES]))


def extract_by_chat(model: ChatModel, text: str) -> Mapping[str, Any]:
    return model.reply_object(TASK, {"text": text[:MAX_REQUEST_CHARACTERS]}, "gist", "entities")


def check_extraction(found: object, text: str) -> Extraction:
    """The gist and the names of a model's reply; only names that the text contains, as a model may invent some."""
    entities = found.get("entities", []) if isinstance(found, Mapping) and found.keys() & {"gist", "entities"} else None
    if not isinstance(found, Mapping) or not isinstance(entities, list | tuple):
        raise ValueError(f"an extraction is an object with gist and a list of entities, not {check.short_repr(found)}")
    inside = text.casefold()
    names = dict.fromkeys(one_line(name, MAX_NAME_CHARACTERS) for name in entities[: 10 * MAX_NAMES])
    stated = [name for name in names if name and name.casefold() in inside]
    gist = one_line(found.get("gist"), MAX_GIST_CHARACTERS) if len(text.strip()) >= LONG_TEXT else ""
    return Extraction(gist, tuple(stated[:MAX_NAMES]))


def extract_missing(
    store: Store, memories: Sequence[Memory], extractor: Extractor, progress: Progress | None = None
) -> ExtractSummary:
    """Fill in what memories lack; chunks of files are left alone, as a sync would undo it."""
    missing = [each for each in memories if not each.path and (not each.entities or not each.summary)]
    found = {}
    for number, memory in enumerate(missing, 1):
        found[memory.id] = extractor.extraction(memory.text)
        if progress is not None:
            progress(number, len(missing))
    texts = {memory.id: memory.text for memory in missing}
    changed = 0
    with store.transaction("extract") as transaction:
        for id, extraction in found.items():

            def filled(memory: Memory, extraction: Extraction = extraction, text: str = texts[id]) -> Memory:
                if memory.text != text or memory.status == "forgotten":  # changed meanwhile
                    return memory
                return replace(
                    memory,
                    entities=memory.entities or extraction.entities,
                    summary=memory.summary or extraction.gist,
                )

            changed += transaction.revise(id, filled).action == "changed"
    return ExtractSummary(len(missing), changed, extractor.hook.done, extractor.hook.failure)
