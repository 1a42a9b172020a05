"""Kafka's metadata log directory: its segments and checkpoints, and the state from which they
start.

| files present | base |
|---|---|
| segments from offset 0 on | none, or the checkpoint `0-0` if it has data (KIP-1170) |
| segments from a later offset on | the oldest checkpoint that reaches the first of them |
| only checkpoints | the newest |

A checkpoint may end beyond the log, for one of two reasons: it was made while a running node was
being copied; or the leader sent it to a follower that lagged far behind and had not emptied its log
yet. Kafka would empty that log at its next start and lose the content of the segments. Here the
segments are read as long as there is a base for them. Such a checkpoint proves nothing about the
segments, because the tail of a follower's log may never have been committed. The segments are stale
only if no other checkpoint reaches the first of them; then only the checkpoint is read.

Source: KIP-595, KIP-630.
"""

import functools
import os
from collections.abc import Iterator
from pathlib import Path

from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.damage import corrupt, vanished
from metadata_log.kraft.epochs import EpochGuard
from metadata_log.kraft.file_scan import FileScan
from metadata_log.kraft.log_scan import KraftSegment, LogScan
from metadata_log.kraft.meta_properties import read_meta_properties
from metadata_log.kraft_format.batch import HEADER_SIZE, KraftBatch, LogPosition, PlacedHeader
from metadata_log.kraft_format.names import (
    META_PROPERTIES,
    PARTITION_DIRECTORY,
    checkpoint_id,
    segment_base_offset,
)
from records.errors import RequestError


def open_directory(path: Path) -> "KraftDirectory":
    """Open a metadata log directory, or the metadata log directory inside a node's directory.

    Nothing is locked or written, so the node may be running.

    Raises:
        RequestError: there is no metadata log; names the folder and the files that were looked for.
    """
    log = find_log(path)
    if log is None:
        raise no_log(path)
    return log


def find_log(path: Path) -> "KraftDirectory | None":
    """Open the metadata log in a folder, or in the partition's folder inside it; return None if
    there is none.
    """
    for partition in (path, path / PARTITION_DIRECTORY):
        names = os.listdir(partition) if partition.is_dir() else []
        if any(segment_base_offset(n) is not None or checkpoint_id(n) is not None for n in names):
            return KraftDirectory(partition, names)
    return None


def no_log(path: Path) -> RequestError:
    """Return the error for a folder without a metadata log."""
    return RequestError(
        "LOG_NOT_FOUND",
        f"{path} holds no Kafka metadata log: neither in it nor in {PARTITION_DIRECTORY} below it "
        "is a segment (20 digits and .log) or a checkpoint; name the folder of metadata.log.dir "
        "or the first of log.dirs",
    )


