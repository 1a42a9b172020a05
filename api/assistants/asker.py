"""Asks the HTTP application from inside the process, without a connection.

A tool call is answered by the handlers of HTTP: rights, limits, redaction and errors are the same.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from api.http.request import PRINCIPAL, SEND_WHOLE

if TYPE_CHECKING:
    from litestar.types import ASGIApp

_PASSED_ON = (b"authorization", b"host", b"user-agent")
"""Headers of the outer request that identify the caller. Other headers, such as Accept-Encoding,
apply only to the outer response."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """Status and body of the HTTP application's response."""

    status: int
    body: bytes


class Asker:
    """Sends GET requests to an application, as the caller of an outer request."""

    def __init__(self, app: "ASGIApp", principal: str | None = None) -> None:
        """Use an application; without an outer request, `principal` is the caller."""
        self._app, self._principal = app, principal

    async def get(
        self, path: str, query: Mapping[str, Any], outer: Mapping[str, Any] | None
    ) -> Response:
        """Return the response to a request.

        Args:
            query: Values, or lists of them, by parameter.
            outer: The ASGI scope of the outer request; None: there is none.
        """
        principal = self._principal if outer is None else outer["state"].get(PRINCIPAL)
        parts: list[bytes] = []
        status = 0
        is_whole = asyncio.Event()

        async def send(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            parts.append(message.get("body", b""))
            if message["type"] == "http.response.body" and not message.get("more_body"):
                is_whole.set()

        async def send_whole(head: bytes, body: bytes) -> None:
            nonlocal status
            status = int(head.split(b" ", 2)[1])
            parts.append(body)

        async def receive() -> Any:
            await is_whole.wait()
            return {"type": "http.disconnect"}

        scope: Any = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.0",  # which may be without a Host
            "scheme": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": urlencode(query, doseq=True).encode(),
            "headers": [] if outer is None else [h for h in outer["headers"] if h[0] in _PASSED_ON],
            "client": None if outer is None else outer.get("client"),
            "server": None,
            "extensions": {},
            "state": {SEND_WHOLE: send_whole}
            | ({} if principal is None else {PRINCIPAL: principal}),
        }
        await self._app(scope, receive, send)
        if not status:  # the application ends its work quietly when it is cancelled
            raise asyncio.CancelledError
        return Response(status=status, body=b"".join(parts))
