"""Searches for settings of the default recipe that suit a user's questions, and measures what they gain.

A coordinate search tries one setting after the other at the values of a small grid and keeps the best. The gain is
measured by cross-validation: on questions that were not used to choose the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.evaluation.dataset import LabelledQuestion
from recollect.evaluation.report import Interval, Values, bootstrap_interval, score_answers
from recollect.evaluation.runner import RecallRunner
from recollect.ingest.writer import Progress
from recollect.recall.cues import CachedPlan
from recollect.recall.registry import RECIPES, get_recipe

RECIPE = "default"
MEASURE = "NDCG@10"
# No cue is switched off: other questions may need it.
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
ROUNDS = 2  # passes over all settings
FOLDS = 5
MIN_GAIN = 0.001  # a smaller gain is no reason to change a setting
MIN_QUESTIONS, FEW_QUESTIONS = 20, 100  # fewer than the first is an error, than the second a hint

Settings = dict[str, float]
QuestionNumbers = NDArray[np.int64]  # questions, by number


@dataclass(frozen=True, slots=True)
class TuningResult:
    """The settings that do best on all questions, and their gain on questions not used to choose them."""

    questions: int
    settings: Settings  # those that differ from the recipe's own
    before: float  # the mean of the measure with the recipe's own settings
    gain: Interval  # on held-out questions
    folds: tuple[Settings, ...]  # the settings chosen in each fold

    @property
    def worth_it(self) -> bool:
        """Is the gain statistically significant?"""
        return bool(self.settings) and self.gain.low > 0

    @property
    def few(self) -> bool:
        return self.questions < FEW_QUESTIONS

    def verdict(self) -> str:
        if not self.settings:
            return "No gain: no other settings do better on these questions. Keep the recipe's own."
        if self.gain.mean <= 0:
            return "No gain: on questions not used to choose them, other settings do no better."
        if not self.worth_it:
            return "The gain may be chance: its interval includes 0. More questions would tell."
        return "These settings are significantly better on questions not used to choose them."

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


def tune(
    runner: RecallRunner, questions: Sequence[LabelledQuestion], *, progress: Progress | None = None
) -> TuningResult:
    """Search for better settings of the default recipe by questions that have an answer. Nothing is written."""
    answerable = [each for each in questions if each.relevant]
    if len(answerable) < MIN_QUESTIONS:
        raise InvalidInput(
            f"Tuning needs at least {MIN_QUESTIONS} questions with an answer, better {FEW_QUESTIONS}; there are "
            f"{len(answerable)}. With fewer, an apparent gain is chance."
        )
    search_space = SettingsSearch(runner, answerable)
    everything, visits = np.arange(len(answerable)), ROUNDS * len(GRID)
    gains = np.zeros(len(answerable))
    folds: list[Settings] = []

    def search(chosen: QuestionNumbers) -> Settings:
        start = len(folds) * visits
        return search_space.search(chosen, lambda done: progress and progress(start + done, (FOLDS + 1) * visits))

    for held_out in np.array_split(np.random.default_rng(0).permutation(everything), FOLDS):
        found = search(np.setdiff1d(everything, held_out))
        gains[held_out] = (search_space.values(found) - search_space.values(search_space.defaults))[held_out]
        folds.append(search_space.changed(found))
    best = search(everything)
    before = float(search_space.values(search_space.defaults).mean())
    return TuningResult(
        len(answerable), search_space.changed(best), before, bootstrap_interval(gains, minimum=-1.0), tuple(folds)
    )


class SettingsSearch:
    """Tries settings on questions. Cues run once per question, and no settings are tried twice."""

    def __init__(self, runner: RecallRunner, questions: Sequence[LabelledQuestion]) -> None:
        self.defaults: Settings = {name: (RECIPES[RECIPE].__kwdefaults__ or {})[name] for name in GRID}
        self._runner = runner
        self._questions = questions
        self._plans = [CachedPlan(get_recipe(RECIPE).cues) for _ in questions]
        self._cache: dict[tuple[float, ...], Values] = {}

    def search(self, chosen: QuestionNumbers, visited: Callable[[int], object]) -> Settings:
        """The best settings for the chosen questions, by coordinate search from the recipe's own."""
        best = self.defaults
        for start in range(0, ROUNDS * len(GRID), len(GRID)):
            before = best
            for done, name in enumerate(GRID, start + 1):
                best = self._better(best, name, chosen)
                visited(done)
            if best == before:
                break
        return best

    def _better(self, settings: Settings, name: str, chosen: QuestionNumbers) -> Settings:
        """The settings with the best value of one of them; ties go to the value nearest to the recipe's own."""
        values = sorted({settings[name], *GRID[name]}, key=lambda value: abs(value - self.defaults[name]))
        means = {value: self.values({**settings, name: value})[chosen].mean() for value in values}
        best = max(values, key=means.__getitem__)
        return {**settings, name: best} if means[best] >= means[settings[name]] + MIN_GAIN else settings

    def values(self, settings: Settings) -> Values:
        """The measure for each question."""
        key = tuple(settings.values())
        if key not in self._cache:
            recipe = get_recipe(RECIPE, **settings).but(confidence=None)
            pairs = zip(self._questions, self._plans, strict=True)
            answers = [self._runner.answer(question, recipe.but(cues=plan)) for question, plan in pairs]
            self._cache[key] = score_answers(RECIPE, self._questions, answers).values[MEASURE]
        return self._cache[key]

    def changed(self, settings: Settings) -> Settings:
        return {name: value for name, value in settings.items() if value != self.defaults[name]}
