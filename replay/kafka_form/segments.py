"""Exports a log that is not a mirror as Kafka's segment files.

Each file begins at the offset at which a segment of the log begins.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from metadata_log.kraft.checkpoint_writer import write_checkpoint
from metadata_log.kraft.new_directory import new_directory
from metadata_log.kraft.segment_export import SegmentsExport, write_leader_epochs
from metadata_log.kraft.synced_file import write_synced
from metadata_log.kraft_format.names import checkpoint_name, segment_name
from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError
from replay.kafka_form.base import FormBase, VersionOf, form_base
from replay.kafka_form.batches import encoded_batches
from replay.kafka_form.mapping import KafkaForm
from replay.kafka_form.names import Names


def export_own_segments(
    reader: LogReader,
    target: Path,
    end_offset: int,
    version_of: VersionOf,
    *,
    progress: Callable[[int], None],
) -> SegmentsExport:
    """Write a log that is not a mirror, up to `end_offset` (exclusive), as a new node directory.

    If the log has a base, it is written too, as a checkpoint in Kafka's form.

    Args:
        progress: Called with the end offset of each batch.

    Raises:
        RequestError: `end_offset` is inside a batch; `target` exists; or a value does not fit
            Kafka's field.
        CorruptLogError: the log is damaged.
    """
    base = None if reader.base is None else form_base(reader.base)
    with new_directory(target, reader.cluster_id) as partition:
        if base is not None:
            write_form_checkpoint(base, partition / _checkpoint_name(base), version_of)
        writer = _Segments(reader, base, end_offset, progress)
        writer.write(partition)
        write_leader_epochs(partition, writer.epoch_starts)
        files = sorted(path.name for path in partition.iterdir())
    return SegmentsExport(
        files=files,
        start_offset=reader.history_start,
        end_offset=end_offset,
        bytes=writer.bytes_written,
    )


def write_form_checkpoint(base: FormBase, path: Path, version_of: VersionOf) -> None:
    """Write a base as a checkpoint file in Kafka's form, and sync the file.

    The same base gives the same bytes.
    """
    write_checkpoint(
        path,
        base.records(version_of),
        leader_epoch=base.checkpoint.leader_epoch,
        timestamp=base.checkpoint.timestamp,
        control=base.control,
    )


def _checkpoint_name(base: FormBase) -> str:
    return checkpoint_name(base.checkpoint.end_offset, base.checkpoint.leader_epoch)


class _Segments:
    def __init__(
        self,
        reader: LogReader,
        base: FormBase | None,
        end_offset: int,
        progress: Callable[[int], None],
    ) -> None:
        self.epoch_starts: dict[int, int] = {}
        self.bytes_written = 0
        self._reader = reader
        self._form = KafkaForm(Names() if base is None else base.names)
        self._end_offset = end_offset
        self._progress = progress

    def write(self, partition: Path) -> None:
        """Write the segments, each synced."""
        start, end = self._reader.history_start, self._end_offset
        bases = [self._reader.header(path).base_offset for path in self._reader.segment_paths]
        starts = [start, *(base for base in bases if start < base < end)]
        for first, last in zip(starts, [*starts[1:], end], strict=True):
            write_synced(partition / segment_name(first), self._batches(first, last))

    def _batches(self, first: int, end: int) -> Iterator[bytes]:
        for batch in self._reader.batches(first, end):
            if batch.end_offset > self._end_offset:
                raise RequestError(
                    "INVALID_REQUEST",
                    f"offset {self._end_offset - 1} is inside the batch of offsets "
                    f"{batch.base_offset} to {batch.end_offset - 1}; take "
                    f"{batch.base_offset - 1} or {batch.end_offset - 1}",
                )
            for made in encoded_batches(self._form.mapped(batch.rows)):
                self.epoch_starts.setdefault(made.leader_epoch, made.base_offset)
                self.bytes_written += len(made.content)
                yield made.content
            self._progress(batch.end_offset)
