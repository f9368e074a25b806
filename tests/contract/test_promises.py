"""docs/promises.md lists every id that the tests use, once and without gaps."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.contract.report import LETTERS, PAGE, TESTS, promises


def markers() -> Iterator[tuple[str, str]]:
    """Each id in a ``contract(...)`` marker of a test, and the place of that marker."""
    for file in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "contract":
                for argument in node.args:
                    yield ast.literal_eval(argument), f"{file.relative_to(TESTS)}:{node.lineno}"


def test_every_row_of_the_page_is_a_promise() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    rows = [line for line in lines if line.startswith("|") and line not in ("| id | promise |", "|---|---|")]
    assert len(rows) == len(promises())


def test_every_id_in_a_marker_is_on_the_page() -> None:
    known = {id for id, _ in promises()}
    used = list(markers())
    assert used
    assert [(id, place) for id, place in used if id not in known] == []


def test_every_id_appears_once_and_without_gaps() -> None:
    numbers = defaultdict(list)
    for id, _ in promises():
        numbers[id[0]].append(int(id[1:]))
    assert list(numbers) == list(LETTERS)
    for letter, found in numbers.items():
        assert found == list(range(1, len(found) + 1)), letter
