"""R18, and R10 and R11 from a robot's side: learning, perceiving, and episodes that begin and end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect import Filter, InvalidInput, Memory, Mind, NotFound
from recollect.systems.robotmem.robot import PERCEPTIONS, Robot
from tests.recall.kit import Clock, Moody, ids, open_mind, step, texts

GRASP = {"params": {"force": {"value": 12.0}}, "spatial": {"object_position": [1.3, 0.7, 0.42]}}


@pytest.fixture
def mind(path: Path) -> Iterator[Mind]:
    with open_mind(path, embedder=None) as mind:
        yield mind


@pytest.fixture
def robot(mind: Mind) -> Robot:
    return Robot(mind, collection="arm")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mind]:
    """A mind with the packaged model."""
    with Mind(tmp_path_factory.mktemp("reader") / "memory.db") as mind:
        yield mind


# Learning.


@pytest.mark.contract("R18", "R11")
def test_an_insight_comes_back_with_its_context(robot: Robot) -> None:
    learned = robot.learn("Grip the cup at 12 N.", GRASP, session_id="s1", confidence=0.8, entities=["cup"])
    assert not learned.duplicate
    (found,) = robot.recall("how to grip a cup")
    assert found.memory == learned.memory
    assert found.memory.context == GRASP
    assert (found.memory.session, found.memory.collection, found.memory.confidence) == ("s1", "arm", 0.8)


@pytest.mark.contract("R18", "R11")
def test_a_context_may_come_as_json_text(robot: Robot) -> None:
    robot.learn("Grip the cup.", '{"task": {"success": true}}')
    assert robot.recall("cup", context_filter={"task.success": True})[0].memory.context == {"task": {"success": True}}
    for wrong in ("{", "[1", "[1]", "7"):
        with pytest.raises(InvalidInput, match="context"):
            robot.learn("Grip the plate.", wrong)


@pytest.mark.contract("R18")
def test_a_robot_keeps_to_its_collection(mind: Mind) -> None:
    arm, leg = Robot(mind, "arm"), Robot(mind, "leg")
    arm.learn("Lift the cup.")
    assert not leg.learn("Lift the cup.").duplicate
    assert len(arm.recall("cup")) == len(leg.recall("cup")) == 1
    assert len(arm.recall("cup", collection="leg")) == 1


@pytest.mark.contract("R18")
def test_a_robot_takes_the_collection_of_its_mind_and_no_other(path: Path) -> None:
    with open_mind(path, embedder=None, collection="arm") as mind:
        assert Robot(mind).learn("Lift the cup.").memory.collection == "arm"
        with pytest.raises(InvalidInput, match="bound to the collection 'arm'"):
            Robot(mind, "leg")


@pytest.mark.contract("R18")
@pytest.mark.parametrize("insight", ["", "  ", None, 7])
def test_an_insight_needs_words(robot: Robot, insight: Any) -> None:
    with pytest.raises(InvalidInput):
        robot.learn(insight)


# Near-duplicates.

LONG = "when the table is wet grip every tall glass at its base and lift it straight up without any turn of the wrist"


@pytest.mark.contract("R18")
@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("Grip the cup at 12 N.", "Grip the cup at 12 N."),
        ("Grip the cup at 12 N.", "  grip the CUP, at 12 n "),
        ("抓取杯子。", "抓取杯子"),
        (LONG, LONG.replace("every", "each")),
    ],
)
def test_without_an_embedder_the_same_words_are_a_duplicate(robot: Robot, first: str, again: str) -> None:
    original = robot.learn(first)
    second = robot.learn(again)
    assert second.duplicate
    assert second.memory == original.memory
    assert "words" in second.because
    assert len(robot.mind.list()) == 1


@pytest.mark.contract("R18")
@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("Grip the cup at 12 N.", "Grip the cup at 10 N."),
        ("Move 5 mm.", "Move -5 mm."),
        (LONG, LONG.replace("wet", "dry")),
        ("Grip the cup.", "Grip the plate."),
        ("抓取杯子", "抓取盘子"),
        ("Put the cup on the plate.", "Put the plate on the cup."),
        ("!!!", "???"),
    ],
)
def test_other_figures_and_words_that_turn_it_round_are_new(robot: Robot, first: str, again: str) -> None:
    robot.learn(first)
    assert not robot.learn(again).duplicate


@pytest.mark.contract("R18")
@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("A smooth surface needs more force", "A smooth surface requires more force"),
        ("A smooth surface needs more force", "Smooth surfaces need more force"),
        ("Plates stack best by size", "plates stack best by size!"),
    ],
)
def test_with_the_local_model_the_same_meaning_is_a_duplicate(reader: Mind, first: str, again: str) -> None:
    robot = Robot(reader, collection=first)
    robot.learn(first)
    assert robot.learn(again).duplicate


@pytest.mark.contract("R18")
@pytest.mark.parametrize(
    ("first", "again"),
    [
        (
            "Approach the mug from the left side with the handle facing the gripper",
            "Approach the mug from the right side with the handle facing the gripper",
        ),
        (
            "Wine glasses break above 6 N when held by the stem.",
            "Wine glasses do not break above 6 N when held by the stem.",
        ),
        ("Open the top drawer before placing the spoon", "Close the top drawer before placing the spoon"),
        ("Put the cup on the plate", "Put the plate on the cup"),
        ("如何抓取杯子", "如何抓取盘子"),
        ("Grasping the cup at 10 N worked", "Grasping the cup at 12 N worked"),
    ],
)
def test_what_a_model_takes_for_the_same_though_it_is_not_stays_apart(reader: Mind, first: str, again: str) -> None:
    """All of these have a cosine above 0.9, most above 0.95; a robot must not lose the second one."""
    robot = Robot(reader, collection=first)
    robot.learn(first)
    assert not robot.learn(again).duplicate


@pytest.mark.contract("R18")
def test_the_same_words_with_a_new_context_are_a_new_experience(robot: Robot) -> None:
    robot.learn("Grasped the cup.", GRASP)
    assert robot.learn("Grasped the cup.").duplicate  # it adds nothing
    assert robot.learn("Grasped the cup.", {"params": GRASP["params"]}).duplicate
    assert not robot.learn("Grasped the cup.", {"params": {"force": {"value": 9.0}}}).duplicate
    assert not robot.learn("Grasped the cup.", {**GRASP, "task": {"success": False}}).duplicate


@pytest.mark.contract("R18")
def test_a_retry_is_a_duplicate_among_many_experiences_of_the_same_words(robot: Robot) -> None:
    for trial in range(60):
        assert not robot.learn("Grasped the cup.", {"trial": trial}).duplicate
    assert all(robot.learn("Grasped the cup.", {"trial": trial}).duplicate for trial in (0, 30, 59))


@pytest.mark.contract("R18")
def test_what_was_forgotten_can_be_learned_again(robot: Robot) -> None:
    robot.forget(robot.learn("Grip the cup.").id, "too vague")
    assert not robot.learn("Grip the cup.").duplicate


@pytest.mark.contract("R18")
def test_learning_goes_on_when_the_embedder_fails(path: Path) -> None:
    embedder = Moody()
    with open_mind(path, embedder) as mind:
        robot = Robot(mind)
        robot.learn("Grip the cup.")
        embedder.failing = True
        assert robot.learn("grip the cup").duplicate
        assert not robot.learn("Lift the plate.").duplicate
        assert texts(robot.recall("plate")) == ["Lift the plate."]


@pytest.mark.contract("R18")
def test_a_model_is_no_help_against_memories_without_vectors_and_no_harm(path: Path) -> None:
    with open_mind(path, embedder=None) as mind:
        Robot(mind).learn("Grip the cup.")
    with open_mind(path) as mind:
        assert Robot(mind).learn("grip the cup").duplicate


# Perceptions.


@pytest.mark.contract("R18")
@pytest.mark.parametrize("kind", PERCEPTIONS)
def test_a_perception_keeps_its_type_and_its_data(robot: Robot, kind: Any) -> None:
    data = {"curve": [0.1, 0.4, 0.2], "unit": "N"}
    robot.save_perception("The force rose and fell.", kind, data, {"task": {"name": "grasp"}}, session_id="s1")
    (found,) = robot.recall("force", context_filter={"perception.type": kind})
    assert found.memory.context == {"task": {"name": "grasp"}, "perception": {"type": kind, "data": data}}
    assert (found.memory.kind, found.memory.session) == ("perception", "s1")


@pytest.mark.contract("R18")
def test_there_are_five_types_of_perception_and_others_are_refused(robot: Robot) -> None:
    assert PERCEPTIONS == ("visual", "tactile", "auditory", "proprioceptive", "procedural")
    with pytest.raises(InvalidInput, match="visual, tactile, auditory, proprioceptive, procedural, not 'olfactory'"):
        robot.save_perception("Something burns.", "olfactory")  # type: ignore[arg-type]


def test_an_array_is_refused_by_its_name_with_what_would_do(robot: Robot) -> None:
    with pytest.raises(InvalidInput, match=r"^data must contain only JSON values: ndarray is not a JSON type"):
        robot.save_perception("The force rose.", "tactile", np.zeros(3))
    with pytest.raises(InvalidInput, match=r"^context .*float32 is not a JSON type; convert it with \.tolist\(\)"):
        robot.learn("Grip the cup.", {"force": np.float32(8)})


def test_a_robot_stands_on_a_mind_and_not_on_a_file() -> None:
    with pytest.raises(InvalidInput, match=r"Robot\(Mind\('robot.db'\)\)"):
        Robot("robot.db")  # type: ignore[arg-type]


# Many at once, and free text as context.


@pytest.mark.contract("R18")
def test_many_insights_are_learned_in_one_operation_and_repetitions_are_told(robot: Robot) -> None:
    known = robot.learn("Plates stack by size.")
    learned = robot.batch_learn(
        [
            "Grip the cup at 12 N.",
            {"insight": "plates stack by size"},
            {"insight": "Grip the cup at 10 N.", "context": GRASP, "confidence": 0.7, "session_id": "s2"},
            "grip the cup at 12 n",
        ],
        session_id="s1",
    )
    assert [each.duplicate for each in learned] == [False, True, False, True]
    assert (learned[1].id, learned[3].id) == (known.id, learned[0].id)
    assert [(each.memory.session, each.memory.confidence) for each in learned[::2]] == [("s1", 1.0), ("s2", 0.7)]
    assert len(robot.mind.list()) == 3
    robot.mind.undo()
    assert [memory.id for memory in robot.mind.list()] == [known.id]


@pytest.mark.contract("R18")
@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ("Grip the cup.", "takes a list of insights"),
        ([{"insight": "Grip the cup."}, {"text": "Grip it."}], "Item 2: there is no insight"),
        (["Grip the cup.", " "], "Item 2: .*blank"),
        (["Grip the cup.", {"insight": "Lift it.", "collection": "leg"}], "Item 2: .*'collection'"),
        (["Grip the cup."] * 1001, "at most 1,000 insights, not 1,001"),
    ],
)
def test_of_a_batch_with_a_wrong_item_nothing_is_stored(robot: Robot, items: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        robot.batch_learn(items)
    assert list(robot.mind.list()) == []


@pytest.mark.contract("R18")
def test_with_a_model_a_batch_knows_its_own_repetitions(reader: Mind) -> None:
    robot = Robot(reader, collection="batch")
    first, second = robot.batch_learn(["A smooth surface needs more force", "A smooth surface requires more force"])
    assert (second.duplicate, second.id) == (True, first.id)
    assert second.because == "the same words, but for 'requires' and 'needs'"


@pytest.mark.contract("R18", "R11")
def test_free_text_as_context_is_a_note_that_filters_find(robot: Robot) -> None:
    robot.learn("Grip the cup.", "in the wet kitchen, on the real arm")
    robot.learn("Grip the plate.", "  ")
    (found,) = robot.recall("grip", context_filter={"note": {"$contains": "wet kitchen"}})
    assert found.memory.context == {"note": "in the wet kitchen, on the real arm"}
    assert robot.recall("plate")[0].memory.context == {}


# Forgetting and updating.


@pytest.mark.contract("R18")
def test_forgetting_twice_is_an_error_that_says_how_to_restore(robot: Robot) -> None:
    id = robot.learn("Grip the cup at 90 N.").id
    robot.forget(id, "it broke the cup")
    with pytest.raises(InvalidInput, match=r"was forgotten before.*status='active'"):
        robot.forget(id, "it broke the cup")
    assert robot.mind.forget(id) == 0  # a mind counts what it forgot


@pytest.mark.contract("R18")
def test_a_forgotten_memory_is_not_corrected_where_no_recall_would_find_it(robot: Robot) -> None:
    id = robot.learn("Grip the cup at 90 N.").id
    robot.forget(id, "it broke the cup")
    attempts: list[Callable[[], Any]] = [
        lambda: robot.update(id, "Grip the cup at 9 N."),
        lambda: robot.mind.edit(id, topic="cups"),
        lambda: robot.mind.edit(id, text="Grip the cup at 9 N."),
        lambda: robot.mind.reinforce(id),
    ]
    for change in attempts:
        with pytest.raises(
            InvalidInput, match=r"was forgotten. Restore it first \(undo, or edit with status='active'\)"
        ):
            change()
    robot.update(id, "Grip the cup at 9 N.", status="active")
    assert texts(robot.recall("cup")) == ["Grip the cup at 9 N."]


@pytest.mark.contract("R18")
def test_the_forgotten_never_returns_and_a_reason_is_needed(robot: Robot) -> None:
    id = robot.learn("Grip the cup at 90 N.").id
    with pytest.raises(InvalidInput, match="needs a reason"):
        robot.forget(id, " ")
    assert robot.forget(id, "it broke the cup") == 1
    assert list(robot.recall("cup")) == []
    robot.mind.undo()
    assert ids(robot.recall("cup")) == [id]
    with pytest.raises(NotFound):
        robot.forget("nobody", "there is no such memory")


@pytest.mark.contract("R18")
def test_after_an_update_the_stale_text_matches_neither_by_words_nor_by_meaning(path: Path) -> None:
    with open_mind(path) as mind:
        robot = Robot(mind)
        id = robot.learn("Grip the porcelain firmly.", GRASP).id
        before = robot.recall("Grip the porcelain firmly.")
        robot.update(id, "Touch nothing made of glass.")
        found = robot.recall("Grip the porcelain firmly.")
        assert (step(before, "words")["out"], step(found, "words")["out"]) == (1, 0)
        assert step(before, "vectors")["detail"]["nearest distance"] < 0.001
        assert step(found, "vectors")["detail"]["nearest distance"] > 0.3
        assert robot.recall("glass")[0].memory.context == GRASP


@pytest.mark.contract("R18")
def test_an_update_may_change_the_context_or_other_fields_alone(robot: Robot) -> None:
    id = robot.learn("Grip the cup.", GRASP).id
    assert robot.update(id, context={"task": {"success": False}}).context == {"task": {"success": False}}
    assert robot.update(id, confidence=0.1).text == "Grip the cup."
    assert list(robot.recall("cup")) == []


# Episodes.


@pytest.mark.contract("R18", "R10")
def test_an_episode_is_replayed_in_the_order_in_which_it_happened(path: Path) -> None:
    clock = Clock()
    with open_mind(path, clock=clock) as mind:
        robot = Robot(mind, "arm")
        episode = robot.start_session({"task": {"name": "clear the table"}})
        for said in ("The cup stands on the left.", "Grip it at 8 N.", "It is in the sink."):
            clock.pass_(seconds=10)
            robot.learn(said, session_id=episode)
        robot.learn("Something else.", session_id=robot.start_session())
        robot.end_session(episode, outcome_score=1.0)
        replay = robot.recall("*", session_id=episode)
        assert texts(replay) == ["The cup stands on the left.", "Grip it at 8 N.", "It is in the sink."]


@pytest.mark.contract("R18")
def test_the_outcome_is_kept_with_the_context_of_the_episode(robot: Robot) -> None:
    episode = robot.start_session({"task": {"name": "clear the table"}})
    ended = robot.end_session(episode, outcome_score=0.75)
    assert (ended.session_id, ended.outcome_score, ended.memories, ended.merged) == (episode, 0.75, 0, {})
    (record,) = robot.mind.list(Filter(kind="session"))
    assert record.context["task"] == {"name": "clear the table"}
    assert record.context["session"]["outcome_score"] == 0.75
    assert record.context["session"]["started"] <= record.context["session"]["ended"]
    assert list(robot.recall("Session")) == []  # a record is no experience


@pytest.mark.contract("R18")
def test_an_episode_is_a_with_block_that_ends_with_its_outcome(robot: Robot) -> None:
    with robot.session({"task": {"name": "clear the table"}}) as session:
        session.learn("The cup is slippery.")
        session.batch_learn(["Grip it at 8 N."])
        session.save_perception("The force rose.", "tactile", [0.4, 3.1])
        assert texts(session.recall()) == ["The cup is slippery.", "Grip it at 8 N.", "The force rose."]
        session.outcome_score = 0.9
    assert session.ended is not None
    assert (session.ended.session_id, session.ended.outcome_score, session.ended.memories) == (session.id, 0.9, 3)
    (record,) = robot.mind.list(Filter(kind="session"))
    assert record.context["session"]["outcome_score"] == 0.9
    assert "error" not in record.context["session"]


@pytest.mark.contract("R18")
def test_an_exception_ends_an_episode_with_the_error_and_without_an_outcome(robot: Robot) -> None:
    def work() -> None:
        with robot.session() as session:
            session.learn("The cup is slippery.")
            raise RuntimeError("the gripper is stuck")

    with pytest.raises(RuntimeError, match="the gripper is stuck"):
        work()
    (record,) = robot.mind.list(Filter(kind="session"))
    assert record.context["session"]["outcome_score"] is None
    assert record.context["session"]["error"] == "RuntimeError: the gripper is stuck"
    assert "ended" in record.context["session"]


@pytest.mark.contract("R18")
@pytest.mark.parametrize("score", [-0.1, 1.1, "good", True])
def test_an_outcome_lies_between_0_and_1(robot: Robot, score: Any) -> None:
    with pytest.raises(InvalidInput, match="outcome_score"):
        robot.end_session(robot.start_session(), score)


@pytest.mark.contract("R18")
def test_a_session_that_nobody_began_can_end_when_it_has_memories(robot: Robot) -> None:
    robot.learn("Grip the cup.", session_id="ros-run-7")
    assert robot.end_session("ros-run-7", 0.5).memories == 1
    with pytest.raises(NotFound, match="no session 'ros-run-8'"):
        robot.end_session("ros-run-8")


@pytest.mark.contract("R18")
def test_ending_an_episode_merges_what_says_the_same_and_keeps_one(robot: Robot) -> None:
    episode = robot.start_session()
    place = {"collection": "arm", "session": episode}
    robot.mind.remember_many(
        [
            Memory("The cup is slippery.", id="vague", confidence=0.5, **place),  # type: ignore[arg-type]
            Memory("the cup is slippery", id="sure", confidence=0.9, **place),  # type: ignore[arg-type]
            Memory("The cup is slippery!", id="rich", confidence=0.4, context=GRASP, **place),  # type: ignore[arg-type]
            Memory("The cup is slippery.", id="elsewhere", context={"task": {"success": False}}, **place),  # type: ignore[arg-type]
            Memory("The cup is not slippery.", id="opposite", **place),  # type: ignore[arg-type]
            Memory("The cup is slippery.", id="other session", collection="arm", session="other"),
        ]
    )
    ended = robot.end_session(episode, 0.9)
    assert ended.merged.keys() == {"vague", "sure"}
    assert set(ended.merged.values()) <= {"rich", "elsewhere"}
    assert ended.memories == 3
    assert {robot.mind.show(id).status for id in ("vague", "sure")} == {"superseded"}
    assert set(ids(robot.recall("cup", 10))) == {"rich", "elsewhere", "opposite", "other session"}
    edges = robot.mind.edges()
    assert {(edge.source, edge.target) for edge in edges} == set(ended.merged.items())
    assert {edge.kind for edge in edges} == {"same_as"}


@pytest.mark.contract("R18")
def test_with_a_model_memories_of_one_meaning_are_merged(reader: Mind) -> None:
    robot = Robot(reader, collection="merging")
    episode = robot.start_session()
    robot.save_perception("A smooth surface needs more force", "tactile", session_id=episode)
    robot.save_perception("A smooth surface requires more force", "tactile", session_id=episode)
    robot.save_perception("The surface is wet", "tactile", session_id=episode)
    assert len(robot.end_session(episode).merged) == 1
    assert len(robot.recall("*", session_id=episode)) == 2


@pytest.mark.contract("R18")
def test_ending_an_episode_is_one_change_that_undo_takes_back(robot: Robot) -> None:
    episode = robot.start_session()
    robot.mind.remember_many([Memory(text, collection="arm", session=episode) for text in ("Wet cup.", "wet cup")])
    robot.end_session(episode, 0.2)
    robot.mind.undo()
    assert len(robot.recall("cup")) == 2
    assert list(robot.mind.edges()) == []
    (record,) = robot.mind.list(Filter(kind="session"))
    assert "outcome_score" not in record.context["session"]


@pytest.mark.contract("R18")
def test_an_episode_may_end_again_with_another_outcome(robot: Robot) -> None:
    episode = robot.start_session()
    robot.end_session(episode, 0.2)
    robot.end_session(episode, 0.8)
    (record,) = robot.mind.list(Filter(kind="session"))
    assert record.context["session"]["outcome_score"] == 0.8


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("learn", {"insight": "Wet glasses slip.", "collection": "b"}),
        ("learn", {"insight": "Wet glasses slip.", "session": "b"}),
        ("learn", {"insight": "Wet glasses slip.", "colour": "red"}),
        ("save_perception", {"description": "a glass", "collection": "b"}),
        ("save_perception", {"description": "a glass", "session": "b"}),
        ("update", {"id": "glass", "text": "other"}),
        ("update", {"id": "glass", "collection": "b"}),
        ("recall", {"query": "glass", "k": 3}),
        ("recall", {"query": "glass", "recipe": "default"}),
        ("recall", {"query": "glass", "colour": "red"}),
    ],
)
def test_an_argument_that_a_method_does_not_have_is_an_error(
    mind: Mind, method: str, options: dict[str, object]
) -> None:
    robot = Robot(mind)
    robot.learn("A glass.", id="glass")
    with pytest.raises(InvalidInput, match=f"'{[*options][1]}'"):
        getattr(robot, method)(**options)
    assert [memory.id for memory in mind.list()] == ["glass"]
