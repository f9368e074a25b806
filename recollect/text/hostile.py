"""Rules that find hostile texts: instructions to a model, forged sources, recalled text, hidden characters, secrets.

Plain data: a rule is a name, what it means, and a pattern. They find what is written in the open, in English, German
and Chinese; a text that avoids these words passes. ``bench/hostile.py`` measures them on labelled texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from recollect.text.patterns import lazy_pattern

FENCE = "memory-data"  # the element that recalled text is wrapped in, see recall/fencing.py
MAX_CHARACTERS = 20_000  # of a text that patterns read
FLAGS = re.IGNORECASE


@dataclass(frozen=True, slots=True)
class TextRule:
    """A kind of hostile text."""

    name: str
    reason: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A rule that a text fulfils, why, and the words that do."""

    rule: str
    reason: str
    excerpt: str


def _rule(name: str, reason: str, pattern: str, flags: int = FLAGS) -> TextRule:
    return TextRule(name, reason, lazy_pattern(pattern, flags))


# German compounds, too: WLAN-Passwort, Gerätekennwort.
_PASSWORD = (
    r"\b(?:password|passphrase|api[ _-]?key|secret key|access token|(?:[\w-]{0,20})(?:passwort|kennwort|zugangscode))"
)
_MIXED = r"(?=\S{0,99}\d)(?=\S{0,99}[a-z])|(?=[^\s\"'`]{1,99}[!$%&*#@^~][\w!$%&*#@^~])"
RULES: tuple[TextRule, ...] = (
    _rule(
        "instruction",
        "it tells a model to ignore its instructions",
        r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){0,3}?"
        r"(?:instructions?|prompts?|rules|guidelines|directives)\b"
        r"|\b(?:ignoriere|missachte|vergiss)\s+(?:\w+\s+){0,3}?(?:anweisung(?:en)?|regeln|vorgaben)\b"
        r"|(?:忽略|无视|不要理会).{0,8}(?:指令|指示|规则|提示)",
    ),
    _rule(
        "instruction",
        "it speaks to a model in the voice of a system prompt",
        r"\byou are now (?:a|an|in|the)\b|\bnew (?:system )?instructions?\s*:|\bsystem prompt\b.{0,20}\b(?:is|:)"
        r"|<\|?(?:im_start|system|assistant)\|?>|\[/?INST\]|^\s*#{2,}\s*(?:system|instructions?)\s*:?\s*$"
        r"|^\s*system\s*:\s",
        FLAGS | re.MULTILINE,
    ),
    _rule(
        "instruction",
        "it tells a model to hide something from the user, or to send something away",
        r"\b(?:do not|don't|never)\s+(?:tell|inform|mention|reveal|show)\s+(?:\w+\s+){0,2}?(?:to\s+)?the user\b"
        r"|\b(?:send|post|upload|forward|exfiltrate|leak)\b.{0,60}"
        r"\b(?:passwords?|api keys?|tokens?|secrets?|credentials)\b.{0,60}(?:https?://|@)|\b(?:call|use|run|invoke)\s+the\s+\w+\s+tool\s+(?:with|to|now)\b",
    ),
    _rule(
        "forged source",
        "it claims a source or a trust in its own text",
        r"^\s*\[?(?:source|trust|verified(?: by)?|provenance)\s*[:=]\s*\S+|\btrust\s*=\s*[\"']?(?:10|high|full)\b",
        FLAGS | re.MULTILINE,
    ),
    _rule(
        "recalled text",
        "it contains the marks of recalled text: something that was recalled was stored again",
        rf"</?\s*{FENCE}\b|&lt;/?{FENCE}\b",
    ),
    _rule(
        "secret",
        "it looks like a key or a password",
        r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----(?:[^-]*+(?:-(?!----)[^-]*+)*+-----END (?:[A-Z]+ )?PRIVATE KEY-----)?"
        r"|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36,}\b"
        r"|\bgithub_pat_\w{40,}\b|\bsk-(?:proj-|ant-)?[A-Za-z0-9_-]{20,}\b|\bxox[abprs]-[A-Za-z0-9-]{10,}\b"
        r"|\bAIza[0-9A-Za-z_-]{35}\b|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}\b"
        r"|\b[a-z][a-z0-9+]{2,12}://[^\s:/@]{1,64}:[^\s:/@]{3,64}@",
        0,
    ),
    _rule(
        "secret",
        "it states a password",
        # Letters with digits, or with a sign within. In a sentence shorter ones count, too, and any word in quotes.
        # A PIN has figures alone.
        rf"{_PASSWORD}\s*(?:is|ist|lautet|[:=])[\s:]*[\"'`]?(?:{_MIXED})[^\s\"'`]{{8,}}"
        rf"|{_PASSWORD}\s+(?:is|ist|lautet):?\s+(?:[\"'`]?(?:{_MIXED})[^\s\"'`]{{6,}}"
        r"|[\"'`„“‚«][^\s\"'`„“”‚‘«»]{4,64}[\"'`“”‘»])"
        r"|\b(?-i:PIN)(?:[ -]?(?:code|number|nummer))?(?: (?:of|for|von|für)(?: \w+){1,4})?"
        r"\s*(?:is|ist|lautet|[:=])\s*\d{4,8}\b",
    ),
    _rule(
        "secret",
        "it states a password",
        # A single word at the end of a sentence, which is a noun: what else a password "ist" is no noun.
        r"\b(?:[\w-]{0,20})(?:passwort|kennwort)\s*(?:ist|war|[:=])\s*(?!(?:Pflicht|Standard|Vorschrift|Geheimsache|"
        r"Unsinn|Mist)\b)(?-i:[A-ZÄÖÜ])[\w-]{3,63}(?=\s*(?:[.!]|$))"
        r"|\b(?:[\w-]{0,20})(?:passwort|kennwort)\s+lautet:?\s+(?!(?:anders|nicht|immer|jetzt|unver\w+)\b)"
        r"[\w-]{4,64}(?=\s*(?:[.!,;]|$))",
        FLAGS | re.MULTILINE,
    ),
)
REDACTED = "[redacted]"
HIDDEN = re.compile(  # control characters, but for tabs and ends of lines; then those that only format
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f]"
    "|[\u00ad\u200b\u2060\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]|(?<=[a-zA-Z])[\u200c\u200d]"
)
WORD = re.compile(r"[^\W\d_]{3,}")
LATIN, LOOKALIKES = "LATIN", ("CYRILLIC", "GREEK")


