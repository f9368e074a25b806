"""The client has the methods of Mind: the same arguments, types, results and exceptions, over a real server."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import AsyncClient, Client, Filter, InvalidInput, Memory, Mind, Near, Not, NotFound
from recollect.cli.app import run
from recollect.errors import AccessDenied, EditConflict, ServerUnavailable
from recollect.model.filter import as_filter, filter_json
from recollect.model.memory import Use
from tests.serve.http_server import RunningServer, start

pytestmark = pytest.mark.contract("B20")
TEXTS = [
    "The blue cup is on the top shelf of the kitchen.",
    "The red cup is in the sink.",
    "Ann prefers green tea in the morning.",
    "The meeting with Bob moved to Thursday.",
]
LOCAL_ONLY = {  # what needs the machine of the memory, or is no verb
    *("bound", "collection", "store", "consolidate", "consolidate_session", "embed_missing", "export_markdown"),
    *("names_in", "probe", "reembed", "tools", "remember_turns"),
    *("erase_expired", "finish_erasures", "receipts", "verify_erasure", "audit", "backup", "extract", "secrets_policy"),
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with start(tmp_path) as each:
        each.mind.remember_many(
            [{"text": text, "session": "s", "position": at, "tags": ["home"]} for at, text in enumerate(TEXTS)]
        )
        yield each


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    with Client(server.url, server.token("admin")) as each:
        yield each


def test_words_that_match_in_meaning_are_those_of_the_mind(tmp_path: Path) -> None:
    with start(tmp_path, embedder="local") as server, Client(server.url, server.token("read")) as client:
        server.mind.remember_many(["The puppy chewed my sneakers.", "The rent is due."])
        query = "what did the dog do to my shoes?"
        found = client.recall(query).matched_words()
        assert found == server.mind.recall(query).matched_words()
        assert [word.query_word for word in found[0]] == ["dog", "shoes"]


def test_every_method_of_mind_has_its_counterpart(server: RunningServer) -> None:
    methods = {name for name in dir(Mind) if not name.startswith("_")} - LOCAL_ONLY
    assert methods <= set(dir(Client))
    for name in methods - {"close"}:
        ours = inspect.signature(getattr(Client, name)).parameters
        theirs = inspect.signature(getattr(Mind, name)).parameters
        assert [*ours] == [*theirs] or name in ("import_from", "compare"), name


def test_a_recall_is_the_same_as_that_of_the_mind(server: RunningServer, client: Client) -> None:
    now = datetime.now(UTC)
    tried: list[dict[str, Any]] = [
        {},
        {"k": 2, "recipe": "openclaw"},
        {"filter": {"tags": ["home"]}, "recency": 0.5},
        {"history": [("user", "Tell me about the cup.")], "tz": "Europe/Berlin", "now": now},
    ]
    for options in tried:
        options = {"now": now, **options, "track": False}
        ours, theirs = client.recall("where is the cup?", **options), server.mind.recall("where is the cup?", **options)
        assert [(each.rank, each.score, each.id, each.notes) for each in ours] == [
            (each.rank, each.score, each.id, each.notes) for each in theirs
        ]
        assert [each.why for each in ours] == [each.why for each in theirs]
        assert [each.why.evaluate() for each in ours] == [each.score for each in ours]
        assert (ours.confidence, ours.low_confidence) == (theirs.confidence, theirs.low_confidence)
        assert ours.low_confidence_reason == theirs.low_confidence_reason
        assert [step.name for step in ours.trace.steps] == [step.name for step in theirs.trace.steps]
    id = theirs[-1].id
    short = client.recall("where is the cup?", 1, now=now, track=False)
    assert short.why_not(id) == server.mind.recall("where is the cup?", 1, now=now, track=False).why_not(id)


def test_explanations_and_comparisons_are_the_same(server: RunningServer, client: Client) -> None:
    query, now = "where is the cup?", datetime.now(UTC)
    id = server.mind.recall(query, track=False)[0].id
    assert client.why(query, id, now=now) == server.mind.why(query, id, now=now)
    assert client.why_not(query, id, 1, now=now) == server.mind.why_not(query, id, 1, now=now)
    ours, theirs = (each.compare(query, ["default", "openclaw"], 3, now=now) for each in (client, server.mind))
    assert [(line.memory, line.ranks) for line in ours.lines] == [(line.memory, line.ranks) for line in theirs.lines]
    ours_text, theirs_text = (each.context(query, 100, track=False) for each in (client, server.mind))
    assert (ours_text.text, ours_text.tokens, ours_text.memories) == (
        theirs_text.text,
        theirs_text.tokens,
        theirs_text.memories,
    )


def test_a_context_marks_the_same_outdated_statements(server: RunningServer, client: Client) -> None:
    client.remember("Ida lives at 4 Mill Lane.", id="old-home", created="2025-03-01")
    client.remember("Ida moved, she lives at 12 Harbour Road now.", id="new-home", created="2026-05-04")
    ours, theirs = (each.context("Where does Ida live?", track=False) for each in (client, server.mind))
    assert ours.outdated == theirs.outdated == {"old-home"}
    assert ours.fenced() == theirs.fenced()


def test_what_is_written_is_read_again(server: RunningServer, client: Client) -> None:
    stored = client.remember(
        Memory("The lamp is broken.", tags=("a", "b"), context={"n": 1.5}), valid_from=datetime(2026, 1, 1, tzinfo=UTC)
    )
    assert stored == server.mind.show(stored.id) == client.show(stored.id[:10])
    edited = client.edit(stored.id, text="The lamp is repaired.", confidence=None, valid_from=None)
    assert (edited.confidence, edited.valid_from) == (None, None)
    assert edited == server.mind.show(stored.id)
    with pytest.raises(EditConflict):
        client.edit(stored.id, tags=["late"], expected=stored)
    client.edit(stored.id, tags=["in time"], expected=edited)
    assert [memory.text for _, memory in client.history(stored.id)] == [
        memory.text for _, memory in server.mind.history(stored.id)
    ]
    newer = client.supersede(stored.id, "The lamp was replaced.", tags=["new"])
    assert client.show(stored.id).status == "superseded"
    other = client.remember("The lamp is green.")
    edge = client.link(newer.id, other.id, "mentions", 0.5)
    assert [*client.edges(newer.id)] == [*server.mind.edges(newer.id)]
    assert edge in client.edges()
    assert client.contradict(newer.id, other.id, loser=other.id).kind == "contradicts"
    assert client.unlink(newer.id, other.id) == 2
    assert client.relate("lamp", "is_in", "kitchen").object == "kitchen"
    assert [*client.entity_edges()] == [*server.mind.entity_edges()]
    assert client.reinforce(newer.id).strength == 1.0
    assert client.decay(0.1) > 0
    assert client.forget(other.id, reason="wrong") == 1
    undone = client.undo()
    assert undone is not None
    assert (undone.verb, undone.restored) == ("forget", 1)
    summary = client.remember_many(["One.", {"text": "Two.", "tags": ["x"]}, Memory("Three.")])
    assert (summary.added, len(summary.ids)) == (3, 3)


def test_an_erasure_needs_the_code_of_its_dry_run(server: RunningServer, client: Client) -> None:
    id = client.remember("Erase me for good.").id
    trial = client.erase(id, dry_run=True)
    assert (trial.dry_run, trial.receipt) == (True, None)
    with pytest.raises(InvalidInput, match="code"):
        client.erase(id, client.list(limit=2)[1].id, code=trial.code)
    assert client.show(id).text == "Erase me for good."
    done = client.erase(id, code=trial.code)
    assert done.receipt is not None
    assert done.receipt.matching([id]) == [id]
    with pytest.raises(NotFound):
        client.show(id)
    other = client.remember("Erase me at once.").id
    assert client.erase(other).receipt is not None


def test_lists_and_reports_are_the_same(server: RunningServer, client: Client) -> None:
    client.recall("cup")
    mind = server.mind
    assert [*client.list()] == [*mind.list()]
    assert [*client.list({"tags": "home"}, limit=2, offset=1, sort="oldest")] == [
        *mind.list({"tags": "home"}, limit=2, offset=1, sort="oldest")
    ]
    assert client.list(use={"uses": {"$gte": 1}})[0].use == mind.list(use={"uses": {"$gte": 1}})[0].use
    assert client.usage() == mind.usage()
    assert [each.as_dict() for each in client.conflicts()] == [each.as_dict() for each in mind.conflicts()]
    status, theirs = client.status(), mind.status()
    assert (status.embedder, status.store.memories, status.store.words) == (
        theirs.embedder,
        theirs.store.memories,
        theirs.store.words,
    )
    assert list(client.export()) == list(mind.export())


def test_exports_and_files_are_imported(client: Client, server: RunningServer, tmp_path: Path) -> None:
    records = list(client.export())
    assert client.import_(records).same == len(TEXTS)
    (tmp_path / "rows.csv").write_text("text,tags\nA row.,x\n")
    assert client.import_from(tmp_path / "rows.csv").added == 1


def test_errors_are_those_of_the_mind(client: Client, server: RunningServer) -> None:
    calls: list[Any] = [
        lambda each: each.show("nothing"),
        lambda each: each.recall(""),
        lambda each: each.recall("x", 0),
        lambda each: each.recall("x", recipe="nothing"),
        lambda each: each.recall("x", colour="red"),
        lambda each: each.remember(" "),
        lambda each: each.remember("x", confidence=3),
        lambda each: each.list({"colour": "red"}),
        lambda each: each.forget("nothing"),
    ]
    for call in calls:
        with pytest.raises((InvalidInput, NotFound)) as theirs:
            call(server.mind)
        with pytest.raises(type(theirs.value)):
            call(client)
    with pytest.raises(InvalidInput, match="Recipe objects"):
        client.recall("x", recipe=object())  # type: ignore[arg-type]


def test_a_client_says_what_is_missing(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECOLLECT_URL", raising=False)
    monkeypatch.delenv("RECOLLECT_TOKEN", raising=False)
    for arguments in ((), (server.url,), ("localhost", "x")):
        with pytest.raises(InvalidInput):
            Client(*arguments)
    with pytest.raises(AccessDenied), Client(server.url, "rct_a_b") as wrong:
        wrong.status()
    with pytest.raises(ServerUnavailable), Client("http://127.0.0.1:9", "rct_a_b") as nobody:
        nobody.status()


def test_an_async_client_has_the_same_methods(server: RunningServer) -> None:
    async def session() -> tuple[str, list[str], int]:
        async with AsyncClient(server.url, server.token("write")) as memory:
            stored = await memory.remember("The async lamp is on.")
            found = await memory.recall("async lamp")
            records = [each async for each in memory.export()]
            return stored.id, [each.id for each in found], len(records)

    id, found, count = asyncio.run(session())
    assert found[0] == id
    assert count == 1 + len(TEXTS) + 1


@pytest.mark.parametrize(
    "filter",
    [
        Filter(tags=("a", "b"), since=datetime(2026, 1, 1, tzinfo=UTC)),
        Filter(kind="fact") & ~Filter(topic="work") & ~Filter(topic="home"),
        Filter(kind="fact") | Not(Filter(near=Near("spatial.p", (1.0, 2.0), 0.5))),
        (Filter(kind="fact") | Filter(kind="note")) & Filter(user="ann"),
        Filter(kind="fact") & Filter(kind="note"),
    ],
)
def test_a_filter_survives_its_json_form(server: RunningServer, filter: Any) -> None:
    mind = server.mind
    for kind in ("fact", "note", "other"):
        for topic in ("work", "home", "none"):
            mind.remember(f"{kind} {topic}", kind=kind, topic=topic, user="ann", context={"spatial": {"p": [1, 2]}})
    again = as_filter(filter_json(filter))
    assert [each.id for each in mind.list(again)] == [each.id for each in mind.list(filter)]


def test_the_command_line_uses_a_running_server(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_URL", server.url)
    monkeypatch.setenv("RECOLLECT_TOKEN", server.token("write"))
    monkeypatch.delenv("RECOLLECT_DB", raising=False)
    assert run(["remember", "The lighthouse opens at nine."]) == 0
    (stored,) = server.mind.list(limit=1)
    assert stored.text == "The lighthouse opens at nine."
    capsys.readouterr()
    for arguments in (
        ["recall", "lighthouse", "--explain"],
        ["context", "lighthouse"],
        ["why", "lighthouse", stored.id],
        ["why-not", "lighthouse", stored.id],
        ["compare", "lighthouse", "-r", "default", "-r", "openclaw"],
        ["show", stored.id],
        ["list"],
        ["edit", stored.id, "--tag", "sea"],
        ["supersede", stored.id, "The lighthouse opens at ten."],
        ["forget", stored.id],
        ["undo"],
        ["usage"],
    ):
        assert run(arguments) == 0, arguments
        assert "lighthouse" in capsys.readouterr().out or arguments[0] in ("edit", "supersede", "undo", "usage"), (
            arguments
        )
    assert run(["recall", "lighthouse", "--collection", "other"]) == 2
    assert "decided by the server" in capsys.readouterr().err
    assert run(["show", "nothing"]) == 3
    assert not (tmp_path / "memory.db-tokens.json.lock").exists()
    assert replace(stored, use=Use()).text in [each.text for each in server.mind.list()]


@contextlib.contextmanager
def answer_with(parts: Iterator[bytes], status: str = "200 OK") -> Iterator[str]:
    """A server that sends this body and then closes; its address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.sendall(f"HTTP/1.1 {status}\r\nconnection: close\r\n\r\n".encode())
            for part in parts:
                connection.sendall(part)
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.close()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ([b"x" * 65536] * 64, "200 OK"),
        ([b"<html>hello</html>"], "200 OK"),
        ([b"[" * 100_000], "200 OK"),
        ([b""], "307 Temporary Redirect"),
    ],
    ids=["endless", "a page", "deep", "a redirect"],
)
def test_a_server_that_is_none_of_ours_is_an_error_that_says_so(
    body: list[bytes], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.client.MAX_ANSWER_BYTES", 1 << 20)
    with (
        answer_with(iter(body), status) as url,
        Client(url, token="rct_a_b") as client,
        pytest.raises(ServerUnavailable),
    ):
        client.list()
