"""Splits the byte stream into frames, and lists the kinds of frames; no sockets here.

    frame    = length of kind and body (4 octets) | kind (1 octet) | body
    HELLO    = "MLGS" | version | MessagePack map                       client, first
    WELCOME  = version | MessagePack map                                server, first
    APPEND   = flags | correlation id | expected end offset | time | count | rows in Avro
    APPENDED = correlation id | base offset | end offset | leader epoch | time
    REFUSED  = correlation id | MessagePack map
    RUN      = correlation id | MessagePack map                         from version 2 on
    RAN      = correlation id | MessagePack map                         from version 2 on
    AUTHENTICATE = message of the mechanism     client, between HELLO and WELCOME
    CHALLENGE    = message of the mechanism     server, between HELLO and WELCOME

Integers are big-endian. handshake.py, authentication.py, appends.py, refusals.py and runs.py encode
the bodies.
"""

import struct
from enum import IntEnum
from typing import Any

import msgspec

LENGTH = struct.Struct(">I")


class Kind(IntEnum):
    """The first octet of a frame."""

    HELLO = 1
    WELCOME = 2
    APPEND = 3
    APPENDED = 4
    REFUSED = 5
    RUN = 6
    RAN = 7
    AUTHENTICATE = 8
    CHALLENGE = 9


class FrameError(Exception):
    """The peer does not speak this protocol correctly; the message says how."""


class FrameReader:
    """Splits a stream of bytes into frames of at most `size_bytes_max`.

    Attributes:
        size_wanted: Size of the frame being received; 0 while that size is not known.
        missing: Number of bytes that the frame being received still lacks.
    """

    def __init__(self, size_bytes_max: int) -> None:
        self.size_bytes_max = size_bytes_max
        self._buffer = b""
        self._at = 0
        # Parts of an incomplete frame, joined once: a large frame comes in hundreds of parts.
        self._more = bytearray()
        self.size_wanted = 0
        self.missing = 0

    @property
    def has_begun(self) -> bool:
        """True if part of a frame has been received."""
        return len(self._buffer) > self._at

    def feed(self, data: bytes) -> None:
        """Add bytes from the network."""
        if self.missing > len(data):
            self._more += data
            self.missing -= len(data)
            return
        self._buffer = b"".join((self._buffer[self._at :], self._more, data))
        self._at = self.missing = self.size_wanted = 0
        self._more = bytearray()

    def next_frame(self) -> bytes | None:
        """Return the next frame without its length; None if it is not complete yet.

        Raises:
            FrameError: the length is zero or too large.
        """
        at, buffer = self._at, self._buffer
        if self.missing or len(buffer) - at < LENGTH.size:
            self._forget_frames()
            return None
        (size,) = LENGTH.unpack_from(buffer, at)
        if not 0 < size <= self.size_bytes_max:
            raise FrameError(f"the frame has {size} bytes; 1 to {self.size_bytes_max} are allowed")
        start = at + LENGTH.size
        end = start + size
        if end > len(buffer):
            self.missing = end - len(buffer)
            self.size_wanted = size
            self._forget_frames()
            return None
        self._at = end
        return buffer[start:end]

    def _forget_frames(self) -> None:
        """Free the memory of returned frames now, because the next bytes may come much later."""
        if self._at:
            self._buffer = self._buffer[self._at :]
            self._at = 0


def frame(head: bytes, body: dict[str, Any]) -> bytes:
    """Return a frame with a MessagePack body, for infrequent kinds."""
    content = head + msgspec.msgpack.encode(body)
    return LENGTH.pack(len(content)) + content


def unpack_texts(data: bytes) -> dict[str, str]:
    """Return the text values in a frame's MessagePack map; ignore values of other types.

    Later releases may send values of other types.

    Raises:
        FrameError: the body is not a map with string keys.
    """
    try:
        fields = msgspec.msgpack.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FrameError(f"the body of a frame cannot be read: {error}") from error
    return {name: value for name, value in fields.items() if isinstance(value, str)}
