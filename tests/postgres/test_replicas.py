"""Reading from a replica that is behind: nobody reads from before what he wrote, read or was told of."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest

import recollect
from recollect import Mind
from recollect.serve import events
from recollect.serve.access import LOCAL_ID
from recollect.serve.backend import Backend
from recollect.serve.settings import ServerSettings
from recollect.serve.tokens import Access, TokenFile
from recollect.store.postgres import PostgresStore
from tests.postgres.fixtures import Database
from tests.postgres.server import OWNER, PostgresServer, replica_of

pytestmark = pytest.mark.slow
DELAY_SECONDS = 3


@pytest.fixture
def replica(database: Database) -> Iterator[PostgresServer]:
    """A replica of the server of the tests that is always some seconds behind."""
    if database.server.programs is None or database.server.folder is None:
        pytest.skip("the files of that server are not ours")
    recollect.open(database.url, embedder=None).close()
    with replica_of(database.server, {"recovery_min_apply_delay": f"{DELAY_SECONDS}s"}) as server:
        yield server


@pytest.fixture
def url(database: Database, replica: PostgresServer) -> str:
    read_url = quote(replica.url(database.name, OWNER), safe="")
    return f"{database.url}&read_url={read_url}&listen_url={quote(database.url, safe='')}"


def is_read_from_a_replica(mind: Mind) -> bool:
    store = mind.store
    assert isinstance(store, PostgresStore)
    return bool(store.fetch("SELECT pg_is_in_recovery()")[0][0])


def test_a_replica_is_read_until_it_is_behind_what_this_process_wrote(url: str) -> None:
    with recollect.open(url, embedder=None) as mind, recollect.open(url, embedder=None) as other:
        assert is_read_from_a_replica(mind)
        mind.remember("The cup is blue.")
        assert not is_read_from_a_replica(mind)
        assert [hit.text for hit in mind.recall("cup")] == ["The cup is blue."]
        assert list(other.recall("cup")) == [], "it wrote nothing, and the replica is behind"
        time.sleep(DELAY_SECONDS + 1)
        assert [hit.text for hit in other.recall("cup")] == ["The cup is blue."]
        assert is_read_from_a_replica(mind)


def test_nobody_reads_from_before_what_he_has_read(url: str) -> None:
    with recollect.open(url, embedder=None) as mind, recollect.open(url, embedder=None) as other:
        assert isinstance(mind.store, PostgresStore)
        replicas = mind.store._shared.replicas
        assert replicas is not None
        other.remember("The cup is blue.")
        replicas._retry_at = time.monotonic() + 60  # as if no replica could be reached: the leader is read
        assert [hit.text for hit in mind.recall("cup", track=False)] == ["The cup is blue."]
        replicas._retry_at = 0.0
        assert [hit.text for hit in mind.recall("cup", track=False)] == ["The cup is blue."]


def test_a_stream_of_events_tells_of_a_change_before_a_replica_has_it(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "COMPARE_SECONDS", 3600.0)  # only what the server tells of counts
    found: list[tuple[bytes, float]] = []

    async def listen(mind: Mind, writer: Mind) -> None:
        backend = Backend(mind, TokenFile(tmp_path / "tokens.json"), ServerSettings(port=0))
        begun = 0.0
        async for event in backend.feed.stream(Access(LOCAL_ID, "test", "admin")):
            if event.startswith(b"event: ready"):
                while mind.store.change_count() is None:
                    await asyncio.sleep(0.05)
                await asyncio.to_thread(writer.remember, "The cup is blue.")
                begun = time.monotonic()
            if event.startswith(b"event: change"):
                found.append((event, time.monotonic() - begun))
            if begun and time.monotonic() - begun > DELAY_SECONDS + 2:
                return

    async def listen_for_a_while(mind: Mind, writer: Mind) -> None:
        with suppress(TimeoutError):  # there are no further events: the replica catches up without one
            await asyncio.wait_for(listen(mind, writer), DELAY_SECONDS + 6)

    with recollect.open(url, embedder=None) as mind, recollect.open(url, embedder=None) as writer:
        asyncio.run(listen_for_a_while(mind, writer))
    assert [b'"added": 1' in event for event, _ in found] == [True]
    assert found[0][1] < DELAY_SECONDS, "the leader was read"


def test_a_replica_alone_can_be_opened_for_reading(database: Database, replica: PostgresServer) -> None:
    with recollect.open(replica.url(database.name, OWNER), embedder=None, readonly=True) as mind:
        assert list(mind.recall("cup")) == []
        with pytest.raises(recollect.RecollectError, match="read-only"):
            mind.remember("The cup is blue.")
