"""Cues: each finds candidates in its own way, and can score given ones."""

from recollect.recall.cues.alike import Alike
from recollect.recall.cues.asked import Admitting, Asked
from recollect.recall.cues.fuzzy import Fuzzy
from recollect.recall.cues.keywords import Keywords
from recollect.recall.cues.limits import AtLeast, Off
from recollect.recall.cues.nearest import Nearest
from recollect.recall.cues.notes import Notes
from recollect.recall.cues.plans import Ladder, Once, Parallel, Until
from recollect.recall.cues.relations import Relations
from recollect.recall.cues.replay import Instead, Replay
from recollect.recall.cues.signatures import Signatures
from recollect.recall.cues.slugs import SlugTrigrams
from recollect.recall.cues.tokens import Tokens
from recollect.recall.cues.trigrams import Trigrams
from recollect.recall.cues.vectors import Vectors
from recollect.recall.cues.words import Words

__all__ = [
    "Admitting",
    "Alike",
    "Asked",
    "AtLeast",
    "Fuzzy",
    "Instead",
    "Keywords",
    "Ladder",
    "Nearest",
    "Notes",
    "Off",
    "Once",
    "Parallel",
    "Relations",
    "Replay",
    "Signatures",
    "SlugTrigrams",
    "Tokens",
    "Trigrams",
    "Until",
    "Vectors",
    "Words",
]
