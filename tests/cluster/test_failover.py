"""The leader is killed while the library writes and recalls: nothing that was acknowledged is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote

import pytest

import recollect
from recollect import Mind
from recollect.errors import StoreError
from tests.cluster.nodes import Cluster, wait_for

pytestmark = pytest.mark.slow
KILLS = 3


@dataclass
class Traffic:
    """Threads that write and recall all the time, and what came of it."""

    url: str
    acknowledged: list[tuple[str, str]] = field(default_factory=list)  # ids and texts
    failed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    recalled_at: list[float] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        for work in (self.write, self.recall):
            thread = threading.Thread(target=self._run, args=(work,))
            thread.start()
            self.threads.append(thread)

    def _run(self, work: Callable[[Mind], None]) -> None:
        with recollect.open(self.url, embedder=None) as mind:
            while not self.stopped.is_set():
                try:
                    work(mind)
                except StoreError as error:
                    self.failed.append(f"{work.__name__}: {error}")
                time.sleep(0.02)

    def write(self, mind: Mind) -> None:
        text = f"Parcel {len(self.acknowledged)} is on shelf {len(self.acknowledged) * 7}."
        memory = mind.remember(text)
        self.acknowledged.append((memory.id, text))
        if mind.show(memory.id).text != text:  # its own write, wherever it reads
            self.wrong.append(f"{memory.id} is not what was written")

    def recall(self, mind: Mind) -> None:
        known = len(self.acknowledged)
        if not known:
            return
        id, text = self.acknowledged[known // 2]
        found = mind.recall(text, k=1)
        self.recalled_at.append(time.monotonic())
        if [hit.id for hit in found] != [id] and text not in [hit.text for hit in found]:
            self.wrong.append(f"{text!r} recalled {[hit.text for hit in found]}")

    def wait_for_writes(self, number: int) -> None:
        enough = len(self.acknowledged) + number
        wait_for(lambda: len(self.acknowledged) >= enough, f"{number} writes")

    def stop(self) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join()


def url_of(cluster: Cluster) -> str:
    readers = quote(cluster.url(target_session_attrs="prefer-standby", load_balance_hosts="random"), safe="")
    return cluster.url(target_session_attrs="read-write", read_url=readers, retry_timeout="90", pool_timeout="90")


def test_nothing_that_was_acknowledged_is_lost_when_the_leader_is_killed(cluster: Cluster) -> None:
    recollect.open(url_of(cluster), embedder=None).close()
    traffic = Traffic(url_of(cluster))
    traffic.start()
    recalls_without_leader = []
    try:
        for _ in range(KILLS):
            traffic.wait_for_writes(20)
            leader = cluster.wait_until_complete()
            killed_at = time.monotonic()
            cluster.kill(leader)
            wait_for(cluster.leader, "A new leader")
            elected_at = time.monotonic()
            recalls_without_leader.append(sum(killed_at < at < elected_at for at in traffic.recalled_at))
            traffic.wait_for_writes(20)
            cluster.start_node(leader)
        cluster.wait_until_complete()
    finally:
        traffic.stop()
    print(f"{len(traffic.acknowledged)} writes, {len(traffic.recalled_at)} recalls", recalls_without_leader)
    assert traffic.failed == []
    assert traffic.wrong == []
    assert min(recalls_without_leader) > 10, "recalls are answered from replicas while there is no leader"
    with recollect.open(cluster.url(target_session_attrs="read-write"), embedder=None) as mind:
        stored = {memory.id: memory.text for memory in mind.list(limit=100_000)}
    lost = [text for id, text in traffic.acknowledged if stored.get(id) != text]
    assert lost == []
    assert len(stored) == len(traffic.acknowledged), "a write that was tried again is there once"