def find_suspicions(text: str) -> Iterator[Suspicion]:
    """The rules that a text fulfils; characters that hide or imitate others are removed before its words are read.

    Of rules of one name that the same words fulfil, the first.
    """
    text = text[:MAX_CHARACTERS]
    if found := HIDDEN.search(text):
        yield Suspicion("hidden characters", "it has characters that are not shown", f"U+{ord(found[0]):04X}")
    if not text.isascii():
        mixed = next(filter(_mixes_scripts, WORD.findall(text)), None)
        if mixed is not None:
            yield Suspicion("lookalike letters", "a word mixes letters of several alphabets", mixed[:40])
    plain = HIDDEN.sub(lambda found: " " if found[0].isspace() else "", text)  # some of them separate words
    plain = plain if plain.isascii() else unicodedata.normalize("NFKC", plain)
    found_before = set[tuple[str, str]]()
    for rule in RULES:
        if match := rule.pattern.search(plain):
            excerpt = _before_secret(plain) if rule.name == "secret" else " ".join(match[0].split())[:80]
            if (rule.name, excerpt) not in found_before:
                found_before.add((rule.name, excerpt))
                yield Suspicion(rule.name, rule.reason, excerpt)


def _before_secret(text: str) -> str:
    """The words before the first secret of a text, which itself is not repeated."""
    before, redacted, _ = " ".join(redact_secrets(text).split()).partition(REDACTED)
    return f"{before[-40:]}{redacted}"


def _mixes_scripts(word: str) -> bool:
    scripts = {unicodedata.name(letter, "").split(" ")[0] for letter in word}
    return LATIN in scripts and any(script in scripts for script in LOOKALIKES)


def redact_secrets(text: str) -> str:
    """The text with its secrets replaced by [redacted]; its lines keep their numbers."""
    for rule in RULES:
        if rule.name == "secret":
            text = rule.pattern.sub(lambda match: REDACTED + "\n" * match[0].count("\n"), text)
    return text


def has_secret(text: str) -> bool:
    return any(rule.pattern.search(text) for rule in RULES if rule.name == "secret")
