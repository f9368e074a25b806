"""Stages: each changes the hits (rescores, drops, reorders, adds, annotates) by returning operations."""

from recollect.recall.stages.conversation import (
    AnswerLikelihood,
    ContinuedConversation,
    DateFactor,
    RoleFactor,
    SessionScore,
    SpeakerFactor,
)
from recollect.recall.stages.coverage import Coverage
from recollect.recall.stages.factors import ConditionalStage, RecencyFactor, RecordUse, StatusFactor
from recollect.recall.stages.polarity import PolarityFactor

__all__ = [
    "AnswerLikelihood",
    "ConditionalStage",
    "ContinuedConversation",
    "Coverage",
    "DateFactor",
    "PolarityFactor",
    "RecencyFactor",
    "RecordUse",
    "RoleFactor",
    "SessionScore",
    "SpeakerFactor",
    "StatusFactor",
]
