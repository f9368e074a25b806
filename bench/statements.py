"""Counts the statements of the package by folder: ``python bench/statements.py [FOLDER]``.

A statement is a node of the syntax tree that Python calls one; docstrings are not counted.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path


def count_statements(source: str) -> int:
    """
    >>> count_statements("x = 1\\nif x:\\n    print(x)")
    3
    """
    return sum(isinstance(node, ast.stmt) and not _is_docstring(node) for node in ast.walk(ast.parse(source)))


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def by_folder(package: Path) -> Counter[str]:
    """By folder of the package; modules that are in no folder count together."""
    counts: Counter[str] = Counter()
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        counts[f"{parts[0]}/" if len(parts) > 1 else "."] += count_statements(path.read_text("utf-8"))
    return counts


def main() -> None:
    counts = by_folder(Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parent.parent / "recollect"))
    for folder, count in sorted(counts.items(), key=lambda each: -each[1]):
        sys.stdout.write(f"{count:7,}  {folder}\n")
    sys.stdout.write(f"{counts.total():7,}  all\n")


if __name__ == "__main__":
    main()
