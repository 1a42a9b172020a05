"""Wire format of the append request and of its answer.

Rows are encoded as in a block of a segment (docs/log_format.md) without `asked` and `kept`, with
offsets from 0, epoch 0 and time 0: the log assigns the real values. The client assigns correlation
ids, from 1. The rows are preceded by the objects' expected versions and the length of these in
bytes.
"""

import struct
from typing import Any

import msgspec

from api.socket.frames import LENGTH, FrameError, Kind
from api.socket.limits import FRAME_SIZE_BYTES_MAX
from api.socket.refusals import CONNECTION
from api.socket.schemas import check_known
from controller.decisions.versions import ExpectedVersion
from controller.raw_appends.raw_append import AppendRows
from metadata_log.format.batch import AppendResult, NewBatch
from records.avro.layout import AS_APPENDED, Layout, fingerprint, first_appended, oldest_for
from records.avro.plain_rows import decode_records, encode_records
from records.base import Record
from records.errors import CorruptLogError, RequestError
from records.registry import newest_versions

_APPEND = struct.Struct(">BBQqqI")
_APPENDED = struct.Struct(">BQqqiq")
_APPENDED_FRAME = struct.Struct(">IBQqqiq")
_CORRELATION = struct.Struct(">Q")

_REQUESTS: dict[int, tuple[int, int]] = {
    Kind.APPEND: (_APPEND.size, 2),
    Kind.RUN: (1 + _CORRELATION.size, 1),
}
"""Minimum size and position of the correlation id, for each kind of request frame."""

_HAS_EXPECTED_END = 1
_HAS_TIMESTAMP = 2
_HAS_EXPECTED_VERSIONS = 4
_FLAGS = _HAS_EXPECTED_END | _HAS_TIMESTAMP | _HAS_EXPECTED_VERSIONS


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """A request to append a batch."""

    correlation_id: int
    batch: NewBatch
    expected_end_offset: int | None
    expected_versions: tuple[ExpectedVersion, ...] = ()


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to an append: the batch is committed."""

    correlation_id: int
    result: AppendResult


def encode_append(request: Append, layout: Layout = AS_APPENDED) -> bytes:
    """Return the frame of an append request, with its rows in the given layout.

    Raises:
        RequestError: the batch is larger than the log allows, or cannot be encoded.
    """
    batch, expected = request.batch, request.expected_end_offset
    rows = encode_rows(batch, layout)
    versions = _encode_versions(request.expected_versions)
    size = _APPEND.size + len(versions) + len(rows)
    if size > FRAME_SIZE_BYTES_MAX:
        raise RequestError(
            "POLICY_VIOLATION",
            f"the batch has {len(versions) + len(rows)} bytes; "
            f"at most {FRAME_SIZE_BYTES_MAX} fit in a frame",
        )
    flags = (
        (_HAS_EXPECTED_END if expected is not None else 0)
        | (_HAS_TIMESTAMP if batch.timestamp is not None else 0)
        | (_HAS_EXPECTED_VERSIONS if versions else 0)
    )
    head = _APPEND.pack(
        Kind.APPEND,
        flags,
        request.correlation_id,
        expected or 0,
        batch.timestamp or 0,
        len(batch.records),
    )
    return b"".join((LENGTH.pack(size), head, versions, rows))


def _encode_versions(expected: tuple[ExpectedVersion, ...]) -> bytes:
    if not expected:
        return b""
    body = msgspec.msgpack.encode(expected)
    return LENGTH.pack(len(body)) + body


def _decode_versions(content: bytes, start: int) -> tuple[tuple[ExpectedVersion, ...], int]:
    """Decode the expected versions at a position; return them and the position after them."""
    (size,) = LENGTH.unpack_from(content, start)
    end = start + LENGTH.size + size
    body = content[start + LENGTH.size : end]
    return msgspec.msgpack.decode(body, type=tuple[ExpectedVersion, ...]), end


def encode_rows(batch: NewBatch, layout: Layout = AS_APPENDED) -> bytes:
    """Return the records and the origin of a batch as rows, with offsets from 0.

    Raises:
        RequestError: INVALID_RECORD, a record cannot be encoded; or UNSUPPORTED_VERSION, the layout
            lacks a record's type.
    """
    check_known(batch.records, layout)
    try:
        versions = batch.record_versions or newest_versions(batch.records)
        return encode_records(batch.records, versions, origin=batch.origin, layout=layout)
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise RequestError(
            "INVALID_RECORD", f"a record cannot be encoded: {error}; check its fields' types"
        ) from error


def rows_request(records: tuple[Record, ...], **conditions: Any) -> AppendRows:
    """Return the command that appends records, in the oldest schema that can represent them.

    Args:
        records: The records.
        conditions: Other fields of the command.

    Raises:
        RequestError: INVALID_RECORD, a record cannot be encoded.
    """
    layout = oldest_for(records)
    return AppendRows(
        rows=encode_rows(NewBatch(records=records), layout),
        count=len(records),
        schema=None if layout == first_appended() else fingerprint(layout),
        **conditions,
    )


def correlation_id_of(content: bytes) -> int:
    """Return the correlation id of a request, even if its rows are damaged.

    Raises:
        FrameError: the frame is not a request.
    """
    size_min, position = _REQUESTS.get(content[0], (0, 0))
    if not size_min or len(content) < size_min:
        raise FrameError(f"a frame of kind {content[0]} and {len(content)} bytes is not a request")
    (correlation_id,) = _CORRELATION.unpack_from(content, position)
    if correlation_id == CONNECTION:
        raise FrameError("a request has correlation id 0; clients start at 1")
    return int(correlation_id)


def decode_append(content: bytes, layout: Layout = AS_APPENDED) -> Append:
    """Decode the frame of an append request; `correlation_id_of` must have accepted the frame.

    Raises:
        RequestError: INVALID_REQUEST, the rows or expected versions cannot be read; or the request
            has a flag of a later release, which may be a condition.
    """
    _, flags, correlation_id, expected, timestamp, count = _APPEND.unpack_from(content)
    if flags & ~_FLAGS:
        raise RequestError(
            "INVALID_REQUEST", f"request {correlation_id}: flags {flags:#04x} are not known here"
        )
    start = _APPEND.size
    versions: tuple[ExpectedVersion, ...] = ()
    try:
        if flags & _HAS_EXPECTED_VERSIONS:
            versions, start = _decode_versions(content, start)
        # The decoder stops at the end of the bytes, whatever the count says.
        rows = decode_records(content[start:], count, layout)
    except (CorruptLogError, msgspec.DecodeError, UnicodeDecodeError, struct.error) as error:
        raise RequestError("INVALID_REQUEST", f"request {correlation_id}: {error}") from error
    batch = NewBatch(
        records=rows.records,
        origin=rows.origin,
        record_versions=rows.versions,
        timestamp=timestamp if flags & _HAS_TIMESTAMP else None,
        payloads=rows.payloads,
    )
    return Append(
        correlation_id=correlation_id,
        batch=batch,
        expected_end_offset=expected if flags & _HAS_EXPECTED_END else None,
        expected_versions=versions,
    )


def encode_appended(answer: Appended) -> bytes:
    """Return the frame with a committed batch's position."""
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
    """Decode the answer to a committed request.

    Raises:
        FrameError: the frame is not an APPENDED frame.
    """
    if content[0] != Kind.APPENDED or len(content) != _APPENDED.size:
        raise FrameError(f"a frame of kind {content[0]} and {len(content)} bytes is not an answer")
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
