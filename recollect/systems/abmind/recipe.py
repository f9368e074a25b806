"""The abmind recipe: full text first; vectors and signatures where it finds too few; notes, relations and boosts.

    query ─▶ content words ─▶ Sf full text, trigrams ─┐ fewer than k?
                     │           Se meaning ◀────────────┤
                     │           Ss signatures ◀─────────┘
                     ├─────────▶ S6 notes                     ┌─ each candidate once,
                     └─────────▶ S8 names                     ▼  with the score of its first finder
                                  all of them ─▶ first come ─▶ penalty ─▶ context ─▶ emotion ─▶ spacing
                                                                 ─▶ MMR ─▶ enrichment ─▶ best k

The document is ``docs/systems/abmind.md``; the numbers carry the ids of the contract.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta, tzinfo
from os import PathLike
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from recollect.chat import ChatModel, one_line, resolve_hook
from recollect.errors import InvalidInput
from recollect.model import Filter, When, check
from recollect.recall.cues import AllCues, UntilFilled, VectorsCue, WordsCue
from recollect.recall.cues.plans import DisabledCue, MinimumScoreCue
from recollect.recall.fusion import FirstCueWins
from recollect.recall.query_parsing import ContentWords, ParsedQuery
from recollect.recall.recipe import Cue, Recipe, fixed, times
from recollect.recall.run import Run
from recollect.recall.stages import RecordUse
from recollect.systems.abmind.cues import NotesCue, RelationsCue, SignatureCue
from recollect.systems.abmind.full_text import FullTextCue, FullTextScore, SimilarWords
from recollect.systems.abmind.stages import (
    ConfirmationPenalty,
    ContextBoost,
    CurrentContext,
    DiversityRerank,
    EmotionBoost,
    Enrichment,
    SpacingBoost,
)
from recollect.text.languages import detect_language
from recollect.text.words import stem
from recollect.threads import call_within

FULL_TEXT_CANDIDATES = 1000  # scored by A5
ENVIRONMENT_PREFIX = "RECOLLECT_ABMIND_"  # followed by the documented name of a setting (A18)
MODES = {"hybrid": ("Sf", "Se", "Ss"), "keyword": ("Sf",), "embedding": ("Se",), "signature": ("Ss",)}
DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")


def abmind(
    *,
    translated: str | None = None,
    translate: Translate | ChatModel | str | None = None,
    translate_seconds: float = 10.0,
    current_context: Mapping[str, Any] | None = None,
    notes: str | PathLike[str] | None = None,
    user_id: str | None = None,
    max_classification: int | None = None,
    time_start: When | None = None,
    time_end: When | None = None,
    topic: str | None = None,
    tier: str | None = None,
    include_expired: bool = False,
    search_mode: str | None = None,
    embedding_enabled: bool | None = None,
    similarity_threshold: float | None = None,
    signature_bits: int | None = None,
    decay_days: float | None = None,
    decay_floor: float | None = None,
    emotion_boost: float | None = None,
    timezone: str | tzinfo | None = None,
) -> Recipe:
    """Stages Sf → Se → Ss → S6 → S8 in order of priority, boosts, and a rerank for diversity.

    ``translated`` is the query in the language of the memories' texts, and ``translate`` a chat model or a function
    that translates queries that are not English; ``notes`` is the folder with
    ``consolidation/{daily,weekly,quarterly}``; ``current_context`` may have ``hour``, ``dayOfWeek`` (0 is Sunday) and
    ``topic``; ``timezone`` is the caller's (default: the machine's). Settings that are None, from ``search_mode`` to
    ``emotion_boost``, are read from the environment.
    """
    if translated is not None and not check.string(translated, "translated").strip():
        raise InvalidInput("translated is blank; leave it out, or give the query in the language of the memories.")
    translator = resolve_translation(translate)
    reader = TranslatedQuery(translated, translator, check.number(translate_seconds, "translate_seconds", low=1e-3))
    zone = _check_timezone(timezone)
    mode = _mode(search_mode)
    embedding = _on(embedding_enabled, "EMBEDDING_ENABLED")
    bits = _bits(signature_bits)
    threshold = _number(similarity_threshold, "EMBEDDING_SIMILARITY_THRESHOLD", 0.5, -1.0, 1.0)
    sf = _full_text_cue(
        decay_days=_number(decay_days, "RECALL_DECAY_DAYS", 365.0, 1e-9),
        decay_floor=_number(decay_floor, "RECALL_DECAY_FLOOR", 0.3, 0.0, 1.0),
        emotion_boost=_number(emotion_boost, "RECALL_EMOTION_BOOST", 0.1),
    )
    se = MinimumScoreCue(VectorsCue("Se", depth=times(3)), threshold, how="cosine similarity to the query")  # A6
    ss = SignatureCue("Ss", bits=bits, min_similarity=0.65, depth=fixed(5))  # A7

    def active(cue: Cue) -> Cue:
        return cue if cue.name in MODES[mode] else DisabledCue(cue.name, f"the search mode is {mode}")

    return Recipe(
        name="abmind",
        about="Words first; meaning, signatures, notes and relations where needed; boosts and diversity.",
        k=5,
        filter=_filter(user_id, max_classification, time_start, time_end, topic, tier, include_expired, zone),  # A4
        read=[ContentWords() if translated is None and translator is None else reader],
        cues=AllCues(
            UntilFilled(
                active(sf), active(se) if embedding else DisabledCue("Se", "embedding is off"), active(ss)
            ),  # A1, A2
            NotesCue("S6", notes, zone, fixed_score=0.5),  # A8
            RelationsCue("S8", fixed_score=0.6),  # A9
        ),
        fuse=FirstCueWins(),  # A16
        stages=[
            ConfirmationPenalty(found_by="Sf", confirmed_by="Se", factor=0.5),  # A10
            ContextBoost(_check_context(current_context), zone, hour=0.02, day=0.015, topic=0.03),  # A11
            EmotionBoost(per_point=0.02, limit=0.10),  # A12
            SpacingBoost(factors=((7, 1.3), (1, 1.15)), last=20),  # A13
            DiversityRerank(relevance_weight=0.7),  # A14
            Enrichment(zone),  # A15
        ],
        after=[RecordUse(("recall",))],  # A17
        report=lambda trace: {"stages": trace.stages()},  # A1, A19
    )


def _full_text_cue(**scoring: float) -> FullTextCue:
    """A3, A5."""
    return FullTextCue(
        "Sf",
        lookups=(
            WordsCue("full text", {"text": 1.0}, depth=fixed(FULL_TEXT_CANDIDATES)),
            SimilarWords("trigrams", {"text": 1.0, "keywords": 1.0}, depth=fixed(FULL_TEXT_CANDIDATES)),
        ),
        fallback=SimilarWords("original trigrams", {"original": 1.0}, depth=fixed(FULL_TEXT_CANDIDATES)),
        scoring=FullTextScore(**scoring),
        depth=times(3),
    )


def _filter(
    user: str | None,
    classification: int | None,
    start: When | None,
    end: When | None,
    topic: str | None,
    tier: str | None,
    expired: bool,
    zone: tzinfo | None,
) -> Filter | None:
    """A4, with both ends of the time included; None without any condition."""
    until = None if end is None else check.moment(end, "time_end", zone) + timedelta(microseconds=1)
    filter = Filter(
        user=user,
        classification=classification,
        since=None if start is None else check.moment(start, "time_start", zone),
        until=until,
        topic=topic,
        tier=tier,
        expired=True if expired else None,
    )
    return None if filter == Filter() else filter


def _check_context(context: Mapping[str, Any] | None) -> CurrentContext | None:
    """Check the current context."""
    if context is None:
        return None
    if not isinstance(context, Mapping) or (unknown := context.keys() - {"hour", "dayOfWeek", "day_of_week", "topic"}):
        wrong = (
            f"not {check.short_repr(context)}"
            if not isinstance(context, Mapping)
            else f"not {min(map(str, unknown))!r}"
        )
        raise InvalidInput(f"current_context may have hour, dayOfWeek and topic, {wrong}.")
    hour, topic = context.get("hour"), context.get("topic")
    day = context.get("dayOfWeek", context.get("day_of_week"))
    if isinstance(day, str) and day.strip().lower() in DAYS:
        day = DAYS.index(day.strip().lower())
    if hour is not None and not 0 <= check.integer(hour, "hour") <= 23:
        raise InvalidInput(f"hour must be between 0 and 23, not {hour}.")
    if day is not None and not 0 <= check.integer(day, "dayOfWeek") <= 6:
        raise InvalidInput(f"dayOfWeek must be between 0 (Sunday) and 6, or a day's name, not {day}.")
    return CurrentContext(hour, day, None if topic is None else check.string(topic, "topic"))


def _check_timezone(timezone: str | tzinfo | None) -> tzinfo | None:
    if timezone is None or isinstance(timezone, tzinfo):
        return timezone
    try:
        return ZoneInfo(check.string(timezone, "timezone"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(f"timezone must be a name such as 'Europe/Paris', not {timezone!r}.") from None


# Settings: as given, else from the environment, else the documented default (A18).


def _setting(value: Any, name: str) -> Any:
    return value if value is not None else os.environ.get(ENVIRONMENT_PREFIX + name, "").strip() or None


def _number(value: float | None, name: str, default: float, low: float = -1e9, high: float = 1e9) -> float:
    value = _setting(value, name)
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise InvalidInput(f"{ENVIRONMENT_PREFIX}{name} must be a number, not {value!r}.") from None
    return default if value is None else check.number(value, name.lower(), low, high)


def _bits(value: int | None) -> int:
    bits = _number(value, "SIGNATURE_BITS", 256, 8, 4096)
    if bits % 8:
        raise InvalidInput(f"signature_bits must be a multiple of 8, not {bits:g}.")
    return int(bits)


def _mode(value: str | None) -> str:
    return check.choice(_setting(value, "MEMORY_SEARCH_MODE") or "hybrid", "search_mode", [*MODES])


def _on(value: bool | None, name: str) -> bool:
    value = _setting(value, name)
    if isinstance(value, str) and value.lower() in ("true", "1", "yes", "on", "false", "0", "no", "off"):
        value = value.lower() in ("true", "1", "yes", "on")
    if value not in (None, True, False):
        raise InvalidInput(f"{name.lower()} must be true or false, not {value!r}.")
    return value is not False


Translate = Callable[[str], str]

MAX_CHARACTERS = 1000
LANGUAGE = "en"  # the document's content_en
TASK = (
    "You get JSON with a search query. Translate it into English; leave names, numbers and code as they are. Reply as "
    '{"translation": "…"}.'
)


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """Vectors, signatures and names are those of the translation, and the words of both are looked up.

    Without ``text``, ``translate`` is called for a query that is not English. When it fails, the trace has the reason
    and the query is searched as it is.
    """

    text: str | None = None
    translate: Translate | None = None
    seconds: float = 10.0

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        original = ContentWords().read(query, run)
        text = self.text or self._translation(query.text, run)
        if not text:
            return original
        run.log("translated", text)
        translated = ContentWords().read(replace(query, text=text), run)
        known = {stem(term.word) for term in translated.terms}
        others = tuple(term for term in original.terms if stem(term.word) not in known)
        return replace(translated, terms=(*translated.terms, *others))

    def _translation(self, query: str, run: Run) -> str:
        translate = self.translate
        if translate is None or detect_language(query) == LANGUAGE:
            return ""
        left = run.seconds_left()
        seconds = self.seconds if left is None else min(left, self.seconds)
        try:
            text = one_line(call_within(lambda: translate(query), seconds, "the translation"), MAX_CHARACTERS)
        except Exception as problem:
            run.log("not translated", f"{type(problem).__name__}: {problem}")
            return ""
        if not text:
            run.log("not translated", "the translation is empty")
        return text


def resolve_translation(translate: Translate | ChatModel | str | None) -> Translate | None:
    """A chat model ("chat", "URL MODEL" or a ChatModel), a function, or None."""

    def by_chat(model: ChatModel) -> Translate:
        return lambda query: str(model.reply_object(TASK, {"query": query}, "translation")["translation"] or "")

    return resolve_hook(translate, "translate", by_chat, "a query to its translation")
