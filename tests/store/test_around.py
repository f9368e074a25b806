"""What stands around a memory: its session in order, and files that an older version wrote."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect import Mind, Recall, StoreError
from recollect.systems.openclaw.workspace import Workspace
from recollect.upkeep.doctor import Doctor
from tests.ingest.kit import VAULT, write
from tests.recall.kit import NOON, WOVEN, Woven, ids, open_mind, step, told
from tests.store.looking import assert_whole, sql
from tests.store.older_files import make_older

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def mind(path: Path) -> Iterator[Mind]:
    with open_mind(path, WOVEN) as mind:
        yield mind


def around(mind: Mind, id: str, reach: int = 2) -> tuple[list[str], list[str]]:
    """The ids before a memory, nearest first, and those after it."""
    with mind.store.snapshot() as snapshot:
        row = snapshot.row(id)
        assert row is not None
        (found,) = snapshot.neighbours(np.array([row]), reach)
        assert len(found) == 2 * reach
        named = [snapshot.ids(np.array([each]))[0] if each >= 0 else "" for each in found.tolist()]
    return [each for each in named[:reach] if each], [each for each in named[reach:] if each]


def test_a_session_is_in_the_order_of_its_positions(mind: Mind) -> None:
    for at in (3, 1, 4, 0, 2):
        mind.remember(f"said {at}", id=f"m{at}", session="monday", position=at)
    assert around(mind, "m2") == (["m1", "m0"], ["m3", "m4"])
    assert around(mind, "m0") == ([], ["m1", "m2"])
    assert around(mind, "m4", reach=1) == (["m3"], [])


def test_without_positions_it_is_in_the_order_of_creation(mind: Mind) -> None:
    for days in (1, 5, 3):
        mind.remember(f"said {days}", id=f"m{days}", session="monday", created=NOON - timedelta(days=days))
    assert around(mind, "m3") == (["m5"], ["m1"])


def test_of_one_moment_it_is_in_the_order_of_writing(mind: Mind) -> None:
    mind.remember_many({"text": f"said {at}", "id": f"m{at}", "session": "monday"} for at in (7, 2, 9))
    assert around(mind, "m2") == (["m7"], ["m9"])


def test_a_position_goes_before_a_moment(mind: Mind) -> None:
    mind.remember("said first", id="a", session="monday", position=1, created=NOON)
    mind.remember("said second", id="b", session="monday", position=2, created=NOON - timedelta(days=3))
    assert around(mind, "a") == ([], ["b"])


def test_sessions_and_collections_are_apart(mind: Mind) -> None:
    for session in ("monday", "tuesday"):
        for collection in ("", "work"):
            for at in range(3):
                details: dict[str, Any] = {"session": session, "collection": collection, "position": at}
                mind.remember(f"said {at}", id=f"{session} {collection} {at}", **details)
    assert around(mind, "monday work 1") == (["monday work 0"], ["monday work 2"])
    assert around(mind, "tuesday  2") == (["tuesday  1", "tuesday  0"], [])
    assert around(mind, "monday  0") == ([], ["monday  1", "monday  2"])


def test_what_another_user_said_in_a_session_of_that_name_does_not_come_between(mind: Mind) -> None:
    for at in range(3):
        for user in ("ann", "bob"):
            mind.remember(f"said {at}", id=f"{user} {at}", user=user, session="monday", position=at)
    assert around(mind, "ann 1") == (["ann 0"], ["ann 2"])


def test_one_that_is_not_there_has_nothing_around_it(mind: Mind) -> None:
    with mind.store.snapshot() as snapshot:
        assert snapshot.neighbours(np.array([7]), 2).tolist() == [[-1] * 4]
        assert snapshot.neighbours(np.empty(0, np.int64), 2).shape == (0, 4)
    mind.remember_many({"text": f"said {at}", "session": "monday"} for at in range(3))
    with mind.store.snapshot() as snapshot:
        assert snapshot.neighbours(np.array([99, -1]), 2).tolist() == [[-1] * 4] * 2


def test_the_order_follows_every_change(mind: Mind) -> None:
    for at in range(4):
        mind.remember(f"said {at}", id=f"m{at}", session="monday", position=at)
    assert around(mind, "m1") == (["m0"], ["m2", "m3"])
    mind.edit("m3", position=0)
    assert around(mind, "m1") == (["m3", "m0"], ["m2"])
    mind.undo()
    assert around(mind, "m1") == (["m0"], ["m2", "m3"])
    mind.edit("m0", session="tuesday")
    assert around(mind, "m1") == ([], ["m2", "m3"])
    mind.edit("m1", text="said something else")
    assert around(mind, "m2") == (["m1"], ["m3"])


def diary(words: int, shared: int, days: int = 14) -> list[dict[str, Any]]:
    """Days of so many words, of which so many are those of the day before."""
    step = words - shared
    return [{"text": " ".join(f"w{day * step + n}" for n in range(words)), "id": f"d{day}"} for day in range(days)]


def test_without_sessions_a_diary_is_read_in_its_order(mind: Mind) -> None:
    mind.remember_many(diary(6, shared=4))
    assert around(mind, "d5") == (["d4", "d3"], ["d6", "d7"])
    assert around(mind, "d0") == ([], ["d1", "d2"])


def test_without_sessions_notes_on_everything_stand_for_themselves(mind: Mind) -> None:
    mind.remember_many(diary(6, shared=0))
    assert around(mind, "d5") == ([], [])


def test_a_diary_in_one_collection_says_nothing_about_notes_in_another(mind: Mind) -> None:
    mind.remember_many({**day, "collection": "diary"} for day in diary(6, shared=4))
    mind.remember_many({**note, "id": f"note {note['id']}", "collection": "notes"} for note in diary(6, shared=0))
    assert around(mind, "d5") == (["d4", "d3"], ["d6", "d7"])
    assert around(mind, "note d5") == ([], [])


def test_a_few_memories_are_no_diary(mind: Mind) -> None:
    mind.remember_many(diary(6, shared=5, days=4))
    assert around(mind, "d1") == ([], [])


def test_without_vectors_nothing_tells_a_diary(path: Path) -> None:
    with open_mind(path, None) as mind:
        mind.remember_many(diary(6, shared=4))
        assert around(mind, "d5") == ([], [])


# Files of an older format, and other processes.

ASKED = "where could the mug be?"
KEPT = [{"text": "we keep one cup there", "id": "cup"}, {"text": "we keep one lamp there", "id": "lamp"}]


@pytest.fixture(params=[1, 2], ids=["from 0001", "from 0002"])
def old(request: pytest.FixtureRequest, path: Path) -> Path:
    with open_mind(path, WOVEN) as mind:
        mind.remember_many(KEPT)
    make_older(path, request.param)
    return path


def test_an_older_file_opens_and_answers_without_tokens(old: Path) -> None:
    with open_mind(old, WOVEN) as mind:
        recall = mind.recall(ASKED, track=False)
        assert ids(recall)[0] == "cup"
        assert recall.trace.failures == []
        assert step(recall, "tokens")["outcome"] == "skipped"
    assert_whole(old)


@pytest.mark.parametrize("how", ["embed", "reembed", "doctor"])
def test_an_older_file_gets_its_tokens(old: Path, how: str) -> None:
    with open_mind(old, WOVEN) as mind:
        mind.recall(ASKED)
        if how == "embed":
            assert mind.embed_missing() == 2
            assert mind.embed_missing() == 0
        elif how == "reembed":
            assert Mind.reembed(old, embedder=WOVEN) == 2
        else:
            Doctor(old, WOVEN).repair()
        recall = mind.recall(ASKED, track=False)
        assert (step(recall, "tokens")["outcome"], step(recall, "tokens")["out"]) == ("ran", 2)
    with open_mind(old.with_name("new.db"), WOVEN) as new:
        new.remember_many(KEPT)
        assert [r.score for r in recall] == [r.score for r in new.recall(ASKED, track=False)]


def test_an_older_file_that_is_only_read_answers_by_words_and_meaning(old: Path) -> None:
    with open_mind(old, WOVEN, readonly=True) as mind:
        recall = mind.recall(ASKED)
    assert ids(recall)[0] == "cup"
    assert step(recall, "vectors")["outcome"] == "ran"
    assert recall.trace.failures == []
    assert (step(recall, "tokens")["outcome"], step(recall, "tokens")["reason"]) == (
        "skipped",
        "no memory here has token vectors",
    )


@pytest.fixture
def third(path: Path) -> Path:
    """A file with the tokens beside the vectors, some in a second space, and one memory that has none."""
    with open_mind(path, WOVEN) as mind:
        mind.remember_many(KEPT)
        mind.remember_many({"text": f"there w{n} " * 9, "id": f"w{n}"} for n in range(300))
    sql(path, "DELETE FROM sketches WHERE row = 300; INSERT INTO spaces (name, dim, active) VALUES ('other', 100, 0)")
    sql(path, "INSERT INTO vectors SELECT 2, row, vector FROM vectors WHERE row < 100")
    sql(path, "INSERT INTO sketches SELECT 2, row, sketch FROM sketches WHERE row < 50")
    make_older(path, 3)
    return path


BESIDE = "SELECT space, row, vector, sketch FROM vectors ORDER BY space, row"
APART = (
    "SELECT v.space, v.row, v.vector, ifnull(s.sketch, x'') FROM vectors v "
    "LEFT JOIN sketches s ON s.space = v.space AND s.row = v.row ORDER BY v.space, v.row"
)


def used_pages(path: Path) -> int:
    (((pages,),), ((free,),)) = sql(path, "PRAGMA page_count"), sql(path, "PRAGMA freelist_count")
    return int(pages) - int(free)


def explained(recall: Recall) -> list[Any]:
    """Results and their scores; not the version, as the migration gives the changes of an older file their tokens."""
    return [[each.memory.id, each.score, each.why.as_dict()] for each in recall]


def test_tokens_that_lay_beside_the_vectors_get_a_table_of_their_own(third: Path) -> None:
    with open_mind(third, WOVEN, readonly=True) as mind:
        before = mind.recall(ASKED, track=False)
    kept, pages = sql(third, BESIDE), used_pages(third)
    with open_mind(third, WOVEN) as mind:
        assert explained(mind.recall(ASKED, track=False)) == explained(before)
        assert step(before, "tokens")["outcome"] == "ran"
        assert mind.embed_missing() == 1
        assert mind.embed_missing() == 0
    sql(third, "DELETE FROM sketches WHERE row = 300")
    assert sql(third, APART) == kept
    assert sql(third, "SELECT name FROM sqlite_schema WHERE name IN ('move', 'together')") == []
    assert sql(third, "SELECT sum(sketch = x'') FROM sketches") == [(0,)]
    assert used_pages(third) <= pages * 1.25  # new tables and indexes; nothing is there twice
    assert_whole(third)


def test_a_file_with_a_vector_twice_is_brought_up_to_date_all_the_same(third: Path) -> None:
    kept = sql(third, BESIDE)
    sql(third, "DROP INDEX vectors_row; INSERT INTO vectors SELECT * FROM vectors WHERE row = 2")
    open_mind(third, WOVEN).close()
    assert sql(third, APART) == kept
    assert Doctor(third, WOVEN).repair().healthy


def test_a_file_whose_change_of_shape_was_cut_short_is_as_it_was_and_is_brought_up_to_date_later(third: Path) -> None:
    kept = sql(third, BESIDE)
    program = (
        "import os, signal, sys\n"
        "import apsw\n"
        "from tests.recall.kit import WOVEN, open_mind\n"
        "def die():\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "def prepare(connection):\n"
        "    connection.pragma('cache_size', 10)  # so that pages are written before the end\n"
        "    connection.set_commit_hook(die)\n"
        "apsw.connection_hooks.append(prepare)\n"
        "open_mind(sys.argv[1], WOVEN)\n"
    )
    died = subprocess.run([sys.executable, "-c", program, str(third)], cwd=PROJECT, timeout=60)
    assert died.returncode == -signal.SIGKILL
    assert Path(f"{third}-wal").stat().st_size > 100_000
    assert sql(third, BESIDE) == kept
    open_mind(third, WOVEN).close()
    assert sql(third, APART) == kept
    assert_whole(third)


def test_what_another_process_writes_is_seen_with_its_tokens(path: Path, mind: Mind) -> None:
    mind.remember_many({"text": f"w{n} w{n + 1}", "session": "monday", "position": n} for n in range(5))
    mind.recall(ASKED)  # the tokens are in memory from now on
    program = (
        "import sys\n"
        "from tests.recall.kit import WOVEN, open_mind\n"
        "with open_mind(sys.argv[1], WOVEN) as mind:\n"
        "    mind.remember('we keep one cup there', id='cup', session='monday', position=5)\n"
        "    mind.edit(mind.list()[-1].id, text='no lamp there')\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], cwd=PROJECT, check=True, timeout=60)
    recall = mind.recall(ASKED, 20, track=False)
    assert ids(recall)[0] == "cup"
    assert len(around(mind, "cup")[0]) == 2
    with open_mind(path, WOVEN) as fresh:
        assert told(fresh.recall(ASKED, 20, track=False)) == told(recall)


def scored_by_tokens(recall: Recall) -> set[str]:
    """The results whose tokens could be compared with the query's."""
    return {result.id for result in recall if "tokens: cannot score it" not in str(result.why)}


