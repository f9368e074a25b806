"""Cues: each finds candidates in its own way and can score given memories; plans run several of them."""

from recollect.recall.cues.plans import AllCues, CachedPlan, RetryLadder, UntilFilled
from recollect.recall.cues.tokens import TokensCue
from recollect.recall.cues.trigrams import TrigramsCue
from recollect.recall.cues.vectors import VectorsCue
from recollect.recall.cues.words import WordsCue

__all__ = ["AllCues", "CachedPlan", "RetryLadder", "TokensCue", "TrigramsCue", "UntilFilled", "VectorsCue", "WordsCue"]
