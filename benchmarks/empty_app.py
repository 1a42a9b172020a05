"""An ASGI application that reads a body and answers as an append is answered, and does no more.

What it costs is the floor of any append under the same server.
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
    """Answer a request; see ASGI."""
    while (await receive()).get("more_body"):
        pass
    await send(_START)
    await send({"type": "http.response.body", "body": _ANSWER})
