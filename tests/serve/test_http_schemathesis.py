"""schemathesis calls every route of the served OpenAPI with random and with wrong input: no 5xx, and every answer is as
the description says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serve.http_server import start

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
FEW, SECONDS = 3, float(os.environ.get("RECOLLECT_SCHEMATHESIS_SECONDS", "600"))


def run_schemathesis(folder: Path, *options: str) -> str:
    """Run it on a server with a few memories; fails with its report."""
    with start(folder, rate=1e6, burst=10**6) as server:
        server.mind.remember_many([{"text": f"The cup number {at} is blue.", "tags": ["kitchen"]} for at in range(20)])
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/v1/openapi.json"]
        command += ["--url", f"{server.url}/v1", "-H", f"Authorization: Bearer {server.token('admin')}"]
        command += ["--checks", CHECKS, "--exclude-path", "/events", "--request-timeout", "60", "--no-color", *options]
        environment = {**os.environ, "SCHEMATHESIS_HOOKS": ""}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    report = done.stdout[-6_000:] + done.stderr[-2_000:]
    assert done.returncode == 0, report
    return report


@pytest.mark.slow
@pytest.mark.contract("B20")
def test_the_served_description_is_true_for_ten_minutes(tmp_path: Path) -> None:
    report = run_schemathesis(tmp_path, "--max-time", str(int(SECONDS)), "--max-examples", "1000")
    assert "No issues found" in report or "passed" in report