class Plain:
    """The same model where its tokens are not to be had."""

    name, dim = Woven.name, Woven.dim
    embed = WOVEN.embed


def test_a_mind_without_tokens_of_its_own_writes_beside_one_that_has_them(path: Path, mind: Mind) -> None:
    mind.remember_many(KEPT)
    mind.recall(ASKED)
    with open_mind(path, Plain()) as other:
        other.remember("we keep one spoon there", id="spoon")
    recall = mind.recall(ASKED, track=False)
    assert ids(recall)[0] == "cup"
    assert scored_by_tokens(recall) == {"cup", "lamp"}
    assert mind.embed_missing() == 1
    assert scored_by_tokens(mind.recall(ASKED, track=False)) == {"cup", "lamp", "spoon"}


@pytest.mark.parametrize(
    "change",
    [
        lambda mind: mind.link("cup", "lamp"),
        lambda mind: mind.relate("anna", "owns", "cup"),
        lambda mind: mind.forget("lamp"),
        lambda mind: mind.decay(0.1),
    ],
    ids="link relate forget decay".split(),
)
def test_a_change_without_a_new_text_leaves_the_tokens_as_they_are(mind: Mind, change: Callable[[Mind], Any]) -> None:
    mind.remember_many(KEPT)
    mind.recall(ASKED)
    change(mind)
    recall = mind.recall(ASKED, track=False)
    assert ids(recall)[0] == "cup"
    assert step(recall, "tokens")["outcome"] == "ran"


