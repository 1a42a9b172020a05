"""Kafka's metadata log directory, read as it is: segments, checkpoints, and where to start.

The state to start from:

| what is there | base |
|---|---|
| segments from offset 0 on | none, or the checkpoint `0-0` if it holds data (KIP-1170) |
| segments from a later offset on | the oldest checkpoint that reaches the first of them |
| checkpoints alone | the newest |

A checkpoint may end beyond the log: a copy of a running node can hold one that was made while the
log was being copied, and a follower that lagged far behind is sent one before it empties its log.
Kafka would empty it at the next start and lose what the segments tell. Here they are read as long
as there is a start for them; such a checkpoint then proves nothing about them, because the tail of
a follower's log may never have been committed. Only when no other checkpoint reaches the first
segment are the segments stale, and that checkpoint all there is.

Source: KIP-595, KIP-630.
"""

import functools
import os
from collections.abc import Iterator
from pathlib import Path

from metadata_log.kraft.batch import KraftBatch
from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.damage import corrupt
from metadata_log.kraft.epochs import EpochGuard
from metadata_log.kraft.file_scan import FileScan
from metadata_log.kraft.log_position import LogPosition
from metadata_log.kraft.log_scan import KraftSegment, LogScan
from metadata_log.kraft.names import (
    META_PROPERTIES,
    PARTITION_DIRECTORY,
    checkpoint_id,
    segment_base_offset,
)
from records.errors import RequestError

# It has a few lines; whatever comes later in a larger file is not Kafka's.
_META_PROPERTIES_BYTES_MAX = 64 * 1024


def open_directory(path: Path) -> "KraftDirectory":
    """Open a metadata log directory, or that in a node's directory.

    Nothing is locked and nothing is written: the node may be running.

    Raises:
        RequestError: there is no metadata log; names the folder and what was looked for.
    """
    for partition in (path, path / PARTITION_DIRECTORY):
        names = os.listdir(partition) if partition.is_dir() else []
        if any(segment_base_offset(n) is not None or checkpoint_id(n) is not None for n in names):
            return KraftDirectory(partition, names)
    raise RequestError(
        "LOG_NOT_FOUND",
        f"{path} holds no Kafka metadata log: neither in it nor in {PARTITION_DIRECTORY} below it "
        "is a segment (20 digits and .log) or a checkpoint; name the folder of metadata.log.dir "
        "or the first of log.dirs",
    )


class KraftDirectory:
    """The files of a metadata log, as listed when it was opened.

    Attributes:
        path: The partition's directory.
        all_segments: By base offset; `segments` are those of the log, without stale ones.
        checkpoints: By end offset.
        trailing_bytes: Of an incomplete last batch, once `batches` has come to the end.
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
        """The cluster's id from `meta.properties` beside the directory; None when it is absent."""
        try:
            # Java's encoding of property files; every byte is a character in it.
            with (self.path.absolute().parent / META_PROPERTIES).open("rb") as file:
                text = file.read(_META_PROPERTIES_BYTES_MAX).decode("latin-1")
        except FileNotFoundError:
            return None
        pairs = dict(line.partition("=")[::2] for line in text.splitlines())
        cluster_id = pairs.get("cluster.id")
        # Java's property files escape some characters, of which '=' may be in an id.
        return None if cluster_id is None else cluster_id.strip().replace("\\", "")

    @functools.cached_property
    def base_checkpoint(self) -> KraftCheckpoint | None:
        """The state that the segments go on from; None when they start from nothing.

        Raises:
            CorruptLogError: the log's head is gone and no checkpoint stands for it.
        """
        if not self.all_segments:
            return _with_data(self.checkpoints[-1])
        start = self.all_segments[0].base_offset
        reaching = [c for c in self.checkpoints if c.end_offset >= start]
        if start == 0:
            at_start = [c for c in reaching if c.end_offset == 0]
            return _with_data(at_start[0]) if at_start else None
        if not reaching:
            raise corrupt(
                self.all_segments[0].path,
                0,
                f"the log starts at offset {start} and no checkpoint reaches that far: what was "
                "before it is lost, and Kafka does not start from it either",
            )
        return reaching[0]

    @functools.cached_property
    def segments(self) -> tuple[KraftSegment, ...]:
        """The log's segments; none when they are stale."""
        base = self.base_checkpoint
        is_reached = base is None or self._reaches(base.end_offset)
        return self.all_segments if is_reached else ()

    @functools.cached_property
    def committed_end_offset(self) -> int:
        """End of what is known to be committed, exclusive.

        It is that of the newest checkpoint that the log reaches, or that the log starts from;
        0 when there is none.

        Raises:
            CorruptLogError: that checkpoint is damaged or incomplete, and proves nothing.
            UnavailableError: it is gone.
        """
        for checkpoint in reversed(self.checkpoints):
            if checkpoint is self.base_checkpoint or self._reaches(checkpoint.end_offset):
                checkpoint.verify()
                return checkpoint.end_offset
        return 0

    def _reaches(self, end_offset: int) -> bool:
        """Say whether the log has all offsets from its start to an end."""
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

    def scan(self, start: LogPosition | None = None) -> LogScan:
        """Return a reader of the log, from its start or behind a batch that was read before."""
        ids = [(c.end_offset, c.leader_epoch) for c in self.checkpoints]
        epochs = EpochGuard(self.path, ids)
        return LogScan(self.segments if start is None else self.all_segments, epochs, start)


def _with_data(checkpoint: KraftCheckpoint) -> KraftCheckpoint | None:
    """Return a checkpoint, but None for the one that Kafka's `format` writes to hold voters."""
    is_start = checkpoint.end_offset > 0 or checkpoint.has_data()
    return checkpoint if is_start else None
