"""Runs the MCP server over stdio, or over HTTP together with the paths of `view`."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from msgspec.structs import replace

from api.assistants.asker import Asker
from api.assistants.server import Assistant
from api.assistants.standard_input import lines
from api.http.admission import Admission, Paths
from api.http.limits import HEAD_SIZE_BYTES_MAX
from api.http.metrics import Sources
from api.http.problems import problem, problem_of
from api.http.request import (
    JSON,
    MEMORY,
    BodyMemory,
    announced_size,
    received_body,
    reply_with,
    send_reply,
)
from api.http.server import app_of
from api.http.shared_state import Listener, SharedState
from api.transport.shutdown import first_of, stopped_by_signal
from api.viewer.options import ViewOptions, ViewReady
from api.viewer.shown_log import ShownLog
from api.viewer.start import view_until_stopped
from api.viewer.viewer import names_of, shown_logs
from controller.decisions.context.context import Settings
from records.errors import MetadataLogError, RequestError

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

PATH = "/mcp"

_MESSAGE_BYTES_MAX = 2 * HEAD_SIZE_BYTES_MAX
"""Longest message: a message has the content of an HTTP query, escaped as JSON."""

_PATHS = Paths(
    all=frozenset({PATH}),
    open=frozenset(),
    watched=frozenset(),
    endless=frozenset(),
    forms={PATH: JSON},
)


async def answer_until_closed(logs: Sequence[str], settings: Settings, principal: str) -> None:
    """Answer over standard input and output until the input ends, or until SIGTERM or SIGINT.

    Calls wait until the logs are loaded.

    Args:
        principal: The caller, such as `User:ann`.

    Raises:
        MetadataLogError: as `view_until_stopped`.
    """
    named = names_of(logs)
    app, states = app_of(Listener(host=None), named)
    with stopped_by_signal() as stop:
        async with shown_logs(named, states, Sources(connections=dict), settings) as shown:
            opened = asyncio.ensure_future(_open(shown))
            assistant = Assistant(tuple(named), opened)
            assistant.asker = Asker(app, principal)

            async def keep_up() -> None:
                await asyncio.wait([opened])
                opened.result()
                await asyncio.gather(*[log.keep_up() for log in shown])

            await first_of(stop.wait(), _stdio(assistant), keep_up())
            if opened.done():
                opened.result()
            opened.cancel()


async def _open(shown: Sequence[ShownLog]) -> None:
    """Load logs; raise an error only if there is a single log and it cannot be read."""
    if len(shown) == 1:
        await shown[0].open()
        return
    for log, error in zip(
        shown,
        await asyncio.gather(*[log.open() for log in shown], return_exceptions=True),
        strict=True,
    ):
        if isinstance(error, MetadataLogError | OSError):
            log.failed(error)
        elif isinstance(error, BaseException):
            raise error


async def _stdio(assistant: Assistant) -> None:
    server = assistant.server()
    async with stdio_server(cast("Any", lines())) as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


async def serve_until_stopped(
    options: ViewOptions,
    ready: Callable[[ViewReady], None],
) -> None:
    """Answer at PATH and at the paths of `view`, until SIGTERM or SIGINT.

    Args:
        ready: Called once the server listens.

    Raises:
        MetadataLogError: as `view_until_stopped`.
    """
    assistant = Assistant(tuple(names_of(options.logs)))
    # Without sessions: each message has its own caller, and a proxy may spread them over processes.
    manager = StreamableHTTPSessionManager(assistant.server(), json_response=True, stateless=True)

    def around(app: "ASGIApp", listener: Listener, states: dict[str, SharedState]) -> "ASGIApp":
        assistant.asker = Asker(app)
        # No name of a log has a slash.
        state = states[PATH] = SharedState(listener, _PATHS.all, log="LOG")
        return _Fork(Admission(_Messages(manager), _PATHS, state), app)

    # The manager would wrap an error of what runs inside it.
    async with manager.run():
        viewing = view_until_stopped(replace(options, around=around), ready)
        (error,) = await asyncio.gather(viewing, return_exceptions=True)
    if error is not None:
        raise error


class _Fork:
    """Passes requests for PATH to one application, and all others to another."""

    def __init__(self, messages: "ASGIApp", others: "ASGIApp") -> None:
        self._messages, self._others = messages, others

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Process a request; see ASGI."""
        is_ours = cast("HTTPScope", scope)["path"].rstrip("/") == PATH
        await (self._messages if is_ours else self._others)(scope, receive, send)


class _Messages:
    """Receives a message within the limits of HTTP, and passes it to the protocol's server."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, given: "Scope", receive: "Receive", send: "Send") -> None:
        """Process a request; see ASGI."""
        scope = cast("HTTPScope", given)
        if scope["method"] != "POST":  # a GET would wait for messages that never come
            found = problem(405, "METHOD_NOT_ALLOWED", "this path takes POST")
            await send_reply(reply_with(found, {"Allow": "POST"}), scope)
            return
        memory: BodyMemory = scope["state"][MEMORY]
        try:
            size = announced_size(scope, _MESSAGE_BYTES_MAX)
            async with memory.reserved(size) as part_received:
                body = await received_body(receive, _MESSAGE_BYTES_MAX, part_received)
        except RequestError as error:
            await send_reply(reply_with(problem_of(error)), scope)
            return
        if body is not None:
            handle: ASGIApp = cast("Any", self._manager.handle_request)  # its own types of ASGI
            await handle(scope, _received(body, receive), send)


def _received(body: bytes, after: "Receive") -> "Receive":
    """Return a `receive` that yields the received body first, then the messages of `after`."""
    whole = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> object:
        return whole.pop() if whole else await after()

    return cast("Receive", receive)
