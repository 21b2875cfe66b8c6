"""The MCP server: the tools, spoken over one HTTP exchange or over standard input and output. The only file that imports `mcp`.

Importing it takes more than a second, so the worker does it when the first client comes (`worker.serving.mcp_endpoint`), and the command
line when `vectail mcp` is called. Over HTTP it keeps no sessions: each request stands alone and is answered with JSON, so a client may
reach another worker each time.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from worker.runtime.process import vectail_version
from worker.serving.guards import Message
from worker.serving.mcp_questions import LogIndex
from worker.serving.mcp_tools import INSTRUCTIONS, TOOLS, ToolFailed, call_tool

_Headers = Sequence[tuple[bytes, bytes]]


def new_server(index: LogIndex) -> Server[Any]:
    """Return a server of the tools over an index."""
    logging.getLogger("mcp").setLevel(logging.ERROR)  # what it warns of are the client's faults, which must not fill our log
    listed = types.ListToolsResult(tools=_listed())

    async def list_tools(_context: ServerRequestContext[Any], _page: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return listed

    async def call(_context: ServerRequestContext[Any], called: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            text = await call_tool(index, called.name, called.arguments or {})
        except ToolFailed as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server("vectail", version=vectail_version(), instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call)


async def serve_stdio(index: LogIndex) -> None:
    """Serve one client over standard input and output, until it closes our input."""
    server = new_server(index)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class StreamableHttp:
    """Answers the POSTs of the transport "Streamable HTTP"; `start` comes first.

    Thread: an event loop's.
    """

    def __init__(self, index: LogIndex, *, max_body_bytes: int) -> None:
        self._sessions = StreamableHTTPSessionManager(
            new_server(index), json_response=True, stateless=True, max_request_body_size=max_body_bytes
        )
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin; what begins here ends with the event loop."""
        started = asyncio.Event()
        self._running = asyncio.create_task(self._run(started), name="mcp")
        await started.wait()

    async def answer(self, headers: _Headers, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body for one POST."""
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": "POST",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "query_string": b"",
            "headers": list(headers),
        }
        exchange = _Exchange(body)
        await self._sessions.handle_request(scope, exchange.receive, exchange.send)
        return exchange.status, exchange.headers, bytes(exchange.body)

    async def _run(self, started: asyncio.Event) -> None:
        async with self._sessions.run():
            started.set()
            await asyncio.Event().wait()


class _Exchange:
    """One request that has arrived whole, and what is answered to it.

    Thread: the event loop's.
    """

    def __init__(self, body: bytes) -> None:
        self._request: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        self.status = 500
        self.headers: dict[str, str] = {}
        self.body = bytearray()

    async def receive(self) -> Message:
        if not self._request:
            await asyncio.Event().wait()  # the client stays until it is answered
        return self._request.pop()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
        else:
            self.body += message.get("body", b"")


def _listed() -> list[types.Tool]:
    """Return the tools as the protocol lists them: they read, they change nothing, and what they read is our own index."""
    reads = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=_brief(tool.arguments.model_json_schema()),
            annotations=reads,
        )
        for tool in TOOLS.values()
    ]


def _brief(schema: Mapping[str, Any]) -> dict[str, object]:
    """Return a schema without what repeats names, and without null for arguments that may be left out: a model reads every word of it."""
    brief = {name: value for name, value in schema.items() if name not in ("title", "description")}
    properties = {}
    for name, one in schema["properties"].items():
        property_ = {key: value for key, value in one.items() if key != "title" and not (key == "default" and value in (None, [], {}))}
        kinds = [kind for kind in property_.pop("anyOf", []) if kind != {"type": "null"}]
        properties[name] = {**kinds[0], **property_} if len(kinds) == 1 else {**property_, **({"anyOf": kinds} if kinds else {})}
    return {**brief, "properties": properties}
