"""Stages: each changes the hits (rescores, drops, reorders, adds, annotates) by returning operations."""

from recollect.recall.stages.conversation import (
    AnswerLikelihood,
    ContinuedConversation,
    RoleFactor,
    SessionScore,
    SpeakerFactor,
)
from recollect.recall.stages.factors import ConditionalStage, RecencyFactor, RecordUse, StatusFactor

__all__ = [
    "AnswerLikelihood",
    "ConditionalStage",
    "ContinuedConversation",
    "RecencyFactor",
    "RecordUse",
    "RoleFactor",
    "SessionScore",
    "SpeakerFactor",
    "StatusFactor",
]
