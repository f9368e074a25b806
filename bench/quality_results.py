"""The results of the quality benchmark: stored as JSON by dataset and system, shown as tables and plots."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.plots import draw
from bench.report import HOME, machine
from bench.tables import TABLES, TOLERANCE, floor

DOCS = HOME.parent / "docs"
RESULTS = HOME / "results" / "quality.json"
PLACE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.S)


def fill_page(tables: Mapping[str, str]) -> None:
    """Put tables into docs/quality.md, each where it is named."""
    page = DOCS / "quality.md"
    text = page.read_text("utf-8")
    filled = PLACE.sub(lambda at: f"{at[1]}{tables[at[2]]}\n{at[3]}" if at[2] in tables else at[0], text)
    page.write_text(filled, "utf-8")


class QualityResults:
    """All sets: those of this run, and those kept before."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.kept: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {"facts": {}, "sets": {}}
        self.now: dict[str, Any] = {}

    def peers(self, name: str, files: dict[str, str]) -> set[str]:
        """The peers that are kept for this set, if its data is still the same; what broke is kept, too."""
        before = self.kept["sets"].get(name, {})
        systems = before.get("systems", {}) if before.get("files") == files else {}
        return {system for system, told in systems.items() if told["kind"] == "peer"}

    def add(self, name: str, found: dict[str, Any]) -> None:
        """A set's findings; what was kept of the same data and not measured again stays."""
        self.now[name] = found
        before = self.kept["sets"].get(name, {})
        if before.get("files") != found["files"]:
            before = {}
        systems = before.get("systems", {})
        self.kept["sets"][name] = {**before, **found, "systems": {**systems, **found["systems"]}}

    def keep(self) -> None:
        self.kept["facts"] = machine()
        self.kept["sets"] = dict(sorted(self.kept["sets"].items()))
        new = self.file.with_suffix(".new")  # others may read it meanwhile
        new.write_text(json.dumps(self.kept, indent=1, ensure_ascii=False) + "\n", "utf-8")
        new.replace(self.file)
        self.render()

    def render(self) -> None:
        """Tables beside the JSON, the plots, and the figures of the page in the docs."""
        tables = {name: make(self.kept["sets"]) for name, (_, make) in TABLES.items()}
        facts = ", ".join(f"{name} {value}" for name, value in self.kept["facts"].items())
        parts = [f"## {TABLES[name][0]}\n\n{told}" for name, told in tables.items()]
        head = f"# Quality\n\nMade by `python bench/quality.py --all`; the last run: {facts}."
        self.file.with_suffix(".md").write_text("\n\n".join([head, *parts]) + "\n", "utf-8")
        fill_page(tables)
        draw(self.kept["sets"], DOCS / "quality")

    def floors(self) -> dict[str, dict[str, float]]:
        """How far the default recipe is above the best baseline, set by set and measure by measure."""
        return {name: margins for name, set_ in self.now.items() if (margins := floor(set_["systems"]))}

    def below_the_floor(self) -> list[str]:
        return [name for name, margins in self.floors().items() if min(margins.values()) < -TOLERANCE]

    def show(self) -> None:
        console = Console(highlight=False)
        below = self.below_the_floor()
        for name, margins in self.floors().items():
            told = "  ".join(f"{measure} {margin:+.3f}" for measure, margin in margins.items())
            verdict = "[red]BELOW THE BASELINES[/red]" if name in below else "ok"
            console.print(f"{name:<16} default − best baseline: {told}  {verdict}")
