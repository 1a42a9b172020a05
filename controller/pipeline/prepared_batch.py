"""Prepares a decision's records as batches: places, encodes, measures and replays them.

If the log refuses a batch, all batches after it fail, too. Therefore a batch that the log would
refuse is found here, before it is sent, so that only the request that caused it is refused.

Records of one batch are encoded together and replayed without making rows, which takes less time
than row by row.
"""

import functools
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from controller.decisions.context.context import Context
from controller.decisions.levels import record_versions
from controller.results.decided import Decided
from controller.results.result import ControllerResult
from metadata_log.format.batch import EncodedRows
from metadata_log.format.block import encode_ahead
from metadata_log.limits import BATCH_SIZE_BYTES_MAX
from records.avro.codec import encoder_of, payload_size
from records.avro.plain_rows import Place, encode_records
from records.base import Record
from records.envelope import Asked, Origin
from records.errors import ContradictionError
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.image.rules import NEED_ROWS

# MessagePack names every field, so a batch is larger there than in the log; encoding takes a
# fifteenth of the time.
_SURELY_FITS_BYTES = BATCH_SIZE_BYTES_MAX // 2


def next_batch(context: Context, records: Sequence[Record]) -> Decided:
    """Return records as the next batch after a context's image."""
    return Decided(
        base_offset=context.next_offset,
        leader_epoch=context.image.provenance.leader_epoch,
        timestamp=context.now_ms,
        records=tuple(records),
        versions=record_versions(records, context.metadata_version),
        origin=context.origin,
    )


def next_batches(
    context: Context, result: ControllerResult[Any], leader_epoch: int
) -> list[Decided]:
    """Return all records of a decision as the next batches after a context's image.

    Args:
        leader_epoch: The epoch of the writer; the image may contain no record of this epoch yet.
    """
    if result.checked is not None:
        return [result.checked]
    batches = []
    for records, origin in result.batches(context.origin):
        batches.append(
            replace(next_batch(context, records), leader_epoch=leader_epoch, origin=origin)
        )
        context = replace(context, next_offset=batches[-1].end_offset)
    return batches


def ready(batch: Decided, asked: Asked | None) -> Decided:
    """Return a batch that the log will accept, with its records encoded.

    Args:
        asked: The decision's inputs, to be logged with the first record.

    Raises:
        RequestError: POLICY_VIOLATION, the batch is too large; or INVALID_RECORD, as from
            `encode_ahead`.
    """
    encoded = batch.encoded
    if encoded is None and len(batch.records) > 1:
        encoded = encode(batch)
    batch = replace(batch, asked=asked, encoded=encoded)
    measured = batch.records if encoded is None else batch.records[:1]
    size_bytes = len(msgspec.msgpack.encode((measured, batch.origin, asked)))
    if size_bytes + (0 if encoded is None else len(encoded.rows)) > _SURELY_FITS_BYTES:
        encode_ahead(batch.as_read.rows)
    return batch


def encode(batch: Decided, payloads: tuple[bytes, ...] = ()) -> EncodedRows:
    """Encode all records but the first, and check that the log will accept all of them.

    Args:
        payloads: The encoded records as `decode_records` returned them; may be empty.

    Raises:
        RequestError: as `encode_ahead`.
    """
    first, *others = batch.records
    try:
        rows = b""
        if others:
            rows = encode_records(
                others,
                batch.versions[1:],
                place=Place(
                    batch.base_offset + 1, batch.leader_epoch, batch.timestamp, batch.base_offset
                ),
                origin=batch.origin,
                payloads=payloads[1:],
            )
        size_bytes = len(payloads[0]) if payloads else payload_size(first)
        is_accepted = size_bytes + _origin_size(batch.origin) + len(rows) <= _SURELY_FITS_BYTES
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        is_accepted = False
    if not is_accepted:
        return encode_ahead(batch.as_read.rows, payloads)  # refuses it, or it fits just about
    return EncodedRows(
        base_offset=batch.base_offset,
        leader_epoch=batch.leader_epoch,
        timestamp=batch.timestamp,
        count=len(others),
        rows=rows,
    )


@functools.lru_cache(256)  # a caller's appends share one
def _origin_size(origin: Origin | None) -> int:
    return 0 if origin is None else len(encoder_of("origin")(origin))


def replayed(batch: Decided, image: MetadataImage) -> Decided:
    """Return a batch with the image after it, unless it has that or contradicts the image before.

    Args:
        image: As for `image_after`.
    """
    if batch.after is not None:
        return batch
    try:
        return replace(batch, after=image_after(image, batch))
    except ContradictionError:
        return batch  # found again when it is sent


def image_after(image: MetadataImage, batch: Decided) -> MetadataImage:
    """Return the image after a batch without markers of transactions.

    Args:
        image: The image before the batch, in no open transaction.

    Raises:
        ContradictionError: a record contradicts the state before it; the error names the record.
    """
    delta = MetadataDelta(image)
    if batch.types.isdisjoint(NEED_ROWS):
        delta.replay_records(batch.records, batch.base_offset, batch.timestamp, batch.origin)
    else:
        delta.replay_all(batch.as_read.rows)
    return delta.apply(
        Provenance(
            offset=batch.end_offset - 1,
            leader_epoch=batch.leader_epoch,
            timestamp=batch.timestamp,
        )
    )
