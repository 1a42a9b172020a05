"""Commands over the socket: request and answer frames.

The bodies are MessagePack maps, so a later release may add fields; unknown ones are ignored.
"""

import struct

import msgspec

from api.requests.wire_requests import WireAnswer, WireRequest
from api.socket.frames import LENGTH, FrameError, Kind
from api.socket.limits import ANSWER_SIZE_BYTES_MAX, FRAME_SIZE_BYTES_MAX
from records.errors import Outcome, RequestError

_HEAD = struct.Struct(">BQ")


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One command to run."""

    correlation_id: int
    request: WireRequest


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """The command's answer."""

    correlation_id: int
    answer: WireAnswer


def encode_run(run: Run) -> bytes:
    """Return the frame of a command.

    Raises:
        RequestError: POLICY_VIOLATION, the command is larger than a frame may be.
    """
    content = _content(Kind.RUN, run.correlation_id, run.request)
    if len(content) > FRAME_SIZE_BYTES_MAX:
        raise RequestError(
            "POLICY_VIOLATION",
            f"the request has {len(content)} bytes; at most {FRAME_SIZE_BYTES_MAX} fit in a frame",
        )
    return LENGTH.pack(len(content)) + content


def decode_run(content: bytes) -> Run:
    """Decode the frame of a request to run a command, which `correlation_id_of` has accepted.

    Raises:
        RequestError: INVALID_REQUEST, the request cannot be decoded.
    """
    _, correlation_id = _HEAD.unpack_from(content)
    try:
        request = msgspec.msgpack.decode(content[_HEAD.size :], type=WireRequest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError("INVALID_REQUEST", f"request {correlation_id}: {error}") from error
    return Run(correlation_id=correlation_id, request=request)


def encode_ran(ran: Ran) -> bytes:
    """Return the frame of an answer.

    Raises:
        RequestError: MESSAGE_TOO_LARGE, the answer is too large; the command may have been carried
            out.
    """
    content = _content(Kind.RAN, ran.correlation_id, ran.answer)
    if len(content) > ANSWER_SIZE_BYTES_MAX:
        raise RequestError(
            "MESSAGE_TOO_LARGE",
            f"the answer has {len(content)} bytes, at most {ANSWER_SIZE_BYTES_MAX} fit in a frame; "
            "ask for less",
            outcome=Outcome.UNKNOWN if ran.answer.wrote else Outcome.NOTHING,
        )
    return LENGTH.pack(len(content)) + content


def decode_ran(content: bytes) -> Ran:
    """Decode the answer to a command.

    Raises:
        FrameError: the frame is not a RAN frame.
    """
    if content[0] != Kind.RAN or len(content) < _HEAD.size:
        raise FrameError(f"a frame of kind {content[0]} and {len(content)} bytes is not an answer")
    _, correlation_id = _HEAD.unpack_from(content)
    try:
        answer = msgspec.msgpack.decode(content[_HEAD.size :], type=WireAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FrameError(f"an answer cannot be read: {error}") from error
    return Ran(correlation_id=correlation_id, answer=answer)


def _content(kind: Kind, correlation_id: int, body: WireRequest | WireAnswer) -> bytes:
    return _HEAD.pack(kind, correlation_id) + msgspec.msgpack.encode(body)