def test_tokens_go_with_the_text_that_they_are_of(path: Path) -> None:
    with open_mind(path, WOVEN) as mind:
        mind.remember_many(KEPT)
    with open_mind(path, None) as mind:
        mind.edit("cup", text="we have sold it")
        assert sql(path, "SELECT row FROM sketches") == [(2,)]
        mind.undo()
        mind.undo()
        assert sql(path, "SELECT row FROM sketches") == []


def test_a_vector_that_is_made_anew_without_tokens_has_none(path: Path) -> None:
    with open_mind(path, WOVEN) as mind:
        mind.remember_many(KEPT)
    sql(path, "UPDATE vectors SET vector = (SELECT vector FROM vectors WHERE row = 2) WHERE row = 1")
    assert Doctor(path, Plain()).repair().healthy
    assert sql(path, "SELECT row FROM sketches") == [(2,)]


def test_another_model_brings_tokens_of_its_own_and_those_of_the_first_go(path: Path) -> None:
    class Other(Woven):
        name = "other"

    class Third(Plain):
        name = "third"

    with open_mind(path, WOVEN) as mind:
        mind.remember_many(KEPT)
    Mind.reembed(path, embedder=Other())
    assert sql(path, "SELECT space, row FROM sketches") == [(2, 1), (2, 2)]
    Mind.reembed(path, embedder=Third())
    assert sql(path, "SELECT space, row FROM sketches") == []


