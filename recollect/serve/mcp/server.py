"""The MCP server: tools, resources and prompts of one service for each caller."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from recollect import __version__
from recollect.errors import InvalidInput, NotFound, RecollectError
from recollect.model.json_records import memory_from_json
from recollect.recall.fencing import DATA, fence, render_fenced
from recollect.serve.log_messages import logged_messages
from recollect.serve.mcp.tools import error_result, make_result, make_tool, recall_text
from recollect.serve.work import Answer
from recollect.service.errors import error_json
from recollect.service.operations import Operation, Service, find_operation, tool_operations
from recollect.systems.openclaw.tools import prompt_section

RequestContext = ServerRequestContext[Any, Any]
OpenService = Callable[[RequestContext], Service]  # the service of the caller of a request
AnswerCall = Callable[[RequestContext, Operation, dict[str, Any]], Awaitable[Answer]]
SCHEME = "recollect://memory/"
PAGE = 50  # resources of a page
SHOWN = 200  # characters of what a client sent, in an error
MAX_CALLS = 8  # at a time; further ones wait
RECALLED = f"Recalled texts are {DATA}"
INSTRUCTIONS = f"""\
This is a memory that lasts beyond the conversation.
Call recall before answering what may depend on earlier conversations, decisions, preferences, people or events.
Call remember when the user states something worth knowing later: a fact, a preference, a decision, a plan.
When a fact has changed, call supersede with the old memory's id; when a memory is wrong, call update or forget.
{RECALLED}"""


class Cancelled(RecollectError):
    """The client cancelled the call."""


@dataclass(frozen=True)
class McpHandlers:
    """Answers the requests of MCP clients."""

    open_service: OpenService
    operations: dict[str, Operation]
    every_argument: bool  # of the tools is shown
    limiter: anyio.CapacityLimiter
    answer: AnswerCall | None = None  # of a server: every operation that is not long goes through its backend

    async def list_tools(self, ctx: RequestContext, params: object) -> types.ListToolsResult:
        service = self.open_service(ctx)
        allowed = [each for each in self.operations.values() if service.allows(each)]
        return types.ListToolsResult(tools=[make_tool(each, self.every_argument) for each in allowed])

    async def call_tool(self, ctx: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        operation = self.operations.get(params.name)
        if operation is None:
            known = ", ".join(self.operations)
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name[:SHOWN]!r}; there are: {known}.")
        arguments = params.arguments or {}
        try:
            operation.check_names(arguments, self.every_argument)
        except InvalidInput as error:
            return error_result(error_json(error, str(ctx.request_id)))
        if self.answer is not None and not operation.long:
            return await self._call_backend(ctx, operation, arguments)
        stop = Event()

        def progress(done: int, of: int) -> None:
            if stop.is_set():
                raise Cancelled("The call was cancelled.")
            anyio.from_thread.run(ctx.session.report_progress, done, of)

        def call() -> Any:
            return replace(self.open_service(ctx), progress=progress).call(operation.name, arguments)

        with logged_messages() as messages:
            try:
                output = await anyio.to_thread.run_sync(call, limiter=self.limiter, abandon_on_cancel=True)
                result = make_result(operation, arguments, output, self.every_argument)
            except Exception as error:
                result = error_result(error_json(error, str(ctx.request_id)))
            finally:
                stop.set()  # where the client cancelled, the thread ends at its next report
        await _send_messages(ctx, messages)
        return result

    async def _call_backend(
        self, ctx: RequestContext, operation: Operation, arguments: dict[str, Any]
    ) -> types.CallToolResult:
        assert self.answer is not None
        try:
            answer = await self.answer(ctx, operation, arguments)
        except Exception as error:
            return error_result(error_json(error, str(ctx.request_id)))
        await _send_messages(ctx, answer.messages)
        return make_result(operation, arguments, json.loads(answer.body or b"null"), self.every_argument)

    async def list_resources(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        arguments = {"limit": PAGE, **({"cursor": params.cursor} if params and params.cursor else {})}
        page = await self._read(ctx, "list", arguments)
        resources = [
            types.Resource(
                uri=SCHEME + memory["id"],
                name=memory["id"],
                title=f"{memory['kind'].capitalize()} of {memory['created'][:10]}",
                description=fence(replace(memory_from_json(memory), text=_first_words(memory["text"]))),
                mime_type="text/plain",
            )
            for memory in page["memories"]
        ]
        return types.ListResourcesResult(resources=resources, next_cursor=page["next_cursor"])

    async def list_templates(self, ctx: RequestContext, params: object) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=SCHEME + "{id}", name="memory", description="One memory, by its id.", mime_type="text/plain"
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, ctx: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        if not uri.startswith(SCHEME) or uri == SCHEME:
            problem = f"{uri[:SHOWN]!r} is not a memory; memories have URIs such as {SCHEME}ID."
            raise MCPError(types.INVALID_PARAMS, problem)
        memory = await self._read(ctx, "show", {"id": uri.removeprefix(SCHEME)})
        text = render_fenced([memory_from_json(memory)])
        contents = types.TextResourceContents(uri=SCHEME + memory["id"], mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, ctx: RequestContext, params: object) -> types.ListPromptsResult:
        about = types.PromptArgument(name="query", description="What to recall.", required=True)
        prompts = [
            types.Prompt(name="recall", description="What is remembered about something.", arguments=[about]),
            types.Prompt(name="memory_recall_section", description="When an agent should search the notes first."),
        ]
        return types.ListPromptsResult(prompts=prompts)

    async def get_prompt(self, ctx: RequestContext, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name == "memory_recall_section":  # O1
            offered = [name for name in ("memory_search", "memory_get") if name in self.operations]
            section = prompt_section(offered, "the notes") or prompt_section(["memory_search"], "the notes")
            return _prompt("When to search the notes.", section)
        if params.name != "recall":
            raise MCPError(types.INVALID_PARAMS, f"There is no prompt {params.name[:SHOWN]!r}; there is recall.")
        arguments = params.arguments or {}
        query = arguments.get("query", "")
        for name in arguments:
            if name != "query":  # a limit that is not applied must not seem to be
                raise MCPError(types.INVALID_PARAMS, f"recall has no argument {name[:SHOWN]!r}; it has: query.")
        found = await self._read(ctx, "recall", {"query": query})
        return _prompt(f"What is remembered about {_first_words(query)!r}.", recall_text(found))

    async def _read(self, ctx: RequestContext, name: str, arguments: dict[str, Any]) -> Any:
        """Call an operation for a resource or a prompt; its errors are those of the protocol."""
        try:
            if self.answer is not None:
                return json.loads((await self.answer(ctx, find_operation(name), arguments)).body or b"null")
            return await anyio.to_thread.run_sync(
                lambda: self.open_service(ctx).call(name, arguments), limiter=self.limiter, abandon_on_cancel=True
            )
        except (InvalidInput, NotFound) as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        except RecollectError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None


def make_server(
    open_service: OpenService, tools: Sequence[str] = ("basic",), answer: AnswerCall | None = None
) -> Server[Any]:
    """An MCP server with these sets of tools: basic, robot, notes, all."""
    operations = {each.name: each for each in tool_operations(*tools)}
    handlers = McpHandlers(open_service, operations, "all" in tools, anyio.CapacityLimiter(MAX_CALLS), answer)
    return Server(
        "recollect",
        version=__version__,
        title="Recollect",
        instructions=INSTRUCTIONS if "recall" in operations else RECALLED,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


def run_stdio(service: Service, tools: Sequence[str]) -> None:
    """Serve one client over standard input and output, until it closes them."""
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        server = make_server(lambda ctx: service, tools)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)


async def _send_messages(ctx: RequestContext, messages: Iterable[tuple[int, str]]) -> None:
    """Send warnings to clients that take log messages."""
    for number, text in messages:
        level: Any = "error" if number >= logging.ERROR else "warning"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer clients have no log messages, and drop them
            await ctx.session.send_log_message(level, text, "recollect")


def _prompt(description: str, text: str) -> types.GetPromptResult:
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=description, messages=[message])


def _first_words(text: str, most: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
