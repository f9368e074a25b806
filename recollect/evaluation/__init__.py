"""Measuring recall: labelled questions, put to a mind, and how good its answers are."""

from recollect.evaluation.dataset import Labelled, Question
from recollect.evaluation.measures import MEASURES, Interval, Scores, difference, interval, score, separation
from recollect.evaluation.own_questions import resolved, template
from recollect.evaluation.readers import UNITS, read
from recollect.evaluation.report import Gate, Outcome, judge
from recollect.evaluation.runner import DEPTH, Answer, Asker, asking
from recollect.evaluation.tuning import Tuned, tune

__all__ = [
    "DEPTH",
    "MEASURES",
    "UNITS",
    "Answer",
    "Asker",
    "Gate",
    "Interval",
    "Labelled",
    "Outcome",
    "Question",
    "Scores",
    "Tuned",
    "asking",
    "difference",
    "interval",
    "judge",
    "read",
    "resolved",
    "score",
    "separation",
    "template",
    "tune",
]
