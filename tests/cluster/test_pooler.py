"""pgbouncer in transaction mode: two transactions of a mind may use two connections, and two minds the same one."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import recollect
from tests.cluster.nodes import Cluster, start_pgbouncer

pytestmark = pytest.mark.slow


@pytest.fixture
def pooled_url(cluster: Cluster) -> Iterator[str]:
    """The leader behind pgbouncer with two server connections for everybody."""
    with start_pgbouncer(cluster, pool_size=2) as url:
        yield url


def test_many_minds_share_two_connections_of_pgbouncer(pooled_url: str) -> None:
    recollect.open(f"{pooled_url}&schema=pooled", embedder=None).close()
    problems: list[str] = []

    def work(name: str) -> None:
        try:
            with recollect.open(f"{pooled_url}&schema=pooled", embedder=None, collection=name) as mind:
                for number in range(15):
                    memory = mind.remember(f"{name} has parcel {number}.")
                    mind.edit(memory.id, text=f"{name} sent parcel {number}.")
                    found = mind.recall(f"parcel {number}", k=20)
                    others = [hit.text for hit in found if not hit.text.startswith(name)]
                    if others or f"{name} sent parcel {number}." not in [hit.text for hit in found]:
                        problems.append(f"{name} {number}: {[hit.text for hit in found]}")
                mind.undo()
        except Exception as error:  # a thread's error would be lost
            problems.append(f"{name}: {error!r}")

    threads = [threading.Thread(target=work, args=(f"tenant{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with recollect.open(f"{pooled_url}&schema=pooled", embedder=None) as mind:
        assert mind.status().store.memories == {"active": 90}
