"""Sends the head of an HTTP response together with the first part of its body, in one write."""

import asyncio
from collections.abc import Callable


class AnswerWriter(asyncio.Transport):
    """The transport of a connection, for one response.

    The head is sent together with the next part of the response, or alone if none is written before
    the next turn of the event loop.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        close: Callable[["AnswerWriter"], None],
        *,
        has_chunks: bool,
    ) -> None:
        """Create the writer of one response.

        Args:
            close: Called when the response is closed; ends the connection.
            has_chunks: False for a client of HTTP/1.0, to which the end of the connection marks the
                end of the body.
        """
        super().__init__()
        self._close = close
        self._transport = transport
        self._loop = loop
        self._head: bytes | None = None
        self._is_begun = False
        self._has_chunks = has_chunks
        self._is_unchunked = False

    def write(self, content: bytes | bytearray | memoryview) -> None:
        if self._is_unchunked:
            content = _without_size(bytes(content))
        if not self._is_begun:
            self._is_begun, self._head = True, bytes(content)
            if not self._has_chunks:
                self._head = self._head.replace(_CHUNKED, b"\r\n", 1)
                self._is_unchunked = len(self._head) < len(content)
            self._loop.call_soon(self.flush)
        elif self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head + content)
        else:
            self._transport.write(content)

    def flush(self) -> None:
        """Send the bytes that wait for the next part of the response."""
        if self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self.flush()
        self._close(self)


_CHUNKED = b"\r\ntransfer-encoding: chunked\r\n"


def _without_size(written: bytes) -> bytes:
    """Return the content of one write of uvicorn, without the framing of chunks."""
    size, _, rest = written.partition(b"\r\n")
    return rest[: int(size, 16)] if size else b""
