"""Stages: each changes the hits by returning operations."""

from recollect.recall.stages.conditions import When
from recollect.recall.stages.factors import Recency, StatusFactor
from recollect.recall.stages.touch import Touching

__all__ = ["Recency", "StatusFactor", "Touching", "When"]
