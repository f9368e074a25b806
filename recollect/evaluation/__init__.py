"""Measures recall: runs labelled questions against a memory and scores the answers."""

from recollect.evaluation.dataset import UNITS, LabelledQuestion, LabelledSet, question_template, read, resolve_ids
from recollect.evaluation.report import (
    MEASURES,
    EvaluationReport,
    Interval,
    QualityGate,
    RecipeScores,
    bootstrap_interval,
    build_report,
    paired_difference,
    roc_auc,
    score_answers,
)
from recollect.evaluation.runner import DEPTH, RecallAnswer, RecallRunner, open_runner
from recollect.evaluation.tuning import TuningResult, tune

__all__ = [
    "DEPTH",
    "MEASURES",
    "UNITS",
    "EvaluationReport",
    "Interval",
    "LabelledQuestion",
    "LabelledSet",
    "QualityGate",
    "RecallAnswer",
    "RecallRunner",
    "RecipeScores",
    "TuningResult",
    "bootstrap_interval",
    "build_report",
    "open_runner",
    "paired_difference",
    "question_template",
    "read",
    "resolve_ids",
    "roc_auc",
    "score_answers",
    "tune",
]
