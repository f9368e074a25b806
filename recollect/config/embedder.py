"""Selects the embedder that a configuration names, with the reason."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from recollect.config import Config
from recollect.embed import Embedder, EmbedderChoice, choose_embedder
from recollect.embed.select import embedder_class, name_of_model_path


def select_embedder(config: Config) -> EmbedderChoice:
    """The embedder of a configuration."""
    search = "memorySearch."
    if not config[f"{search}store.vector.enabled"]:
        return EmbedderChoice(None, "store.vector.enabled is false: search by words only")
    if name := config["recollect.embedder"]:
        return embedder_by_name(name, "recollect.embedder")
    provider, fallback = config[f"{search}provider"], config[f"{search}fallback"]
    if provider == "auto":
        folder = config.path(f"{search}local.modelPath")
        return choose_embedder("auto", fallback=fallback, local=None if folder is None else str(folder))
    if not (reason := _unavailable(config, provider)):
        return EmbedderChoice(_create(config, provider), f"provider is {provider}")
    if fallback == "none":
        return EmbedderChoice(None, f"{reason}, and there is no fallback: search by words only")
    if fallback_reason := _unavailable(config, fallback):
        return EmbedderChoice(None, f"{reason}, and for the fallback {fallback_reason}: search by words only")
    return EmbedderChoice(
        _create(config, fallback, model=None, headers=None), f"{reason}: {fallback} is the fallback", is_fallback=True
    )


def embedder_by_name(name: str, source: str) -> EmbedderChoice:
    """The embedder of this name, or none. ``source`` is the option or key that names it; auto has its own reason."""
    choice = choose_embedder(None if name == "none" else name)
    return choice if name == "auto" else replace(choice, reason=f"{source} names it")


def _unavailable(config: Config, provider: str) -> str:
    """Why a provider cannot be used; empty when it can."""
    folder = config.path("memorySearch.local.modelPath")
    if provider == "local" and folder is not None and not folder.exists():
        return f"there is no model in {folder}"
    variables = () if provider == "local" else embedder_class(provider).key_variables
    configured = config["memorySearch.remote.apiKey"] or config["memorySearch.remote.baseUrl"]
    if not variables or configured or any(os.environ.get(name, "").strip() for name in variables):
        return ""
    return f"{provider} has no key ({' or '.join(variables)}, or remote.apiKey)"


def _create(config: Config, provider: str, **overrides: Any) -> Embedder | None:
    search = "memorySearch."
    if provider == "local":
        folder = config.path(f"{search}local.modelPath")
        return choose_embedder("local" if folder is None else name_of_model_path(folder)).embedder
    arguments: dict[str, Any] = {
        "model": config[f"{search}model"],
        "url": config[f"{search}remote.baseUrl"],
        "key": config[f"{search}remote.apiKey"],
        "headers": config[f"{search}remote.headers"] or None,
    }
    if provider != "ollama" and config[f"{search}remote.batch.enabled"]:
        from recollect.embed import BatchSettings  # not above: most configurations use no service

        batch = f"{search}remote.batch."
        arguments["batch"] = BatchSettings(
            concurrency=config[f"{batch}concurrency"],
            poll_seconds=config[f"{batch}pollIntervalMs"] / 1000,
            timeout_seconds=config[f"{batch}timeoutMinutes"] * 60,
        )
    given = {name: value for name, value in {**arguments, **overrides}.items() if value is not None}
    embedder: Embedder = embedder_class(provider)(**given)
    return embedder
