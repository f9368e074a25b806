"""Programs that tests run beside themselves, to share a file with them, be interrupted or be killed.

python -m tests.store.programs NAME ARGUMENT…
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw

from recollect import Mind, RecollectError, StoreError
from tests.store.looking import rare_word

ROOT = Path(__file__).parents[2]


class Program(subprocess.Popen[str]):
    """A program that was started. Whatever it prints to stderr is in a file, and part of every complaint about it."""

    def __init__(self, name: str, *arguments: object) -> None:
        self.name = name
        self.problems = tempfile.TemporaryFile("w+")  # noqa: SIM115
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.store.programs", name, *map(str, arguments)]
        pipe = subprocess.PIPE
        super().__init__(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=self.problems, text=True)

    def answer(self, timeout: float = 30) -> Any:
        """Wait for its end; the last line that it prints is its answer, as JSON."""
        try:
            printed, _ = self.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.send_signal(signal.SIGABRT)  # faulthandler writes where it hangs
            printed, _ = self.communicate()
            raise AssertionError(f"no end after {timeout} s: {self.complaint(printed)}") from None
        assert self.returncode == 0, self.complaint(printed)
        return json.loads(printed.splitlines()[-1])

    def complaint(self, printed: str) -> str:
        self.problems.seek(0)
        return f"{self.name} ended with {self.returncode}\nstdout: {printed}\nstderr: {self.problems.read()}"


def start(name: str, *arguments: object) -> Program:
    return Program(name, *arguments)


def run(name: str, *arguments: object, timeout: float = 30) -> Any:
    with start(name, *arguments) as process:
        return process.answer(timeout)


def say(answer: object) -> None:
    print(json.dumps(answer), flush=True)


# The programs.


def write(path: str, label: str, count: str) -> None:
    """Remember one after the other, from the moment at which the parent says go."""
    with Mind(path, embedder=None) as mind:
        say("ready")
        sys.stdin.readline()
        for number in range(int(count)):
            mind.remember(f"{label} {number}", external_id=f"{label}-{number}")
    say("done")


def write_for(path: str, label: str, seconds: str) -> None:
    """Remember one after the other; the seconds of each that was acknowledged, and the first error."""
    taken, problem, end = list[float](), "", time.monotonic() + float(seconds)
    with Mind(path, embedder=None) as mind:
        try:
            while (begun := time.monotonic()) < end:
                mind.remember(f"{label} {len(taken)}")
                taken.append(time.monotonic() - begun)
        except Exception:
            problem = traceback.format_exc()
    say([taken, problem])


def read_for(path: str, seconds: str) -> None:
    """Recall again and again; how often, and the first error."""
    count, problem, end = 0, "", time.monotonic() + float(seconds)
    with Mind(path, embedder=None) as mind:
        try:
            while time.monotonic() < end:
                mind.recall(f"writer{count % 8}", 5)
                count += 1
        except Exception:
            problem = traceback.format_exc()
    say([count, problem])


def write_until_killed(path: str, first: str) -> None:
    """Remember one, then five at once, and so on; what is printed has been acknowledged."""
    with Mind(path, embedder=None) as mind:
        say("ready")
        number = int(first)
        while True:
            ids = [mind.remember(f"single {rare_word(number)}").id]
            many = [f"batch {first} {rare_word(number + more)}" for more in range(1, 6)]
            say([[ids[0], rare_word(number)]])
            receipt = mind.remember_many({"text": text, "topic": f"{first}-{number}"} for text in many)
            say([[id, rare_word(number + more)] for more, id in enumerate(receipt.ids, 1)])
            number += 6


def build_index_until_killed(path: str, round: str) -> None:
    """Remember some, and recall, so that files of the index are written all the time."""
    from recollect.store.sqlite import SqliteStore
    from tests.recall.kit import WOVEN
    from tests.store.test_index_files import LIMITS, NOW

    store = SqliteStore(path, lambda: NOW, index_limits=LIMITS)
    with Mind(store=store, embedder=WOVEN, clock=lambda: NOW) as mind:
        say("ready")
        for number in range(int(round) * 100_000, int(round) * 100_000 + 100_000, 11):
            mind.remember_many(f"built {rare_word(number + more)}" for more in range(11))
            say(rare_word(number))
            mind.recall("cup", 3, track=False)


def write_and_die(path: str, text: str) -> None:
    """Remember, and be gone without closing anything."""
    mind = Mind(path, embedder=None)
    mind.remember(text)
    os.kill(os.getpid(), signal.SIGKILL)


def answer(path: str) -> None:
    """Recall whatever is asked, a line a question, in one mind that stays open."""
    with Mind(path, embedder=None) as mind:
        say("ready")
        for question in sys.stdin:
            say([result.text for result in mind.recall(question.strip())])


def write_many(path: str, verb: str, count: str) -> None:
    """One big write, and a small one after it was interrupted. What it prints first: the write has begun."""
    with Mind(path, embedder=None) as mind:

        def progress(done: int, of: int | None) -> None:
            # remember_many: everything is prepared, the transaction comes next. import: a batch is committed.
            if done == of or verb == "import":
                say("writing")

        try:
            if verb == "import":
                mind.import_(bulk_records(int(count)), progress=progress)
            else:
                mind.remember_many(bulk_records(int(count)), progress=progress)
        except KeyboardInterrupt:
            mind.remember("still here after the interruption")
            say("interrupted")


def bulk_records(count: int) -> list[dict[str, Any]]:
    return [{"text": f"bulk number {number} of many", "external_id": str(number)} for number in range(count)]


def look_as_nobody(path: str) -> None:
    """As a user without rights: recall, then try to write."""
    with Mind(":memory:", embedder=None) as warm:  # nobody may not read the library: load all of it before
        warm.remember("warm")
        warm.recall("warm")
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    seen: dict[str, Any] = {}
    try:
        with Mind(path, embedder=None) as mind:
            seen["found"] = [result.text for result in mind.recall("cup")]
            seen["found again"] = [result.text for result in mind.recall("cup")]
            seen["readonly"] = mind.status().store.readonly
            try:
                mind.remember("a cup of nobody's")
            except RecollectError as problem:
                seen["refusal"] = [type(problem).__name__, str(problem)]
    except RecollectError as problem:
        seen["closed door"] = [type(problem).__name__, str(problem)]
    say(seen)


def back_up_slowly(path: str, folder: str) -> None:
    """A backup that stops while its copy is there."""
    with Mind(path, embedder=None) as mind:

        def progress(done: int, of: int) -> None:
            say("copying")
            sys.stdin.readline()

        mind.backup(folder, progress=progress)


def back_up_as_nobody(shared: str) -> None:
    """As a user without rights: back up, and restore, where nothing may be written; then restore where it may."""
    from recollect import restore

    with Mind(":memory:", embedder=None) as warm:  # nobody may not read the library: load all of it before
        warm.remember("warm")
        warm.recall("warm")
        warm.backup(Path(warm.path).with_name("backups"))
        restore(Path(warm.path).with_name("backups"), Path(warm.path).with_name("restored.db"))
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    folder, seen = Path(shared), dict[str, Any]()
    attempts: dict[str, Callable[[Mind], object]] = {
        "backup": lambda mind: mind.backup(folder / "new"),
        "restore": lambda _: restore(folder / "backups", folder / "restored.db"),
    }
    for verb, attempt in attempts.items():
        try:
            with Mind(folder / "memory.db", embedder=None, readonly=True) as mind:
                attempt(mind)
        except RecollectError as problem:
            seen[verb] = [type(problem).__name__, str(problem)]
    to = folder / "open" / "restored.db"
    restore(folder / "backups", to)
    with Mind(to, embedder=None) as restored:
        seen["restored"] = [memory.text for memory in restored.list()]
    say(seen)


def fork_and_share(path: str) -> None:
    """A mind that is open while the process forks serves parent and child."""
    mind = Mind(path, embedder=None)
    mind.remember("before the fork")
    mind.recall("fork")
    child = os.fork()
    for number in range(20):
        mind.remember(f"{'parent' if child else 'child'} {number}")
        assert mind.recall(f"{'parent' if child else 'child'} {number}", k=1)
    if child == 0:
        mind.close()
        os._exit(0)
    _, ended = os.waitpid(child, 0)
    mind.close()
    say(os.waitstatus_to_exitcode(ended))


def fork_and_leave(path: str) -> None:
    """The parent closes its mind first; the child, forked from it, goes on to write."""
    mind = Mind(path, embedder=None)
    mind.remember("before the fork")
    looked, say_looked = os.pipe()
    closed, say_closed = os.pipe()
    child = os.fork()
    if child == 0:
        mind.recall("fork")
        os.write(say_looked, b".")
        os.read(closed, 1)
        mind.remember("after the parent left")
        os._exit(0)
    mind.recall("fork")
    os.read(looked, 1)
    mind.close()
    os.write(say_closed, b".")
    _, ended = os.waitpid(child, 0)
    say(os.waitstatus_to_exitcode(ended))


def fork_after_closing(path: str) -> None:
    """A mind was closed before the process forks, and another one is open."""
    closed = Mind(path, embedder=None)
    closed.close()
    mind = Mind(path, embedder=None)
    mind.remember("before the fork")
    problems: list[object] = []
    sys.unraisablehook = problems.append
    child = os.fork()
    if child == 0:
        mind.remember("from the child")
        os._exit(len(problems))
    _, ended = os.waitpid(child, 0)
    mind.close()
    say(os.waitstatus_to_exitcode(ended))


def fork_with_closed_ones(path: str, children: str) -> None:
    """Eight closed minds are still referenced, and of each a connection that was closed behind its back."""
    from recollect.store.sqlite.connections import Connections

    closed, connections = [], []
    for number in range(8):
        closed.append(Mind(path, embedder=None))
        closed[-1].remember(f"by the one that is closed next {number}")
        closed[-1].close()
        connections.append(Connections(path, readonly=False, durable=True))
        connections[-1].get().close()
    mind = Mind(path, embedder=None)
    mind.remember("before the fork")
    inherited = [each for each in gc.get_objects() if isinstance(each, apsw.Connection)]
    ends = []
    for number in range(int(children)):
        child = os.fork()
        if child == 0:
            mind.remember(f"from child {number}")
            still_open = sum(not _is_closed(each) for each in inherited)
            os._exit(min(still_open, 100))
        ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    found = len(mind.list()) - 9
    mind.close()
    say([sum(end != 0 for end in ends), found])


def _is_closed(connection: apsw.Connection) -> bool:
    try:
        connection.changes()
    except apsw.ConnectionClosedError:
        return True
    return False


def fork_while_writing(path: str) -> None:
    """Children are forked while another thread is in the middle of big writes."""
    mind = Mind(path, embedder=None)
    mind.remember("before the forks")
    enough = threading.Event()
    problems: list[str] = []
    written: list[str] = []

    def write() -> None:
        try:
            while not enough.is_set():
                first = len(written)
                texts = (f"bulk {number} {rare_word(number)}" for number in range(first, first + 3000))
                written.extend(mind.remember_many(texts).ids)
                enough.wait(0.12)  # longer than SQLite sleeps between two tries of a child that waits
        except Exception as problem:
            problems.append(f"{type(problem).__name__}: {problem}")

    writer = threading.Thread(target=write)
    writer.start()
    ends = []
    for number in range(4):
        threading.Event().wait(0.1)
        child = os.fork()
        if child == 0:
            signal.alarm(8)  # ends a child that hangs
            found = mind.recall("forks")
            mind.remember(f"child {number}")
            os._exit(0 if found else 3)
        ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    enough.set()
    writer.join()
    mind.close()
    say([ends, problems, len(written)])


class Lengths:
    """An embedder that needs no model."""

    name, dim = "lengths", 2

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]


def fork_and_embed(path: str) -> None:
    """A question that needs a vector, asked in a child whose parent has asked before."""
    mind = Mind(path, embedder=Lengths())
    mind.remember("The cup is on the shelf.")
    mind.recall("cup")
    child = os.fork()
    if child == 0:
        found = mind.recall("cup")
        os._exit(0 if found and not found.trace.failures else 3)
    timer = threading.Timer(8, os.kill, (child, 9))
    timer.start()
    _, ended = os.waitpid(child, 0)
    timer.cancel()
    mind.close()
    say(os.waitstatus_to_exitcode(ended))


def write_until_interrupted(path: str) -> None:
    """Try to write what another process does not let it write."""
    with Mind(path, embedder=None) as mind:
        say("writing")
        try:
            mind.remember("too late")
        except KeyboardInterrupt:
            say("interrupted")


def open_at_once(path: str) -> None:
    """Open a file that is not there yet, at the same moment as others."""
    say("ready")
    sys.stdin.readline()
    try:
        with Mind(path, embedder=None) as mind:
            mind.remember("opened")
    except StoreError as problem:
        say(str(problem))
    else:
        say("opened")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
