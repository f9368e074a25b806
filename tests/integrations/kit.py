"""What the tests of adapters share."""

from __future__ import annotations

import pytest

COMMAND = "make test-integrations"


def need(package: str) -> None:
    """Skip the module when a framework is not installed."""
    pytest.importorskip(package, reason=f"SKIPPED: {package} is not installed; run: {COMMAND}")
