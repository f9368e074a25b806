"""A program for mem0 with another import; its facts come from a function that stands in for a model. Runs offline.

python examples/integrations/mem0_client.py
"""

import tempfile
from pathlib import Path

from recollect.integrations.mem0 import Memory  # instead of: from mem0 import Memory

MESSAGES = [
    {"role": "user", "content": "I moved to Oslo in March. And please no nuts, I am allergic."},
    {"role": "assistant", "content": "Noted!"},
]


def extract(messages: list[dict[str, str]]) -> list[str]:
    """Any chat model could do this; see FactExtractor in docs/integrations.md."""
    return ["Ada lives in Oslo.", "Ada is allergic to nuts."]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Memory(path=Path(folder) / "memory.db", extract=extract) as memory:
        added = memory.add(MESSAGES, user_id="ada", metadata={"topic": "profile"})
        print("Added:", [item["memory"] for item in added["results"]])
        found = memory.search("what must she not eat?", filters={"user_id": "ada", "topic": "profile"}, top_k=1)
        best = found["results"][0]
        print("Found:", best["memory"])
        memory.update(best["id"], "Ada is allergic to nuts and milk.")
        print("History:", [entry["event"] for entry in memory.history(best["id"])])
        memory.delete_all(user_id="ada")
        print("Left:", memory.get_all(filters={"user_id": "ada"})["results"])


if __name__ == "__main__":
    main()
