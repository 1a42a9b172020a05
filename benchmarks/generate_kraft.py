"""Generate a Kafka metadata log of any size: `python -m benchmarks.generate_kraft DIR --records N`.

The same seed gives the same bytes. The log begins at offset 0, in segments of a given size; the
files `meta.properties` and `leader-epoch-checkpoint` are written as a Kafka node writes them.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cluster_history import history
from benchmarks.cluster_state import HistoryBatch
from metadata_log.kraft_format.batch_codec import encode_batch
from metadata_log.kraft_format.names import (
    LEADER_EPOCHS,
    META_PROPERTIES,
    PARTITION_DIRECTORY,
    segment_name,
)
from records.envelope import Envelope

CLUSTER_ID = "generated-cluster-0000"
# As Kafka's default.
_SEGMENT_SIZE_BYTES = 1024 * 1024 * 1024


def generate(
    directory: Path,
    records: int,
    *,
    seed: int = 0,
    segment_size_bytes: int = _SEGMENT_SIZE_BYTES,
) -> Path:
    """Write a log of exactly `records` records into a new node directory.

    Returns:
        The directory of the partition, `DIRECTORY/__cluster_metadata-0`.

    Raises:
        FileExistsError: the partition's directory exists already.
    """
    partition = directory / PARTITION_DIRECTORY
    partition.mkdir(parents=True)
    properties = f"#\nnode.id=3001\nversion=1\ncluster.id={CLUSTER_ID}\n"
    (directory / META_PROPERTIES).write_text(properties)
    epoch_starts: dict[int, int] = {}
    writer = _SegmentWriter(partition, segment_size_bytes)
    for rows in _rows(history(records, seed)):
        epoch_starts.setdefault(rows[0].leader_epoch, rows[0].offset)
        writer.append(rows[0].offset, encode_batch(rows))
    writer.close()
    lines = ["0", str(len(epoch_starts)), *[f"{e} {start}" for e, start in epoch_starts.items()]]
    (partition / LEADER_EPOCHS).write_text("\n".join(lines) + "\n")
    return partition


def _rows(batches: Iterator[HistoryBatch]) -> Iterator[list[Envelope]]:
    base_offset = 0
    for batch in batches:
        yield [
            Envelope(
                offset=base_offset + index,
                leader_epoch=batch.leader_epoch,
                timestamp=batch.timestamp,
                batch_offset=base_offset,
                record_version=version,
                payload=record,
            )
            for index, (record, version) in enumerate(
                zip(batch.records, batch.versions, strict=True)
            )
        ]
        base_offset += len(batch.records)


class _SegmentWriter:
    """Writes batches to segments; begins a new segment when the current one is full."""

    def __init__(self, partition: Path, segment_size_bytes: int) -> None:
        self._partition = partition
        self._segment_size_bytes = segment_size_bytes
        self._file = (partition / segment_name(0)).open("xb")

    def append(self, base_offset: int, batch: bytes) -> None:
        position = self._file.tell()
        if position and position + len(batch) > self._segment_size_bytes:
            self._file.close()
            self._file = (self._partition / segment_name(base_offset)).open("xb")
        self._file.write(batch)

    def close(self) -> None:
        self._file.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--segment-size-bytes", type=int, default=_SEGMENT_SIZE_BYTES)
    arguments = parser.parse_args()
    start = time.perf_counter()
    partition = generate(
        arguments.directory,
        arguments.records,
        seed=arguments.seed,
        segment_size_bytes=arguments.segment_size_bytes,
    )
    print(f"{partition}: {arguments.records} records in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
