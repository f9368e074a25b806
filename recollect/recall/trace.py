"""The trace: what every step of a recall did, in how long, to how many, and why it did not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from recollect.recall.hits import Dropped, Hits

Outcome = Literal["ran", "skipped", "failed"]


@dataclass(slots=True)
class Step:
    """One step. ``reason`` says why it was skipped or how it failed."""

    kind: str  # read, filter, cue, fuse, stage, cut, fetch, after
    name: str
    outcome: Outcome = "ran"
    reason: str = ""
    milliseconds: float = 0.0
    before: int | None = None
    after: int | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    hits: Hits | None = None  # as the step left them

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"kind": self.kind, "name": self.name, "outcome": self.outcome}
        if self.reason:
            shown["reason"] = self.reason
        shown["milliseconds"] = round(self.milliseconds, 3)
        if self.before is not None:
            shown["in"] = self.before
        if self.after is not None:
            shown["out"] = self.after
        if self.detail:
            shown["detail"] = self.detail
        return shown


@dataclass(slots=True)
class Trace:
    """All steps of one recall, in order."""

    query: str
    recipe: str
    version: int = 0
    milliseconds: float = 0.0
    steps: list[Step] = field(default_factory=list)
    report: Callable[[Trace], dict[str, Any]] | None = None  # the recipe's own summary of the steps

    @property
    def facts(self) -> dict[str, Any]:
        """What the recipe has to say of this recall, under names of its own; empty for most."""
        return {} if self.report is None else self.report(self)

    def tell(self, kind: str, name: str, what: str, value: Any) -> None:
        """Say something about a step that ran before."""
        for step in self.steps:
            if (step.kind, step.name, step.outcome) == (kind, name, "ran"):
                step.detail[what] = value

    def stages(self) -> list[str]:
        """What each cue found, and what became of it, in lines: ``Stage Sf: 4 hits (12 ms) — full text on “cup”``."""
        lines = []
        for step in self.steps:
            if step.kind == "cue" and step.outcome == "ran":
                hits = step.detail.get("hits", step.after or 0)  # after deduplication, where there was one
                how = f" — {step.detail['how']}" if "how" in step.detail else ""
                lines.append(f"Stage {step.name}: {hits} hit{'s'[hits == 1 :]} ({step.milliseconds:.0f} ms){how}")
            elif step.kind == "cue":
                lines.append(f"Stage {step.name}: {step.outcome} ({step.reason})")
        ran = [step for step in self.steps if step.outcome == "ran"]
        way = [f"{step.after} candidate{'s'[step.after == 1 :]}" for step in ran if step.kind == "fuse"]
        way += [step.name for step in ran if step.kind == "stage" and step.before]
        way += [f"top {step.after} returned" for step in ran if step.kind == "cut"]
        return [*lines, "→ " + " → ".join(way)]

    @property
    def failures(self) -> list[Step]:
        return [step for step in self.steps if step.outcome == "failed"]

    def as_dict(self) -> dict[str, Any]:
        shown = {
            "query": self.query,
            "recipe": self.recipe,
            "version": self.version,
            "milliseconds": round(self.milliseconds, 3),
            "steps": [step.as_dict() for step in self.steps],
        }
        return {**shown, "facts": self.facts} if self.report else shown

    def __str__(self) -> str:
        lines = [f"{self.recipe}: {self.query!r} in {self.milliseconds:.1f} ms"]
        for step in self.steps:
            counts = "" if step.after is None else f"  {'' if step.before is None else step.before} → {step.after}"
            said = "; ".join(f"{name}: {value}" for name, value in step.detail.items())
            notes = "  ".join(each for each in (step.reason, said) if each)
            mark = "" if step.outcome == "ran" else f" {step.outcome}"
            lines.append(
                f"  {step.kind:<6} {step.name:<12}{mark} {step.milliseconds:7.2f} ms{counts}  {notes}".rstrip()
            )
        return "\n".join(lines)
