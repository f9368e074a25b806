"""Why a memory did not come back: the step that left it out, and by how much (B2)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from recollect import Filter, Mind, NotFound

from .kit import NOON, Moody, ids, open_mind

pytestmark = pytest.mark.contract("B2")


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    """Six cups, each a worse match than the one before, and things that should not come back."""
    with open_mind(tmp_path / "memory.db") as mind:
        for n in range(6):
            mind.remember("cup " + "saucer " * n, id=f"cup-{n}", user="ada", created=NOON - timedelta(days=n))
        mind.remember("cup saucer", id="bob-cup", user="bob")
        mind.remember("cup", id="gone", user="ada")
        mind.forget("gone")
        mind.remember("cup", id="stale", user="ada", expires=NOON)
        yield mind


def test_a_returned_memory_is_said_to_be_returned(mind: Mind) -> None:
    verdict = mind.why_not("cup", "cup-0")
    assert verdict.returned
    assert verdict.step == ""
    assert "rank 1" in verdict.reason
    assert verdict.value == mind.recall("cup", track=False)[0].score


def test_a_filtered_memory_is_told_which_condition_left_it_out(mind: Mind) -> None:
    verdict = mind.why_not("cup", "bob-cup", filter=Filter(kind="memory", user="ada"))
    assert (verdict.returned, verdict.step) == (False, "filter")
    assert "user='ada'" in verdict.reason
    assert "kind" not in verdict.reason


def test_a_memory_left_out_by_a_negation_is_told_so(mind: Mind) -> None:
    verdict = mind.why_not("cup", "bob-cup", filter=~Filter(user="bob"))
    assert verdict.step == "filter"
    assert "not (user='bob')" in verdict.reason


def test_a_forgotten_memory_is_told_that_it_was_forgotten(mind: Mind) -> None:
    verdict = mind.why_not("cup", "gone")
    assert (verdict.returned, verdict.step) == (False, "filter")
    assert "forgotten" in verdict.reason


def test_an_expired_memory_is_left_out_because_it_has_expired(mind: Mind) -> None:
    verdict = mind.why_not("cup", "stale")
    assert verdict.step == "filter"
    assert "expired" in verdict.reason


def test_a_memory_that_did_not_hold_then_is_told_when(mind: Mind) -> None:
    verdict = mind.why_not("cup", "cup-0", as_of="2024-01-01")
    assert verdict.step == "filter"
    assert "not valid at 2024-01-01" in verdict.reason


def test_a_memory_beyond_k_is_told_its_rank_the_limit_and_the_gap_in_score(mind: Mind) -> None:
    ranked = mind.recall("cup", k=50, filter=Filter(user="ada"), track=False)
    place = ids(ranked).index("cup-5")
    verdict = mind.why_not("cup", "cup-5", k=2, filter=Filter(user="ada"))
    assert not verdict.returned
    assert "best 2" in verdict.step
    assert (verdict.value, verdict.threshold) == (place + 1, 2)
    assert f"{ranked[place].score:.4f}" in verdict.reason
    assert f"{ranked[1].score:.4f}" in verdict.reason
    assert "found it at rank" in verdict.cues["words"]


def test_a_memory_that_no_cue_found_hears_each_cue_out(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", None) as mind:
        mind.remember("cup", id="cup")
        mind.remember("door", id="door")
        verdict = mind.why_not("cup", "door")
        assert (verdict.returned, verdict.step) == (False, "cues")
        assert set(verdict.cues) == {"time", "words", "trigrams", "vectors", "history", "tokens"}
        assert "nothing in common" in verdict.cues["words"]
        assert "every word has a match" in verdict.cues["trigrams"]
        assert "no embedder" in verdict.cues["vectors"]
        assert "no embedder" in verdict.cues["tokens"]


def test_a_memory_behind_a_full_page_is_told_how_far_from_the_candidates_it_is(tmp_path: Path) -> None:
    """A cue brings a page of candidates; the memory behind them hears by how much it missed."""
    with open_mind(tmp_path / "memory.db", None) as mind:
        mind.remember_many([f"cup {number}" for number in range(250)])
        mind.remember("cup beside many other words", id="last")
        verdict = mind.why_not("cup", "last", k=5)
    assert verdict.step == "cues"
    assert re.match(r"scores it 0\.\d+; its \d\d+ candidates end at 0\.\d+", verdict.cues["words"])


def test_a_cue_that_fails_is_quoted(tmp_path: Path) -> None:
    moody = Moody()
    with open_mind(tmp_path / "memory.db", moody) as mind:
        mind.remember("cup", id="cup")
        mind.remember("door", id="door")
        moody.failing = True
        assert "holiday" in mind.why_not("cup", "door").cues["vectors"]


def test_an_unknown_id_is_not_found(mind: Mind) -> None:
    with pytest.raises(NotFound, match="nobody"):
        mind.why_not("cup", "nobody")
    with pytest.raises(NotFound, match="nobody"):
        mind.recall("cup").why_not("nobody")


def test_the_beginning_of_an_id_is_enough_for_both_questions(mind: Mind) -> None:
    recall = mind.recall("cup", k=1, track=False)
    assert mind.why_not("cup", "bob", k=1).id == "bob-cup"
    assert recall.why("cup-0") == recall[0].why
    assert recall.why_not("bob").id == "bob-cup"


def test_a_verdict_is_plain_data_and_reads_as_lines(mind: Mind) -> None:
    verdict = mind.why_not("cup", "cup-5", k=2)
    assert json.loads(json.dumps(verdict.as_dict()))["threshold"] == 2
    assert str(verdict).splitlines()[0] == verdict.reason
    assert any(line.strip().startswith("words:") for line in str(verdict).splitlines())


# A Recall that is kept answers for the moment of the recall, whatever is written later.


def test_a_kept_recall_still_knows_the_cut_after_later_writes(mind: Mind) -> None:
    recall = mind.recall("cup", k=2, filter=Filter(user="ada"))
    before = recall.why_not("cup-5")
    mind.remember_many(["cup cup", "door"])
    mind.edit("cup-1", text="something else")
    assert recall.why_not("cup-5") == before


def test_a_kept_recall_says_returned_of_what_was_forgotten_later(mind: Mind) -> None:
    recall = mind.recall("cup", k=2)
    id = recall[0].memory.id
    mind.forget(id)
    assert recall.why_not(id).returned


def test_a_kept_recall_blames_the_cut_though_the_memory_was_forgotten_later(mind: Mind) -> None:
    recall = mind.recall("cup", k=2, filter=Filter(user="ada"))
    before = recall.why_not("cup-5")
    mind.forget("cup-5")
    after = recall.why_not("cup-5")
    assert (after.step, after.value, after.threshold) == (before.step, before.value, before.threshold)


def test_a_kept_recall_does_not_blame_the_cues_for_what_its_filter_left_out(mind: Mind) -> None:
    recall = mind.recall("cup", filter=Filter(user="ada"))
    mind.edit("bob-cup", user="ada")
    verdict = recall.why_not("bob-cup")
    assert verdict.step == "filter" or "since" in verdict.reason, str(verdict)


def test_a_kept_recall_does_not_blame_the_cues_for_what_was_added_later(mind: Mind) -> None:
    recall = mind.recall("cup")
    mind.remember("cup", id="late")
    verdict = recall.why_not("late")
    assert not verdict.returned
    assert verdict.step != "cues" or "since" in verdict.reason, str(verdict)


def test_a_memory_of_another_time_than_the_one_that_is_asked_for_is_told_so(mind: Mind) -> None:
    verdict = mind.why_not("what is on 22 December 2026?", "cup-0")
    assert verdict.reason == "The query names a time and nothing else, and nothing is known of 2026-12-22."
    assert verdict.cues["time"].startswith("gives it no score")
    mind.remember("cup and saucer were sold", user="ada", created="2026-12-22")
    verdict = mind.why_not("what is on 22 December 2026?", "cup-0")
    assert verdict.reason == "The query names a time and nothing else, and this memory is not of 2026-12-22."
