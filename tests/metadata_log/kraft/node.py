"""A simulated Kafka node: it appends, rolls, makes checkpoints, cleans, and truncates its log."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

from metadata_log.kraft_format.names import META_PROPERTIES, segment_name
from records.base import Record
from records.control import NoOpRecord, NoOpRunRecord
from records.envelope import Envelope
from tests.metadata_log.kraft.logs import (
    LogFiles,
    batch,
    checkpoint,
    leader_change,
    partition_change,
    rows,
    topic,
)


class Node:
    """The log files of a node, and all batches that they ever contained.

    Attributes:
        batches: The whole log from offset 0, including cleaned segments.
        committed_end: End offset below which the log is never truncated.
        start: Base offset of the first segment.
    """

    def __init__(
        self,
        directory: Path,
        cluster_id: str = "living-cluster",
        *,
        voters: int = 3,
        first: Sequence[Record] = (),
    ) -> None:
        """Begin a log with a leader change, and the records `first` in the same batch."""
        self._voters = voters
        self._files = LogFiles(directory)
        (directory / META_PROPERTIES).write_text(f"version=1\ncluster.id={cluster_id}\n")
        self.partition = self._files.partition
        self.directory = directory
        self.batches: list[list[Envelope]] = []
        self.epoch = 0
        self.committed_end = 0
        self._segments = [0]
        self.elect(first=first)

    @property
    def end_offset(self) -> int:
        return self.batches[-1][-1].offset + 1 if self.batches else 0

    @property
    def start(self) -> int:
        return self._segments[0]

    @property
    def rows(self) -> list[Envelope]:
        """All rows from offset 0 on."""
        return [row for each in self.batches for row in each]

    def elect(self, epochs: int = 1, *, first: Sequence[Record] = ()) -> None:
        """Begin a higher epoch."""
        self.epoch += epochs
        self.append(leader_change(self.epoch % self._voters, self._voters), *first)

    def append(self, *records: Record) -> None:
        """Write one batch."""
        end = self.end_offset
        self.batches.append(rows(end, self.epoch, *records))
        with (self.partition / segment_name(self._segments[-1])).open("ab") as file:
            file.write(batch(end, self.epoch, *records))

    def roll(self) -> None:
        """Begin a new segment."""
        if self.end_offset > self._segments[-1]:
            self._segments.append(self.end_offset)
            (self.partition / segment_name(self.end_offset)).touch()

    def make_checkpoint(self, end_offset: int | None = None) -> None:
        """Write a checkpoint at the end of a batch: everything below is committed."""
        end = self.end_offset if end_offset is None else end_offset
        before = [each for each in self.batches if each[0].offset < end]
        if before and end > self.committed_end:
            self.committed_end = end
            epoch = before[-1][0].leader_epoch
            self._files.checkpoint(end, epoch, checkpoint(epoch, topic()))

    def clean(self) -> None:
        """Remove the segments below the newest checkpoint, and older checkpoints."""
        while len(self._segments) > 1 and self._segments[1] <= self.committed_end:
            (self.partition / segment_name(self._segments.pop(0))).unlink()
        newest = max(self.partition.glob("*.checkpoint"), default=None)
        for path in self.partition.glob("*.checkpoint"):
            if path != newest:
                path.unlink()

    def truncate_to(self, end_offset: int) -> None:
        """Truncate the log to an end offset of a batch, then begin a new epoch."""
        assert end_offset >= self.committed_end
        self.batches = [each for each in self.batches if each[0].offset < end_offset]
        while len(self._segments) > 1 and self._segments[-1] >= end_offset:
            (self.partition / segment_name(self._segments.pop())).unlink()
        start = self._segments[-1]
        kept = [each for each in self.batches if each[0].offset >= start]
        os.truncate(self.partition / segment_name(start), len(_encoded(kept)))

    @contextmanager
    def without_tail(self, random: Random) -> Iterator[int | None]:
        """Lose uncommitted batches of the last segment, and fetch them again when the body ends.

        Yields the end offset of the log in between; None if there is nothing to lose.
        """
        path = self.partition / segment_name(self._segments[-1])
        held = [each for each in self.batches if each[0].offset >= self._segments[-1]]
        counts = [n for n in range(1, len(held)) if held[n][0].offset >= self.committed_end]
        if not counts:
            yield None
            return
        data, kept = path.read_bytes(), held[: random.choice(counts)]
        os.truncate(path, len(_encoded(kept)))
        yield kept[-1][-1].offset + 1
        path.write_bytes(data)

    def live(self, random: Random, *, may_clean: bool = True) -> None:
        """Do one random operation of a node."""
        match random.randrange(12):
            case 0:
                self.roll()
            case 1:
                ends = [each[-1].offset + 1 for each in self.batches[-20:]]
                self.make_checkpoint(random.choice(ends))
            case 2 if may_clean:
                self.clean()
            case 3:
                ends = [each[-1].offset + 1 for each in self.batches]
                ends = [end for end in ends if end >= max(self.committed_end, self.start + 1)]
                if ends:
                    self.truncate_to(random.choice(ends[-10:]))
                    self.elect(random.randint(1, 3))
            case 4:
                self.elect()
            case 5 | 6 | 7:
                for _ in range(random.randint(1, 8)):
                    self.append(NoOpRecord())
            case _:
                changes = [partition_change(n) for n in range(random.randint(1, 5))]
                self.append(*changes)


def _encoded(batches: Sequence[Sequence[Envelope]]) -> bytes:
    """Return the bytes of batches as in a segment."""
    return b"".join(
        batch(each[0].offset, each[0].leader_epoch, *[row.payload for row in each])
        for each in batches
    )


def without_runs(found: Sequence[Envelope]) -> list[Envelope | tuple[str, int]]:
    """Return the rows; adjacent NoOps are replaced by the offset at which they end.

    How a run of NoOps is split depends on when it was read.
    """
    joined: list[Envelope | tuple[str, int]] = []
    for row in found:
        if isinstance(row.payload, NoOpRecord | NoOpRunRecord):
            count = row.payload.count if isinstance(row.payload, NoOpRunRecord) else 1
            if joined and isinstance(joined[-1], tuple):
                joined.pop()
            joined.append(("NoOps below", row.offset + count))
        else:
            joined.append(row)
    return joined
