"""Stages: each changes the hits by returning operations."""

from recollect.recall.stages.boosts import ContextBoost, EmotionBoost, Situation, Spacing
from recollect.recall.stages.conditions import When
from recollect.recall.stages.confirmation import Unconfirmed
from recollect.recall.stages.diversity import Diversity
from recollect.recall.stages.enrichment import Enrichment
from recollect.recall.stages.factors import Recency, StatusFactor
from recollect.recall.stages.graph import Contradict, Spread
from recollect.recall.stages.intent import Intent
from recollect.recall.stages.least import MinScore
from recollect.recall.stages.normalise import Normalise
from recollect.recall.stages.pack import Pack
from recollect.recall.stages.source import SourceWeight
from recollect.recall.stages.space import SpatialSort
from recollect.recall.stages.talk import Answering, Dates, Resuming, Role, Session, Speaker
from recollect.recall.stages.touch import Touching
from recollect.recall.stages.worth import Compete

__all__ = [
    "Answering",
    "Compete",
    "ContextBoost",
    "Contradict",
    "Dates",
    "Diversity",
    "EmotionBoost",
    "Enrichment",
    "Intent",
    "MinScore",
    "Normalise",
    "Pack",
    "Recency",
    "Resuming",
    "Role",
    "Session",
    "Situation",
    "SourceWeight",
    "Spacing",
    "SpatialSort",
    "Speaker",
    "Spread",
    "StatusFactor",
    "Touching",
    "Unconfirmed",
    "When",
]
