"""Figures with their goals, on the screen and kept as JSON and Markdown."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.rounds import Timing, middle

HOME = Path(__file__).resolve().parent
PACKAGES = ("recollect", "apsw", "numpy")
COLUMNS = ("what", "ours", "reference", "ratio", "goal", "met")


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing beside another; times are seconds (medians)."""

    name: str
    ours: Timing | None = None
    reference: Timing | None = None
    against: str = ""
    goal: float | None = None
    adds: bool = False  # the goal is on ours − reference in seconds, not on the ratio
    turns: int = 0
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours.wall / self.reference.wall if self.ours and self.reference else None

    @property
    def cpu_ratio(self) -> float | None:
        return self.ours.cpu / self.reference.cpu if self.ours and self.reference and self.reference.cpu else None

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        if not (self.ours and self.reference and self.ratio):
            return False
        return (self.ours.wall - self.reference.wall if self.adds else self.ratio) <= self.goal

    def cells(self) -> tuple[str, ...]:
        ratio = "" if self.ratio is None else f"{self.ratio:.2f} (cpu {self.cpu_ratio or 0:.2f})"
        if self.adds and self.ours and self.reference:
            ratio = f"+{(self.ours.wall - self.reference.wall) * 1e3:.0f} ms"
        goal = "" if self.goal is None else f"≤ +{self.goal * 1e3:.0f} ms" if self.adds else f"≤ {self.goal}"
        reference = " ".join((self.against, shown(self.reference))).strip() or self.note
        met = {None: "", True: "yes", False: "NO"}[self.met]
        return self.name, shown(self.ours), reference, ratio, goal, met

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio, "cpu_ratio": self.cpu_ratio, "met": self.met}


@dataclass(slots=True)
class Report:
    """All figures of one run, and what else was seen."""

    area: str
    figures: list[Figure] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def compare(
        self,
        name: str,
        ours: list[Timing],
        reference: list[Timing],
        against: str,
        goal: float | None = None,
        adds: bool = False,
    ) -> None:
        self.figures.append(Figure(name, middle(ours), middle(reference), against, goal, adds, len(ours)))

    def show(self, console: Console) -> None:
        table = Table(*COLUMNS, title=f"speed: {self.area}")
        for figure in self.figures:
            colour = {None: "", True: "green", False: "red"}[figure.met]
            table.add_row(*figure.cells(), style=colour)
        console.print(table)
        for name, values in self.details.items():
            console.print(f"[bold]{name}[/bold]  {line(values)}", soft_wrap=True)

    def keep(self, folder: Path) -> None:
        facts = machine()
        whole = {"area": self.area, **facts, "figures": [f.as_dict() for f in self.figures], "details": self.details}
        folder.mkdir(exist_ok=True)
        (folder / f"{self.area}.json").write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
        (folder / f"{self.area}.md").write_text(self._markdown(facts))

    def _markdown(self, facts: Mapping[str, Any]) -> str:
        rows = [COLUMNS, ("---",) * len(COLUMNS), *(figure.cells() for figure in self.figures)]
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        details = "\n".join(f"- {name}: {line(values)}" for name, values in self.details.items())
        made = f"Made by `python bench/speed.py {self.area}`; medians of interleaved turns, ratios by wall time."
        return f"# Speed: {self.area}\n\n{made}\n{line(facts)}\n\n{table}\n\n{details}\n"


def shown(timing: Timing | None) -> str:
    if timing is None:
        return ""
    return f"{timing.wall * 1e3:.2f} ms" if timing.wall >= 1e-3 else f"{timing.wall * 1e6:.0f} µs"


def line(values: Any) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items()) if isinstance(values, Mapping) else values


def machine() -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _git("rev-parse", "--short", "HEAD") + (" + changes" if _git("status", "--porcelain") else ""),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _git(*words: str) -> str:
    return subprocess.run(("git", *words), cwd=HOME, capture_output=True, text=True, check=False).stdout.strip()


def _cpu() -> str:
    about = Path("/proc/cpuinfo")
    lines: Sequence[str] = about.read_text().splitlines() if about.exists() else ()
    named = next((each.split(":", 1)[1].strip() for each in lines if each.startswith("model name")), "")
    return named or platform.processor() or platform.machine()
