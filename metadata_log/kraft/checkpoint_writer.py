"""Writing a checkpoint as Kafka does: header, data records, footer.

Source: KIP-630; KIP-853 (KRaftVersionRecord and VotersRecord after the header).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from metadata_log.kraft.synced_file import write_synced
from metadata_log.kraft_format.batch_codec import encode_batch
from records.base import Record
from records.control import SnapshotFooterRecord, SnapshotHeaderRecord
from records.envelope import Envelope

# Kafka's number of records per append of a checkpoint.
_RECORDS_PER_BATCH = 1_024


def write_checkpoint(
    path: Path,
    records: Iterable[tuple[Record, int]],
    *,
    leader_epoch: int,
    timestamp: int,
    control: Sequence[Record] = (),
) -> None:
    """Write a complete checkpoint and sync it.

    Args:
        path: Its name contains the end offset and epoch; the file must not exist.
        records: Data records with their layout versions.
        leader_epoch: Epoch of the last offset contained.
        timestamp: Append time of the last record contained, ms since 1970.
        control: Records that go into the header's batch.

    Raises:
        RequestError: Kafka cannot express a record; the file is incomplete then.
    """
    write_synced(path, _batches(records, leader_epoch, timestamp, control))


def _batches(
    records: Iterable[tuple[Record, int]],
    leader_epoch: int,
    timestamp: int,
    control: Sequence[Record],
) -> Iterator[bytes]:
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=timestamp)
    footer = SnapshotFooterRecord(version=0)
    offset = 0
    for group in _groups((header, *control), records, footer):
        rows = [
            Envelope(
                offset=offset + index,
                leader_epoch=leader_epoch,
                timestamp=timestamp,
                batch_offset=offset,
                record_version=version,
                payload=record,
            )
            for index, (record, version) in enumerate(group)
        ]
        offset += len(rows)
        yield encode_batch(rows)


def _groups(
    start: Sequence[Record], records: Iterable[tuple[Record, int]], footer: Record
) -> Iterator[list[tuple[Record, int]]]:
    """Yield the records of each batch, with their versions."""
    yield [(record, 0) for record in start]
    remaining = iter(records)
    while group := list(islice(remaining, _RECORDS_PER_BATCH)):
        yield group
    yield [(footer, 0)]
