"""Worker processes: they answer operations for a server, as one Python interpreter computes on one core only.

The server itself has the connections, tokens, limits, idempotency keys, and the sessions of browsers and MCP clients:
none of that has to be shared. A worker opens the memory itself, and maps the index from the same files as the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import signal
import socket
import struct
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import fields
from importlib import import_module
from itertools import count
from multiprocessing import get_context
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, BinaryIO, NamedTuple

from recollect.errors import LimitExceeded, RecollectError, ServerUnavailable
from recollect.model import JsonObject
from recollect.serve.tokens import Access
from recollect.serve.work import Answer, OutcomeUnknown, Services, keep_loaded, run_operation, turn_of
from recollect.service import Operation, find_operation
from recollect.service.errors import error_from_json, error_json

log = logging.getLogger("recollect.serve")
OpenServices = Callable[[], AbstractContextManager[Services]]  # called in each worker; it can be pickled
SWITCH_SECONDS = 0.001  # after which a thread that computes lets another one run
WRITERS = 2  # threads that write; one of them waits while the other one commits
CATCH_UP_SECONDS = 0.25  # after a write, of workers that nobody has read from since they last caught up
RESTART_SECONDS = 1.0  # before a worker that ended is replaced
LENGTH = struct.Struct("!Q")
ACCESS_FIELDS, ANSWER_FIELDS = ([field.name for field in fields(each)] for each in (Access, Answer))


class Job(NamedTuple):  # tuples are pickled several times as fast as dataclasses
    """One operation for a worker."""

    number: int
    request_id: str
    access: tuple[Any, ...]  # the fields of an Access
    operation: str
    arguments: JsonObject
    known_tags: str = ""


class CatchUp(NamedTuple):
    """Read what others have written."""

    number: int


class Done(NamedTuple):
    """The answer to a job, or its error as JSON."""

    number: int
    answer: tuple[Any, ...] | None = None  # the fields of an Answer
    error: JsonObject | None = None


Jobs = SimpleQueue[Job | CatchUp | None]  # None ends a thread


class WorkerEnded(Exception):
    """The process ended before it answered."""


# In the worker.


def work(open_services: OpenServices, channel: socket.socket, threads: int) -> None:
    """Answer jobs until the server closes the channel, or ends. Signals are for the server alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH_SECONDS)
    sending = Lock()

    def send(value: Any) -> None:
        content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        with sending, contextlib.suppress(OSError):  # the server ended
            channel.sendall(LENGTH.pack(len(content)) + content)

    def answer(jobs: Jobs) -> None:
        while (job := jobs.get()) is not None:
            if isinstance(job, CatchUp):
                with contextlib.suppress(Exception), services.mind.store.snapshot():
                    pass
                send(Done(job.number))
                continue
            try:
                with turn_of(find_operation(job.operation)):  # sent before the next read begins to compute: it waits
                    send(_done(services, job))
            except Exception as problem:  # no memory to send it, for example: this thread must go on
                send(Done(job.number, error=error_json(problem, job.request_id)))

    try:
        with open_services() as services:
            with services.mind.store.snapshot():  # the index is ready before the first recall
                import_module("recollect.recall.default")
                keep_loaded()
            send(None)
            reads, writes = Jobs(), Jobs()
            queues = [reads] * threads + [writes] * WRITERS  # of each thread
            running = [Thread(target=answer, args=(jobs,)) for jobs in queues]
            for thread in running:
                thread.start()
            try:
                with channel.makefile("rb") as stream:
                    while (job := _receive(stream)) is not None:
                        reading = isinstance(job, CatchUp) or find_operation(job.operation).read_only
                        (reads if reading else writes).put(job)
            finally:
                for jobs in queues:
                    jobs.put(None)
                for thread in running:
                    thread.join()
    except RecollectError as problem:
        send(error_json(problem))


def _receive(stream: BinaryIO) -> Job | CatchUp | None:
    """The next job; None when the server has ended, also if it was killed."""
    try:
        head = stream.read(LENGTH.size)
        if len(head) < LENGTH.size:
            return None
        (size,) = LENGTH.unpack(head)
        content = stream.read(size)
    except ConnectionError:
        return None
    if len(content) < size:
        return None
    job: Job | CatchUp = pickle.loads(content)  # from the process that started this one
    return job


def _done(services: Services, job: Job) -> Done:
    try:
        operation = find_operation(job.operation)
        answer = run_operation(services, Access(*job.access), operation, job.arguments, job.known_tags)
        return Done(job.number, tuple(getattr(answer, name) for name in ANSWER_FIELDS))
    except Exception as problem:
        return Done(job.number, error=error_json(problem, job.request_id))