def test_equal_chunks_of_two_files_have_equal_tokens(path: Path, tmp_path: Path) -> None:
    write(tmp_path / "notes", **{"a.md": "We keep one cup there."})
    with Workspace(tmp_path / "notes", db=path, embedder=WOVEN, settings=VAULT) as space:
        space.sync()
        write(tmp_path / "notes", **{"b.md": "We keep one cup there."})
        space.sync()
    assert sql(path, "SELECT count(*), count(DISTINCT row), count(DISTINCT sketch) FROM sketches") == [(2, 2, 1)]


# Damage.

HARM = {
    "words are missing": ("DELETE FROM words WHERE row = 1", "without words"),
    "a vector is nobody's": (
        "INSERT INTO vectors SELECT space, 99, vector FROM vectors LIMIT 1",
        "without mem",
    ),
    "a vector is torn": ("UPDATE vectors SET vector = x'0000' WHERE row = 2", "do not fit together"),
}


@pytest.mark.parametrize(("harm", "said"), HARM.values(), ids=list(HARM))
def test_a_file_whose_parts_do_not_fit_sends_to_the_doctor(path: Path, harm: str, said: str) -> None:
    with open_mind(path, WOVEN) as mind:
        mind.remember_many(KEPT)
        mind.remember("one more", id="more")
    sql(path, harm)
    with open_mind(path, WOVEN) as mind:
        with pytest.raises(StoreError, match=said) as told:
            mind.recall(ASKED)
        assert "recollect doctor" in str(told.value)
        Doctor(path, WOVEN).repair()
        assert ids(mind.recall(ASKED))[0] == "cup"


