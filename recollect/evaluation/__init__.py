"""Measures recall: runs labelled questions against a memory and scores the answers."""

from recollect.evaluation.dataset import LabelledQuestion, LabelledSet, question_template, resolve_ids
from recollect.evaluation.measures import (
    MEASURES,
    Interval,
    RecipeScores,
    bootstrap_interval,
    paired_difference,
    roc_auc,
    score_answers,
)
from recollect.evaluation.readers import UNITS, read
from recollect.evaluation.report import EvaluationReport, QualityGate, build_report
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
