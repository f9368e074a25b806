"""recollect serve, ui and token as processes: started, used, ended by signals, and killed while clients write."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import httpx2
import pytest

from recollect import Client, Mind, RecollectError
from recollect.cli.app import run
from tests.serve.http_server import start

pytestmark = pytest.mark.contract("B20")
ADDRESS = re.compile(r"https?://[\d.]+:\d+(?:/login\?code=[\w-]+)?")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RECOLLECT_URL", "RECOLLECT_TOKEN", "RECOLLECT_DB"):
        monkeypatch.delenv(name, raising=False)


@contextlib.contextmanager
def recollect(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that serves, and its address."""
    command = [sys.executable, "-m", "recollect", "--embedder", "none", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
    assert process.stdout is not None
    try:
        printed = ""
        for line in process.stdout:
            printed += line
            if found := ADDRESS.search(line):
                break
        else:
            raise AssertionError(printed)
        drain = threading.Thread(target=process.stdout.read, daemon=True)  # so that its log does not fill the pipe
        drain.start()
        yield process, found[0]
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(20)


def create_token(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    assert run(["token", "create", "test", *options]) == 0
    return capsys.readouterr().out.strip()


def test_tokens_are_created_listed_and_revoked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--db", "my own.db", "token", "list"]) == 1
    assert "recollect --db 'my own.db' token create laptop" in capsys.readouterr().out
    token = create_token(capsys, "--scope", "read", "--collection", "work", "--bound", "user=ann", "--expires", "2h")
    assert run(["token", "list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["scope"], listed["bound"], listed["expired"]) == (
        "read",
        {"collection": "work", "user": "ann"},
        False,
    )
    assert token.split("_", 2)[1] == listed["id"]
    assert token.split("_", 2)[2] not in json.dumps(listed)
    assert run(["token", "revoke", "test"]) == 0
    assert run(["token", "revoke", "test"]) == 3
    for wrong in (["create"], ["create", "x", "--scope", "all"], ["create", "x", "--expires", "soon"], ["delete", "x"]):
        assert run(["token", *wrong]) == 2, wrong


def test_a_server_answers_until_it_is_asked_to_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    token = create_token(capsys)
    with recollect("serve", "--port", "0") as (process, url):
        with Client(url, token) as memory:
            id = memory.remember("The blue cup is on the shelf.").id
            assert memory.recall("cup")[0].id == id
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        assert mind.show(id).use.access_count == 1  # use that was pending is written at the end


def test_a_file_that_a_server_creates_is_named(tmp_path: Path) -> None:
    for said in ("Created typo.db", ""):
        command = [sys.executable, "-m", "recollect", "--embedder", "none", "--db", "typo.db", "serve", "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            first = process.stderr.readline()
            process.send_signal(signal.SIGINT)
        assert first.startswith(said or "Serving")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_every_acknowledged_write_survives_a_kill(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, workers: str
) -> None:
    token = create_token(capsys)
    acknowledged: list[str] = []
    enough = threading.Event()
    with recollect("serve", "--port", "0", "--workers", workers) as (process, url):

        def write(number: int) -> None:
            with contextlib.suppress(RecollectError), Client(url, token) as memory:
                for count in range(10_000):
                    acknowledged.append(memory.remember(f"Writer {number}, number {count}.").id)
                    if len(acknowledged) > 60:
                        enough.set()

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        assert enough.wait(60)
        process.kill()
        for each in threads:
            each.join()
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        assert len(mind.store.get(acknowledged, missing_ok=True)) == len(acknowledged)


@pytest.mark.skipif(not Path(f"/proc/{os.getpid()}/task").exists(), reason="needs /proc")
def test_workers_end_when_the_server_is_killed(capsys: pytest.CaptureFixture[str]) -> None:
    token = create_token(capsys)
    with recollect("serve", "--port", "0", "--workers", "2") as (process, url):
        with Client(url, token) as memory:
            memory.remember("The blue cup is on the shelf.")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) >= 2
        process.kill()
        process.wait(20)
        end = time.monotonic() + 60
        while any(_is_running(each) for each in children):
            assert time.monotonic() < end
            time.sleep(0.05)


def _is_running(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_page_is_opened_with_a_code_that_works_once(capsys: pytest.CaptureFixture[str]) -> None:
    with recollect("ui", "--no-browser") as (process, link):
        url = link.partition("/login")[0]
        with httpx2.Client(base_url=url, trust_env=False, follow_redirects=True, timeout=60) as browser:
            page = browser.get(link)
            assert (page.status_code, "<html" in page.text) == (200, True)
            assert browser.get("/v1/status").json()["scope"] == "admin"
            assert httpx2.get(link, trust_env=False, timeout=60).status_code == 401
        process.send_signal(signal.SIGINT)
        assert process.wait(30) in (0, 130)


def test_what_was_begun_is_finished_before_a_server_ends(tmp_path: Path) -> None:
    records = [{"text": f"Record {number} of a long import."} for number in range(2_000)]
    answers: list[httpx2.Response] = []
    with start(tmp_path) as server:
        client = server.client("write")

        def send() -> None:
            answers.append(client.post("/v1/import", json={"records": records}))

        thread = threading.Thread(target=send)
        thread.start()
        while not server.backend.writers.active:
            thread.join(0.005)
    thread.join(30)
    (answer,) = answers
    assert (answer.status_code, answer.json()["added"]) == (200, 2_000)


@pytest.mark.skipif(which("openssl") is None, reason="openssl is not installed")
def test_a_server_with_a_certificate_is_reached_by_tls(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem"]
    made = ["openssl", "req", "-x509", *key, "-out", "cert.pem", "-days", "1", *subject]
    subprocess.run(made, check=True, capture_output=True)
    token = create_token(capsys)
    with recollect("serve", "--port", "0", "--tls-cert", "cert.pem", "--tls-key", "key.pem") as (_, url):
        assert url.startswith("https://")
        trusted = ssl.create_default_context(cafile="cert.pem")
        with httpx2.Client(verify=trusted, trust_env=False, timeout=60) as client:
            answer = client.get(f"{url}/v1/status", headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == 200


def test_without_the_packages_of_the_server_the_command_says_what_to_install() -> None:
    script = (
        "import sys\nsys.modules['uvicorn'] = None\n"
        "from recollect.cli.app import run\nsys.exit(run(['--embedder', 'none', 'serve', '--port', '0']))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert ".[server]" in done.stderr
