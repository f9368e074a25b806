"""Every write, sync, truncate, rename and deletion below a verb fails, is cut off, or is lost with the power (see
faults.py)."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.store.faults import MODES, ROOT, VERBS

pytestmark = pytest.mark.contract("B9")


def fail_operations(verb: str, first: int, step: int) -> dict[str, int]:
    command = [sys.executable, "-m", "tests.store.faults", verb, str(first), str(step)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts: dict[str, int] = json.loads(done.stdout)
    return counts


@pytest.mark.parametrize(("verb", "step"), [("remember", 17), ("edit", 17), ("index", 71), ("backup", 37)])
def test_a_write_below_a_verb_that_fails_loses_nothing_and_tears_nothing(verb: str, step: int) -> None:
    counts = fail_operations(verb, first=2, step=step)
    assert all(counts[mode] >= 2 for mode in MODES)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_every_write_below_a_verb_that_fails_loses_nothing_and_tears_nothing(verb: str) -> None:
    counts = fail_operations(verb, first=1, step=1)
    assert all(counts[mode] >= 30 for mode in MODES)
