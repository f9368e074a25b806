"""Stages: each changes the hits by returning operations."""

from recollect.recall.stages.conditions import When
from recollect.recall.stages.factors import Recency, StatusFactor
from recollect.recall.stages.graph import Contradict, Spread
from recollect.recall.stages.least import MinScore
from recollect.recall.stages.pack import Pack
from recollect.recall.stages.touch import Touching
from recollect.recall.stages.worth import Compete

__all__ = [
    "Compete",
    "Contradict",
    "MinScore",
    "Pack",
    "Recency",
    "Spread",
    "StatusFactor",
    "Touching",
    "When",
]