@pytest.mark.parametrize("stray", ["SELECT space, 99, sketch", "SELECT 7, row, sketch"], ids=["memory", "model"])
def test_tokens_of_no_memory_or_model_harm_nobody_until_the_doctor_removes_them(path: Path, stray: str) -> None:
    with open_mind(path, WOVEN) as mind:
        mind.remember_many(KEPT)
        before = told(mind.recall(ASKED, track=False))
        sql(path, f"INSERT INTO sketches {stray} FROM sketches LIMIT 1")
    with open_mind(path, WOVEN) as mind:
        assert told(mind.recall(ASKED, track=False)) == before
        assert [finding.name for finding in Doctor(path, WOVEN).repair().mended] == ["vectors of no memory"]
    assert sql(path, "SELECT space, row FROM sketches") == [(1, 1), (1, 2)]


def test_a_torn_sketch_counts_as_none_until_the_doctor_mends_it(path: Path) -> None:
    with open_mind(path, WOVEN) as mind:
        mind.remember_many(KEPT)
    sql(path, "UPDATE sketches SET sketch = x'00' WHERE row = 2")
    with open_mind(path, WOVEN) as mind:
        recall = mind.recall(ASKED, track=False)
        assert ids(recall)[0] == "cup"
        assert recall.trace.failures == []
        assert scored_by_tokens(recall) == {"cup"}
        Doctor(path, WOVEN).repair()
        assert scored_by_tokens(mind.recall(ASKED, track=False)) == {"cup", "lamp"}
