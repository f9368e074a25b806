"""Figures with their goals, on the screen and kept as JSON and Markdown."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.timing import Timing, median_timing

HOME = Path(__file__).resolve().parent
COLUMNS = ("what", "ours", "reference", "ratio", "goal", "met")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measured thing beside another; times are medians."""

    name: str
    ours: Timing | None = None
    reference: Timing | None = None
    against: str = ""
    goal: float | None = None
    adds: bool = False  # the goal is on ours − reference in seconds, not on the ratio
    turns: int = 0
    by_cpu: bool = False  # the ratio is of CPU time, which is the steadier one where only computing is measured

    @property
    def ratio(self) -> float | None:
        if not (self.ours and self.reference):
            return None
        return self.ours.cpu / self.reference.cpu if self.by_cpu else self.ours.wall / self.reference.wall

    @property
    def added(self) -> float | None:
        if not (self.ours and self.reference):
            return None
        return self.ours.cpu - self.reference.cpu if self.by_cpu else self.ours.wall - self.reference.wall

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; what could not be measured has not reached it."""
        measured = self.added if self.adds else self.ratio
        return None if self.goal is None else measured is not None and measured <= self.goal

    def cells(self) -> tuple[str, ...]:
        ratio = goal = ""
        ours, reference = _shown(self.ours, self.by_cpu), _shown(self.reference, self.by_cpu)
        if self.ours and self.reference and self.adds:
            added, cpu = self.ours.wall - self.reference.wall, self.ours.cpu - self.reference.cpu
            ratio = f"+{cpu * 1e3:.0f} ms by cpu" if self.by_cpu else f"+{added * 1e3:.0f} ms (cpu +{cpu * 1e3:.0f})"
        elif self.ours and self.reference and self.by_cpu:
            ratio = f"{self.ours.cpu / self.reference.cpu:.2f} by cpu"
        elif self.ours and self.reference:
            ratio = f"{self.ours.wall / self.reference.wall:.2f} (cpu {self.ours.cpu / self.reference.cpu:.2f})"
        if self.goal is not None:
            goal = f"≤ +{self.goal * 1e3:.0f} ms" if self.adds else f"≤ {self.goal}"
        met = {None: "", True: "yes", False: "NO"}[self.met]
        return self.name, ours, f"{self.against} {reference}".strip(), ratio, goal, met


@dataclass(slots=True)
class Report:
    """All figures of one run, and what else was seen."""

    area: str
    figures: list[Measurement] = field(default_factory=list)
    details: dict[str, dict[str, Any]] = field(default_factory=dict)

    def compare(
        self,
        name: str,
        ours: list[Timing],
        reference: list[Timing],
        against: str,
        goal: float | None,
        adds: bool = False,
        by_cpu: bool = False,
    ) -> None:
        self.figures.append(
            Measurement(name, median_timing(ours), median_timing(reference), against, goal, adds, len(ours), by_cpu)
        )

    def show(self, console: Console) -> None:
        table = Table(*COLUMNS, title=f"speed: {self.area}")
        for figure in self.figures:
            table.add_row(*figure.cells(), style={None: "", True: "green", False: "red"}[figure.met])
        console.print(table)
        for name, values in self.details.items():
            console.print(f"[bold]{name}[/bold]: {_line(values)}", soft_wrap=True)

    def keep(self, folder: Path) -> None:
        facts = machine()
        figures = [{**asdict(each), "ratio": each.ratio, "met": each.met} for each in self.figures]
        whole = {"area": self.area, "facts": facts, "figures": figures, "details": self.details}
        folder.mkdir(exist_ok=True)
        (folder / f"{self.area}.json").write_text(_nameless(json.dumps(whole, indent=1, ensure_ascii=False)))
        (folder / f"{self.area}.md").write_text(_nameless(self._markdown(facts)))

    def _markdown(self, facts: dict[str, Any]) -> str:
        rows = [COLUMNS, ("---",) * len(COLUMNS), *(figure.cells() for figure in self.figures)]
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        details = "\n".join(f"- {name}: {_line(values)}" for name, values in self.details.items())
        made = f"Made by `python bench/speed.py {self.area}`: medians of interleaved turns, ratios by wall time"
        return f"# Speed: {self.area}\n\n{made} (by CPU time in brackets).\n{_line(facts)}.\n\n{table}\n\n{details}"


def _nameless(text: str) -> str:
    """Without the paths of this machine, which errors may mention."""
    return text.replace(str(HOME.parent), ".").replace(str(Path.home()), "~") + "\n"


def _shown(timing: Timing | None, by_cpu: bool = False) -> str:
    if timing is None:
        return ""
    seconds = timing.cpu if by_cpu else timing.wall
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def _line(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def machine() -> dict[str, Any]:
    """What the figures depend on; nothing that would name this machine."""
    changed = " + changes" if _git("status", "--porcelain", "--", "../recollect") else ""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _git("rev-parse", "--short", "HEAD") + changed,
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),  # ours is about 1; more is other people's work
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("recollect", "apsw", "numpy")},
    }


def _git(*words: str) -> str:
    return subprocess.run(("git", *words), cwd=HOME, capture_output=True, text=True, check=False).stdout.strip()


def _cpu() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    named = [each.split(":", 1)[1].strip() for each in lines if each.startswith("model name")]
    return named[0] if named else platform.processor()
