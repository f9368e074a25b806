"""Metrics in the text format of Prometheus: requests, durations, refusals, and what the process uses."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters of one server. They are changed in the event loop only."""

    def __init__(self) -> None:
        self.started = time.time()
        self.in_flight = 0
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}  # by name: its help, and how to read it
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def record(self, operation: str, status: int, seconds: float) -> None:
        self._requests[operation, status] += 1
        self._seconds[operation] += seconds  # type: ignore[assignment]
        counts = self._buckets.setdefault(operation, [0] * (len(BUCKETS) + 1))
        for at, limit in enumerate((*BUCKETS, float("inf"))):
            counts[at] += seconds <= limit

    def text(self) -> str:
        lines = _head("recollect_requests_total", "counter", "Requests by operation and status.")
        for (operation, status), count in sorted(self._requests.items()):
            lines.append(f'recollect_requests_total{{operation="{operation}",status="{status}"}} {count}')
        lines += _head("recollect_request_seconds", "histogram", "Duration of requests by operation.")
        for operation, counts in sorted(self._buckets.items()):
            for limit, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                lines.append(f'recollect_request_seconds_bucket{{operation="{operation}",le="{limit}"}} {count}')
            lines.append(f'recollect_request_seconds_sum{{operation="{operation}"}} {self._seconds[operation]:.6f}')
            lines.append(f'recollect_request_seconds_count{{operation="{operation}"}} {counts[-1]}')
        gauges: dict[str, tuple[str, Callable[[], float]]] = {
            "recollect_requests_in_flight": ("Requests that are being answered.", lambda: float(self.in_flight)),
            "process_start_time_seconds": ("When the server was started.", lambda: self.started),
            "process_cpu_seconds_total": ("CPU time of the process.", time.process_time),
            "process_resident_memory_bytes": ("Memory of the process.", resident_bytes),
            **self.gauges,
        }
        for name, (help, read) in gauges.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [*_head(name, kind, help), f"{name} {read():g}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, help: str) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}"]


def cpu_seconds(process: int) -> float:
    """The CPU time of another process; 0 where the system does not tell."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            user, system = file.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


def resident_bytes(process: int | None = None) -> float:
    """The memory of a process now, by default of this one; where the system does not tell, the most that this one had,
    and 0 for others."""
    try:
        with open(f"/proc/{process or 'self'}/statm", encoding="ascii") as file:
            return float(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        if process is not None:
            return 0.0
        try:
            import resource
        except ImportError:  # Windows
            return 0.0
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024
