"""A real browser on a real server. Without Chromium or Playwright the tests of the page are skipped, and say so."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.serve.http_server import RunningServer, start

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOW_TO_RUN = "run 'make test-page', which installs Playwright and Chromium"
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

WORLD: list[dict[str, Any]] = [
    {
        "text": "I live at 4 Mill Lane.",
        "speaker": "Ida",
        "session": "s1",
        "position": 1,
        "created": "2025-03-01T09:00Z",
    },
    {
        "text": "Noted: 4 Mill Lane.",
        "role": "assistant",
        "session": "s1",
        "position": 2,
        "created": "2025-03-01T09:01Z",
    },
    {"text": "The blue cup is on the top shelf.", "tags": ["kitchen"], "created": "2025-04-02T10:00Z"},
    {"text": "The charging dock is in the hallway.", "tags": ["home"], "created": "2025-05-02T10:00Z"},
    {"text": "The rent is 800 euros.", "speaker": "Ida", "created": "2025-05-04T10:00Z"},
    {"text": "The rent is 950 euros now.", "speaker": "Ida", "created": "2025-09-04T10:00Z"},
    {"text": "Anna is allergic to peanuts.", "entities": ["Anna"], "created": "2025-06-02T10:00Z"},
    {
        "text": "The grasp at 9 N slipped.",
        "context": {"spatial": {"position": [0.2, 0.8]}, "task": {"success": False}},
        "created": "2025-07-01T10:00Z",
    },
    {
        "text": "The grasp at 12 N worked.",
        "context": {"spatial": {"position": [1.2, 0.3]}, "task": {"success": True}},
        "created": "2025-07-02T10:00Z",
    },
]


@dataclass
class Page:
    """A browser's page of a running server, what it logged, and the hosts that it asked for something."""

    browser: Any
    page: Any
    server: RunningServer
    problems: list[str]
    hosts: set[str]

    def open(self, address: str) -> None:
        self.page.goto(f"{self.server.url}/{address}")

    def id_of(self, text: str) -> str:
        return next(memory.id for memory in self.server.mind.list() if memory.text == text)


@pytest.fixture(scope="package")  # Playwright has an event loop in this thread, and no other test could start one
def chromium() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip(f"Chromium is not installed: {HOW_TO_RUN}")
    playwright = pytest.importorskip("playwright.sync_api", reason=f"Playwright is not installed: {HOW_TO_RUN}")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def world() -> list[dict[str, Any]]:
    return WORLD


@pytest.fixture
def options() -> dict[str, Any]:
    return {"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce"}


@pytest.fixture
def page(chromium: Any, tmp_path: Path, world: list[dict[str, Any]], options: dict[str, Any]) -> Iterator[Page]:
    """The page of a server with a small world, signed in by a one-time code."""
    with start(tmp_path, embedder="local") as server:
        if world:
            server.mind.remember_many(world)
        context = chromium.new_context(**options)
        opened = context.new_page()
        opened.set_default_timeout(20_000)
        problems: list[str] = []
        hosts: set[str] = set()
        opened.on("console", lambda message: problems.extend([message.text] if message.type == "error" else []))
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on("request", lambda request: hosts.add(request.url.split("/")[2]))
        with server.client() as client:
            code = client.post("/v1/login-codes", json={}).json()["code"]
        opened.goto(f"{server.url}/login?code={code}")
        yield Page(chromium, opened, server, problems, hosts)
        context.close()
