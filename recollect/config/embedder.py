"""Which embedder a configuration comes to, and why."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from recollect.config import Config
from recollect.embed import (
    Batching,
    Choice,
    Embedder,
    GeminiEmbedder,
    OllamaEmbedder,
    OpenAIEmbedder,
    choose,
    gemini,
    openai,
)

REMOTE: dict[str, Callable[..., Embedder]] = {
    "openai": OpenAIEmbedder,
    "gemini": GeminiEmbedder,
    "ollama": OllamaEmbedder,
}
KEY_VARIABLES: dict[str, tuple[str, ...]] = {"openai": (openai.KEY,), "gemini": gemini.KEYS}


def embedder(config: Config) -> Choice:
    """Who makes the vectors."""
    search = "memorySearch."
    if not config[f"{search}store.vector.enabled"]:
        return Choice(None, "store.vector.enabled is false: words alone")
    if own := config["recollect.embedder"]:
        return by_name(own, "recollect.embedder")
    provider, fallback = config[f"{search}provider"], config[f"{search}fallback"]
    if provider == "auto":
        folder = config.path(f"{search}local.modelPath")
        return choose("auto", fallback=fallback, local=None if folder is None else str(folder))
    if not (missing := _missing(config, provider)):
        return Choice(_made(config, provider), f"provider is {provider}")
    if fallback == "none":
        return Choice(None, f"{missing}, and there is no fallback: words alone")
    if also := _missing(config, fallback):
        return Choice(None, f"{missing}, and for the fallback {also}: words alone")
    return Choice(
        _made(config, fallback, model=None, headers=None), f"{missing}: {fallback} is the fallback", fallback=True
    )


def by_name(name: str, said: str) -> Choice:
    """The embedder of this name, none among them, and who said it; auto tells by itself why it is this one."""
    chosen = choose(None if name == "none" else name)
    return chosen if name == "auto" else replace(chosen, why=f"{said} names it")


def _missing(config: Config, provider: str) -> str:
    """Why a provider cannot be asked; empty when it can."""
    folder = config.path("memorySearch.local.modelPath")
    if provider == "local" and folder is not None and not folder.is_dir():
        return f"there is no model in {folder}"
    variables = KEY_VARIABLES.get(provider, ())
    said = config["memorySearch.remote.apiKey"] or config["memorySearch.remote.baseUrl"]
    if not variables or said or any(os.environ.get(name, "").strip() for name in variables):
        return ""
    return f"{provider} has no key ({' or '.join(variables)}, or remote.apiKey)"


def _made(config: Config, provider: str, **but: Any) -> Embedder | None:
    search = "memorySearch."
    if provider == "local":
        folder = config.path(f"{search}local.modelPath")
        return choose("local" if folder is None else f"onnx:{folder}").embedder
    said: dict[str, Any] = {
        "model": config[f"{search}model"],
        "url": config[f"{search}remote.baseUrl"],
        "key": config[f"{search}remote.apiKey"],
        "headers": config[f"{search}remote.headers"] or None,
    }
    if provider != "ollama" and config[f"{search}remote.batch.enabled"]:
        batch = f"{search}remote.batch."
        said["batch"] = Batching(
            concurrency=config[f"{batch}concurrency"],
            poll=config[f"{batch}pollIntervalMs"] / 1000,
            timeout=config[f"{batch}timeoutMinutes"] * 60,
        )
    return REMOTE[provider](**{name: value for name, value in {**said, **but}.items() if value is not None})
