"""Looking for better settings: found where they are, not found where they are not, and honest about the gain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from recollect import InvalidInput, Memory, Mind
from recollect.evaluation import LabelledQuestion, RecallRunner, score_answers, tune
from recollect.evaluation.tuning import FOLDS, GRID
from recollect.recall.cues import CachedPlan
from recollect.recall.registry import RECIPES, get_recipe

OWN = RECIPES["default"].__kwdefaults__ or {}  # the settings, as the recipe has them
THINGS = (
    "hammer ladder kettle lantern saddle compass violin anchor basket candle drill easel flute goggles hinge "
    "jigsaw kayak locket mirror napkin organ pillow quilt scissors"
).split()


def memories() -> list[Memory]:
    """For every thing, who asked for it, and the answer of an assistant."""
    return [
        Memory(text, role=role, external_id=f"{thing} {role}")
        for thing in THINGS
        for role, text in (
            ("user", f"Could you tell me where the {thing} went?"),
            ("assistant", f"The {thing} is in the cellar."),
        )
    ]


@pytest.fixture
def mind(path: Path) -> Iterator[Mind]:
    with Mind(path, embedder=None) as mind:
        mind.remember_many(memories())
        yield mind


def questions(role: str) -> list[LabelledQuestion]:
    return [LabelledQuestion(f"where is the {thing}?", {f"{thing} {role}": 1}) for thing in THINGS]


def ndcg(asker: RecallRunner, asked: list[LabelledQuestion], **settings: float) -> float:
    return score_answers("by hand", asked, asker.answers(asked, get_recipe("default", **settings))).mean("NDCG@10")


def test_the_setting_that_matters_is_found_and_its_gain_is_that_of_real_recalls(mind: Mind) -> None:
    asker, asked = RecallRunner(mind), questions("assistant")
    tuned = tune(asker, asked)
    assert list(tuned.settings) == ["assistant"]
    assert tuned.settings["assistant"] > OWN["assistant"]
    assert tuned.folds == (tuned.settings,) * FOLDS
    assert tuned.before == pytest.approx(ndcg(asker, asked))
    assert tuned.gain.mean == pytest.approx(ndcg(asker, asked, **tuned.settings) - tuned.before)
    assert tuned.gain.mean > 0.3
    assert tuned.worth_it
    assert "significantly better" in tuned.verdict()


def test_where_all_is_found_already_nothing_is_changed(mind: Mind) -> None:
    tuned = tune(RecallRunner(mind), questions("user"))
    assert (tuned.settings, tuned.before, tuned.gain.mean, tuned.worth_it) == ({}, 1.0, 0.0, False)
    assert "No gain" in tuned.verdict()


def test_what_was_labelled_by_chance_is_not_taken_for_a_gain(mind: Mind) -> None:
    """Some settings fit chance a little better; on questions that are held out they do not."""
    chance = Random(1)
    asked = [
        LabelledQuestion(f"where is the {a}, the {b}?", {f"{chance.choice((a, b))} user": 1}) for a, b in pairs(chance)
    ]
    tuned = tune(RecallRunner(mind), asked)
    assert not tuned.worth_it
    assert tuned.gain.low <= 0 <= tuned.gain.high


def pairs(chance: Random) -> list[tuple[str, str]]:
    return [(a, b) for a, b in (chance.sample(THINGS, 2) for _ in range(40))]


def test_below_twenty_answers_nothing_is_said_and_below_a_hundred_a_warning(mind: Mind) -> None:
    asked = questions("user")
    with pytest.raises(InvalidInput, match="at least 20 questions with an answer, better 100; there are 19"):
        tune(RecallRunner(mind), [*asked[:19], *[LabelledQuestion("and who knows?")] * 100])
    assert tune(RecallRunner(mind), asked[:20]).few


def test_tuning_leaves_no_mark_and_tells_how_far_it_is(mind: Mind) -> None:
    told: list[tuple[int, int | None]] = []
    tune(RecallRunner(mind), questions("user")[:20], progress=lambda done, total: told.append((done, total)))
    assert [memory.use.access_count for memory in mind.list()] == [0] * (2 * len(THINGS))
    done, totals = zip(*told, strict=True)
    assert (list(done), len(set(totals))) == (sorted(done), 1)
    assert done[-1] <= totals[0]


def test_everything_that_is_searched_is_a_setting_of_the_recipe() -> None:
    assert GRID.keys() == OWN.keys()
    for name, values in GRID.items():
        for value in values:
            get_recipe("default", **{name: value})


# Cues that look once.


@pytest.mark.parametrize("settings", [{}, {"words": 4.0, "tokens": 0.25}, {"assistant": 1.0, "session": 0.0}])
def test_asked_again_with_other_settings_the_answer_is_the_same_as_asked_anew(
    path: Path, settings: dict[str, Any]
) -> None:
    with Mind(path) as mind:
        for number, thing in enumerate(THINGS[:12]):
            mind.remember(f"The {thing} is in box {number}.", session=str(number % 3), role="user")
            mind.remember(f"Noted, I put the {thing} on the list.", session=str(number % 3), role="assistant")
        once = CachedPlan(get_recipe("default").cues)
        mind.recall("where is the hammer?", recipe=get_recipe("default").but(cues=once), track=False)
        again = mind.recall(
            "where is the hammer?", recipe=get_recipe("default", **settings).but(cues=once), track=False
        )
        anew = mind.recall("where is the hammer?", track=False, **settings)
        assert [each.memory.id for each in again] == [each.memory.id for each in anew]
        assert [each.score for each in again] == pytest.approx([each.score for each in anew], abs=1e-4)  # time passes
        assert all(each.why.evaluate() == each.score for each in again)


def test_after_a_write_the_cues_look_again(mind: Mind) -> None:
    recipe = get_recipe("default").but(cues=CachedPlan(get_recipe("default").cues))
    before = [each.text for each in mind.recall("submarine", recipe=recipe)]
    mind.remember("The submarine is yellow.")
    after = [each.text for each in mind.recall("submarine", recipe=recipe)]
    assert ("The submarine is yellow." in before, after[0]) == (False, "The submarine is yellow.")


# The settings themselves.


def test_the_settings_of_the_default_recipe_are_its_own_numbers(mind: Mind) -> None:
    now = mind.clock()
    said = OWN
    plain, spelt = (mind.recall("where is the hammer?", as_of=now, track=False, **each) for each in ({}, said))
    assert [(each.memory.id, each.score) for each in plain] == [(each.memory.id, each.score) for each in spelt]


def test_shares_stay_shares_whatever_the_factors(path: Path) -> None:
    with Mind(path) as mind:
        mind.remember("The hammer is in the cellar.")
        shares = [
            sum(share.weight for share in blend.cue_weights if share.cue in ("words", "vectors", "tokens"))
            for factors in ({}, {"words": 4.0}, {"words": 0, "vectors": 0.5})
            for kind, blend in get_recipe("default", **factors).fuse.blends.items()  # type: ignore[attr-defined]
            if kind != "only time"
        ]
        assert shares == pytest.approx(np.ones(len(shares)))
        (found,) = mind.recall("hammer", words=4.0, recency=0.0)
        assert found.score == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"words": 0, "vectors": 0, "tokens": 0}, "words, vectors, tokens cannot all be 0"),
        ({"words": -1}, "words must be at least 0"),
        ({"session": 1.5}, "session must be between 0 and 1"),
        ({"assistant": "half"}, "assistant must be a number"),
        ({"colour": 1}, "has no setting 'colour'; its settings are: words, vectors"),
    ],
)
def test_a_wrong_setting_is_told(mind: Mind, settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        mind.recall("hammer", **settings)
