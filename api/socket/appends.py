"""A request to append, and the answer that it is committed.

Rows are encoded as in a block of a segment (docs/log_format.md) without `asked` and `kept`, with
offsets that count from 0, epoch 0 and time 0: the log gives the real ones. Correlation ids are the
client's, from 1.
"""

import struct

import msgspec

from api.socket.frames import LENGTH, FrameError, Kind
from api.socket.limits import FRAME_SIZE_BYTES_MAX
from api.socket.refusals import CONNECTION
from metadata_log.append_result import AppendResult
from metadata_log.batch import NewBatch
from records.avro import codec
from records.base import Record
from records.envelope import Envelope
from records.errors import CorruptLogError, RequestError
from records.registry import newest_version

_APPEND = struct.Struct(">BBQqqI")
_APPENDED = struct.Struct(">BQqqiq")
_APPENDED_FRAME = struct.Struct(">IBQqqiq")
_CORRELATION = struct.Struct(">Q")

_HAS_EXPECTED_END = 1
_HAS_TIMESTAMP = 2


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """One request."""

    correlation_id: int
    batch: NewBatch
    expected_end_offset: int | None


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """The batch is committed."""

    correlation_id: int
    result: AppendResult


def encode_append(request: Append) -> bytes:
    """Return the frame of one request.

    Raises:
        RequestError: the batch is larger than the log would take, or cannot be encoded.
    """
    batch, expected = request.batch, request.expected_end_offset
    rows = encode_rows(batch)
    size = _APPEND.size + len(rows)
    if size > FRAME_SIZE_BYTES_MAX:
        raise RequestError(
            "POLICY_VIOLATION",
            f"a batch of {len(rows)} bytes; at most {FRAME_SIZE_BYTES_MAX} fit in a frame",
        )
    flags = (_HAS_EXPECTED_END if expected is not None else 0) | (
        _HAS_TIMESTAMP if batch.timestamp is not None else 0
    )
    head = _APPEND.pack(
        Kind.APPEND,
        flags,
        request.correlation_id,
        expected or 0,
        batch.timestamp or 0,
        len(batch.records),
    )
    return b"".join((LENGTH.pack(size), head, rows))


def encode_rows(batch: NewBatch) -> bytes:
    """Return the records and the origin of a batch as rows, with offsets that count from 0.

    Raises:
        RequestError: INVALID_RECORD, a record cannot be encoded.
    """
    versions = batch.record_versions or [newest_version(type(r)) for r in batch.records]
    pairs = zip(batch.records, versions, strict=True)
    try:
        return codec.encode_rows(
            [_row(index, record, version, batch) for index, (record, version) in enumerate(pairs)],
            codec.AS_APPENDED,
        )
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise RequestError(
            "INVALID_RECORD", f"a record cannot be encoded: {error}; check its fields' types"
        ) from error


def _row(index: int, record: Record, version: int, batch: NewBatch) -> Envelope:
    return Envelope(
        offset=index,
        leader_epoch=0,
        timestamp=0,
        batch_offset=0,
        record_version=version,
        origin=batch.origin,
        payload=record,
    )


def correlation_id_of(content: bytes) -> int:
    """Return the correlation id of a request, which can be told even when its rows are damaged.

    Raises:
        FrameError: it is no request.
    """
    if content[0] != Kind.APPEND or len(content) < _APPEND.size:
        raise FrameError(f"a frame of kind {content[0]} and {len(content)} bytes is no request")
    (correlation_id,) = _CORRELATION.unpack_from(content, 2)
    if correlation_id == CONNECTION:
        raise FrameError("a request with correlation id 0; the client's begin at 1")
    return int(correlation_id)


def decode_append(content: bytes) -> Append:
    """Read a frame that `correlation_id_of` knows as a request.

    Raises:
        RequestError: its rows cannot be read.
    """
    _, flags, correlation_id, expected, timestamp, count = _APPEND.unpack_from(content)
    try:
        # The decoder stops at the first row that the bytes do not hold, whatever the count says.
        rows = codec.decode_rows(content[_APPEND.size :], count, codec.AS_APPENDED)
    except CorruptLogError as error:
        raise RequestError("INVALID_REQUEST", f"request {correlation_id}: {error}") from error
    batch = NewBatch(
        records=tuple([row.payload for row in rows]),
        origin=rows[0].origin if rows else None,
        record_versions=tuple([row.record_version for row in rows]),
        timestamp=timestamp if flags & _HAS_TIMESTAMP else None,
    )
    return Append(
        correlation_id=correlation_id,
        batch=batch,
        expected_end_offset=expected if flags & _HAS_EXPECTED_END else None,
    )


def encode_appended(answer: Appended) -> bytes:
    """Return the frame that says where a batch was committed."""
    result = answer.result
    return _APPENDED_FRAME.pack(
        _APPENDED.size,
        Kind.APPENDED,
        answer.correlation_id,
        result.base_offset,
        result.end_offset,
        result.leader_epoch,
        result.timestamp,
    )


def decode_appended(content: bytes) -> Appended:
    """Read the answer to a request that was committed.

    Raises:
        FrameError: it is no such answer.
    """
    if content[0] != Kind.APPENDED or len(content) != _APPENDED.size:
        raise FrameError(f"a frame of kind {content[0]} and {len(content)} bytes is no answer")
    _, correlation_id, base_offset, end_offset, leader_epoch, timestamp = _APPENDED.unpack(content)
    return Appended(
        correlation_id=correlation_id,
        result=AppendResult(
            base_offset=base_offset,
            end_offset=end_offset,
            leader_epoch=leader_epoch,
            timestamp=timestamp,
        ),
    )
