"""Stages: each changes the hits by returning operations."""

from recollect.recall.stages.conditions import When
from recollect.recall.stages.conversation import Answering, Dates, Resuming, Role, Session, Speaker
from recollect.recall.stages.factors import Recency, StatusFactor
from recollect.recall.stages.use import Touching

__all__ = [
    "Answering",
    "Dates",
    "Recency",
    "Resuming",
    "Role",
    "Session",
    "Speaker",
    "StatusFactor",
    "Touching",
    "When",
]
