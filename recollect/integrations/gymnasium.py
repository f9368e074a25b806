"""Gymnasium: a wrapper that stores every episode of an environment as a memory."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, SupportsFloat
from uuid import uuid4

from recollect.errors import InvalidInput
from recollect.integrations import missing_package
from recollect.integrations.common import checked_collection
from recollect.mind import Mind
from recollect.model import Memory, check

try:
    import gymnasium
except ImportError as error:
    raise missing_package("gymnasium", error) from error

Describe = Callable[[Mapping[str, Any]], str]


class EpisodeRecorder(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Stores an episode when it ends: a sentence to recall it by, and its numbers and steps in the context.

    >>> env = EpisodeRecorder(gymnasium.make("CartPole-v1"), Mind("robot.db"))
    >>> mind.recall("CartPole episodes that ended early", filter={"context": {"episode.steps": {"$lt": 50}}})

    The context has ``episode`` (env, number, steps, return, ended, seed), ``task.success`` where the environment
    reports ``is_success``, and ``trajectory`` with the first ``max_steps`` actions, rewards and observations (0 for
    none). ``describe`` makes the sentence from that context. An episode that ``reset`` or ``close`` ends is stored as
    interrupted.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        mind: Mind,
        *,
        collection: str | None = None,
        max_steps: int = 1000,
        describe: Describe | None = None,
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, max_steps=max_steps)
        gymnasium.Wrapper.__init__(self, env)
        self.mind = mind
        self.collection = checked_collection(mind, collection, "main")
        self.max_steps = check.count(max_steps, "max_steps")
        self.describe = describe or describe_episode
        self.last_episode: Memory | None = None
        self._name = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        self._number = 0
        self._begin(None, None)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._store("interrupted", {})
        observation, info = self.env.reset(seed=seed, options=options)
        self._begin(observation, seed)
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._rewards.append(float(reward))
        if len(self._actions) < self.max_steps:
            self._actions.append(to_json_value(action))
            self._observations.append(to_json_value(observation))
        if terminated or truncated:
            self._store("terminated" if terminated else "truncated", info)
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        self._store("interrupted", {})
        super().close()

    def _begin(self, observation: Any, seed: int | None) -> None:
        self._seed = seed
        self._rewards: list[float] = []
        self._actions: list[Any] = []
        self._observations = [] if self.max_steps == 0 else [to_json_value(observation)]

    def _store(self, ended: str, info: Mapping[str, Any]) -> None:
        """Store what happened since the last reset, if anything did."""
        if not self._rewards:
            return
        self._number += 1
        success = info.get("is_success", info.get("success"))
        context: dict[str, Any] = {
            "episode": {
                "env": self._name,
                "number": self._number,
                "steps": len(self._rewards),
                "return": to_json_value(math.fsum(self._rewards)),
                "ended": ended,
                "seed": self._seed,
            }
        }
        if success is not None:
            context["task"] = {"success": bool(success)}
        if self.max_steps:
            rewards = [to_json_value(reward) for reward in self._rewards[: self.max_steps]]
            context["trajectory"] = {
                "actions": self._actions,
                "rewards": rewards,
                "observations": self._observations,
                "complete": len(self._rewards) <= self.max_steps,
            }
        self._begin(None, None)  # even if the memory is refused, the next episode is a new one
        text = self.describe(context)
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(f"describe must return a text, not {check.short_repr(text)}.")
        self.last_episode = self.mind.remember(
            text, kind="episode", collection=self.collection, session=str(uuid4()), context=context
        )


def describe_episode(context: Mapping[str, Any]) -> str:
    """The sentence by which an episode is found."""
    episode = context["episode"]
    success = context.get("task", {}).get("success")
    outcome = "" if success is None else ", success" if success else ", failure"
    return (
        f"Episode {episode['number']} of {episode['env']}: {episode['steps']} steps, "
        f"return {episode['return']}, {episode['ended']}{outcome}."
    )


def to_json_value(value: Any) -> Any:
    """Arrays and numpy's numbers as lists and numbers, tuples and dictionaries part by part; JSON has no NaN."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {str(key): to_json_value(inner) for key, inner in value.items()}
        case list() | tuple():
            return [to_json_value(inner) for inner in value]
        case None | bool() | int() | str():
            return value
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return repr(value)
