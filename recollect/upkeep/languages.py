"""Whether the memories are in languages that the embedder was trained on."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from recollect.embed import Embedder
from recollect.embed.base import knows_language, language_note
from recollect.errors import RecollectError
from recollect.store.base import Store
from recollect.text.languages import detect_language

SAMPLE = 64  # memories, the newest
MIN_SHARE = 0.2  # of the sample in other languages, for a note


def memory_language_note(store: Store, embedder: Embedder | None, now: datetime) -> str:
    """A sentence about the most frequent language of the memories that the embedder was not trained on, or none."""
    if knows_language(embedder, "") or embedder is None:  # it knows all, or cannot say
        return ""
    try:
        with store.snapshot() as snapshot:
            texts = snapshot.texts(snapshot.page(snapshot.scope(None, ("active",), now), "newest", SAMPLE))
    except RecollectError:  # of a damaged file; status is there to tell about it
        return ""
    languages = Counter(map(detect_language, texts))
    others = {language: count for language, count in languages.items() if not knows_language(embedder, language)}
    if sum(others.values()) < MIN_SHARE * len(texts) or not others:
        return ""
    return language_note(embedder, max(others, key=lambda language: (others[language], language)))
