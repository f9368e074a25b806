"""Stages: each changes the hits (rescores, drops, reorders, adds, annotates) by returning operations."""

from recollect.recall.stages.conversation import (
    AnswerLikelihood,
    AssistantReplies,
    ContinuedConversation,
    RoleFactor,
    SessionScore,
    SpeakerFactor,
)
from recollect.recall.stages.coverage import Coverage
from recollect.recall.stages.factors import ConditionalStage, OrderFactor, RecencyFactor, RecordUse, StatusFactor
from recollect.recall.stages.links import (
    ConfidenceStrengthFactor,
    Contradictions,
    CurrentVersions,
    RelatedNames,
    SpreadingActivation,
)
from recollect.recall.stages.polarity import PolarityFactor
from recollect.recall.stages.statements import StatementTime

__all__ = [
    "AnswerLikelihood",
    "AssistantReplies",
    "ConditionalStage",
    "ConfidenceStrengthFactor",
    "ContinuedConversation",
    "Contradictions",
    "Coverage",
    "CurrentVersions",
    "OrderFactor",
    "PolarityFactor",
    "RecencyFactor",
    "RecordUse",
    "RelatedNames",
    "RoleFactor",
    "SessionScore",
    "SpeakerFactor",
    "SpreadingActivation",
    "StatementTime",
    "StatusFactor",
]
