"""Writes batches as segments that Spark can read."""

import io
from collections.abc import Sequence
from pathlib import Path

import backports.zstd
import fastavro

from metadata_log.files.names import checkpoint_name, segment_name
from metadata_log.format.batch import Batch
from records.avro.codec import encode_rows
from records.avro.schema import envelope_schema
from records.base import Record
from records.control import SnapshotFooterRecord, SnapshotHeaderRecord
from records.envelope import Envelope
from records.varint import LONGS
from replay.audit.log_files import LogFiles

_SYNC_MARKER = bytes(range(16))


def write_log(folder: Path, batches: Sequence[Batch], *, batches_a_segment: int = 100) -> LogFiles:
    """Write batches as sealed segments; return the files as a log."""
    segments = []
    for first in range(0, len(batches), batches_a_segment):
        part = batches[first : first + batches_a_segment]
        path = folder / segment_name(part[0].base_offset)
        write_blocks(path, [batch.rows for batch in part])
        segments.append(path)
    return LogFiles(
        segments=tuple(segments),
        history_start=batches[0].base_offset,
        end_offset=batches[-1].end_offset,
    )


def write_base(folder: Path, end_offset: int, records: Sequence[Record]) -> Path:
    """Write a base checkpoint with the records of a state."""
    path = folder / checkpoint_name(end_offset, 1)
    framed = [
        SnapshotHeaderRecord(version=0, last_contained_log_timestamp=1_000),
        *records,
        SnapshotFooterRecord(version=0),
    ]
    rows = [
        Envelope(
            offset=offset,
            leader_epoch=1,
            timestamp=1_000,
            batch_offset=0,
            record_version=0,
            payload=record,
        )
        for offset, record in enumerate(framed)
    ]
    write_blocks(path, [rows])
    return path


def write_blocks(path: Path, blocks: Sequence[Sequence[Envelope]]) -> None:
    """Write an Avro Object Container File with one block per batch."""
    header = io.BytesIO()
    fastavro.writer(header, envelope_schema(), [], codec="zstandard", sync_marker=_SYNC_MARKER)
    with path.open("xb") as file:
        file.write(header.getvalue())
        for rows in blocks:
            data = backports.zstd.compress(encode_rows(rows), 1)
            file.write(LONGS[len(rows)] + LONGS[len(data)] + data + _SYNC_MARKER)
