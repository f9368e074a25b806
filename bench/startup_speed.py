"""Start-up time: what an import and the command line add to a bare interpreter."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from bench.report import Measurement, Report
from bench.timing import Action, Timing, interleave


def compare_with_bare_python(turns: int, report: Report) -> None:
    cases = {
        "import recollect": (["-c", "import recollect"], 0.060),
        "from recollect import Mind": (["-c", "from recollect import Mind"], None),
        "python -m recollect --help": (["-m", "recollect", "--help"], 0.200),
    }
    working = {}
    for name, (arguments, goal) in cases.items():
        problem = _problem(arguments)
        if problem:
            report.figures.append(Measurement(name, None, None, f"failed: {problem}", goal, adds=True))
        else:
            working[name] = _run(arguments)
    taken = interleave({"bare": _run(["-c", "pass"]), **working}, turns, warm=2)
    for name in working:
        report.compare(name, taken[name], taken["bare"], "bare interpreter", cases[name][1], adds=True)


def _problem(arguments: list[str]) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return last[0].replace(sys.executable, "python") if done.returncode else ""


def _run(arguments: list[str]) -> Action:
    def turn(_: int) -> Timing:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        return Timing(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    return turn
