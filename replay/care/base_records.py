"""Content of a base checkpoint: the image's records, then all records that were not understood.

Records of an unknown type or version, and records with unknown tags, are stored unchanged, in the
order of the log, for a later release. The known fields of a record with unknown tags are already in
the image. So such a record is stored encoded, as an unknown record, which replay counts but does
not apply.
"""

from collections.abc import Iterator

import msgspec

from metadata_log.format.checkpoint import CheckpointRecord
from records.control import UnknownRecord
from records.envelope import Envelope, Kept
from records.kafka import codec
from records.registry import schema
from replay.image.metadata import MetadataImage
from replay.image.provenance import has_unknown_tags
from replay.image.records import image_records, kept_of
from replay.loader import BatchSource, rows_below


def base_records(source: BatchSource, image: MetadataImage) -> Iterator[CheckpointRecord]:
    """Yield the records of a base checkpoint that preserves everything in an image.

    Args:
        source: The log of the image.
        image: Must not have a pending transaction.
    """
    for record, version in image_records(image):
        yield CheckpointRecord(record, version, kept=kept_of(image, record))
    if image.provenance.not_understood is not None:
        yield from _not_understood(source, image.provenance.next_offset)


def _not_understood(source: BatchSource, end_offset: int) -> Iterator[CheckpointRecord]:
    for rows in () if source.base is None else source.base.rows():
        yield from (_raw(row, row.kept) for row in rows if _counts(row))
    for row in rows_below(source, end_offset):
        if _counts(row):
            yield _raw(row, Kept(version=row.offset))


def _counts(row: Envelope) -> bool:
    return isinstance(row.payload, UnknownRecord) or has_unknown_tags(row)


def _raw(row: Envelope, kept: Kept | None) -> CheckpointRecord:
    if not has_unknown_tags(row) or row.extra is None:
        extra = row.extra and msgspec.structs.replace(row.extra, batch_header=None)
        return CheckpointRecord(row.payload, row.record_version, extra, kept)
    record, tags = row.payload, row.extra.unknown_tags
    kafka = schema(type(record).__name__)["kafka"]
    if "control_type" in kafka:
        key, value = codec.encode_control(record, tags)
        api_key, control_key = kafka["control_type"], key
    else:
        value = codec.encode_value(record, row.record_version, tags)
        api_key, control_key = kafka["api_key"], None
    unknown = UnknownRecord(
        api_key=api_key, record_version=row.record_version, value=value, control_key=control_key
    )
    return CheckpointRecord(unknown, row.record_version, None, kept)
