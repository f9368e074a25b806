"""Gymnasium: episodes of real environments become memories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect import InvalidInput, Mind
from tests.integrations.kit import need

need("gymnasium")

import gymnasium  # noqa: E402
import numpy as np  # noqa: E402

from recollect.integrations.gymnasium import EpisodeRecorder, to_json_value  # noqa: E402

pytestmark = pytest.mark.contract("B22")


def play(env: Any, seed: int, most: int = 10_000) -> list[float]:
    """One episode with random actions; its rewards."""
    env.reset(seed=seed)
    env.action_space.seed(seed)
    rewards = []
    for _ in range(most):
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        rewards.append(float(reward))
        if terminated or truncated:
            break
    return rewards


def test_every_episode_of_cartpole_is_a_memory_with_its_steps(mind: Mind) -> None:
    env = EpisodeRecorder(gymnasium.make("CartPole-v1"), mind)
    played = [play(env, seed) for seed in (1, 2, 3)]
    env.close()
    memories = mind.list({"kind": "episode"}, sort="oldest")
    assert [memory.context["trajectory"]["rewards"] for memory in memories] == played
    for number, (memory, rewards) in enumerate(zip(memories, played, strict=True), 1):
        episode = memory.context["episode"]
        assert episode == {
            "env": "CartPole-v1",
            "number": number,
            "steps": len(rewards),
            "return": sum(rewards),
            "ended": "terminated",
            "seed": number,
        }
        assert len(memory.context["trajectory"]["observations"]) == len(rewards) + 1  # the first is that of reset
        assert (
            memory.text == f"Episode {number} of CartPole-v1: {len(rewards)} steps, return {sum(rewards)}, terminated."
        )


def test_an_episode_can_be_played_again_from_its_memory(mind: Mind) -> None:
    env = EpisodeRecorder(gymnasium.make("CartPole-v1"), mind)
    play(env, 7)
    stored = env.last_episode
    assert stored is not None
    again = gymnasium.make("CartPole-v1")
    again.reset(seed=stored.context["episode"]["seed"])
    steps = [again.step(action) for action in stored.context["trajectory"]["actions"]]
    assert [to_json_value(step[0]) for step in steps] == stored.context["trajectory"]["observations"][1:]


def test_the_wrapper_changes_nothing_for_the_agent(mind: Mind) -> None:
    assert play(EpisodeRecorder(gymnasium.make("CartPole-v1"), mind), 5) == play(gymnasium.make("CartPole-v1"), 5)


def test_a_robot_recalls_episodes_by_what_happened(path: Path) -> None:
    with Mind(path) as mind:
        env = EpisodeRecorder(gymnasium.make("CartPole-v1"), mind)
        rewards = [play(env, seed) for seed in range(6)]
        longest = max(map(len, rewards))
        found = mind.recall("CartPole episodes", filter={"context": {"episode.steps": {"$gte": longest}}})
        assert [result.memory.context["episode"]["steps"] for result in found] == [longest]


def test_an_episode_that_is_left_is_interrupted_and_time_limits_truncate(mind: Mind) -> None:
    env = EpisodeRecorder(gymnasium.make("MountainCar-v0", max_episode_steps=20), mind, max_steps=5)
    play(env, 1)
    play(env, 2, most=3)
    env.reset()
    env.close()
    env.close()
    ended = [memory.context["episode"]["ended"] for memory in mind.list(sort="oldest")]
    assert ended == ["truncated", "interrupted"]
    trajectory = mind.list(sort="oldest")[0].context["trajectory"]
    assert (len(trajectory["actions"]), trajectory["complete"]) == (5, False)


class Shelf(gymnasium.Env[Any, Any]):
    """Dictionaries, tuples, bytes and NaN: what environments return, too."""

    observation_space = gymnasium.spaces.Dict({"at": gymnasium.spaces.Box(-1, 1, (2,))})
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return {"at": np.zeros(2), "name": ("cup", b"\x00")}, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return {"at": np.array([np.nan, np.inf]), 3: {1}}, float("nan"), True, False, {"is_success": np.bool_(True)}


def test_odd_observations_are_stored_as_json(mind: Mind) -> None:
    env = EpisodeRecorder(Shelf(), mind)
    env.reset()
    env.step(np.int64(1))
    (memory,) = mind.list({"context": {"task.success": True}})
    assert memory.context["trajectory"]["actions"] == [1]
    assert memory.context["trajectory"]["observations"][1] == {"at": ["nan", "inf"], "3": "{1}"}
    assert memory.text.endswith("terminated, success.")


def test_a_description_of_your_own_is_what_is_searched(mind: Mind) -> None:
    env = EpisodeRecorder(
        gymnasium.make("CartPole-v1"), mind, max_steps=0, describe=lambda context: "The pole fell to the left."
    )
    play(env, 1)
    assert [result.text for result in mind.recall("did the pole fall?")] == ["The pole fell to the left."]
    assert "trajectory" not in mind.list()[0].context
    env.describe = lambda context: ""
    with pytest.raises(InvalidInput, match="describe"):
        play(env, 1)


def test_a_recorder_needs_a_mind_and_a_bound_collection_counts(path: Path) -> None:
    with pytest.raises(InvalidInput, match="mind must be a Mind"):
        EpisodeRecorder(gymnasium.make("CartPole-v1"), "robot.db")  # type: ignore[arg-type]
    with Mind(path, embedder=None, collection="arm") as mind:
        play(EpisodeRecorder(gymnasium.make("CartPole-v1"), mind), 1)
        assert {memory.collection for memory in mind.list()} == {"arm"}
        with pytest.raises(InvalidInput, match="bound to the collection"):
            EpisodeRecorder(gymnasium.make("CartPole-v1"), mind, collection="leg")
