"""What to tell a user whose texts are in a language that the embedder was not trained on."""

from __future__ import annotations

from recollect.embed.base import Embedder, LanguageAwareEmbedder
from recollect.protocols import supports
from recollect.text.languages import NAMES


def knows_language(embedder: Embedder | None, language: str) -> bool:
    """Whether an embedder was trained on a language; assumed where it cannot say."""
    aware: object = embedder
    return not supports(aware, LanguageAwareEmbedder) or aware.knows_language(language)


def language_note(embedder: Embedder | None, language: str) -> str:
    """A sentence about a language that the embedder was not trained on; empty where it was."""
    if embedder is None or knows_language(embedder, language):
        return ""
    return (
        f"{embedder.name} was not trained on {NAMES[language]}, so words count more than its vectors. For "
        f"{NAMES[language]} texts use a multilingual embedder, for example ollama:bge-m3 (see docs/embedders.md)."
    )
