"""Receives the body of a request within the memory that all connections of the process share."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from api.http.callers import headers_of
from api.transport.connections import Place
from records.errors import RequestError

if TYPE_CHECKING:
    from litestar.types import HTTPScope, Receive

MEMORY = "memory"
"""Where a request's state holds the `BodyMemory` of its connection."""


class BodyMemory:
    """The memory of one connection for the bodies that it receives.

    A body is read once it has a share of the budget of all connections; a small one needs no share.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._changed = asyncio.Event()
        self._is_gone = False

    def disconnected(self) -> None:
        """End the wait for a share: the client has disconnected."""
        self._is_gone = True
        self._changed.set()

    @asynccontextmanager
    async def reserved(self, size_bytes: int) -> AsyncIterator[Callable[[int], None]]:
        """Wait for a share, and hold it for the `with` block.

        Yields a function to call with the size of each received part. If the client disconnects,
        there may be no share, but there is nothing to receive either.
        """
        if not self._place.needs_share(size_bytes):
            yield lambda _: None
            return
        share = self._place.ask_for_share(size_bytes, self._changed.set)
        try:
            while not (share.is_granted or self._is_gone):
                self._changed.clear()
                await self._changed.wait()
            yield lambda received: self._place.received(share, received)
        finally:
            self._place.give_back(share)


async def received_body(
    receive: "Receive", size_max: int, part_received: Callable[[int], None]
) -> bytes | None:
    """Return the body of a request; None if the client disconnects.

    Raises:
        RequestError: MESSAGE_TOO_LARGE.
    """
    body = bytearray()
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message["body"]
        body += part
        part_received(len(part))
        if len(body) > size_max:
            raise too_large(size_max)
        if not message["more_body"]:
            return bytes(body)


def announced_size(scope: "HTTPScope", size_max: int) -> int:
    """Return the largest size that a request's body can have.

    Raises:
        RequestError: MESSAGE_TOO_LARGE, the announced size is above `size_max`.
    """
    headers = headers_of(scope)
    if "transfer-encoding" in headers:
        return size_max
    size = int(headers.get("content-length", 0))
    if size > size_max:
        raise too_large(size_max)
    return size


def too_large(size_max: int) -> RequestError:
    """Return the error for a body of more than `size_max` bytes."""
    return RequestError("MESSAGE_TOO_LARGE", f"a body of this path has at most {size_max} bytes")
