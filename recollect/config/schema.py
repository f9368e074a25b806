"""Every key of a configuration file: its type, its default and what it does. The table in the docs lists these."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from recollect.model import LIMITS

DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
EMBEDDER_NAME = re.compile(r"local|auto|none|(openai|gemini|ollama)(:[^@]*(@\d+)?)?|(onnx|gguf):.+")
UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
PATH_SETTINGS = {"abmind": ("notes",)}  # settings of recipes that are relative to the workspace


# What a file in the workspace may not say unless the user trusts it: anything; the name of a service, which would get
# texts and keys; a path outside of the workspace.
Guard = Literal["", "always", "service", "path"]
LOCAL_EMBEDDERS = ("local", "auto", "none")


@dataclass(frozen=True, slots=True)
class ValueType:
    """What a value must be, in words, and how it is parsed; ``parse`` raises ValueError for anything else."""

    description: str
    parse: Callable[[Any], Any]
    choices: Callable[[], Iterable[str]] = tuple  # words that the value may be or begin with


@dataclass(frozen=True, slots=True)
class ConfigKey:
    type: ValueType
    default: Any
    about: str
    unneeded: str = ""  # the key is accepted without effect, for this reason
    secret: bool = False  # the value is never shown
    guard: Guard = ""  # what needs trust in a file that was found in the workspace
    merged: bool = False  # the lists of several files are joined


def _require(is_valid: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        if not is_valid(value):
            raise ValueError
        return value

    return parse


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, str)) or _is_number(value)


def _are_recipe_settings(value: Any) -> bool:
    return _is_map(value) and all(_is_map(each) and all(map(_is_plain, each.values())) for each in value.values())


def _boolean(value: Any) -> bool:
    words = {True: True, False: False, "yes": True, "no": False, "on": True, "off": False}
    if not isinstance(value, (bool, str)) or value not in words:
        raise ValueError
    return words[value]


def _seconds(value: Any) -> float:
    if _is_number(value) and value >= 0:
        return float(value)
    match = DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError
    return float(match[1]) * UNIT_SECONDS[match[2]]


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        raise ValueError
    return value


def _recipe_names() -> list[str]:
    from recollect.recall.registry import RECIPES  # imported only where a file names a recipe

    return [*RECIPES]


BOOLEAN = ValueType("true or false", _boolean)
TEXT = ValueType("a text", _require(lambda value: isinstance(value, str) and bool(value.strip())))
TEXTS = ValueType("a list of texts", _texts)
SECONDS = ValueType('a duration, such as "30s", "5m" or "1h"', _seconds)
UNIT = ValueType("a number from 0 to 1", _require(lambda value: _is_number(value) and 0 <= value <= 1))
HEADERS = ValueType(
    "a map of texts",
    _require(lambda value: isinstance(value, dict) and all(isinstance(e, str) for pair in value.items() for e in pair)),
)
RECIPE_SETTINGS = ValueType(
    "a map of recipes to their settings (texts, numbers, true or false)", _require(_are_recipe_settings)
)


LIMIT_VALUES = ValueType(
    "a map of limits to whole numbers",
    _require(
        lambda value: (
            _is_map(value)
            and all(name in LIMITS for name in value)
            and all(isinstance(each, int) and not isinstance(each, bool) and each > 0 for each in value.values())
        )
    ),
    lambda: LIMITS,
)


def integer(low: int) -> ValueType:
    is_valid = _require(lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= low)
    return ValueType(f"a whole number, {low} or more", is_valid)


def number(low: float) -> ValueType:
    return ValueType(f"a number, {low:g} or more", _require(lambda value: _is_number(value) and value >= low))


def one_of(*words: str) -> ValueType:
    return ValueType(" or ".join(words), _require(lambda value: value in words), lambda: words)


def list_of(*words: str) -> ValueType:
    is_valid = _require(lambda value: isinstance(value, list) and all(each in words for each in value))
    return ValueType(f"a list of {' and '.join(words)}", is_valid, lambda: words)


PROVIDERS = ("openai", "gemini", "ollama", "local")
EMBEDDER = ValueType(
    "local, auto, none, openai:MODEL, gemini:MODEL, ollama:MODEL, onnx:FOLDER or gguf:FILE",
    _require(lambda value: isinstance(value, str) and EMBEDDER_NAME.fullmatch(value) is not None),
    lambda: (*PROVIDERS, "auto", "none", "onnx", "gguf"),
)
CHAT = ValueType(
    "an address and a model, such as 'http://localhost:11434/v1 qwen3:4b'",
    _require(lambda value: isinstance(value, str) and re.fullmatch(r"https?://\S+ +\S.*", value) is not None),
)
RECIPE = ValueType("the name of a recipe", _require(lambda value: value in _recipe_names()), _recipe_names)
NO_PROGRAM = "the work is done in this process"

# agents.defaults.memorySearch, and agents.{agentId}.memorySearch over it.
MEMORY_SEARCH = {
    "enabled": ConfigKey(BOOLEAN, True, "Whether memory_search searches; false makes it say that it is switched off."),
    "provider": ConfigKey(
        one_of(*PROVIDERS, "auto"),
        "auto",
        "Which embedder makes the vectors; auto takes the first that works.",
        guard="service",
    ),
    "fallback": ConfigKey(
        one_of(*PROVIDERS, "none"), "none", "Which embedder is used when the provider cannot be.", guard="service"
    ),
    "model": ConfigKey(TEXT, None, "The provider's model; when not set, the default of the provider."),
    "sources": ConfigKey(list_of("memory", "sessions"), ["memory"], "What is indexed: notes, and session transcripts."),
    "extraPaths": ConfigKey(TEXTS, [], "More files and folders of Markdown.", guard="path", merged=True),
    "query.maxResults": ConfigKey(integer(1), 6, "How many results."),
    "query.minScore": ConfigKey(UNIT, 0.35, "The minimum score of a result; the default is that of openclaw."),
    "query.hybrid.enabled": ConfigKey(
        BOOLEAN, True, "Search by keywords as well as vectors; false searches by vectors only."
    ),
    "query.hybrid.vectorWeight": ConfigKey(
        UNIT, 0.7, "The weight of the vectors; the two weights are scaled to a sum of 1."
    ),
    "query.hybrid.textWeight": ConfigKey(
        UNIT, 0.3, "The weight of the keywords; the two weights are scaled to a sum of 1."
    ),
    "query.hybrid.candidateMultiplier": ConfigKey(integer(1), 4, "Candidates of each search = results × this."),
    "chunking.tokens": ConfigKey(integer(16), 400, "Maximum tokens in a chunk."),
    "chunking.overlap": ConfigKey(integer(0), 80, "Tokens that a chunk repeats from the one before it."),
    "store.path": ConfigKey(TEXT, None, "The database file; {agentId} is replaced by the agent.", guard="path"),
    "store.vector.enabled": ConfigKey(BOOLEAN, True, "Store and search vectors; false means full text only."),
    "store.vector.extensionPath": ConfigKey(
        TEXT, None, "Path of sqlite-vec.", unneeded="vectors need no extension here"
    ),
    "cache.enabled": ConfigKey(BOOLEAN, False, "Cache the answers to repeated queries."),
    "cache.maxEntries": ConfigKey(integer(1), 256, "Maximum number of cached answers."),
    "remote.baseUrl": ConfigKey(
        TEXT, None, "The address of an OpenAI-compatible, Gemini or Ollama service.", guard="always"
    ),
    "remote.apiKey": ConfigKey(
        TEXT, None, "Its key; ${NAME} takes it from the environment.", secret=True, guard="always"
    ),
    "remote.headers": ConfigKey(HEADERS, {}, "Additional headers of each request.", secret=True, guard="always"),
    "remote.batch.enabled": ConfigKey(BOOLEAN, False, "Embed many texts by the provider's batch API."),
    "remote.batch.concurrency": ConfigKey(integer(1), 2, "Batches that run at the same time."),
    "remote.batch.wait": ConfigKey(BOOLEAN, True, "Wait for a batch to end.", unneeded="Recollect always waits"),
    "remote.batch.pollIntervalMs": ConfigKey(integer(1), 2000, "Milliseconds between checks of a batch."),
    "remote.batch.timeoutMinutes": ConfigKey(number(0), 60, "Minutes that a batch may take."),
    "local.modelPath": ConfigKey(
        TEXT,
        None,
        "Another model: a GGUF file, or a folder with an ONNX model and its tokenizer.",
        guard="always",
    ),
    "local.modelCacheDir": ConfigKey(TEXT, None, "Folder for downloaded models.", unneeded="nothing is downloaded"),
    "sync.onSessionStart": ConfigKey(BOOLEAN, True, "Sync when the workspace is opened."),
    "sync.onSearch": ConfigKey(BOOLEAN, True, "Sync before a search when files have changed."),
    "sync.watch": ConfigKey(BOOLEAN, True, "Sync when files change, while a watcher runs."),
    "sync.watchDebounceMs": ConfigKey(integer(0), 1500, "Milliseconds without changes before a sync."),
    "sync.intervalMinutes": ConfigKey(number(0), 0, "Minutes between syncs while a watcher runs; 0 is never."),
    "experimental.sessionMemory": ConfigKey(BOOLEAN, True, "Allows sessions.", unneeded="only sources decides"),
}

MEMORY = {
    "backend": ConfigKey(
        one_of("builtin", "qmd"), "builtin", "When set, which recipe searches: openclaw (builtin) or qmd."
    ),
    "citations": ConfigKey(one_of("auto", "on", "off"), "auto", "A source line, path#L45-L52, with each snippet."),
    "qmd.update.interval": ConfigKey(SECONDS, 300, "Time between syncs while a watcher runs; a number is seconds."),
    "qmd.update.onBoot": ConfigKey(BOOLEAN, True, "Sync when the workspace is opened."),
    "qmd.update.debounceMs": ConfigKey(integer(0), 1500, "Milliseconds without changes before a sync."),
    "qmd.sessions.enabled": ConfigKey(BOOLEAN, False, "Index session transcripts."),
    "qmd.sessions.retentionDays": ConfigKey(number(0), None, "Leave out sessions that are older; 0 leaves out none."),
    "qmd.sessions.exportDir": ConfigKey(TEXT, None, "Folder for exported sessions.", unneeded=NO_PROGRAM),
    "qmd.limits.maxResults": ConfigKey(integer(1), 6, "How many results."),
    "qmd.limits.maxSnippetChars": ConfigKey(
        integer(1), 700, "Maximum characters of a snippet.", unneeded="snippets have a fixed length"
    ),
    "qmd.limits.timeoutMs": ConfigKey(
        integer(1), None, "Milliseconds that qmd may take.", unneeded="each call has its own deadline"
    ),
    "qmd.command": ConfigKey(TEXT, None, "The qmd program.", unneeded=NO_PROGRAM),
    "qmd.searchMode": ConfigKey(TEXT, None, "How qmd searches.", unneeded="the qmd recipe uses all modes"),
    "qmd.includeDefaultMemory": ConfigKey(
        BOOLEAN, True, "Index MEMORY.md and memory/.", unneeded="they always are indexed"
    ),
}

RECOLLECT = {
    "db": ConfigKey(TEXT, None, "The database file; overrides store.path.", guard="path"),
    "collection": ConfigKey(TEXT, None, "Remember in this collection and recall only from it; folders have their own."),
    "embedder": ConfigKey(
        EMBEDDER, None, "Such as openai:text-embedding-3-small; overrides provider and model.", guard="service"
    ),
    "embeddingCache": ConfigKey(
        BOOLEAN, None, "Cache vectors beside the memory; when not set, only those of services and GGUF models."
    ),
    "vectorSearch": ConfigKey(
        one_of("auto", "exact", "approximate"),
        "auto",
        "How vectors are searched; auto: exactly up to 20,000 in scope.",
    ),
    "chat": ConfigKey(
        CHAT, None, "The chat model of settings and options that are 'chat': an address and a model.", guard="always"
    ),
    "recipe": ConfigKey(RECIPE, None, "The recipe of 'recollect recall'."),
    "k": ConfigKey(integer(1), None, "How many results 'recollect recall' returns."),
    "search.recipe": ConfigKey(RECIPE, None, "The recipe of 'recollect search' and memory_search."),
    "limits": ConfigKey(LIMIT_VALUES, {}, "Such as {query_bytes: 50000}; see limits.md.", guard="always"),
    "settings": ConfigKey(
        RECIPE_SETTINGS, {}, "Such as {default: {session: 0.1}}; 'recollect tune' searches for good ones."
    ),
}

# Without recollect.search.recipe, a file that sets one of these asks for the recipe that they belong to.
OPENCLAW_KEYS = (
    *(f"memorySearch.{name}" for name in MEMORY_SEARCH if name == "query.minScore" or name.startswith("query.hybrid.")),
    "memory.backend",
)
SECTIONS = {"memorySearch": MEMORY_SEARCH, "memory": MEMORY, "recollect": RECOLLECT}
KEYS = {f"{section}.{name}": key for section, keys in SECTIONS.items() for name, key in keys.items()}
