"""Looking for the settings of the default recipe that suit one deployment, and saying honestly what they gain.

One setting after the other is tried at the values of a small grid, and the best is kept (coordinate search). What that
gains is measured on other questions than those it was chosen by: every question is held out once (cross-validation).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.evaluation.dataset import Question
from recollect.evaluation.measures import Interval, Values, interval, score
from recollect.evaluation.runner import Asker
from recollect.ingest.writer import Progress
from recollect.recall.cues import Once
from recollect.recall.registry import RECIPES, get_recipe

RECIPE = "default"
MEASURE = "NDCG@10"
# No cue is switched off: a question of another kind than these may need it.
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
GRID: dict[str, tuple[float, ...]] = {
    "words": FACTORS,
    "vectors": FACTORS,
    "tokens": FACTORS,
    "session": (0.0, 0.25, 0.5, 0.75, 1.0),
    "speaker": (0.5, 0.65, 0.8, 0.9, 1.0),
    "assistant": (0.4, 0.55, 0.7, 0.85, 1.0),
    "resuming": (0.0, 0.15, 0.25, 0.4),
    "recency": (0.0, 0.02, 0.05, 0.1, 0.2, 0.4),
}
ROUNDS = 2  # times that each setting is looked at
FOLDS = 5
LEAST = 0.001  # less than this is no reason to change a setting
FEWEST, FEW = 20, 100  # questions: below the first nothing can be said, below the second not much

Settings = dict[str, float]
Chosen = NDArray[np.int64]  # questions, by number


@dataclass(frozen=True, slots=True)
class Tuned:
    """The settings that do best on all of the questions, and what such a choice gains on questions it did not see."""

    questions: int
    settings: Settings  # those that differ from the recipe's own
    before: float  # the mean of the measure with the recipe's own settings
    gain: Interval  # held out, question by question
    folds: tuple[Settings, ...]  # what each part of the questions would have chosen

    @property
    def worth_it(self) -> bool:
        """Surely better, as far as these questions tell?"""
        return bool(self.settings) and self.gain.low > 0

    @property
    def few(self) -> bool:
        return self.questions < FEW

    def verdict(self) -> str:
        if not self.settings:
            return "Nothing is gained: no other settings do better on these questions. Keep the recipe's own."
        if self.gain.mean <= 0:
            return "Nothing is gained: on questions not used to choose them, other settings do no better."
        if not self.worth_it:
            return "The gain may be an accident of these questions: its interval reaches 0. More questions would tell."
        return "These settings are better on questions not used to choose them, and that is no accident."

    def as_dict(self) -> dict[str, Any]:
        return {
            "recipe": RECIPE,
            "questions": self.questions,
            "few": self.few,
            "measure": MEASURE,
            "before": round(self.before, 4),
            "gain": [round(value, 4) for value in (self.gain.mean, self.gain.low, self.gain.high)],
            "worth_it": self.worth_it,
            "verdict": self.verdict(),
            "settings": self.settings,
            "folds": list(self.folds),
        }


def tune(asker: Asker, questions: Sequence[Question], *, progress: Progress | None = None) -> Tuned:
    """Search the settings of the default recipe by questions that have an answer; nothing is written to the memory."""
    asked = [each for each in questions if each.relevant]
    if len(asked) < FEWEST:
        raise InvalidInput(
            f"Tuning needs at least {FEWEST} questions with an answer, better {FEW}, and there are {len(asked)}: "
            "with fewer, what looks better is an accident."
        )
    trial = Trial(asker, asked)
    everything, visits = np.arange(len(asked)), ROUNDS * len(GRID)
    gains = np.zeros(len(asked))
    folds: list[Settings] = []

    def search(chosen: Chosen) -> Settings:
        start = len(folds) * visits
        return trial.search(chosen, lambda done: progress and progress(start + done, (FOLDS + 1) * visits))

    for held_out in np.array_split(np.random.default_rng(0).permutation(everything), FOLDS):
        found = search(np.setdiff1d(everything, held_out))
        gains[held_out] = (trial.values(found) - trial.values(trial.own))[held_out]
        folds.append(trial.changed(found))
    best = search(everything)
    before = float(trial.values(trial.own).mean())
    return Tuned(len(asked), trial.changed(best), before, interval(gains, least=-1.0), tuple(folds))


class Trial:
    """Questions to try settings on. Cues look once for each question, and no settings are tried twice."""

    def __init__(self, asker: Asker, questions: Sequence[Question]) -> None:
        self.own: Settings = {name: (RECIPES[RECIPE].__kwdefaults__ or {})[name] for name in GRID}
        self._asker = asker
        self._questions = questions
        self._plans = [Once(get_recipe(RECIPE).cues) for _ in questions]
        self._known: dict[tuple[float, ...], Values] = {}

    def search(self, chosen: Chosen, visited: Callable[[int], object]) -> Settings:
        """The best settings for the chosen questions: from the recipe's own, one at a time, as long as it helps."""
        best = self.own
        for start in range(0, ROUNDS * len(GRID), len(GRID)):
            before = best
            for done, name in enumerate(GRID, start + 1):
                best = self._better(best, name, chosen)
                visited(done)
            if best == before:
                break
        return best

    def _better(self, settings: Settings, name: str, chosen: Chosen) -> Settings:
        """With the best value of one setting; of equal ones, that which is nearest to the recipe's own."""
        values = sorted({settings[name], *GRID[name]}, key=lambda value: abs(value - self.own[name]))
        means = {value: self.values({**settings, name: value})[chosen].mean() for value in values}
        best = max(values, key=means.__getitem__)
        return {**settings, name: best} if means[best] >= means[settings[name]] + LEAST else settings

    def values(self, settings: Settings) -> Values:
        """The measure for each question."""
        key = tuple(settings.values())
        if key not in self._known:
            recipe = get_recipe(RECIPE, **settings).but(confidence=None)
            asked = zip(self._questions, self._plans, strict=True)
            answers = [self._asker.answer(question, recipe.but(cues=plan)) for question, plan in asked]
            self._known[key] = score(RECIPE, self._questions, answers).values[MEASURE]
        return self._known[key]

    def changed(self, settings: Settings) -> Settings:
        return {name: value for name, value in settings.items() if value != self.own[name]}
