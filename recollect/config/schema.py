"""Every key of a configuration file: what it must be, its default, and what it does; the docs' table is of these."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
EMBEDDERS = re.compile(r"local|auto|none|(openai|gemini|ollama)(:[^@]*(@\d+)?)?|onnx:.+")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value must be, in words, and how it is read; ValueError when it is something else."""

    said: str
    read: Callable[[Any], Any]
    words: Callable[[], Iterable[str]] = tuple  # that it may be, or begin with


@dataclass(frozen=True, slots=True)
class Key:
    kind: Kind
    default: Any
    about: str
    unneeded: str = ""  # it is accepted, and this is why nothing comes of it
    secret: bool = False  # it is never shown
    guarded: bool = False  # where secrets go to is not for a file that merely lies in the workspace to say
    joined: bool = False  # what several files say is put together


def _wanted(fits: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not fits(value):
            raise ValueError
        return value

    return read


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def _are_plain(settings: dict[str, Any]) -> bool:
    """A text might name a file or a service, which is not for a workspace to say."""
    return all(isinstance(value, bool) or _is_number(value) for value in settings.values())


def _yes(value: Any) -> bool:
    words = {True: True, False: False, "yes": True, "no": False, "on": True, "off": False}
    if not isinstance(value, (bool, str)) or value not in words:
        raise ValueError
    return words[value]


def _span(value: Any) -> float:
    """Seconds."""
    if _is_number(value) and value >= 0:
        return float(value)
    found = SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError
    return float(found[1]) * SECONDS[found[2]]


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        raise ValueError
    return value


def _recipes() -> list[str]:
    from recollect.recall.registry import RECIPES  # imported where a file names one

    return [*RECIPES]


YES = Kind("true or false", _yes)
TEXT = Kind("a text", _wanted(lambda value: isinstance(value, str) and bool(value.strip())))
TEXTS = Kind("a list of texts", _texts)
SPAN_OF_TIME = Kind('a span of time, such as "30s", "5m" or "1h"', _span)
UNIT = Kind("a number from 0 to 1", _wanted(lambda value: _is_number(value) and 0 <= value <= 1))
HEADERS = Kind(
    "a map of texts",
    _wanted(lambda value: isinstance(value, dict) and all(isinstance(e, str) for pair in value.items() for e in pair)),
)
SETTINGS = Kind(
    "a map of recipes to their settings (numbers, true or false)",
    _wanted(lambda value: _is_map(value) and all(_is_map(said) and _are_plain(said) for said in value.values())),
)
ANYTHING = Kind("anything", lambda value: value)


def whole(low: int) -> Kind:
    fits = _wanted(lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= low)
    return Kind(f"a whole number, {low} or more", fits)


def number(low: float) -> Kind:
    return Kind(f"a number, {low:g} or more", _wanted(lambda value: _is_number(value) and value >= low))


def one_of(*words: str) -> Kind:
    return Kind(" or ".join(words), _wanted(lambda value: value in words), lambda: words)


def some_of(*words: str) -> Kind:
    fits = _wanted(lambda value: isinstance(value, list) and all(each in words for each in value))
    return Kind(f"a list of {' and '.join(words)}", fits, lambda: words)


PROVIDERS = ("openai", "gemini", "ollama", "local")
EMBEDDER = Kind(
    "local, auto, none, openai:MODEL, gemini:MODEL, ollama:MODEL or onnx:FOLDER",
    _wanted(lambda value: isinstance(value, str) and EMBEDDERS.fullmatch(value) is not None),
    lambda: (*PROVIDERS, "auto", "none", "onnx"),
)
RECIPE = Kind("the name of a recipe", _wanted(lambda value: value in _recipes()), _recipes)
OUTSIDE = "the work is done in this process"

# agents.defaults.memorySearch, and agents.{agentId}.memorySearch over it.
MEMORY_SEARCH = {
    "enabled": Key(YES, True, "Search at all; false makes memory_search say that it is switched off."),
    "provider": Key(one_of(*PROVIDERS, "auto"), "auto", "Who makes the vectors; auto takes the first that works."),
    "fallback": Key(one_of(*PROVIDERS, "none"), "none", "Who makes them when the provider cannot."),
    "model": Key(TEXT, None, "The provider's model; without it, the provider's usual one."),
    "sources": Key(some_of("memory", "sessions"), ["memory"], "What is indexed: notes, and session transcripts."),
    "extraPaths": Key(TEXTS, [], "More files and folders of Markdown.", joined=True),
    "query.maxResults": Key(whole(1), 6, "How many results."),
    "query.minScore": Key(UNIT, 0.35, "The least score of a result."),
    "query.hybrid.enabled": Key(YES, True, "Keywords beside vectors; false searches by vectors alone."),
    "query.hybrid.vectorWeight": Key(UNIT, 0.7, "The share of the vectors; brought to a sum of 1."),
    "query.hybrid.textWeight": Key(UNIT, 0.3, "The share of the keywords; brought to a sum of 1."),
    "query.hybrid.candidateMultiplier": Key(whole(1), 4, "Candidates a leg = results × this."),
    "chunking.tokens": Key(whole(16), 400, "The most tokens of a chunk."),
    "chunking.overlap": Key(whole(0), 80, "Tokens that a chunk shares with the one before."),
    "store.path": Key(TEXT, None, "The memory's file; {agentId} stands for the agent."),
    "store.vector.enabled": Key(YES, True, "Keep and search vectors; false means full text alone."),
    "store.vector.extensionPath": Key(TEXT, None, "Where sqlite-vec is.", unneeded="vectors need no extension here"),
    "cache.enabled": Key(YES, False, "Keep the answers to repeated queries in memory."),
    "cache.maxEntries": Key(whole(1), 256, "How many answers are kept."),
    "remote.baseUrl": Key(TEXT, None, "The address of an OpenAI-compatible, Gemini or Ollama service.", guarded=True),
    "remote.apiKey": Key(TEXT, None, "Its key; ${NAME} takes it from the environment.", secret=True, guarded=True),
    "remote.headers": Key(HEADERS, {}, "More headers for each request.", secret=True, guarded=True),
    "remote.batch.enabled": Key(YES, False, "Embed many texts by the provider's batch API."),
    "remote.batch.concurrency": Key(whole(1), 2, "Batches under way at once."),
    "remote.batch.wait": Key(YES, True, "Wait for a batch to end.", unneeded="it always is waited for"),
    "remote.batch.pollIntervalMs": Key(whole(1), 2000, "Milliseconds between looks at a batch."),
    "remote.batch.timeoutMinutes": Key(number(0), 60, "How long a batch may take."),
    "local.modelPath": Key(TEXT, None, "A folder with another ONNX model and its tokenizer."),
    "local.modelCacheDir": Key(TEXT, None, "Where models are downloaded to.", unneeded="nothing is downloaded"),
    "sync.onSessionStart": Key(YES, True, "Bring the index up to date when it is opened."),
    "sync.onSearch": Key(YES, True, "Bring it up to date before a search when files have changed."),
    "sync.watch": Key(YES, True, "Follow the files while a watcher runs."),
    "sync.watchDebounceMs": Key(whole(0), 1500, "Milliseconds of quiet after a change before it is read."),
    "sync.intervalMinutes": Key(number(0), 0, "Sync every so often while a watcher runs; 0 is never."),
    "experimental.sessionMemory": Key(YES, True, "Allows sessions.", unneeded="sources alone decides"),
}

MEMORY = {
    "backend": Key(one_of("builtin", "qmd"), "builtin", "Which recipe answers: openclaw, or qmd."),
    "citations": Key(one_of("auto", "on", "off"), "auto", "A source line, path#L45-L52, with each snippet."),
    "qmd.update.interval": Key(SPAN_OF_TIME, 300, "Sync every so often while a watcher runs; a number is seconds."),
    "qmd.update.onBoot": Key(YES, True, "Bring the index up to date when it is opened."),
    "qmd.update.debounceMs": Key(whole(0), 1500, "Milliseconds of quiet after a change before it is read."),
    "qmd.sessions.enabled": Key(YES, False, "Index session transcripts."),
    "qmd.sessions.retentionDays": Key(number(0), None, "Leave out sessions that are older than this; 0 is never."),
    "qmd.sessions.exportDir": Key(TEXT, None, "Where sessions are written to.", unneeded=OUTSIDE),
    "qmd.limits.maxResults": Key(whole(1), 6, "How many results."),
    "qmd.limits.maxSnippetChars": Key(whole(1), 700, "Letters of a snippet.", unneeded="snippets have a fixed length"),
    "qmd.limits.timeoutMs": Key(whole(1), None, "How long qmd may take.", unneeded="a call gives its own deadline"),
    "qmd.command": Key(TEXT, None, "The qmd program.", unneeded=OUTSIDE),
    "qmd.searchMode": Key(TEXT, None, "How qmd searches.", unneeded="the qmd recipe uses all of it"),
    "qmd.includeDefaultMemory": Key(YES, True, "Index MEMORY.md and memory/.", unneeded="they always are"),
}

RECOLLECT = {
    "db": Key(TEXT, None, "The memory's file; wins over store.path."),
    "collection": Key(TEXT, None, "Remember in this collection and recall from it alone; folders have their own."),
    "embedder": Key(EMBEDDER, None, "Such as openai:text-embedding-3-small; wins over provider and model."),
    "recipe": Key(RECIPE, None, "The way of recalling of 'recollect recall'."),
    "k": Key(whole(1), None, "How many results 'recollect recall' gives."),
    "settings": Key(SETTINGS, {}, "Such as {default: {session: 0.1}}; 'recollect tune' looks for good ones."),
}

SECTIONS = {"memorySearch": MEMORY_SEARCH, "memory": MEMORY, "recollect": RECOLLECT}
KEYS = {f"{section}.{name}": key for section, keys in SECTIONS.items() for name, key in keys.items()}
