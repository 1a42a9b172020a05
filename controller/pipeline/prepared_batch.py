"""Encodes and replays a decided batch from its records, before it is written.

Records of one batch are encoded together, and replayed without rows, in less time than rows of any
kind.
"""

import functools

from controller.pipeline.batch_check import SURELY_FITS_BYTES
from controller.results.decided_batch import DecidedBatch
from metadata_log.format.batch import EncodedRows
from metadata_log.format.block import encode_ahead
from records.avro.codec import encoder_of, payload_size
from records.avro.plain_rows import Place, encode_records
from records.envelope import Origin
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.image.rules import NEED_ROWS


def encode(batch: DecidedBatch, payloads: tuple[bytes, ...] = ()) -> EncodedRows:
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
        is_accepted = size_bytes + _origin_size(batch.origin) + len(rows) <= SURELY_FITS_BYTES
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


def image_after(image: MetadataImage, batch: DecidedBatch) -> MetadataImage:
    """Return the image after a batch without markers of transactions.

    Args:
        image: The image before the batch, in no open transaction.

    Raises:
        ContradictionError: a record contradicts the state before it; names the record.
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
