"""An ASGI application that reads a request's body and sends a fixed answer of an append.

Its cost is the minimum of any append under the same HTTP server.
"""

from collections.abc import Awaitable, Callable
from typing import Any

_ANSWER = (
    b'{"records":1,"first_offset":16,"last_offset":16,"leader_epoch":1,"timestamp":1790000000000}'
)
_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(_ANSWER)),
    ],
}


async def app(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Read a request and send the fixed answer (an ASGI application)."""
    while (await receive()).get("more_body"):
        pass
    await send(_START)
    await send({"type": "http.response.body", "body": _ANSWER})
