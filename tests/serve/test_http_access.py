"""Every route with every scope and with a bound: nothing beyond the bound can be read, changed, counted or undone."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from recollect import InvalidInput, Mind, NotFound
from recollect.serve.settings import ServerSettings
from recollect.serve.tokens import TokenFile
from recollect.service import all_operations
from recollect.service.operations import Operation
from tests.serve.http_server import RunningServer, start

SECRET = "zanzibar"  # a word that only foreign memories have
OPERATIONS = list(all_operations().values())
SCOPES = ("read", "write", "admin")
pytestmark = pytest.mark.contract("B20")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with start(tmp_path_factory.mktemp("access"), rate=1e6, burst=10**6, failed_rate=1e6, failed_burst=10**6) as each:
        yield each


@pytest.fixture(scope="module")
def clients(server: RunningServer) -> dict[str, httpx2.Client]:
    return {scope: server.client(scope) for scope in SCOPES}


@pytest.fixture
def ids(server: RunningServer) -> Iterator[dict[str, list[str]]]:
    """Own and foreign memories, with edges between the foreign ones."""
    written = {}
    for collection, word in (("ours", "harbour"), ("theirs", SECRET)):
        items = [
            {
                "text": f"The {word} boat number {at} is blue.",
                "collection": collection,
                "entities": [word],
                "session": f"{collection}-session",
                "context": {"spatial": {"position": [1.0, float(at)]}},
            }
            for at in range(3)
        ]
        written[collection] = server.mind.remember_many(items).ids
        server.mind.link(written[collection][0], written[collection][1])
        server.mind.relate(word, "near", f"{word} market", collection=collection)
    yield written
    for id in (id for each in written.values() for id in each):
        with contextlib.suppress(NotFound):  # undone
            server.mind.forget(id)


def request_of(operation: Operation, ids: list[str], other: list[str] | None = None) -> tuple[str, str, Any]:
    """Method, path and arguments of a call that concerns these memories."""
    more = other or ids
    query = {"query": f"{SECRET} harbour boat"}
    by_name: dict[str, dict[str, Any]] = {
        "remember": {"text": "A new one."},
        "remember_many": {"items": [{"text": "Another new one."}]},
        "update": {"tags": ["changed"]},
        "supersede": {"new": "The boat is red now."},
        "contradict": {"a": ids[0], "b": more[1]},
        "link": {"source": ids[0], "target": more[1]},
        "unlink": {"source": ids[0], "target": more[1]},
        "relate": {"subject": "a", "relation": "b", "object": "c"},
        "forget": {"ids": [ids[2]]},
        "recall": {**query, "k": 100, "trace": True},
        "context": query,
        "why": {**query, "id": ids[0]},
        "why_not": {**query, "id": ids[0]},
        "compare": {**query, "recipes": ["default", "openclaw"], "trace": True},
        "edges": {"ids": [ids[0]]},
        "graph": {"id": ids[0], "depth": 2},
        "end_session": {"collection": "ours"},
        "save_perception": {"description": "A perception."},
        "memory_search": query,
        "memory_get": {"path": "notes.md"},
        "import": {"records": [{"text": "Imported."}]},
        "erase": {"ids": [ids[0]]},
    }
    arguments = by_name.get(operation.name, {})
    path = operation.path.replace("{id}", ids[0]).replace("{old}", ids[0]).replace("{session_id}", "ours-session")
    return operation.method, "/v1" + path, arguments


def send(client: httpx2.Client, method: str, path: str, arguments: Any, **options: Any) -> httpx2.Response:
    if method in ("GET", "DELETE"):
        query = {
            name: value if isinstance(value, list | str | int) else json.dumps(value)
            for name, value in arguments.items()
        }
        return client.request(method, path, params=query, **options)
    return client.request(method, path, json=arguments, **options)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_each_route_needs_its_scope(
    server: RunningServer, clients: dict[str, httpx2.Client], ids: dict[str, list[str]], operation: Operation
) -> None:
    call = request_of(operation, ids["ours"])
    without = send(server.client_with(None), *call)
    assert (without.status_code, without.json()["error"]["type"]) == (401, "AccessDenied")
    for scope in SCOPES:
        response = send(clients[scope], *call)
        if SCOPES.index(scope) < SCOPES.index(operation.scope):
            assert (response.status_code, response.json()["error"]["type"]) == (403, "AccessDenied"), scope
        else:
            assert response.status_code in (200, 201, 404 if operation.name == "memory_get" else 200), response.text


BY_ID = [each for each in OPERATIONS if request_of(each, ["ID"] * 3)[1:] != request_of(each, ["OTHER"] * 3)[1:]]


@pytest.mark.contract("B18")
@pytest.mark.parametrize("cut", [None, 10])
@pytest.mark.parametrize("operation", BY_ID, ids=lambda each: each.name)
def test_a_foreign_id_or_its_beginning_does_not_exist(
    server: RunningServer, ids: dict[str, list[str]], operation: Operation, cut: int | None
) -> None:
    before = foreign_records(server)
    client = server.client("admin", collection="ours")
    foreign = [each[:cut] for each in ids["theirs"]]
    for call in (request_of(operation, foreign), request_of(operation, foreign, ids["ours"])):
        if operation.name == "end_session":
            call = (call[0], "/v1/sessions/theirs-session/end", {})
        response = send(client, *call)
        assert response.status_code == 404, response.text
        assert SECRET not in response.text
    assert foreign_records(server) == before


@pytest.mark.contract("B18")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_no_route_tells_of_or_changes_what_is_beyond_the_bound(
    server: RunningServer, ids: dict[str, list[str]], operation: Operation
) -> None:
    before = foreign_records(server)
    for bound in ({"collection": "ours"}, {"collection": "ours", "user": "", "session": "ours-session"}):
        client = server.client("admin", **bound)
        response = send(client, *request_of(operation, ids["ours"]))
        assert response.status_code < 500
        shown = response.text.replace(f'"query":"{SECRET} harbour boat"', "")
        if operation.name in ("recall", "compare", "why", "why_not"):  # they show the words of the query
            shown = shown.replace(f"“{SECRET}”", "")
            assert "theirs" not in shown
            assert not any(id in shown for id in ids["theirs"])
        else:
            assert SECRET not in shown
            assert "theirs" not in shown
    assert foreign_records(server) == before


def foreign_records(server: RunningServer) -> list[Any]:
    """Everything beyond the bound, without its use."""
    theirs = Mind(store=server.mind.store, embedder=None, collection="theirs")
    return [{name: value for name, value in each.items() if name != "use"} for each in theirs.export()]


@pytest.mark.contract("B18")
def test_a_bound_token_cannot_write_to_another_collection(server: RunningServer) -> None:
    client = server.client("write", collection="ours")
    for path, body in (
        ("/v1/memories", {"text": "x", "collection": "theirs"}),
        ("/v1/memories/batch", {"items": [{"text": "x", "collection": "theirs"}]}),
        ("/v1/relations", {"subject": "a", "relation": "b", "object": "c", "collection": "theirs"}),
        ("/v1/sessions", {"collection": "theirs"}),
        ("/v1/perceptions", {"description": "x", "collection": "theirs"}),
    ):
        response = client.post(path, json=body)
        assert response.status_code == 400, (path, response.text)
        assert "ours" in response.json()["error"]["message"]
    record = {"text": "Moved with its import.", "collection": "theirs"}  # an import is moved into the bound
    (id,) = client.post("/v1/import", json={"records": [record]}).json()["ids"]
    assert server.mind.show(id).collection == "ours"


@pytest.mark.contract("B18")
def test_counts_within_a_bound_are_those_of_the_bound(server: RunningServer, ids: dict[str, list[str]]) -> None:
    client = server.client("read", collection="ours", session="ours-session")
    status = client.get("/v1/status").json()
    assert status["collections"] == {"ours": status["memories"]["active"]}
    assert client.get("/v1/memories").json()["total"] == sum(
        count for name, count in status["memories"].items() if name != "forgotten"
    )
    assert SECRET not in client.get("/v1/export").text


@pytest.mark.contract("B18")
def test_undo_within_a_bound_takes_back_nothing_of_others(server: RunningServer, ids: dict[str, list[str]]) -> None:
    client = server.client("write", collection="fresh")
    client.post("/v1/memories", json={"text": "Mine."})
    server.mind.remember("Theirs, later.", collection="theirs")
    before = foreign_records(server)
    assert client.post("/v1/undo", json={}).json()["undone"]["removed"] == 1
    assert client.post("/v1/undo", json={}).json() == {"undone": None}
    assert foreign_records(server) == before


@pytest.mark.contract("B18")
def test_events_tell_of_changes_within_the_bound_only(server: RunningServer, ids: dict[str, list[str]]) -> None:
    client = server.client("read", collection="ours")
    events: list[Any] = []
    ready = threading.Event()

    def listen() -> None:
        with client.stream("GET", "/v1/events", timeout=20) as response:
            name = ""
            for line in response.iter_lines():
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    events.append((name, json.loads(line[6:])))
                    ready.set()
                    if name == "change":
                        return

    thread = threading.Thread(target=listen)
    thread.start()
    assert ready.wait(15)
    server.mind.edit(ids["theirs"][0], tags=["foreign"])
    server.mind.remember("Foreign.", collection="theirs")
    mine = server.mind.remember("Ours.", collection="ours")
    thread.join(15)
    (_, change) = events[-1]
    assert change["added"] == [mine.id]
    assert change["counts"] == {"added": 1, "changed": 0, "removed": 0}


@pytest.mark.contract("B18")
def test_metrics_are_for_an_admin_without_a_bound(server: RunningServer) -> None:
    assert server.client("admin", collection="ours").get("/metrics").status_code == 403
    assert server.client("write").get("/metrics").status_code == 403
    admin = server.client("admin")
    for _ in range(2):  # the first one is counted before the second is read from the same connection
        admin.post("/v1/recall", json={"query": "boat"})
    text = admin.get("/metrics").text
    assert 'recollect_requests_total{operation="recall",status="200"}' in text
    assert "process_resident_memory_bytes" in text


def test_where_folders_are_is_told_to_admins_only(server: RunningServer, tmp_path: Path) -> None:
    from recollect import Workspace

    (tmp_path / "MEMORY.md").write_text("# Notes\n\nThe lighthouse opens at nine.\n")
    with Workspace(tmp_path, mind=server.mind, collection="notes") as space:
        space.sync()
    reader = server.client("read", collection="notes")
    assert str(tmp_path) not in reader.get("/v1/folders").text
    assert str(tmp_path) in server.client("admin").get("/v1/folders").text
    found = reader.post("/v1/notes/search", json={"query": "when does the lighthouse open?"}).json()["results"][0]
    assert (found["path"], found["startLine"]) == ("MEMORY.md", 1)
    lines = reader.get("/v1/notes/lines", params={"path": "MEMORY.md", "from": 3, "lines": 1}).json()
    assert lines["text"] == "The lighthouse opens at nine."
    for path in ("/etc/passwd", "../secret.md", "~/.ssh/id_rsa", "MEMORY.md/../../x", f"{tmp_path}/other.md", "a\0b"):
        response = reader.get("/v1/notes/lines", params={"path": path})
        assert response.status_code in (400, 404), path
        assert str(tmp_path) not in response.text.replace(path, "")
    assert server.client("read", collection="ours").get("/v1/folders").json() == {"folders": []}


def test_wrong_tokens_do_not_lock_out_a_valid_one_of_the_same_address(tmp_path: Path) -> None:
    with start(tmp_path) as server, server.client() as valid, server.client_with("rct_x_y") as wrong:
        statuses = {wrong.get("/v1/status").status_code for _ in range(60)}
        assert statuses == {401, 429}
        assert valid.get("/v1/status").status_code == 200


HOSTS_OF_OTHERS = [
    "[::1]x.evil",
    "[::1]:99x",
    "evil",
    "127.0.0.1.evil",
    "user@localhost:{port}",
    "user:{port}@localhost",
    "localhost:x@evil",
    "localhost:@evil",
    "localhost:1",
    "localhost:",
    "localhost",
    "127.0.0.1:{port}0",
    "localhost:{port}/",
    "localhost :{port}",
]


@pytest.mark.parametrize("path", ["/v1/status", "/mcp"])
@pytest.mark.parametrize("host", HOSTS_OF_OTHERS)
def test_a_host_that_is_not_the_name_and_port_of_this_one_is_refused(
    server: RunningServer, host: str, path: str
) -> None:
    named = host.format(port=server.backend.settings.port)
    with server.client_with(server.token(), host=named) as client:
        assert client.get(path).status_code == 421


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
def test_a_host_with_the_name_and_port_of_this_one_is_answered(server: RunningServer, name: str) -> None:
    host = f"{name}:{server.backend.settings.port}"
    with server.client_with(server.token(), host=host) as client:
        assert client.get("/v1/status").status_code == 200


@pytest.mark.parametrize(
    ("settings", "host", "status"),
    [
        ({"allowed_hosts": ("memory.example",)}, "memory.example", 200),  # a port of a container that is mapped to 80
        ({"allowed_hosts": ("memory.example",)}, "memory.example:9", 421),
        ({"allowed_hosts": ("localhost:9000",)}, "localhost:9000", 200),  # a tunnel
        ({"allowed_hosts": ("localhost:9000",)}, "localhost:9001", 421),
        ({"allowed_hosts": ("[::2]:9000",)}, "[::2]:9000", 200),
        ({"allowed_hosts": ("fe80::2",)}, "[fe80::2]", 200),
        ({"trusted_proxy": "127.0.0.1", "allowed_hosts": ("memory.example",)}, "memory.example:8443", 200),
        ({"trusted_proxy": "127.0.0.1", "allowed_hosts": ("memory.example",)}, "user@memory.example", 421),
    ],
)
def test_a_port_of_its_own_is_allowed_with_a_name_or_behind_a_proxy(
    tmp_path: Path, settings: dict[str, Any], host: str, status: int
) -> None:
    with start(tmp_path, **settings) as server, server.client_with(server.token(), host=host) as client:
        assert client.get("/v1/status").status_code == status


def test_an_allowed_host_that_is_no_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="allowed host 'https://memory"):
        ServerSettings(allowed_hosts=("https://memory.example",))


def test_tokens_belong_to_one_database_on_one_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    TokenFile.beside("postgresql://anna:secret@db1.example/memory").create("laptop")
    same = ["postgresql://db1.example:5432/memory", "postgresql://ben:other@db1.example/memory?schema=recollect"]
    others = [
        "postgresql://db2.example/memory",
        "postgresql://db1.example:5433/memory",
        "postgresql://db1.example,db2.example/memory",
        "postgresql:///memory?host=/run/other",
        "postgresql://db1.example/memory?schema=second",
        "postgresql://db1.example/other",
    ]
    assert [len(TokenFile.beside(url).records()) for url in same] == [1, 1]
    assert [len(TokenFile.beside(url).records()) for url in others] == [0] * len(others)
    assert not [each for each in tmp_path.iterdir() if "secret" in each.name or "anna" in each.name]
