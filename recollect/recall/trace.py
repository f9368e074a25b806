"""The trace of a recall: what every step did, how long it took, how many hits it had, and why it was skipped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from recollect.recall.hits import DroppedHits, Hits

Outcome = Literal["ran", "skipped", "failed"]

WHY_LOW = "why low"  # the detail of the step “confidence” that gives its reasons in words


@dataclass(slots=True)
class Step:
    """One step; ``reason`` tells why it was skipped or how it failed."""

    kind: str  # read, filter, cue, fuse, stage, cut, fetch, after
    name: str
    outcome: Outcome = "ran"
    reason: str = ""
    milliseconds: float = 0.0
    before: int | None = None
    after: int | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    dropped: list[DroppedHits] = field(default_factory=list)
    hits: Hits | None = None  # after the step

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
    version: str = ""
    milliseconds: float = 0.0
    steps: list[Step] = field(default_factory=list)
    report: Callable[[Trace], dict[str, Any]] | None = None  # the recipe's own summary of the steps

    @property
    def facts(self) -> dict[str, Any]:
        """A summary under the recipe's own names; empty for most recipes."""
        return {} if self.report is None else self.report(self)

    def add_detail(self, kind: str, name: str, key: str, value: Any) -> None:
        """Add a detail to a step that ran before."""
        for step in self.steps:
            if (step.kind, step.name, step.outcome) == (kind, name, "ran"):
                step.detail[key] = value

    def get_detail(self, kind: str, name: str, key: str) -> str:
        """A detail of a step, as text; empty if there is none."""
        steps = (step for step in self.steps if (step.kind, step.name) == (kind, name))
        return next((str(step.detail[key]) for step in steps if key in step.detail), "")

    def stages(self) -> list[str]:
        """A report of the cues and of the steps after them: ``Stage Sf: 4 hits (12 ms) — full text on “cup”``."""
        lines = []
        for step in self.steps:
            if step.kind == "cue" and step.outcome == "ran":
                hits = step.detail.get("hits", step.after or 0)  # after deduplication, where there was one
                how = f" — {step.detail['how']}" if "how" in step.detail else ""
                lines.append(f"Stage {step.name}: {hits} hit{'s'[hits == 1 :]} ({step.milliseconds:.0f} ms){how}")
            elif step.kind == "cue":
                lines.append(f"Stage {step.name}: {step.outcome} ({step.reason})")
        ran = [step for step in self.steps if step.outcome == "ran"]
        summary = [f"{step.after} candidate{'s'[step.after == 1 :]}" for step in ran if step.kind == "fuse"]
        summary += [step.name for step in ran if step.kind == "stage" and step.before]
        summary += [f"top {step.after} returned" for step in ran if step.kind == "cut"]
        return [*lines, "→ " + " → ".join(summary)]

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
            details = "; ".join(f"{name}: {value}" for name, value in step.detail.items())
            notes = "  ".join(each for each in (step.reason, details) if each)
            outcome = "" if step.outcome == "ran" else f" {step.outcome}"
            lines.append(
                f"  {step.kind:<6} {step.name:<12}{outcome} {step.milliseconds:7.2f} ms{counts}  {notes}".rstrip()
            )
        return "\n".join(lines)