class KraftDirectory:
    """The files of a metadata log, as listed when it was opened.

    Attributes:
        path: The partition's directory.
        all_segments: All segments by base offset, including stale ones, which `segments` excludes.
        checkpoints: All checkpoints, ascending by end offset.
        trailing_bytes: Size of an incomplete last batch; set once `batches` has reached the end.
    """

    def __init__(self, path: Path, names: list[str]) -> None:
        self.path = path
        self.all_segments = tuple(
            KraftSegment(path / name, base_offset)
            for name in sorted(names)
            if (base_offset := segment_base_offset(name)) is not None
        )
        self.checkpoints = tuple(
            KraftCheckpoint(path / name)
            for name in sorted(names)
            if checkpoint_id(name) is not None
        )
        self.trailing_bytes = 0

    @functools.cached_property
    def cluster_id(self) -> str | None:
        """The cluster's id from `meta.properties` beside the directory; None without that file."""
        return read_meta_properties(self.path.absolute().parent / META_PROPERTIES).cluster_id

    @functools.cached_property
    def base_checkpoint(self) -> KraftCheckpoint | None:
        """The checkpoint that the segments continue from; None if they start from an empty state.

        Raises:
            CorruptLogError: the beginning of the log was removed and no checkpoint replaces it.
        """
        if not self.all_segments:
            return _with_state(self.checkpoints[-1])
        start = self.all_segments[0].base_offset
        reaching = [c for c in self.checkpoints if c.end_offset >= start]
        if start == 0:
            at_start = [c for c in reaching if c.end_offset == 0]
            return _with_state(at_start[0]) if at_start else None
        if not reaching:
            raise corrupt(
                self.all_segments[0].path,
                0,
                f"the log starts at offset {start}, but no checkpoint ends there or later: records "
                "below that offset are lost, and Kafka cannot load this directory either",
            )
        return reaching[0]

    @functools.cached_property
    def segments(self) -> tuple[KraftSegment, ...]:
        """The log's segments; empty if they are stale."""
        base = self.base_checkpoint
        is_reached = base is None or self._reaches(base.end_offset)
        return self.all_segments if is_reached else ()

    @property
    def start_offset(self) -> int:
        """First offset that can be read; if there are no segments to read, the end of the base."""
        if self.segments:
            return self.segments[0].base_offset
        base = self.base_checkpoint
        return 0 if base is None else base.end_offset

    @functools.cached_property
    def committed_end_offset(self) -> int:
        """End of the part that is known to be committed, exclusive.

        It is the end of the newest checkpoint that the log reaches or starts from; 0 if there is no
        such checkpoint.

        Raises:
            CorruptLogError: that checkpoint is damaged or incomplete, and proves nothing.
            UnavailableError: that checkpoint was removed.
        """
        for checkpoint in reversed(self.checkpoints):
            if checkpoint is self.base_checkpoint or self._reaches(checkpoint.end_offset):
                checkpoint.verify()
                return checkpoint.end_offset
        return 0

    def _reaches(self, end_offset: int) -> bool:
        """True if the log has all offsets from its start to `end_offset`."""
        if not self.all_segments:
            return False
        return end_offset <= self.all_segments[-1].base_offset or end_offset <= self._end_offset

    @functools.cached_property
    def _end_offset(self) -> int:
        last = self.all_segments[-1]
        scan = FileScan(last.path, next_offset=last.base_offset)
        for _ in scan.batches(may_be_cut=True):
            pass
        return scan.next_offset

    def batches(self) -> Iterator[KraftBatch]:
        """Yield all batches of the log in order, control batches included.

        Raises:
            CorruptLogError, UnavailableError: as `LogScan.batches`.
        """
        scan = self.scan()
        yield from scan.batches()
        self.trailing_bytes = scan.trailing_bytes
        if scan.end_offset is not None:
            self._end_offset = scan.end_offset

    def state(self) -> tuple[object, ...]:
        """Return a value that is different whenever Kafka has changed the log.

        It consists of the file names, and the inode, size and time of the last segment.

        Raises:
            UnavailableError: a file was removed.
        """
        names = [segment.path.name for segment in self.all_segments]
        names += [checkpoint.path.name for checkpoint in self.checkpoints]
        if not self.all_segments:
            return (*names,)
        try:
            last = self.all_segments[-1].path.stat()
        except FileNotFoundError:
            raise vanished(self.all_segments[-1].path) from None
        return (*names, last.st_ino, last.st_size, last.st_mtime_ns)

    def headers(self, offset: int) -> Iterator[PlacedHeader]:
        """Yield the headers of all batches, from the start of the segment that contains an offset.

        Raises:
            CorruptLogError: a batch is damaged.
            UnavailableError: a file was removed.
        """
        after = [i for i, segment in enumerate(self.segments) if segment.base_offset > offset]
        first = max((after[0] if after else len(self.segments)) - 1, 0)
        for segment in self.segments[first:]:
            scan = FileScan(segment.path, next_offset=segment.base_offset)
            for header, data in scan.batches(may_be_cut=segment == self.segments[-1]):
                position = LogPosition(segment.base_offset, scan.position, data[:HEADER_SIZE])
                yield PlacedHeader(position, header)

    def scan(self, start: LogPosition | None = None) -> LogScan:
        """Return a reader of the log's batches.

        Args:
            start: Begin after this batch, which was read earlier; None means the start of the log.
        """
        ids = [(c.end_offset, c.leader_epoch) for c in self.checkpoints]
        epochs = EpochGuard(self.path, ids)
        return LogScan(self.segments if start is None else self.all_segments, epochs, start)


def _with_state(checkpoint: KraftCheckpoint) -> KraftCheckpoint | None:
    """Return the checkpoint, or None if it is the one at offset 0 and has no data.

    Kafka's `format` writes the checkpoint at offset 0: with the voters and kraft.version, from 4.2
    on also with the records that bootstrap the metadata (KIP-1170).
    """
    is_start = checkpoint.end_offset > 0 or checkpoint.has_state()
    return checkpoint if is_start else None
