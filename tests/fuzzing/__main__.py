"""Inputs from atheris for everything that reads what others wrote: python -m tests.fuzzing [RUNS] [TARGET …].

The targets are the query parser, the chunker, the importers, and the input of the HTTP and MCP servers. A
RecollectError is an answer; any other exception, a response of 500, or a call that takes longer than a second of CPU
is a finding: its input is stored in build/fuzz/TARGET, and the target goes on. Corpora are in tests/fuzzing/corpus;
inputs that reach new code are kept in build/fuzz, so that a run continues where the one before it ended. At the end a
line for each target has inputs, findings and the slowest call. Each run keeps its counts in build/fuzz/runs while it
goes on, whether it ends or is stopped; python -m tests.fuzzing --total adds up what ran on each commit.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CORPUS, BUILD = Path(__file__).parent / "corpus", ROOT / "build" / "fuzz"
RUNS = BUILD / "runs"
MAX_SECONDS = 1.0  # of CPU
MAX_BYTES = 4096
SAVED_EVERY = 5.0  # seconds
MEMORY_FOLDER = "/dev/shm"  # where there is one: a file of a few inputs need not wait for a disk
# Shares of the inputs: a request costs as much as many queries.
TARGETS = {"query": 0.4, "chunks": 0.25, "imports": 0.25, "http": 0.06, "mcp": 0.04}
FORMATS_OF_OTHERS = ("openmem", "robotmem", "chatgpt")  # databases and archives
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    3,
    1e308,
    "",
    "m1",
    "m2",
    "2026-01-01",
    [],
    {},
    ["m1"],
    {"id": "m1"},
    {"not": {"user": "x"}},
)


def query(data: bytes) -> None:
    from recollect.text.query_language import format_query, parse_query

    format_query(parse_query(data.decode("utf-8", "replace")))


def chunks(data: bytes) -> None:
    from recollect.ingest.chunking import split_chunks

    list(split_chunks(data.decode("utf-8", "replace").split("\n")))


def make_imports() -> Callable[[bytes], None]:
    from recollect.ingest.imports import FORMATS, read_source

    formats = [name for name in FORMATS if name not in FORMATS_OF_OTHERS]
    file = Path(tempfile.mkdtemp(prefix="recollect-fuzz-")) / "input"

    def imports(data: bytes) -> None:
        file.write_bytes(data[1:])
        for _ in read_source(file, formats[data[0] % len(formats) if data else 0]):
            pass

    return imports


def read_values(data: bytes) -> list[Any]:
    """Values of all kinds: JSON where a line is JSON, one of VALUES, or the line itself. Callers leave None out."""
    values: list[Any] = []
    for line in data.split(b"\n")[:12]:
        text = line.decode("utf-8", "replace")
        try:
            values.append(json.loads(text))
        except (ValueError, RecursionError):
            values.append(VALUES[line[0] % len(VALUES)] if len(line) == 1 else text)
    return values


def make_http() -> Callable[[bytes], None]:
    from tests.fuzzing.server import JSON, FuzzedServer

    server = FuzzedServer()

    def http(data: bytes) -> None:
        first, second, rest = *(data[:2] + b"\0\0")[:2], data[2:]
        operation = server.operations[first % len(server.operations)]
        accept = "text/event-stream" if second & 128 else "application/json"
        match second % 4:
            case 0:  # any body
                server.request(operation.method, f"/v1{operation.path}".encode(), b"", rest, JSON)
            case 1:  # any path and query
                path, _, asked = rest.partition(b"?")
                server.request(("GET", "POST", "PATCH", "DELETE")[first % 4], b"/" + path, asked, b"", JSON)
            case 2:  # any headers
                lines = [line.partition(b":") for line in rest.split(b"\n")]
                headers = {a.decode("latin-1").lower(): b.decode("latin-1") for a, _, b in lines if a.isalnum()}
                server.request(operation.method, f"/v1{operation.path}".encode(), b"", b'{"query": "cup"}', headers)
            case _:  # any values of known arguments
                values = read_values(rest[1:])
                start = rest[0] if rest else 0
                names = [each.name for each in operation.parameters]
                named = {names[(start + n) % len(names)]: value for n, value in enumerate(values)} if names else {}
                if names and start & 1:
                    named = dict(zip(names, values, strict=False))
                server.call(operation, {name: value for name, value in named.items() if value is not None}, accept)

    return http


def make_mcp() -> Callable[[bytes], None]:
    from tests.fuzzing.server import FuzzedServer

    server = FuzzedServer()

    def mcp(data: bytes) -> None:
        first, second, rest = *(data[:2] + b"\0\0")[:2], data[2:]
        values = read_values(rest)
        if not server.calls:
            server.open()
        match second % 4:
            case 0:
                server.post_mcp(rest)
            case 1:
                server.call_mcp("resources/read", {"uri": f"recollect://memory/{values[0]}"})
                server.call_mcp("resources/list", {"cursor": str(values[0])})
            case 2:
                server.call_mcp("prompts/get", {"name": "recall", "arguments": {"query": str(values[0])}})
            case _:
                operation = next(e for e in server.operations if e.name == server.tools[first % len(server.tools)])
                names = [each.name for each in operation.parameters]
                arguments = {name: value for name, value in zip(names, values, strict=False) if value is not None}
                server.call_mcp("tools/call", {"name": operation.name, "arguments": arguments})

    return mcp


MAKERS: dict[str, Callable[[], Callable[[bytes], None]]] = {
    "query": lambda: query,
    "chunks": lambda: chunks,
    "imports": make_imports,
    "http": make_http,
    "mcp": make_mcp,
}


class Watch:
    """Counts inputs, and keeps what is found."""

    def __init__(self, target: str, run: Callable[[bytes], None], runs: int, file: Path) -> None:
        from recollect.errors import RecollectError

        self.target, self.run, self.answer = target, run, RecollectError
        self.folder, self.file, self.runs = BUILD / target, file, runs
        self.folder.mkdir(parents=True, exist_ok=True)
        self.inputs, self.findings, self.slowest, self.slow_input = 0, 0, 0.0, b""
        self.commit, self.saved = read_commit(), time.monotonic()

    def __call__(self, data: bytes) -> None:
        self.inputs += 1
        begun = time.process_time()
        try:
            with contextlib.suppress(self.answer):
                self.run(data)
        except Exception as error:
            self.keep(data, "".join(traceback.format_exception(error)))
        seconds = time.process_time() - begun
        if seconds > MAX_SECONDS:
            self.keep(data, f"{seconds:.2f} s")
        if seconds > self.slowest:
            self.slowest, self.slow_input = seconds, data
        if self.inputs >= self.runs - 1 or time.monotonic() - self.saved > SAVED_EVERY:
            self.save()

    def keep(self, data: bytes, problem: str) -> None:
        self.findings += 1
        name = self.folder / f"finding-{sha256(data).hexdigest()[:12]}"
        name.write_bytes(data)
        name.with_suffix(".txt").write_text(problem, "utf-8")
        self.save()

    def save(self) -> None:
        self.saved = time.monotonic()
        record = {"target": self.target, "commit": self.commit, "inputs": self.inputs, "findings": self.findings}
        slowest = {"slowest_seconds": round(self.slowest, 3), "slow_input": self.slow_input.hex()}
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps({**record, **slowest}), "utf-8")
        new.replace(self.file)  # somebody may be reading it


def read_commit() -> str:
    """Which code is fuzzed; "+" after it: with changes that are not committed."""
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=10", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip() or "unknown"


def run_target(target: str, runs: int, file: Path) -> None:
    """In a process of its own, which atheris ends."""
    import atheris

    with atheris.instrument_imports(include=["recollect"]):
        run = MAKERS[target]()
        for seed in sorted((CORPUS / target).iterdir()):  # so that all that it needs is imported here
            with contextlib.suppress(Exception):
                run(seed.read_bytes())
    watch = Watch(target, run, runs, file)
    arguments = [sys.argv[0], f"-atheris_runs={runs}", f"-max_len={MAX_BYTES}", "-verbosity=0", "-timeout=120"]
    atheris.Setup([*arguments, str(watch.folder), str(CORPUS / target)], watch)
    atheris.Fuzz()


def main(runs: int, targets: list[str]) -> int:
    chosen = targets or list(TARGETS)
    total = sum(TARGETS[each] for each in chosen)
    RUNS.mkdir(parents=True, exist_ok=True)
    processes, files = {}, {}
    for target in chosen:
        files[target] = RUNS / f"{target}-{time.time_ns()}.json"
        count = max(1, int(runs * TARGETS[target] / total))
        command = [sys.executable, "-m", "tests.fuzzing", "--target", target, str(count), str(files[target])]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        if Path(MEMORY_FOLDER).is_dir():
            environment.setdefault("TMPDIR", MEMORY_FOLDER)
        processes[target] = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    failed = 0
    for target, process in processes.items():
        code = process.wait()
        found = json.loads(files[target].read_text("utf-8"))
        print(f"{report([found])}, exit {code}")
        failed += found["findings"] or code != 0
    return 1 if failed else 0


def report(found: list[dict[str, Any]]) -> str:
    """One line for runs of one target."""
    inputs, findings = (sum(each[name] for each in found) for name in ("inputs", "findings"))
    slowest = max(each["slowest_seconds"] for each in found)
    return f"{found[0]['target']:8} {inputs:>10,} inputs, {findings} findings, slowest {slowest:.3f} s of CPU"


def print_totals() -> None:
    """What all runs of this folder amount to, for each commit and target."""
    runs = sorted(
        (json.loads(file.read_text("utf-8")) for file in RUNS.glob("*.json")),
        key=lambda each: (each["commit"], each["target"]),
    )
    for (commit, _), found in groupby(runs, lambda each: (each["commit"], each["target"])):
        print(f"{commit:12} {report(list(found))}")
    print(f"{sum(each['inputs'] for each in runs):,} inputs, {sum(each['findings'] for each in runs)} findings in all")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--target"]:
        run_target(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    elif sys.argv[1:] == ["--total"]:
        print_totals()
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, sys.argv[2:]))
