"""A tour in a minute: a robot's memory of a flat, three questions, and the reasons for the answers.

The memory is examples/demo.db, made anew each time, or a new file: demo.py memory.db
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
DEFAULT = HERE / "demo.db"
DATABASE = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT


def run(*words: str, quiet: bool = False) -> str:
    """Run a command as a user would, showing what was typed."""
    if not quiet:
        typed = f"$ recollect {shlex.join(words)}"
        print(f"\n\033[1m{typed}\033[0m" if sys.stdout.isatty() else f"\n{typed}", flush=True)
    command = [sys.executable, "-m", "recollect", "--db", str(DATABASE), *words]
    done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE if quiet else None)
    return done.stdout or ""


def best(query: str) -> str:
    """The id of the first answer."""
    found = json.loads(run("recall", query, "-k", "1", "--json", "--no-track", quiet=True))
    return str(found["results"][0]["memory"]["id"])


def main() -> None:
    if DATABASE == DEFAULT:
        for file in HERE.glob("demo.db*"):
            file.unlink()
    elif DATABASE.exists():
        sys.exit(f"{DATABASE} is there already; name a file that is not.")
    print("A household robot has kept 22 memories. Let us fill a file with them and ask.")
    run("import", os.path.relpath(HERE / "home.jsonl"))
    run("recall", "where is the blue cup?", "-k", "3")
    run("recall", "how firmly may I hold a fragile glass?", "-k", "2", "--where", '{"params.force.value": {"$lt": 8}}')
    run("recall", "where is the chargin dok now?", "-k", "2")
    print("\nWhy did that memory come first?")
    run("why", "where is the chargin dok now?", best("where is the chargin dok now?")[:8])
    print("\nThe dock was behind the sofa once. Why does that memory come later?")
    run("why", "where is the charging dock?", best("behind the sofa")[:8], "-k", "5")
    print("\nAnd why was a memory left out when the filter asked for less than 8 newtons?")
    force = '{"params.force.value": {"$lt": 8}}'
    run("why-not", "how firmly may I hold the cup?", best("rim at 9 N")[:8], "--where", force)
    print(f"\nGo on yourself: .venv/bin/recollect --db {os.path.relpath(DATABASE)} recall '…'")


if __name__ == "__main__":
    main()
