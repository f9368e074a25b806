"""The area ``startup``: what an import and commands of the command line add to a bare interpreter.

A recall from 100,000 memories is compared with loading the model alone.

Children find the bytecode of a first run, as that of an installed package is found.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

import apsw

from bench.report import Measurement, Report
from bench.scale import fill
from bench.scale_data import read_natural_texts
from bench.timing import Action, Timing, interleave
from recollect import Mind
from recollect.embed.local import LocalEmbedder
from recollect.store.sqlite.checksums import connect

REPOSITORY = Path(__file__).parent.parent
TEXTS = [
    "The blue cup is on the top shelf.",
    "Anna is allergic to peanuts.",
    "The robot charges in the hall.",
    *(f"Note {number} about the garden." for number in range(20)),
]
COMMAND = ["-m", "recollect", "--embedder", "local", "--db"]


LOAD_MODEL = "from recollect.embed.local import LocalEmbedder; LocalEmbedder().embed(['where is the cup?'], query=True)"
LARGE = 100_000  # memories


def run(options: Namespace, cache: Path, folder: Path, report: Report) -> None:
    compare_with_bare_python(3 * options.rounds, folder, report)
    if not options.quick and options.data.is_dir():
        compare_with_the_model(3 * options.rounds, _large_file(options, cache, folder), folder, report)


def compare_with_bare_python(turns: int, folder: Path, report: Report) -> None:
    path = str(folder / "small.db")
    with Mind(path) as mind:
        mind.remember_many(TEXTS)
    cases = {  # arguments, goal in seconds, by CPU time
        "import recollect": (["-c", "import recollect"], 0.060, False),
        "from recollect import Mind": (["-c", "from recollect import Mind"], 0.150, True),
        "recollect --help": (["-m", "recollect", "--help"], 0.200, False),
        "recollect status": ([*COMMAND, path, "status"], 0.150, True),
        "recollect recall, by words": (
            ["-m", "recollect", "--embedder", "none", "--db", path, "recall", "cup"],
            0.150,
            True,
        ),
        "recollect recall, with the local model": ([*COMMAND, path, "recall", "where is the cup?"], 0.500, True),
    }
    environment = _environment(folder)
    working = {}
    for name, (arguments, goal, by_cpu) in cases.items():
        problem = _problem(arguments, environment)
        if problem:
            failed = Measurement(name, None, None, f"failed: {problem}", goal, adds=True, by_cpu=by_cpu)
            report.figures.append(failed)
        else:
            working[name] = _run(arguments, environment)
    taken = interleave({"bare": _run(["-c", "pass"], environment), **working}, turns, warm=2)
    for name in working:
        _, goal, by_cpu = cases[name]
        report.compare(name, taken[name], taken["bare"], "bare interpreter", goal, adds=True, by_cpu=by_cpu)


def compare_with_the_model(turns: int, path: Path, folder: Path, report: Report) -> None:
    """A recall from many memories by the command line beside a process that loads the model and embeds the question."""
    environment = _environment(folder)
    recall = [*COMMAND, str(path), "recall", "where is the cup?"]
    if problem := _problem(recall, environment):
        raise SystemExit(f"recollect recall failed: {problem}")
    actions = {"recall": _run(recall, environment), "model": _run(["-c", LOAD_MODEL], environment)}
    taken = interleave(actions, turns, warm=2)
    name = f"recollect recall, {LARGE:,} memories"
    report.compare(name, taken["recall"], taken["model"], "loading the model", 2.0, by_cpu=True)


def _large_file(options: Namespace, cache: Path, folder: Path) -> Path:
    """A file of the area scale whose vectors pass for those of the local model: they are as many and as long."""
    place = cache / "scale"
    place.mkdir(exist_ok=True)
    path = folder / "large.db"
    shutil.copy2(fill(place, LARGE, read_natural_texts(options.data, cache)), path)
    with contextlib.closing(connect(str(path), apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.execute("UPDATE spaces SET name = ?", (LocalEmbedder().name,))
    with Mind(path) as mind:
        mind.recall("where is the cup?", track=False)  # writes the index
    return path


def _environment(folder: Path) -> dict[str, str]:
    python_path = os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": python_path, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _problem(arguments: list[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return last[0].replace(sys.executable, "python") if done.returncode else ""


def _run(arguments: list[str], environment: Mapping[str, str]) -> Action:
    command, quiet = [sys.executable, *arguments], subprocess.DEVNULL

    def turn(_: int) -> Timing:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, env=environment, stdout=quiet, stderr=quiet, check=False)
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        return Timing(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    return turn
