"""Errors on their way to the client: there they are raised as the log would raise them here."""

import struct

import msgspec

from api.socket.frames import FrameError, Kind, frame, unpack_body
from records.errors import (
    CorruptLogError,
    FencedError,
    MetadataLogError,
    RequestError,
    UnavailableError,
)

CONNECTION = 0
"""The correlation id of what concerns the whole connection, which is closed after it."""

_REFUSED = struct.Struct(">BQ")

# What a caller can do about it; the first that fits counts, so subclasses stand before.
_FAMILIES: dict[str, type[MetadataLogError]] = {
    "request": RequestError,
    "fenced": FencedError,
    "unavailable": UnavailableError,
    "corrupt": CorruptLogError,
}


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """The request, or the connection, failed."""

    correlation_id: int
    error: MetadataLogError


def encode_refused(refused: Refused) -> bytes:
    """Return the frame that says why."""
    error = refused.error
    family = next(name for name, cls in _FAMILIES.items() if isinstance(error, cls))
    body = {"family": family, "message": str(error)}
    if isinstance(error, RequestError):
        body["code"] = error.code
    return frame(_REFUSED.pack(Kind.REFUSED, refused.correlation_id), body)


def decode_refused(content: bytes) -> Refused:
    """Read a refusal.

    Raises:
        FrameError: it is none.
    """
    if content[0] != Kind.REFUSED or len(content) < _REFUSED.size:
        raise FrameError(f"a frame of kind {content[0]} and {len(content)} bytes is no refusal")
    _, correlation_id = _REFUSED.unpack_from(content)
    body = unpack_body(content[_REFUSED.size :])
    family, message = body.get("family"), body.get("message") or ""
    # A family that only a newer server knows is at least something to try again.
    cls = _FAMILIES.get(family or "", UnavailableError)
    error = (
        RequestError(body.get("code") or "UNKNOWN_SERVER_ERROR", message)
        if cls is RequestError
        else cls(message)
    )
    return Refused(correlation_id=correlation_id, error=error)
