"""Cues: each finds candidates in its own way, and can score given ones."""

from recollect.recall.cues.plans import Ladder, Once, Parallel, Until
from recollect.recall.cues.tokens import Tokens
from recollect.recall.cues.trigrams import Trigrams
from recollect.recall.cues.vectors import Vectors
from recollect.recall.cues.words import Words

__all__ = ["Ladder", "Once", "Parallel", "Tokens", "Trigrams", "Until", "Vectors", "Words"]
