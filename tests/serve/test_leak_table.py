"""Every operation × scope × kind of bound, over HTTP and MCP, on a file and on PostgreSQL: nothing leaks.

python -m pytest -m "" tests/serve/test_leak_table.py
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference
from pydantic import BaseModel

from recollect import Mind
from recollect.service.operations import Operation, OperationScope
from tests.serve.http_server import RunningServer, start
from tests.serve.test_http_access import OPERATIONS, request_of, send
from tests.serve.test_mcp import over_http, over_stdio

pytestmark = pytest.mark.contract("B18")
SCOPES: tuple[OperationScope, ...] = ("read", "write", "admin")
KINDS = ("collection", "user", "agent", "session")
BOUNDS = ("collection", "user", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("agent", "session")))
HIDDEN = "quokka"  # a word of foreign memories; queries have their other one
Send = Callable[[Operation, list[str], list[str] | None], str]  # the answer as text


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("file", ("admin",)), id="file"),
        pytest.param(("file", ("read", "write")), id="file, other scopes", marks=pytest.mark.slow),
        pytest.param(("postgres", SCOPES), id="postgres", marks=pytest.mark.slow),
    ],
)
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningServer, tuple[OperationScope, ...]]]:
    """A server on one kind of store, and the scopes to try."""
    store, scopes = request.param
    folder: Path = tmp_path_factory.mktemp("leaks")
    path: str | Path = folder / "memory.db"
    if store == "postgres":
        stores = request.getfixturevalue("empty_stores")
        path = stores.url(stores.new_schema())
    no_limits = {"rate": 1e6, "burst": 10**6, "failed_rate": 1e6, "failed_burst": 10**6}
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)  # where the tokens of a database on a server are
        with start(folder, path=path, **no_limits) as server:
            yield server, scopes


def fill(mind: Mind, kind: str, *owners: str) -> dict[str, list[str]]:
    """Own and foreign memories that differ by one kind of bound, with links and relations."""
    written = {}
    for owner in owners:
        words = "harbour" if owner == "ours" else f"zanzibar {HIDDEN}"
        bound = {kind: f"{kind}-{owner}"}
        items = [
            {
                "text": f"The {words} boat number {at} is blue.",
                "entities": words.split(),
                "tags": words.split(),
                "path": f"{owner}/{HIDDEN if owner == 'theirs' else 'own'}.md",
                "context": {"spatial": {"position": [1.0, float(at)]}},
                **bound,
            }
            for at in range(3)
        ]
        ids = written[owner] = mind.remember_many(items).ids
        mind.edit(ids[1], summary=f"{words} again")
        mind.link(ids[0], ids[1])
        if kind in ("collection", "user"):
            mind.relate(words, "near", f"{words} market", 1.0, **bound)
    return written


def foreign_state(server: RunningServer, ids: list[str]) -> list[str]:
    """All that is stored of foreign memories, without their use."""
    records = [{**each, "use": None} for each in server.mind.export()]
    texts = [json.dumps(each, sort_keys=True, default=str) for each in records]
    return sorted(text for text in texts if HIDDEN in text or any(id in text for id in ids))


def arguments_of(operation: Operation, ids: list[str], other: list[str] | None) -> dict[str, Any]:
    """The arguments of a tool: those of a request, with what its path has."""
    in_path = {"id": ids[0], "old": ids[0], "session_id": "session-ours"}
    named = {name: value for name, value in in_path.items() if f"{{{name}}}" in operation.path}
    return {**request_of(operation, ids, other)[2], **named}


def check(served: RunningServer, kind: str, call: Send, operations: list[Operation]) -> None:
    """Call every operation on own and on foreign memories."""
    written = fill(served.mind, kind, "ours", "theirs")
    ours, theirs = written["ours"], written["theirs"]
    before = foreign_state(served, theirs)
    assert len(before) >= 5  # three memories, an earlier version and an edge
    for operation in operations:
        own = call(operation, ours, None)
        assert not [each for each in (HIDDEN, f"{kind}-theirs", *theirs) if each in own], operation.name
        for ids, other in ((theirs, None), (theirs, ours), (ours, theirs), ([id[:10] for id in theirs], None)):
            shown = call(operation, ids, other)
            assert not [each for each in (HIDDEN, f"{kind}-theirs") if each in shown], operation.name
        assert foreign_state(served, theirs) == before, operation.name
    for id in ours + theirs:
        served.mind.store.erase([id])


@pytest.mark.parametrize("kind", BOUNDS)
def test_no_operation_over_http_tells_of_or_changes_what_is_beyond_the_bound(
    served: tuple[RunningServer, tuple[OperationScope, ...]], kind: str
) -> None:
    server, scopes = served
    for scope in scopes:
        client = server.client(scope, **{kind: f"{kind}-ours"})

        def call(operation: Operation, ids: list[str], other: list[str] | None, client: Any = client) -> str:
            response = send(client, *request_of(operation, ids, other))
            assert response.status_code < 500, response.text
            return str(response.text)

        check(server, kind, call, OPERATIONS)


@pytest.mark.parametrize("kind", BOUNDS)
def test_no_tool_over_mcp_tells_of_or_changes_what_is_beyond_the_bound(
    served: tuple[RunningServer, tuple[OperationScope, ...]], kind: str
) -> None:
    server, scopes = served
    for scope in scopes:
        token = server.token(scope, **{kind: f"{kind}-ours"})

        async def main(token: str = token) -> None:
            async with Client(over_http(server, "/mcp/all", token)) as client:
                tools = {tool.name for tool in (await client.list_tools()).tools}

                def call(operation: Operation, ids: list[str], other: list[str] | None) -> str:
                    result = anyio.from_thread.run(
                        client.call_tool, operation.name, arguments_of(operation, ids, other)
                    )
                    return str(result.model_dump_json())

                offered = [each for each in OPERATIONS if each.name in tools]
                assert len(offered) >= 5
                await anyio.to_thread.run_sync(check, server, kind, call, offered)

        anyio.run(main)


async def shown(client: Client, foreign: list[str]) -> dict[str, str]:
    """All that a client sees apart from tools: prompts, resources, templates and completions, or the error."""
    memory, recall = ResourceTemplateReference(uri="recollect://memory/{id}"), PromptReference(name="recall")
    queries = ("harbour boat", "a bot", "zanzibarr", "market")
    uris = [f"recollect://memory/{id[:length]}" for id in foreign for length in (16, 10, 4)]
    calls: dict[str, Callable[[], Awaitable[BaseModel]]] = {
        "prompts": client.list_prompts,
        "section": partial(client.get_prompt, "memory_recall_section"),
        **{f"prompt {query}": partial(client.get_prompt, "recall", {"query": query}) for query in queries},
        "templates": client.list_resource_templates,
        "resources": client.list_resources,
        **{f"resource {at}": partial(client.read_resource, uri) for at, uri in enumerate(uris)},
        "ids": partial(client.complete, memory, {"name": "id", "value": foreign[0][:1]}),
        "queries": partial(client.complete, recall, {"name": "query", "value": "z"}),
    }
    texts = {}
    for name, call in calls.items():
        try:
            texts[name] = (await call()).model_dump_json()
        except MCPError as problem:
            texts[name] = str(problem)
    return texts


def bound_transports(folder: Path, how: str, kind: str, scope: OperationScope) -> Iterator[Any]:
    """Ways for a client with a bound to reach the memory in a folder."""
    if how == "stdio":
        bound = ["--collection", "collection-ours"] if kind == "collection" else ["--bound", f"{kind}={kind}-ours"]
        parameters = over_stdio(folder)
        yield parameters.model_copy(update={"args": [*parameters.args, *bound]})
    else:
        with start(folder) as server:
            yield over_http(server, "/mcp/all", server.token(scope, **{kind: f"{kind}-ours"}))


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        *(("http", kind) for kind in KINDS),
        ("stdio", "user"),
        *(pytest.param("stdio", kind, marks=pytest.mark.slow) for kind in KINDS if kind != "user"),
    ],
)
def test_prompts_resources_and_completions_are_the_same_whether_or_not_others_have_memories(
    tmp_path: Path, kind: str, how: str
) -> None:
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    alone.mkdir()
    with Mind(alone / "memory.db", embedder=None) as mind:
        (own,) = fill(mind, kind, "ours").values()
    shutil.copytree(alone, beside)
    with Mind(beside / "memory.db", embedder=None) as mind:
        (foreign,) = fill(mind, kind, "theirs").values()
    seen = []
    for folder in (alone, beside):
        for transport in bound_transports(folder, how, kind, "read"):

            async def main(transport: Any = transport) -> dict[str, str]:
                async with Client(transport) as client:
                    return await shown(client, foreign)

            seen.append(anyio.run(main))
    without, with_others = seen
    assert own[0] in without["resources"]
    assert "harbour" in without["prompt harbour boat"]
    for name, text in without.items():
        assert with_others[name] == text, name


@pytest.mark.parametrize("other", [{"user": "ben"}, {"user": "anna"}, {}])
def test_the_session_of_one_token_does_not_exist_for_another(tmp_path: Path, other: dict[str, str]) -> None:
    accepted = {"accept": "application/json, text/event-stream"}
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    requests: dict[str, Any] = {
        "tools/call": {"name": "recall", "arguments": {"query": "door code"}},
        "prompts/get": {"name": "recall", "arguments": {"query": "door code"}},
        "resources/list": {},
        "tools/list": {},
        "ping": {},
    }
    with start(tmp_path) as server:
        server.mind.remember("The door code is 4711.", user="anna")
        anna, stranger = (
            server.client_with(server.token("admin", **bound), **accepted) for bound in ({"user": "anna"}, other)
        )
        opened = anna.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about})
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        anna.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        for method, params in requests.items():
            body = {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}
            for path in ("/mcp", "/mcp/all"):
                refused = stranger.post(path, json=body, headers=session)
                assert (refused.status_code, "4711" in refused.text) == (404, False), method
            assert anna.post("/mcp", json=body, headers=session).status_code == 200
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        assert stranger.post("/mcp", json=cancel, headers=session).status_code == 404
        assert stranger.get("/mcp", headers=session).status_code == 404
        assert stranger.delete("/mcp", headers=session).status_code == 404
        body = {"jsonrpc": "2.0", "id": 3, "method": "prompts/get", "params": requests["prompts/get"]}
        assert "4711" in anna.post("/mcp", json=body, headers=session).text
