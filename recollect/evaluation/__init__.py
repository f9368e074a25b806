"""Measuring recall: labelled questions, put to a mind, and how good its answers are."""

from recollect.evaluation.asking import DEPTH, Answer, Asker, asking
from recollect.evaluation.labelled import Labelled, Question
from recollect.evaluation.measures import MEASURES, Interval, Scores, difference, interval, score, separation
from recollect.evaluation.outcome import Gate, Outcome, judge
from recollect.evaluation.own import resolved, template
from recollect.evaluation.readers import UNITS, read
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
