"""Batches as a quorum's leader sends them: the answer to a Fetch, read and checked.

An answer ends at a byte limit, so its last batch may be cut; the next answer has the whole batch.
An answer begins with the batch that contains the requested offset, which may start below that
offset.

Source: KIP-595.
"""

from collections.abc import Iterator

import msgspec

from metadata_log.kraft_format.batch import (
    HEADER_SIZE,
    LENGTH_MAX,
    LENGTH_MIN,
    KraftBatch,
    parse_header,
    problem_of,
)
from metadata_log.kraft_format.batch_codec import decode_batch
from records.errors import CorruptLogError

NO_EPOCH = -1
"""The epoch before the first batch."""


def fetched_batches(
    data: bytes, *, fetch_offset: int, leader_epoch: int, source: str
) -> Iterator[KraftBatch]:
    """Yield the whole batches of an answer, in order.

    A first batch that starts below `fetch_offset` loses its records below that offset: Kafka before
    4.0 may make a snapshot that ends inside a batch.

    Args:
        fetch_offset: The requested offset.
        leader_epoch: Epoch of the record before that offset; -1 if there is none.
        source: The node that answered, for errors.

    Raises:
        CorruptLogError: the bytes are not consecutive batches; names node, byte and offset.
    """
    position, next_offset = 0, fetch_offset
    while len(data) - position >= HEADER_SIZE:
        header = parse_header(data, position)
        if not LENGTH_MIN <= header.length <= LENGTH_MAX:
            impossible = f"a batch cannot have a length of {header.length} bytes"
            raise _corrupt(source, position, next_offset, impossible)
        batch = data[position : position + header.size]
        if len(batch) < header.size:
            return
        starts_below = next_offset == fetch_offset and header.base_offset < fetch_offset
        problem = problem_of(
            batch,
            header,
            next_offset=header.base_offset if starts_below else next_offset,
            leader_epoch=NO_EPOCH if starts_below else leader_epoch,
        )
        if problem is not None:
            raise _corrupt(source, position, next_offset, problem)
        position += header.size
        if header.end_offset <= fetch_offset:
            continue
        try:
            decoded = decode_batch(batch, header, position - header.size)
        except CorruptLogError as error:
            raise _corrupt(source, position - header.size, next_offset, str(error)) from error
        yield _from(decoded, fetch_offset) if starts_below else decoded
        next_offset, leader_epoch = header.end_offset, header.leader_epoch


def _from(batch: KraftBatch, offset: int) -> KraftBatch:
    """Return a batch without its records below an offset."""
    rows = tuple(
        [
            msgspec.structs.replace(row, batch_offset=offset)
            for row in batch.rows
            if row.offset >= offset
        ]
    )
    return msgspec.structs.replace(batch, base_offset=offset, rows=rows)


def _corrupt(source: str, position: int, next_offset: int, what: str) -> CorruptLogError:
    return CorruptLogError(
        f"{source} sent damaged batches: byte {position} of its answer for offset {next_offset}: "
        f"{what}; nothing of the answer is written, and it is requested again"
    )
