"""Kafka's metadata log directory, read as it is: segments, checkpoints, and where to start.

The state to start from is chosen as Kafka does:

| what is there | base |
|---|---|
| segments from offset 0 on | none, or the checkpoint `0-0` if it holds data (KIP-1170) |
| segments from a later offset on | the oldest checkpoint that reaches the first of them |
| a checkpoint that ends beyond the log | that checkpoint; the segments are stale |
| checkpoints alone | the newest |

The third is a follower that lagged so far behind that its leader sent it a checkpoint, and that
stopped before it emptied its log. Kafka empties it at the next start: the records between the end
of the log and the end of the checkpoint are nowhere in the directory.

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
from records.errors import CorruptLogError


def open_directory(path: Path) -> "KraftDirectory":
    """Open a metadata log directory, or that in a node's directory.

    Nothing is locked and nothing is written: the node may be running.

    Raises:
        CorruptLogError: there is no metadata log; names the folder and what was looked for.
    """
    for partition in (path, path / PARTITION_DIRECTORY):
        names = os.listdir(partition) if partition.is_dir() else []
        if any(segment_base_offset(n) is not None or checkpoint_id(n) is not None for n in names):
            return KraftDirectory(partition, names)
    raise CorruptLogError(
        f"{path} holds no Kafka metadata log: neither in it nor in {PARTITION_DIRECTORY} below it "
        "is a segment (20 digits and .log) or a checkpoint; name the folder of metadata.log.dir "
        "or the first of log.dirs"
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
            text = (self.path.parent / META_PROPERTIES).read_text("utf-8")
        except FileNotFoundError:
            return None
        pairs = dict(line.partition("=")[::2] for line in text.splitlines())
        cluster_id = pairs.get("cluster.id")
        # Java's property files escape some characters, of which '=' may be in an id.
        return None if cluster_id is None else cluster_id.strip().replace("\\", "")

    @functools.cached_property
    def committed_end_offset(self) -> int:
        """End of what is known to be committed: the newest checkpoint's, else 0; exclusive.

        Raises:
            CorruptLogError: the newest checkpoint is damaged or incomplete, and proves nothing.
            UnavailableError: it is gone.
        """
        if not self.checkpoints:
            return 0
        self.checkpoints[-1].verify()
        return self.checkpoints[-1].end_offset

    @functools.cached_property
    def segments(self) -> tuple[KraftSegment, ...]:
        """The log's segments; none when they are stale."""
        return () if self._is_stale else self.all_segments

    @functools.cached_property
    def base_checkpoint(self) -> KraftCheckpoint | None:
        """The state that the segments go on from; None when they start from nothing.

        Raises:
            CorruptLogError: the log's head is gone and no checkpoint stands for it.
        """
        if not self.segments:
            reaching = self.checkpoints[-1:]
        else:
            start = self.segments[0].base_offset
            reaching = tuple(c for c in self.checkpoints if c.end_offset >= start)
            if start == 0:
                reaching = tuple(c for c in reaching if c.end_offset == 0)
            elif not reaching:
                raise corrupt(
                    self.segments[0].path,
                    0,
                    f"the log starts at offset {start} and no checkpoint reaches that far: what "
                    "was before it is lost, and Kafka does not start from it either",
                )
        if not reaching or (reaching[0].end_offset == 0 and not reaching[0].has_data()):
            return None
        return reaching[0]

    @functools.cached_property
    def _is_stale(self) -> bool:
        if not self.all_segments or not self.checkpoints:
            return False
        last, committed_end = self.all_segments[-1], self.checkpoints[-1].end_offset
        if committed_end <= last.base_offset:
            return False
        scan = FileScan(last.path, next_offset=last.base_offset)
        return all(header.end_offset < committed_end for header, _ in scan.batches(may_be_cut=True))

    def batches(self) -> Iterator[KraftBatch]:
        """Yield all batches of the log in order, control batches included.

        Raises:
            CorruptLogError, UnavailableError: as `LogScan.batches`.
        """
        scan = self.scan()
        yield from scan.batches()
        self.trailing_bytes = scan.trailing_bytes

    def scan(self, start: LogPosition | None = None) -> LogScan:
        """Return a reader of the log, from its start or behind a batch that was read before."""
        ids = [(c.end_offset, c.leader_epoch) for c in self.checkpoints]
        epochs = EpochGuard(self.path, ids)
        return LogScan(self.segments if start is None else self.all_segments, epochs, start)
