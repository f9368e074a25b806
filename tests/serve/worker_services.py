"""What worker processes open in tests. They import this module, so it imports no more than they need."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recollect import Mind
from recollect.errors import StoreError
from recollect.serve import processes as worker_processes
from recollect.serve.work import Services


@contextlib.contextmanager
def open_services(path: Path) -> Iterator[Services]:
    with Mind(path, embedder=None) as mind:
        yield Services(mind)


@contextlib.contextmanager
def open_counting_services(path: Path) -> Iterator[Services]:
    """Services that note each snapshot of a worker in a file of its own."""
    with Mind(path, embedder=None) as mind, open(path.with_name(f"snapshots-{os.getpid()}"), "w") as noted:
        snapshot = mind.store.snapshot

        def counted() -> Any:
            noted.write(".")
            noted.flush()
            return snapshot()

        mind.store.snapshot = counted  # type: ignore[method-assign]
        yield Services(mind)


@contextlib.contextmanager
def ending_after_the_first_write(path: Path) -> Iterator[Services]:
    """In a worker: the process is killed when the first write is stored, before its answer is sent."""
    answer, marker = worker_processes._done, path.with_name("killed")

    def answer_or_end(services: Services, job: worker_processes.Job) -> worker_processes.Done:
        done = answer(services, job)
        if job.operation == "remember" and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    worker_processes._done = answer_or_end
    with open_services(path) as services:
        yield services


@contextlib.contextmanager
def unusable(path: Path) -> Iterator[Services]:
    raise StoreError("This memory cannot be opened here.")
    yield
