"""A real log to which built records are appended, for cases that no available real log contains."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from metadata_log.kraft_format.batch_codec import encode_batch
from metadata_log.kraft_format.names import PARTITION_DIRECTORY, segment_name
from records.base import Record
from records.envelope import Envelope
from records.registry import newest_version
from tests.metadata_log.kraft.logs import rows
from tests.real_logs import DataSet


def grown(
    data_set: DataSet,
    target: Path,
    batches: Sequence[tuple[int, Sequence[Record]]],
    *,
    leader_epoch: int = 1,
) -> Path:
    """Copy a node's log of one segment to a folder below `target`, append batches, and return the
    folder.

    Args:
        batches: For each batch, the seconds since the last real record, and its records.
        leader_epoch: Leader epoch of the batches.
    """
    directory = data_set.materialise(target)
    (segment,) = data_set.segments
    *_, last = segment.oracle()
    offset = last["offset"] + 1
    with (directory / PARTITION_DIRECTORY / segment_name(0)).open("ab") as file:
        for seconds, records in batches:
            timestamp = last["timestamp"] + 1000 * seconds
            file.write(encode_batch(_rows(offset, leader_epoch, timestamp, records)))
            offset += len(records)
    return directory


def _rows(
    offset: int, leader_epoch: int, timestamp: int, records: Sequence[Record]
) -> list[Envelope]:
    built = rows(offset, leader_epoch, *records, timestamp=timestamp)
    return [
        msgspec.structs.replace(row, record_version=newest_version(type(row.payload)))
        for row in built
    ]
