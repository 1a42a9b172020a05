"""Describes the events in the log of a Kafka directory, without importing it."""

import functools
from collections.abc import Iterator

from metadata_log.format.batch import Batch
from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.directory import KraftDirectory
from metadata_log.kraft.importer import UNKNOWN_CLUSTER_ID
from metadata_log.reader.position import Position
from replay.incidents.event import TimelineEvent
from replay.incidents.events import timeline_events
from replay.loader import load_image


class DirectoryLog:
    """A Kafka directory as a log that can be replayed: a `replay.loader.BatchSource`."""

    def __init__(
        self, directory: KraftDirectory, end_offset: int, *, base: KraftCheckpoint | None = None
    ) -> None:
        """Use the log up to `end_offset`; later bytes may be damaged.

        Args:
            base: The checkpoint to start from; None: the oldest one that the log continues.
        """
        self._directory = directory
        self.base: KraftCheckpoint | None = base or directory.base_checkpoint
        segments = directory.segments
        self.history_start: int = self.base.end_offset if self.base else 0
        self.start_offset: int = segments[0].base_offset if segments else self.history_start
        self.end_offset = end_offset

    def batches(
        self, from_offset: int | None = None, to_offset: int | None = None
    ) -> Iterator[Batch]:
        """Yield, as a whole, each batch that contains an offset in [from_offset, to_offset).

        Raises:
            CorruptLogError, UnavailableError: as `LogScan.batches`.
        """
        first = self.start_offset if from_offset is None else from_offset
        end = self.end_offset if to_offset is None else min(to_offset, self.end_offset)
        for batch in self._directory.batches():
            if max(batch.base_offset, first) >= end:
                return
            if batch.end_offset > first:
                yield Batch.of(batch.rows)
            if batch.end_offset >= end:
                return  # What follows may be damaged.

    def position(self, end_offset: int) -> Position:
        """Return the position at an end offset, without the CRC of its last batch.

        Raises:
            CorruptLogError, UnavailableError: as `batches`.
        """
        epoch = self.base.leader_epoch if self.base else 0
        for batch in self.batches(to_offset=end_offset):
            epoch = batch.leader_epoch
        return Position(
            cluster_id=self._directory.cluster_id or UNKNOWN_CLUSTER_ID,
            end_offset=end_offset,
            leader_epoch=epoch,
            last_crc32c=None,
        )


def directory_events(
    directory: KraftDirectory, from_offset: int, end_offset: int
) -> list[TimelineEvent]:
    """Return the timeline's events in [from_offset, end_offset) of a Kafka directory.

    Args:
        end_offset: At most the end of the intact part, as found by `index_directory`.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `timeline_events`.
        UnavailableError: Kafka removed a file meanwhile.
    """
    log = DirectoryLog(directory, end_offset)
    return timeline_events(log, from_offset, end_offset, functools.partial(load_image, log))
