"""`make contract`: every promise with its tests and their results. Fails if a promise has no passing test.

The ids come from docs/promises.md. Any test can prove a promise with ``@pytest.mark.contract("R6")``.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "promises.md"
ROW = re.compile(r"^\| ([A-Z]\d+)( \(planned\))? \| .+ \|$", re.MULTILINE)
MARK = "contract"
PROCESSES = 2
LETTERS = {"R": "robotmem", "O": "OpenClaw", "A": "abmind", "M": "OpenMem", "J": "Jeffs Brain", "B": "beyond"}


def promises() -> list[tuple[str, bool]]:
    """Each id of the page, in the page's order, and whether it is marked as planned."""
    return [(id, bool(planned)) for id, planned in ROW.findall(PAGE.read_text("utf-8"))]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A hook of each process of pytest: only tests that prove a promise run, and their reports name the ids."""
    for item in items:
        item.user_properties += [(MARK, str(id)) for mark in item.iter_markers(MARK) for id in mark.args]
    items[:] = [item for item in items if item.user_properties]


class Collector:
    """Which tests prove which id, and their outcomes."""

    def __init__(self) -> None:
        self.results: dict[str, dict[str, str]] = defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            for name, id in report.user_properties:
                if name == MARK:
                    self.results[str(id)][report.nodeid] = report.outcome


def main() -> int:
    planned = dict(promises())
    collector = Collector()
    options = ["-q", "--no-header", "-m", "", "-n", str(PROCESSES), "-p", "tests.contract.report"]
    pytest.main([*options, str(TESTS)], plugins=[collector])
    unknown = sorted(set(collector.results) - set(planned))
    promised = [id for id in planned if not planned[id]]
    missing = [id for id in promised if not proven(collector.results[id])]
    for id in planned:
        tests = collector.results[id]
        state = "planned" if planned[id] else "proven" if proven(tests) else "BROKEN" if tests else "NO TEST"
        passed = sum(outcome == "passed" for outcome in tests.values())
        print(f"{id:>4}  {LETTERS[id[0]]:<12} {state:<8} {passed}/{len(tests)} tests")
        for test, outcome in tests.items():
            print(f"        {outcome:<8} {test}")
    print(
        f"\n{len(promised) - len(missing)} of {len(promised)} promises proven; {len(planned) - len(promised)} planned."
    )
    for id in unknown:
        print(f"A test uses {id}, which is not in docs/promises.md.")
    if missing:
        print(f"Promises without a passing test: {', '.join(missing)}")
    return 1 if missing or unknown else 0


def proven(tests: dict[str, str]) -> bool:
    return bool(tests) and all(outcome == "passed" for outcome in tests.values())


if __name__ == "__main__":
    sys.exit(main())
