"""Work in threads that are used again."""

from __future__ import annotations

from concurrent.futures import CancelledError
from threading import Event

import pytest

from recollect.threads import call_within, run_in_thread


def test_work_that_is_cancelled_does_not_keep_later_work_waiting() -> None:
    begun, end = Event(), Event()

    def work() -> str:
        begun.set()
        end.wait(5)
        return "done"

    running = run_in_thread(work)
    begun.wait(5)
    assert not running.cancel()  # it has begun
    end.set()
    assert running.result(5) == "done"
    for _ in range(20):
        pending = run_in_thread(lambda: "done")
        if pending.cancel():  # before its thread began with it
            with pytest.raises(CancelledError):
                pending.result(5)
    assert [call_within(lambda: "next", 5, "the work") for _ in range(30)] == ["next"] * 30
