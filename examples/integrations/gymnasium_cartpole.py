"""Gymnasium: every episode of CartPole becomes a memory that is recalled by its numbers. Runs offline.

pip install '.[gymnasium]'
python examples/integrations/gymnasium_cartpole.py
"""

import gymnasium

from recollect import Mind
from recollect.integrations.gymnasium import EpisodeRecorder


def main() -> None:
    with Mind(":memory:") as mind:  # a file name keeps it
        env = EpisodeRecorder(gymnasium.make("CartPole-v1"), mind)
        for seed in range(10):
            env.reset(seed=seed)
            env.action_space.seed(seed)
            over = False
            while not over:
                _, _, terminated, truncated, _ = env.step(env.action_space.sample())
                over = terminated or truncated
        env.close()
        longest = max(memory.context["episode"]["steps"] for memory in mind.list({"kind": "episode"}))
        found = mind.recall("CartPole episodes", filter={"context": {"episode.steps": {"$gte": longest}}})
        best = found[0].memory
        print(f"{len(mind.list())} episodes; the longest:", best.text)
        print("Its actions can be played again:", len(best.context["trajectory"]["actions"]) == longest)


if __name__ == "__main__":
    main()
