"""Sends the head of an HTTP response together with the first part of its body, in one write."""

import asyncio
from collections.abc import Callable


class AnswerWriter(asyncio.Transport):
    """The transport of a connection, for one response.

    The head is sent with the next part of the response, at the latest in the event loop's next
    turn.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        close: Callable[["AnswerWriter"], None],
    ) -> None:
        """Create with what ends the connection behind the answer."""
        super().__init__()
        self._close = close
        self._transport = transport
        self._loop = loop
        self._head: bytes | None = None
        self._is_begun = False

    def write(self, content: bytes | bytearray | memoryview) -> None:
        if not self._is_begun:
            self._is_begun, self._head = True, bytes(content)
            self._loop.call_soon(self._flush)
        elif self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head + content)
        else:
            self._transport.write(content)

    def _flush(self) -> None:
        if self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._flush()
        self._close(self)