# In the server.


class WorkerProcess(asyncio.Protocol):
    """One worker, and the jobs that it has."""

    def __init__(self, open_services: OpenServices, threads: int) -> None:
        self._channel, theirs = socket.socketpair()
        self.process = get_context("spawn").Process(target=work, args=(open_services, theirs, threads), daemon=True)
        try:
            self.process.start()
        except BaseException:
            self._channel.close()
            raise
        finally:
            theirs.close()
        self._pending: dict[int, tuple[asyncio.Future[Done], Callable[[], None]]] = {}
        self.reads = 0  # of the jobs that it has
        self.is_behind = False  # something was written since it last began to read
        self.is_read_from = False  # it has answered a read since it last caught up
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self.ready = False

    @property
    def active(self) -> int:
        return len(self._pending)

    async def connect(self) -> None:
        """Wait until it has opened the memory; the error, if it cannot."""
        loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[JsonObject | None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._channel.setblocking(False)
        if self._channel.family == getattr(socket, "AF_UNIX", None):
            await loop.create_unix_connection(lambda: self, sock=self._channel)
        else:  # Windows
            await loop.create_connection(lambda: self, sock=self._channel)
        problem = await self._opened
        if problem is not None:
            raise error_from_json(problem)
        self.ready = True

    async def wait_until_ended(self) -> None:
        await asyncio.shield(self._ended)

    @property
    def load(self) -> tuple[int, int]:
        """Its reads, which compute all the time, and then what else it has: writes mostly wait for the disk."""
        return self.reads, self.active - self.reads

    def read(self, job: Job, finished: Callable[[], None]) -> asyncio.Future[Done]:
        """Send a job that reads: what was written until now is read with it."""

        def finished_reading() -> None:
            self.reads -= 1
            finished()

        future = self.send(job, finished_reading)
        self.reads += 1
        self.is_behind, self.is_read_from = False, True
        return future

    def catch_up(self, number: int) -> None:
        self.send(CatchUp(number), lambda: None)
        self.is_behind = self.is_read_from = False

    def send(self, job: Job | CatchUp, finished: Callable[[], None]) -> asyncio.Future[Done]:
        """The answer to come. ``finished`` is called when the worker is done, also if nobody waits for it any more."""
        assert self._transport is not None
        content = pickle.dumps(job, pickle.HIGHEST_PROTOCOL)
        self._transport.write(LENGTH.pack(len(content)) + content)
        future: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        self._pending[job.number] = future, finished
        return future

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        while len(received) >= LENGTH.size:
            (size,) = LENGTH.unpack_from(received)
            end = LENGTH.size + size
            if len(received) < end:
                return
            message: Any = pickle.loads(memoryview(received)[LENGTH.size : end])
            del received[:end]
            if self._opened.done():
                self._finish(message)
            else:
                self._opened.set_result(message)

    def _finish(self, done: Done) -> None:
        future, finished = self._pending.pop(done.number)
        finished()
        if not future.done():  # the caller may have left
            future.set_result(done)

    def connection_lost(self, problem: Exception | None) -> None:
        self.ready = False
        if not self._opened.done():
            self._opened.set_exception(ServerUnavailable("A worker process ended while it started; its log says why."))
        pending, self._pending = self._pending, {}
        for future, finished in pending.values():
            finished()
            if not future.done():
                future.set_exception(WorkerEnded())
                future.exception()  # nobody has to wait for it
        if not self._ended.done():
            self._ended.set_result(None)

    def close(self) -> None:
        """Let the worker finish what it has, and end; nobody gets its answers any more."""
        if self._transport is not None:
            self._transport.close()

    def join(self, seconds: float) -> None:
        """Wait until it has ended; after so many seconds it is killed."""
        self._channel.close()  # if nobody connected to it
        self.process.join(seconds)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class WorkerProcesses:
    """A fixed number of workers. Jobs wait here, in the order in which they came, until a worker is free."""

    def __init__(self, open_services: OpenServices, workers: int, threads: int, queue: int) -> None:
        self._open, self._threads = open_services, threads
        self.capacity, self.queue = workers * threads, queue
        self.active = 0  # jobs that are waiting or being answered
        self._numbers = count()
        self._reading, self._writing = asyncio.Semaphore(self.capacity), asyncio.Semaphore(WRITERS)
        self._catch_up: asyncio.TimerHandle | None = None  # when workers read what was written
        self.workers = [WorkerProcess(open_services, threads) for _ in range(workers)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While the block lasts, jobs are answered, and workers that end are replaced."""
        self._loop = asyncio.get_running_loop()
        for each in self.workers:
            await each.connect()
        keepers = [asyncio.create_task(self._keep(place)) for place in range(len(self.workers))]
        try:
            yield
        finally:
            if self._catch_up is not None:
                self._catch_up.cancel()
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)
            for each in self.workers:
                each.close()

    async def run(
        self, request_id: str, access: Access, operation: Operation, arguments: JsonObject, known_tags: str = ""
    ) -> Answer:
        """The answer of a worker; the errors are those that the operation raised."""
        if self.active >= self.capacity + self.queue:
            raise LimitExceeded(f"The server is busy: {self.active:,} requests are waiting.")
        caller = tuple([getattr(access, name) for name in ACCESS_FIELDS])
        job = Job(next(self._numbers), request_id, caller, operation.name, arguments, known_tags)
        try:
            done = await self._send(job, operation.read_only)
        except WorkerEnded:
            if not operation.read_only:
                raise OutcomeUnknown(
                    "The process that wrote this ended before it answered; it is not known whether it was stored."
                ) from None
            try:
                done = await self._send(job, operation.read_only)
            except WorkerEnded:
                raise ServerUnavailable("The processes that worked on this ended before they answered.") from None
        if done.answer is None:
            raise error_from_json(done.error or {})
        return Answer(*done.answer)

    async def _send(self, job: Job, read_only: bool) -> Done:
        """The answer to a job. Its place is free again when the worker is done, also if the caller has left."""
        places = self._reading if read_only else self._writing
        self.active += 1

        def finished() -> None:
            self.active -= 1
            places.release()
            if not read_only:
                self._written()
            self._let_idle_ones_catch_up()

        try:
            await places.acquire()
        except asyncio.CancelledError:
            self.active -= 1
            raise
        try:
            worker = self._choose(read_only)
            future = worker.read(job, finished) if read_only else worker.send(job, finished)
        except BaseException:
            self.active -= 1
            places.release()
            raise
        return await future

    def _written(self) -> None:
        for each in self.workers:
            each.is_behind = True
        if self._catch_up is None:
            self._catch_up = self._loop.call_later(CATCH_UP_SECONDS, self._let_all_catch_up)

    def _let_all_catch_up(self) -> None:
        self._catch_up = None
        self._let_idle_ones_catch_up(all_of_them=True)

    def _let_idle_ones_catch_up(self, all_of_them: bool = False) -> None:
        """Workers that have nothing to do bring their index up to date after writes, so that no recall has to: at once
        where recalls come as often as writes, as the next one would read the same."""
        for each in self.workers:
            if each.is_behind and each.ready and not each.active and (all_of_them or each.is_read_from):
                each.catch_up(next(self._numbers))

    def _choose(self, read_only: bool) -> WorkerProcess:
        """The least busy worker, of equals the last one. Writes have the first, as they would wait for each other in
        any case, and reads in the same interpreter for them; while they wait for the disk, it can read."""
        ready = [each for each in self.workers if each.ready]
        if not ready:
            problem = ServerUnavailable("The worker processes of the server are being started again.")
            raise problem.advise("Call again in some seconds.")
        return min(reversed(ready), key=lambda each: each.load) if read_only else ready[0]

    async def _keep(self, place: int) -> None:
        while True:
            ended = self.workers[place]
            await ended.wait_until_ended()
            ended.close()
            await asyncio.to_thread(ended.join, RESTART_SECONDS)
            log.error("worker %d ended with exit code %s; another one is started", place, ended.process.exitcode)
            started = False
            while not started:
                await asyncio.sleep(RESTART_SECONDS)
                started = await self._start(place)

    async def _start(self, place: int) -> bool:
        """Start a worker; False if the system or the memory does not allow it now."""
        try:
            self.workers[place] = worker = WorkerProcess(self._open, self._threads)
        except Exception as problem:  # such as OSError: too many processes or open files
            log.error("worker %d was not started: %s", place, problem)
            return False
        try:
            await worker.connect()
        except Exception as problem:
            log.error("worker %d did not start: %s", place, problem)
            worker.close()
            await asyncio.to_thread(worker.join, RESTART_SECONDS)
        return worker.ready

    def close(self, seconds: float) -> None:
        """End the workers, after what they are doing; those that take longer than so many seconds are killed."""
        for each in self.workers:
            each.join(seconds)
