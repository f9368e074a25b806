"""What one call logs, apart from the calls beside it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

log = logging.getLogger("recollect")
_messages: ContextVar[list[tuple[int, str]] | None] = ContextVar("messages", default=None)  # of the current call


class _MessageHandler(logging.Handler):
    """Collects what each call logs, in its own list."""

    def emit(self, record: logging.LogRecord) -> None:
        messages = _messages.get()
        if messages is not None:
            messages.append((record.levelno, record.getMessage()))


_handler = _MessageHandler(logging.WARNING)


@contextmanager
def logged_messages() -> Iterator[list[tuple[int, str]]]:
    """Warnings that are logged in this block, and in threads that it starts with its context: (level, text)."""
    messages: list[tuple[int, str]] = []
    log.addHandler(_handler)
    token = _messages.set(messages)
    try:
        yield messages
    finally:
        _messages.reset(token)
