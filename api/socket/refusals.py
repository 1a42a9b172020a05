"""Wire format of errors; the client raises the same error as the server.

`outcome`, `done_to` and the fields of a version mismatch were added later, so they may be missing.
All values are texts: clients of version 1 can read nothing else.
"""

import struct

import msgspec

from api.socket.frames import FrameError, Kind, frame, unpack_texts
from controller.decisions.versions import VersionMismatchError
from records.errors import (
    ContradictionError,
    CorruptLogError,
    FencedError,
    MetadataLogError,
    Outcome,
    RequestError,
    UnavailableError,
)

CONNECTION = 0
"""Correlation id of an error of the whole connection, which is then closed."""

_REFUSED = struct.Struct(">BQ")

_FAMILIES: dict[str, type[MetadataLogError]] = {
    "request": RequestError,
    "fenced": FencedError,
    "unavailable": UnavailableError,
    "corrupt": CorruptLogError,
    "contradiction": ContradictionError,
}


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """The error of a request, or of the connection."""

    correlation_id: int
    error: MetadataLogError


def encode_refused(refused: Refused) -> bytes:
    """Return the frame with an error."""
    error = refused.error
    family = next(name for name, cls in _FAMILIES.items() if isinstance(error, cls))
    body = {"family": family, "message": str(error), "outcome": error.outcome.value}
    if error.done_to is not None:
        body["done_to"] = str(error.done_to)
    if isinstance(error, RequestError):
        body["code"] = error.code
    if isinstance(error, VersionMismatchError):
        body["object"], body["expected"], body["current"] = error.texts()
    return frame(_REFUSED.pack(Kind.REFUSED, refused.correlation_id), body)


def decode_refused(content: bytes) -> Refused:
    """Decode an error.

    Raises:
        FrameError: the frame is not an error frame.
    """
    if content[0] != Kind.REFUSED or len(content) < _REFUSED.size:
        raise FrameError(f"a frame of kind {content[0]} and {len(content)} bytes is not a refusal")
    _, correlation_id = _REFUSED.unpack_from(content)
    body = unpack_texts(content[_REFUSED.size :])
    return Refused(correlation_id=correlation_id, error=_error(body))


def _error(body: dict[str, str]) -> MetadataLogError:
    message = body.get("message") or ""
    # Treat error families of newer servers as temporary.
    cls = _FAMILIES.get(body.get("family") or "", UnavailableError)
    error = _request_error(body, message) if cls is RequestError else cls(message)
    outcome, done_to = _outcome(error, body.get("outcome"), body.get("done_to"))
    return error.with_outcome(outcome, done_to=done_to)


def _request_error(body: dict[str, str], message: str) -> RequestError:
    try:
        return VersionMismatchError.from_texts(
            body["object"], body["expected"], body["current"], message
        )
    except (KeyError, ValueError):  # another error, or a later release's form
        return RequestError(body.get("code") or "UNKNOWN_SERVER_ERROR", message)


def _outcome(
    error: MetadataLogError, outcome: str | None, done_to: str | None
) -> tuple[Outcome, int | None]:
    """Return a refused request's outcome, and the last offset committed if partial or done.

    Args:
        outcome: The outcome in the frame. An old server sends none, which means `NOTHING` for a
            RequestError other than NOT_CONTROLLER, and `UNKNOWN` for any other error.
        done_to: The last committed offset in the frame.
    """
    match outcome:
        case Outcome.NOTHING:
            return Outcome.NOTHING, None
        case Outcome.PARTIAL | Outcome.DONE if done_to is not None and done_to.isdecimal():
            return Outcome(outcome), int(done_to)
        case None if isinstance(error, RequestError) and error.code != "NOT_CONTROLLER":
            # The server sends no outcomes: only refusals by rule are certain not to be written.
            return Outcome.NOTHING, None
    return Outcome.UNKNOWN, None
