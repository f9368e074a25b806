"""Cues: each finds candidates in its own way, and can score given ones."""

from recollect.recall.cues.keywords import Keywords
from recollect.recall.cues.plans import Ladder, Parallel, Until
from recollect.recall.cues.trigrams import Trigrams
from recollect.recall.cues.vectors import Vectors
from recollect.recall.cues.words import Words

__all__ = ["Keywords", "Ladder", "Parallel", "Trigrams", "Until", "Vectors", "Words"]
