"""Every operation × scope × kind of bound, over HTTP and MCP, on a file and on PostgreSQL: nothing leaks.

python -m pytest -m "" tests/serve/test_leak_table.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from recollect.service.operations import Operation, OperationScope
from tests.serve.http_server import RunningServer, start
from tests.serve.test_http_access import OPERATIONS, request_of, send
from tests.serve.test_mcp import over_http

pytestmark = pytest.mark.contract("B18")
SCOPES: tuple[OperationScope, ...] = ("read", "write", "admin")
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


def write(server: RunningServer, kind: str) -> dict[str, list[str]]:
    """Own and foreign memories that differ by one kind of bound, with links and relations."""
    written = {}
    for owner, words in (("ours", "harbour"), ("theirs", f"zanzibar {HIDDEN}")):
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
        ids = written[owner] = server.mind.remember_many(items).ids
        server.mind.edit(ids[1], summary=f"{words} again")
        server.mind.link(ids[0], ids[1])
        if kind in ("collection", "user"):
            server.mind.relate(words, "near", f"{words} market", 1.0, **bound)
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
    written = write(served, kind)
    ours, theirs = written["ours"], written["theirs"]
    before = foreign_state(served, theirs)
    assert len(before) >= 6
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
                resources = (await client.list_resources()).model_dump_json()
                assert HIDDEN not in resources

        anyio.run(main)
