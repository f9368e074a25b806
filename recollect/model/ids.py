"""Ids of memories."""

from __future__ import annotations

import os

LETTERS = b"abcdefghijklmnopqrstuvwxyz234567" * 8  # one for each byte: five bits of it count


def new_id() -> str:
    """80 random bits as 16 lowercase letters and digits."""
    return os.urandom(16).translate(LETTERS).decode()
