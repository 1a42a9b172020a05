"""Decoding of batches to rows, and encoding of these rows to the original bytes."""

from collections.abc import Sequence

import msgspec

from metadata_log.kraft_format import compiled_rows
from metadata_log.kraft_format.batch import (
    CONTROL,
    CRC_START,
    HEADER,
    HEADER_SIZE,
    LENGTH_END,
    MAGIC,
    NO_PRODUCER,
    BatchHeader,
    KraftBatch,
    crc_of,
    parse_header,
)
from metadata_log.kraft_format.record import (
    NotPlainError,
    encode_record,
    parse_record,
    plain_value,
)
from records.envelope import Envelope, Extra
from records.errors import CorruptLogError, RequestError
from records.kafka import codec
from records.registry import is_control

_NOT_PLAIN = (NotPlainError, *codec.NOT_PLAIN)


def decode_batch(data: bytes, header: BatchHeader, position: int) -> KraftBatch:
    """Decode a complete batch whose CRC was checked.

    Args:
        data: Exactly the batch, from its header on.
        header: The header in `data`, its counts checked.
        position: Where the batch starts in its file.

    Raises:
        CorruptLogError: the batch does not contain exactly the records that the header counts;
            names the byte within the batch.
    """
    if header.compression:
        raise CorruptLogError(
            f"the batch is compressed ({header.compression}), which Kafka never does to its "
            "metadata: this is another topic's log"
        )
    rows = _decode_rows(data, header)
    if not header.is_plain:
        rows[0] = _with_header(rows[0], data[:HEADER_SIZE])
    return KraftBatch(
        base_offset=header.base_offset,
        end_offset=header.end_offset,
        leader_epoch=header.leader_epoch,
        timestamp=header.base_timestamp,
        is_control=header.is_control,
        position=position,
        size=len(data),
        rows=tuple(rows),
    )


def _decode_rows(data: bytes, header: BatchHeader) -> list[Envelope]:
    rows: list[Envelope] = []
    position = HEADER_SIZE
    # A record takes at least one byte, so a false count fails here before it costs memory.
    while len(rows) < header.record_count:
        if not header.is_control:
            plain, position = _plain_rows(data, header, position, len(rows))
            rows += plain
        if len(rows) < header.record_count:
            row, position = _unusual_row(data, header, position, len(rows))
            rows.append(row)
    if position != len(data):
        raise CorruptLogError(
            f"byte {position} of the batch: {len(data) - position} bytes follow the last record"
        )
    return rows


def _plain_rows(
    data: bytes, header: BatchHeader, position: int, offset_delta: int
) -> tuple[list[Envelope], int]:
    """Decode records up to the first that is not plain; return them and the position after them."""
    return compiled_rows.decode(data, header, position, offset_delta) or _plain_rows_in_python(
        data, header, position, offset_delta
    )


def _plain_rows_in_python(
    data: bytes, header: BatchHeader, position: int, first_delta: int
) -> tuple[list[Envelope], int]:
    rows: list[Envelope] = []
    batch_offset, leader_epoch = header.base_offset, header.leader_epoch
    timestamp, plain_decoders = header.base_timestamp, codec.PLAIN_DECODERS
    try:
        for offset_delta in range(first_delta, header.record_count):
            value, end = plain_value(data, position, offset_delta)
            decode, version = plain_decoders[value[:3]]
            rows.append(
                Envelope(
                    offset=batch_offset + offset_delta,
                    leader_epoch=leader_epoch,
                    timestamp=timestamp,
                    batch_offset=batch_offset,
                    record_version=version,
                    payload=decode(value, 3),
                )
            )
            position = end
    except _NOT_PLAIN:
        pass
    return rows, position


def _unusual_row(
    data: bytes, header: BatchHeader, start: int, offset_delta: int
) -> tuple[Envelope, int]:
    """Decode any record; return its row and the position after it."""
    parts, end = parse_record(data, start, offset_delta)
    try:
        if header.is_control:
            decoded = codec.decode_control(parts.key or b"", parts.value)
        elif parts.key is not None:
            raise CorruptLogError("the record has a key, which only control records have")
        else:
            decoded = codec.decode_value(parts.value)
    except CorruptLogError as error:
        raise CorruptLogError(
            f"byte {start} of the batch, offset {header.base_offset + offset_delta}: {error}"
        ) from error
    extra = None
    raw_record = None if parts.is_plain and decoded.canonical else data[start:end]
    if raw_record is not None or decoded.unknown_tags:
        extra = Extra(unknown_tags=decoded.unknown_tags, raw_record=raw_record)
    row = Envelope(
        offset=header.base_offset + offset_delta,
        leader_epoch=header.leader_epoch,
        timestamp=header.base_timestamp,
        batch_offset=header.base_offset,
        record_version=decoded.version,
        extra=extra,
        payload=decoded.record,
    )
    return row, end


def _with_header(row: Envelope, raw_header: bytes) -> Envelope:
    extra = msgspec.structs.replace(row.extra or Extra(), batch_header=raw_header)
    return msgspec.structs.replace(row, extra=extra)


def encode_batch(rows: Sequence[Envelope]) -> bytes:
    """Encode the rows of one batch as Kafka does; rows decoded from a batch give its original
    bytes.

    Args:
        rows: Rows of one batch with successive offsets, all control records or none.

    Raises:
        RequestError: Kafka cannot express one of the records, the rows do not make one batch, or
            they no longer match the header they were read with.
    """
    first = rows[0]
    base_offset = first.offset
    for offset_delta, row in enumerate(rows):
        if row.offset != base_offset + offset_delta or is_control(row.payload) != is_control(
            first.payload
        ):
            raise RequestError(
                "INVALID_RECORD",
                f"offset {row.offset} cannot be in one batch with offset {base_offset}: offsets "
                "must be consecutive, and all records or none control records",
            )
    records = b"".join([encode_record(row, delta) for delta, row in enumerate(rows)])
    if first.extra is not None and first.extra.batch_header is not None:
        return _under_header(first.extra.batch_header, records, base_offset)
    header = BatchHeader(
        base_offset=base_offset,
        length=HEADER_SIZE - LENGTH_END + len(records),
        leader_epoch=first.leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=CONTROL if is_control(first.payload) else 0,
        last_offset_delta=len(rows) - 1,
        base_timestamp=first.timestamp,
        max_timestamp=first.timestamp,
        producer_id=NO_PRODUCER,
        producer_epoch=NO_PRODUCER,
        base_sequence=NO_PRODUCER,
        record_count=len(rows),
    )
    batch = HEADER.pack(*msgspec.structs.astuple(header)) + records
    return batch[: CRC_START - 4] + crc_of(batch).to_bytes(4, "big") + batch[CRC_START:]


def _under_header(raw_header: bytes, records: bytes, base_offset: int) -> bytes:
    batch = raw_header + records
    header = parse_header(batch)
    is_same = header.base_offset == base_offset and header.size == len(batch)
    if not is_same or header.crc != crc_of(batch):
        raise RequestError(
            "INVALID_RECORD",
            f"the batch at offset {base_offset} does not match the header it was read with",
        )
    return batch
