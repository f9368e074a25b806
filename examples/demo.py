"""A tour in one screen: a household robot's memories, five questions, and the reasons for the answers.

The memories are stored in examples/demo.db, which is created again each time, or in a new file: demo.py memory.db
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from recollect import Mind
from recollect.cli.app import run

FOLDER = Path(__file__).parent
DEFAULT = FOLDER / "demo.db"
DATABASE = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
AFTER = ("--after", "user: When does Grandmother visit?", "--after", "assistant: On the first Sunday of the month.")
WEAK_GRIP = '{"params.force.value": {"$lt": 8}}'


def recollect(*arguments: str, about: str) -> None:
    """Run a command in this process, so that the model is loaded once, and show what a user would have typed."""
    command = f"$ recollect {shlex.join(arguments)}"
    print(f"\n{about}\n" + (f"\033[1m{command}\033[0m" if sys.stdout.isatty() else command), flush=True)
    if code := run(["--db", str(DATABASE), *arguments]):
        sys.exit(code)


def find_id(text: str) -> str:
    """The id of the memory with this text in it, shortened."""
    with Mind(DATABASE, embedder=None, readonly=True) as mind:
        return next(memory.id for memory in mind.list() if text in memory.text)[:8]


def main() -> None:
    if DATABASE == DEFAULT:
        for file in FOLDER.glob("demo.db*"):
            file.unlink()
    elif DATABASE.exists():
        sys.exit(f"{DATABASE} exists already; give the name of a new file.")
    recollect("import", os.path.relpath(FOLDER / "home.jsonl"), about="Store what a household robot has learned:")
    recollect(
        "recall", "where is the mug with the broken handle?", "-k", "1", about="Ask in other words than the memory has:"
    )
    recollect(
        "recall",
        "how firmly may I hold a wine glass?",
        "-k",
        "1",
        "--where",
        WEAK_GRIP,
        about="Consider only grips below 8 newtons:",
    )
    recollect("recall", "where is the chargin dok?", "-k", "2", about="Mistype two words:")
    recollect(
        "recall",
        "where does she live now?",
        "-k",
        "2",
        *AFTER,
        about="Continue a conversation about a fact that has changed:",
    )
    recollect("recall", "what happened last week?", "-k", "3", "--now", "2026-03-18", about="Ask for a time:")
    sofa = find_id("behind the sofa")
    recollect("why", "where is the chargin dok?", sofa, about="Why is the sofa only second?")
    rim = find_id("rim at 9 N")
    question = "how firmly may I hold the cup?"
    recollect("why-not", question, rim, "--where", WEAK_GRIP, about="Why is a memory not returned?")
    print(f"\nTry your own: .venv/bin/recollect --db {os.path.relpath(DATABASE)} recall 'who has the spare key?'")


if __name__ == "__main__":
    main()
