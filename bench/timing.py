"""Timing: actions alternate within every round, so that noise affects all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall-clock seconds and seconds of processor time."""

    wall: float
    cpu: float

    def __add__(self, other: Timing) -> Timing:
        return Timing(self.wall + other.wall, self.cpu + other.cpu)


Action = Callable[[int], Timing]  # one turn, given its number


def timed(work: Callable[[int], Any], then: Callable[[Any], None] | None = None) -> Action:
    """Time the work; ``then`` looks at its answer off the clock."""

    def turn(number: int) -> Timing:
        cpu, wall = time.process_time(), time.perf_counter()
        answer = work(number)
        timing = Timing(time.perf_counter() - wall, time.process_time() - cpu)
        if then is not None:
            then(answer)
        return timing

    return turn


def interleave(actions: Mapping[str, Action], turns: int, warm: int = 0) -> dict[str, list[Timing]]:
    """Every action once a turn, each turn beginning with another one. The first ``warm`` turns do not count."""
    names = list(actions)
    taken: dict[str, list[Timing]] = {name: [] for name in names}
    for number in range(warm + turns):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            timing = actions[name](number)
            if number >= warm:
                taken[name].append(timing)
    return taken


def median_timing(timings: list[Timing]) -> Timing:
    return Timing(median(each.wall for each in timings), median(each.cpu for each in timings))


def sum_timings(*parts: list[Timing]) -> list[Timing]:
    """Turn by turn, the parts together."""
    return [sum(turn[1:], start=turn[0]) for turn in zip(*parts, strict=True)]
