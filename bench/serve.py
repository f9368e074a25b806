"""The server under load: ``python bench/serve.py [--quick]``. The end of its output compares with the goals.

32 clients recall from 20,000 memories while 4 write, on loopback, beside two threads of one process and two processes
that recall without a server, with the same writers; “answers” are processes that make the same answers as the server,
with the reason of each result, as JSON. Then an open loop at half the rate, and a server that is killed while clients
write. Vectors are made from hashes of the texts, so that the model is not measured. The clients are a process of their
own, and the table has the CPU of what recalls, of the server process and of the clients.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import queue
import random
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

HOME = Path(__file__).resolve().parent
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(HOME.parent))

import numpy as np  # noqa: E402

from bench.synthetic_data import DIM, TextGenerator, Vectors, unit  # noqa: E402
from recollect import Mind  # noqa: E402
from recollect.serve.metrics import resident_bytes  # noqa: E402
from recollect.serve.tokens import Access  # noqa: E402
from recollect.serve.work import Services, run_operation  # noqa: E402
from recollect.service import find_operation  # noqa: E402

K = 10
KILL_AFTER = 100  # acknowledged writes
Latencies = list[float]  # seconds


class HashEmbedder:
    """A vector from the hash of a text: any process makes the same one, at almost no cost."""

    name, dim = "bench-hash", DIM

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        seeds = (int.from_bytes(text.encode()[:24].ljust(24, b"\0"), "little") for text in texts)
        return unit(np.stack([np.random.default_rng(seed).standard_normal(DIM, dtype=np.float32) for seed in seeds]))


def open_mind(path: Path) -> Mind:
    return Mind(path, embedder=HashEmbedder())


def fill(path: Path, size: int) -> list[str]:
    """A memory with this many texts; the queries about them."""
    world = TextGenerator()
    texts = world.texts(size)
    with Mind(path, embedder=HashEmbedder(), durability="fast") as mind:
        for at in range(0, size, 5_000):
            mind.remember_many(texts[at : at + 5_000])
    return [each.text for each in world.questions(2_000, texts, world.vectors(size))]


# The parts that run as processes of their own.


@contextlib.contextmanager
def open_services(path: Path) -> Iterator[Services]:
    with open_mind(path) as mind:
        yield Services(mind)


def run_server(path: Path, workers: int, threads: int | None) -> None:
    from recollect.serve.backend import Backend
    from recollect.serve.server import serve
    from recollect.serve.settings import ServerSettings
    from recollect.serve.tokens import TokenFile

    more: dict[str, Any] = {} if threads is None else {"threads": threads}
    with open_mind(path) as mind:
        settings = ServerSettings(port=0, rate=1e6, burst=10**6, workers=workers, **more)
        serve(
            lambda actual: Backend(mind, TokenFile.beside(path), actual, open_services=partial(open_services, path)),
            settings,
            lambda backend, url: print(url, flush=True),
        )


def run_in_process(
    path: Path, queries: list[str], seconds: float, workers: int, writers: int, rate: float, answers: bool = False
) -> Any:
    """Threads that recall in this process while others write; with ``answers``, they make the answer of the server."""
    with open_mind(path) as mind:
        mind.recall("warm up", K, track=False)
        services, caller, operation = Services(mind), Access("", "", "write"), find_operation("recall")

        def answer(query: str) -> int:
            return len(run_operation(services, caller, operation, {"query": query, "k": K}).body or b"")

        reads = [answer if answers else lambda query: len(mind.recall(query, K)) for _ in range(workers)]
        writes = [lambda text: mind.remember(text).id for _ in range(writers)]
        return load(queries, seconds, reads, writes, rate)


def run_clients(
    url: str, token: str, queries: list[str], seconds: float, readers: int, writers: int, rate: float, open_rate: float
) -> Any:
    reads = [HttpClient(url, token).recall for _ in range(readers)]
    writes = [HttpClient(url, token).remember for _ in range(writers)]
    return load(queries, seconds, reads, writes, rate, open_rate)


class HttpClient:
    """One connection with as little work of its own as possible: http.client takes half a millisecond a request."""

    def __init__(self, url: str, token: str) -> None:
        address = urlsplit(url)
        self._address = str(address.hostname), address.port
        self._head = f"host: {address.netloc}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n"
        self._socket: socket.socket | None = None

    def _post(self, path: str, body: Any) -> bytes:
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\n{self._head}content-length: {len(content)}\r\n\r\n"
        if self._socket is None:
            self._socket = socket.create_connection(self._address, timeout=60)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(head.encode() + content)
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._receive()
        found = re.search(rb"\r\ncontent-length: (\d+)", received[:end])
        assert found is not None
        while len(received) < end + 4 + int(found[1]):
            received += self._receive()
        if not received.startswith(b"HTTP/1.1 20"):
            raise RuntimeError(f"{received[:12]!r}: {received[end + 4 :][:200]!r}")
        return received[end + 4 :]

    def _receive(self) -> bytes:
        assert self._socket is not None
        received = self._socket.recv(65536)
        if not received:
            raise ConnectionError("The server closed the connection.")
        return received

    def recall(self, query: str) -> int:
        return len(self._post("/v1/recall", {"query": query, "k": K}))

    def remember(self, text: str) -> str:
        return str(json.loads(self._post("/v1/memories", {"text": text}))["id"])


def load(
    queries: list[str],
    seconds: float,
    reads: Sequence[Callable[[str], int]],
    writes: Sequence[Callable[[str], str]],
    rate: float,
    open_rate: float = 0.0,
) -> Any:
    """Call the readers for some seconds: one after another each or, with ``open_rate``, at moments that do not wait
    for answers. Each writer writes at its rate."""
    latencies: Latencies = []
    write_latencies: Latencies = []
    written: list[str] = []
    errors: list[str] = []
    before, start = time.process_time(), time.perf_counter()
    end = start + seconds
    due: queue.Queue[float] = queue.Queue()
    if open_rate:
        moments = random.Random(3)
        at = start
        while at < end:
            at += moments.expovariate(open_rate)
            due.put(at)

    def read(number: int, call: Callable[[str], int]) -> None:
        chance = random.Random(number)
        while time.perf_counter() < end:
            began = time.perf_counter()
            if open_rate:
                try:
                    began = due.get_nowait()
                except queue.Empty:
                    return
                time.sleep(max(0.0, began - time.perf_counter()))
            try:
                call(chance.choice(queries))
                latencies.append(time.perf_counter() - began)
            except Exception as error:
                errors.append(str(error))
                return

    def write(number: int, call: Callable[[str], str]) -> None:
        count = 0
        while time.perf_counter() < end:
            began = time.perf_counter()
            try:
                written.append(call(f"Written by {number}, number {count}, {began}."))
                write_latencies.append(time.perf_counter() - began)
            except Exception as error:
                errors.append(str(error))
                return
            count += 1
            time.sleep(max(0.0, 1 / rate - (time.perf_counter() - began)))

    threads = [threading.Thread(target=read, args=each) for each in enumerate(reads)]
    threads += [threading.Thread(target=write, args=each) for each in enumerate(writes)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    took = time.perf_counter() - start
    return {
        "seconds": took,
        "recalls": len(latencies),
        "per_second": len(latencies) / took,
        "mean_ms": statistics.fmean(latencies) * 1e3 if latencies else 0.0,
        "p50_ms": _percentile(latencies, 0.5),
        "p99_ms": _percentile(latencies, 0.99),
        "writes": len(written),
        "write_p99_ms": _percentile(write_latencies, 0.99),
        "written": written,
        "errors": errors,
        "cpu_seconds": time.process_time() - before,
        "max_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "rss_mb": resident_bytes() / 1e6,
    }


def _percentile(values: Latencies, share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] * 1e3 if values else 0.0


# The measurement.


class ServerProcess:
    """A server in a process of its own."""

    def __init__(self, path: Path, options: argparse.Namespace) -> None:
        command = [sys.executable, __file__, "--part", "server", "--path", str(path), "--workers", str(options.workers)]
        command += [] if options.threads is None else ["--threads", str(options.threads)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError("The server did not start.")

    def metrics(self, token: str) -> dict[str, float]:
        """The figures of the server and of its workers."""
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
        connection.request("GET", "/metrics", headers={"authorization": f"Bearer {token}"})
        lines = connection.getresponse().read().decode().splitlines()
        return {name: float(figure) for name, figure in (line.split() for line in lines if line[0] != "#")}

    def memory_mb(self, token: str) -> float:
        names = ("process_resident_memory_bytes", "recollect_workers_resident_memory_bytes")
        figures = self.metrics(token)
        return sum(figures[name] for name in names) / 1e6

    def clients(self, token: str, folder: Path, **arguments: Any) -> Any:
        """What the clients measured, with the CPU of the workers, of the server process and of the clients apart."""
        before = self.metrics(token)
        done = part("clients", folder, url=self.url, token=token, **arguments)
        after = self.metrics(token)
        names = {
            "server_cpu_seconds": "process_cpu_seconds_total",
            "cpu_seconds": "recollect_workers_cpu_seconds_total",
        }
        used = {each: after[name] - before[name] for each, name in names.items()}
        return {**done, "client_cpu_seconds": done["cpu_seconds"], **used}

    def stop(self, how: int = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.wait(30)


def part(name: str, folder: Path, **arguments: Any) -> Any:
    """Run a part of this file as a process; what it measured."""
    (done,) = parts(name, folder, [arguments])
    return done


def parts(name: str, folder: Path, all_arguments: Sequence[dict[str, Any]]) -> list[Any]:
    """Run a part several times at once."""
    files = [folder / f"{name}-{number}.json" for number in range(len(all_arguments))]
    running = []
    for file, arguments in zip(files, all_arguments, strict=True):
        file.write_text(json.dumps(arguments))
        running.append(subprocess.Popen([sys.executable, __file__, "--part", name, "--path", str(file)]))
    codes = [process.wait() for process in running]
    if any(codes):
        raise RuntimeError(f"{name} failed.")
    return [json.loads(file.read_text()) for file in files]


def together(done: Sequence[Any]) -> Any:
    """What several processes measured, as one: sums of what they did, means of what it took."""
    sums = ("recalls", "per_second", "writes", "cpu_seconds", "written", "errors")
    means = ("mean_ms", "p50_ms", "p99_ms", "write_p99_ms")
    first, *rest = done
    added = {name: sum((each[name] for each in rest), first[name]) for name in sums}
    return {**added, **{name: statistics.fmean(each[name] for each in done) for name in means}}


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    from recollect.serve.tokens import TokenFile

    path = folder / "memory.db"
    queries = fill(path, options.size)
    token, _ = TokenFile.beside(path).create("bench", "admin")
    common = {"queries": queries, "writers": options.writers, "rate": options.write_rate}
    seconds = options.seconds
    shown: dict[str, Any] = {}
    inside = {"path": str(path), **common, "seconds": seconds / 2}
    shown["in process, 1 thread"] = part("in_process", folder, **inside, workers=1)
    shown["in process, 2 threads"] = part("in_process", folder, **inside, workers=2)
    half = {**inside, "workers": 1, "writers": options.writers // 2}
    shown["in process, 2 processes"] = together(parts("in_process", folder, [half, half]))
    shown["answers, 1 thread"] = part("in_process", folder, **inside, workers=1, answers=True)
    half["answers"] = True
    shown["answers, 2 processes"] = together(parts("in_process", folder, [half, half]))
    server = ServerProcess(path, options)
    clients = {**common, "readers": options.clients}
    server.clients(token, folder, **clients, seconds=min(5.0, seconds), open_rate=0.0)  # each thread opens its file
    memory = [server.memory_mb(token)]
    closed = server.clients(token, folder, **clients, seconds=seconds, open_rate=0.0)
    shown[f"server, {options.clients} clients"] = closed
    memory.append(server.memory_mb(token))
    half = closed["per_second"] / 2
    opened = server.clients(token, folder, **clients, seconds=seconds, open_rate=half)
    shown[f"server, open loop at {half:.0f}/s"] = opened
    memory.append(server.memory_mb(token))
    server.stop()
    shown["memory of the server, MB"] = memory
    with open_mind(path) as mind:
        missing = [id for each in shown.values() if isinstance(each, dict) for id in _missing(mind, each["written"])]
    shown["lost writes"] = len(missing)
    shown["lost writes after a kill"] = kill_under_load(path, token, options)
    return shown


def _missing(mind: Mind, ids: Sequence[str]) -> list[str]:
    found = {each.id for each in mind.store.get(ids, missing_ok=True)}
    return [id for id in ids if id not in found]


def kill_under_load(path: Path, token: str, options: argparse.Namespace) -> str:
    """Kill the server while clients write, and look for each write that was acknowledged."""
    acknowledged: list[str] = []
    for _ in range(options.kills):
        server = ServerProcess(path, options)

        def write(client: HttpClient) -> None:
            try:
                for number in range(10**6):
                    acknowledged.append(client.remember(f"Before the kill {number} {time.perf_counter()}"))
            except (OSError, http.client.HTTPException, RuntimeError):
                return

        threads = [
            threading.Thread(target=write, args=(HttpClient(server.url, token),)) for _ in range(options.writers * 2)
        ]
        for each in threads:
            each.start()
        enough, end = len(acknowledged) + KILL_AFTER, time.perf_counter() + 120
        while len(acknowledged) < enough and time.perf_counter() < end:
            time.sleep(random.random() / 10)
        server.stop(signal.SIGKILL)
        for each in threads:
            each.join()
    with open_mind(path) as mind:
        return f"{len(_missing(mind, acknowledged))} of {len(acknowledged)} in {options.kills} kills"


def report(shown: dict[str, Any]) -> None:
    columns = {
        "recalls/s": "per_second",
        "mean ms": "mean_ms",
        "p50 ms": "p50_ms",
        "p99 ms": "p99_ms",
        "writes": "writes",
        "write p99": "write_p99_ms",
        "worker CPU": "worker",  # ms for each recall
        "server CPU": "server",
        "client CPU": "client",
        "errors": "failed",
    }
    print(" " * 28 + "".join(f"{name:>11}" for name in columns))
    for name, each in shown.items():
        if isinstance(each, dict):
            figures = {**each, **_cpu_ms(each), "failed": len(each["errors"])}
            print(f"{name:<28}" + "".join(f"{figures.get(key, 0):>11.1f}" for key in columns.values()))
    one, two = shown["in process, 1 thread"], shown["in process, 2 threads"]
    processes, answers = shown["in process, 2 processes"], shown["answers, 2 processes"]
    closed, opened = (each for name, each in shown.items() if name.startswith("server,"))
    first, *_, last = shown["memory of the server, MB"]
    cpu = sum(_cpu_ms(closed).values()) / sum(_cpu_ms(processes).values())
    goals = (
        ("throughput ÷ two processes", closed["per_second"] / processes["per_second"], ">=", 0.8),
        ("throughput ÷ two processes, same answers", closed["per_second"] / answers["per_second"], ">=", 0.8),
        ("throughput ÷ two threads", closed["per_second"] / two["per_second"], ">=", 0.8),
        ("all CPU of a recall ÷ two processes", cpu, "<=", 1 / 0.8),
        ("p99 ÷ mean", closed["p99_ms"] / closed["mean_ms"], "<=", 2.5),
        ("open loop p99 ÷ in-process median", opened["p99_ms"] / one["p50_ms"], "<=", 6.0),
        ("the same ÷ that of the same answers", opened["p99_ms"] / shown["answers, 1 thread"]["p50_ms"], "<=", 6.0),
        ("memory at the end ÷ after warming up", last / first, "<=", 1.1),
        ("lost writes", float(shown["lost writes"]), "<=", 0.0),
    )
    for name, figure, sign, goal in goals:
        met = figure >= goal if sign == ">=" else figure <= goal
        print(f"{name:<42}{figure:>8.2f}  goal {sign} {goal:.2f}  {'met' if met else 'MISSED'}")
    print(f"lost writes after a kill: {shown['lost writes after a kill']}")
    print(f"memory of the server, MB: {', '.join(f'{each:.0f}' for each in shown['memory of the server, MB'])}")
    print(f"load of the machine: {', '.join(f'{each:.1f}' for each in os.getloadavg())} on {os.cpu_count()} cores")


def _cpu_ms(each: Any) -> dict[str, float]:
    """CPU for each recall: of what recalls, of the server process, and of the clients. The writes are in it."""
    parts = {"worker": "cpu_seconds", "server": "server_cpu_seconds", "client": "client_cpu_seconds"}
    return {name: each.get(key, 0.0) / max(1, each["recalls"]) * 1e3 for name, key in parts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each loop against the server")
    parser.add_argument("--quick", action="store_true", help="15 seconds, 5,000 memories and one kill")
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--write-rate", type=float, default=5.0, help="writes a second of each writer")
    parser.add_argument("--workers", type=int, default=2, help="processes of the server that do the work")
    parser.add_argument("--threads", type=int, help="threads of each of them")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--part", choices=("server", "in_process", "clients"), help="(internal)")
    parser.add_argument("--path", type=Path, help="(internal)")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.size, options.kills = 15.0, 5_000, 1
    if options.part == "server":
        run_server(options.path, options.workers, options.threads)
        return
    if options.part:
        arguments = json.loads(options.path.read_text())
        done = run_in_process(**arguments) if options.part == "in_process" else run_clients(**arguments)
        options.path.write_text(json.dumps(done))
        return
    cache = Path(os.environ.get("RECOLLECT_BENCH_CACHE", Path.home() / ".cache" / "recollect-bench"))
    cache.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="serve-", dir=cache))  # on a disk: a temporary folder may be in memory
    try:
        report(measure(options, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
