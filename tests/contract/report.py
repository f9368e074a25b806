"""`make contract`: every promise with its tests and their result; a promised one without a passing test fails.

Tests anywhere in the tree may carry ``@pytest.mark.contract("R6")``; those in tests/contract/ all do.
"""

from __future__ import annotations

import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LETTERS = {"R": "robotmem", "O": "OpenClaw", "A": "abmind", "M": "OpenMem", "J": "Jeffs Brain", "B": "beyond"}


class Collector:
    """Which test proves which id, and how it ended."""

    def __init__(self) -> None:
        self.ids: dict[str, list[str]] = {}
        self.results: dict[str, dict[str, str]] = defaultdict(dict)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            self.ids[item.nodeid] = [str(id) for mark in item.iter_markers("contract") for id in mark.args]
        items[:] = [item for item in items if self.ids[item.nodeid]]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            for id in self.ids.get(report.nodeid, ()):
                self.results[id][report.nodeid] = report.outcome


def main() -> int:
    said = tomllib.loads((HERE / "ids.toml").read_text("utf-8"))
    promised, later = list(said["promised"]), list(said["later"])
    collector = Collector()
    pytest.main(["-q", "--no-header", "-m", "", str(HERE.parent)], plugins=[collector])
    unknown = sorted(set(collector.results) - set(promised) - set(later))
    missing = [id for id in promised if not kept(collector.results[id])]
    for id in sorted({*promised, *later}, key=lambda id: ("ROAMJB".index(id[0]), int(id[1:]))):
        tests = collector.results[id]
        state = "not yet" if id in later else "kept" if kept(tests) else "BROKEN" if tests else "NO TEST"
        passed = sum(outcome == "passed" for outcome in tests.values())
        print(f"{id:>4}  {LETTERS[id[0]]:<12} {state:<8} {passed}/{len(tests)} tests")
        for test, outcome in tests.items():
            print(f"        {outcome:<8} {test}")
    print(f"\n{len(promised) - len(missing)} of {len(promised)} promises kept; {len(later)} not yet promised.")
    for id in unknown:
        print(f"A test names {id}, which is no promise.")
    if missing:
        print(f"Promised without a passing test: {', '.join(missing)}")
    return 1 if missing or unknown else 0


def kept(tests: dict[str, str]) -> bool:
    return bool(tests) and all(outcome == "passed" for outcome in tests.values())


if __name__ == "__main__":
    sys.exit(main())
