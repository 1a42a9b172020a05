"""A growing log that is not a mirror, in Kafka's form, read by offset.

Names in Kafka's form depend on all earlier records. So the log is read once from its start, and the
names are kept at some batches, from which later reads begin. New batches are read as they are
committed, and the latest few are kept encoded for observers that follow the log.

Only `stop` may be called while another thread is in a method of `ServedLog`.
"""

import os
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec

from metadata_log.files.names import segment_offsets
from metadata_log.format.batch import Batch
from metadata_log.reader.cursor import LogCursor
from metadata_log.reader.log_reader import LogReader
from records.errors import UnavailableError
from replay.kafka_form.base import FormBase, form_base
from replay.kafka_form.batches import FormBatch, encoded_batches
from replay.kafka_form.mapping import KafkaForm
from replay.kafka_form.names import Names

_ROWS_BETWEEN = 5_000
"""Rows between two batches at which names are kept; a read must pass up to this many rows first."""

_NEWEST_BYTES = 4 * 1024 * 1024
"""Total size of the newest batches, which are kept encoded."""


class Point(msgspec.Struct, frozen=True, gc=False):
    """An exclusive end offset, and the leader epoch of the record before it."""

    end_offset: int
    leader_epoch: int


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to an observer's fetch: batches, or the place from which to fetch instead.

    Attributes:
        batches: Whole batches, starting with the one that contains the requested offset; empty at
            the log's end.
        diverging: Where the observer must truncate its log: the end of the epoch in which the
            observer's log diverges from this log.
        snapshot: The base to load first, because this log starts after the requested offset.
    """

    batches: bytes = b""
    diverging: Point | None = None
    snapshot: Point | None = None


class _Kept(msgspec.Struct, frozen=True, gc=False):
    """The mapper to Kafka's form as it was before the batch at `offset`."""

    offset: int
    form: KafkaForm


class ServedLog:
    """Reads a growing log (not a mirror) in Kafka's form; the writer may be in another process.

    Attributes:
        base: The base that the log starts from; None if it starts at offset 0.
        start_offset: First offset that can be read.
        end_offset: Exclusive end of the batches read so far.
    """

    def __init__(self, directory: Path) -> None:
        """Open a log at its start.

        Raises:
            CorruptLogError: the base is damaged.
            UnavailableError: the log was removed.
        """
        self._directory = directory
        self._is_stopped = False
        self._open()

    def stop(self) -> None:
        """End a running `advance` with UnavailableError; may be called by any thread."""
        self._is_stopped = True

    def _open(self) -> None:
        with LogReader.open(self._directory) as reader:
            self.base = _base_of(reader)
            self.start_offset: int = reader.history_start
            self._starts = segment_offsets(os.listdir(self._directory))
        self.end_offset = self.start_offset
        self._cursor = LogCursor(self._directory, self.start_offset)
        self._form = KafkaForm(Names() if self.base is None else self.base.names)
        self._kept: list[_Kept] = []
        self._rows_since = _ROWS_BETWEEN
        # Each epoch, and the offset of its first record.
        self._epochs: list[tuple[int, int]] = []
        if self.base is not None:
            self._epochs.append((self.base.checkpoint.leader_epoch, self.start_offset))
        self._newest: deque[FormBatch] = deque()
        self._newest_bytes = 0

    def advance(self, *, keep_newest: bool) -> None:
        """Read all batches that were committed since the last call.

        Args:
            keep_newest: Keep these batches encoded, because observers will fetch them next.

        Raises:
            RequestError: OFFSET_OUT_OF_RANGE, the log was restored to an earlier end.
            CorruptLogError, UnavailableError: as `LogCursor.read`; or `stop` was called.
        """
        self._follow_start()
        while batches := self._cursor.read():
            if self._is_stopped:
                raise UnavailableError("the service is stopping; fetch from it again when it runs")
            for batch in batches:
                self._add(batch, keep_newest=keep_newest)

    def _follow_start(self) -> None:
        """Follow the log's start if `retain` has moved it to a later segment."""
        starts = segment_offsets(os.listdir(self._directory))
        if starts == self._starts:
            return
        has_moved = starts[0] != self._starts[0]
        self._starts = starts
        if has_moved:
            with LogReader.open(self._directory) as reader:
                self.base = _base_of(reader)
                self.start_offset = reader.history_start
            # A log is cut at the start of a segment, where the names were kept, unless it began
            # after the segments were listed.
            self._kept = [kept for kept in self._kept if kept.offset >= self.start_offset]
            if not self._kept or self._kept[0].offset > self.start_offset:
                self._open()

    def _add(self, batch: Batch, *, keep_newest: bool) -> None:
        self._keep(batch)
        if not self._epochs or batch.leader_epoch > self._epochs[-1][0]:
            self._epochs.append((batch.leader_epoch, batch.base_offset))
        mapped = self._form.mapped(batch.rows)
        if keep_newest:
            for made in encoded_batches(mapped):
                self._newest.append(made)
                self._newest_bytes += len(made.content)
            while self._newest_bytes > _NEWEST_BYTES and len(self._newest) > 1:
                self._newest_bytes -= len(self._newest.popleft().content)
        else:
            deque(mapped, maxlen=0)
        self.end_offset = batch.end_offset

    def _keep(self, batch: Batch) -> None:
        if self._rows_since >= _ROWS_BETWEEN or batch.base_offset in self._starts:
            self._kept.append(_Kept(batch.base_offset, self._form.copy()))
            self._rows_since = 0
        self._rows_since += len(batch.rows)

    def read(self, offset: int, last_epoch: int, end_offset: int, size_max: int) -> Reading:
        """Return the batches from an offset on if an observer's log agrees with this log.

        Args:
            last_epoch: Epoch of the observer's last record, 0 if it has none.
            end_offset: Exclusive end of the batches that may be sent.
            size_max: Maximum number of bytes; the first batch is returned even if it is larger.

        Raises:
            CorruptLogError: the log is damaged.
            UnavailableError: the log's start moves up.
            RequestError: a value does not fit Kafka's field.

        Source: `validateOffsetAndEpoch` of Kafka's RaftLog.
        """
        end = min(end_offset, self.end_offset)
        misplaced = self._misplaced(offset, last_epoch, end)
        if misplaced is not None:
            return misplaced
        return Reading(batches=b"".join(self._some(offset, end, size_max)))

    def _misplaced(self, offset: int, last_epoch: int, end: int) -> Reading | None:
        if offset == 0 and self.start_offset == 0:
            return None
        if self.base is not None:
            epoch = self.base.checkpoint.leader_epoch
            is_other_start = offset == self.start_offset and last_epoch != epoch
            if offset < self.start_offset or is_other_start or last_epoch < epoch:
                return Reading(snapshot=Point(self.start_offset, epoch))
        fitting = self._end_of(last_epoch, end)
        if fitting.leader_epoch != last_epoch or fitting.end_offset < offset:
            return Reading(diverging=fitting)
        return None

    def _end_of(self, leader_epoch: int, end: int) -> Point:
        """Return the end of an epoch, or of the greatest earlier epoch if the log lacks it."""
        number = bisect_right(self._epochs, leader_epoch, key=lambda each: each[0])
        following = self._epochs[number][1] if number < len(self._epochs) else end
        found = self._epochs[number - 1][0] if number else leader_epoch
        return Point(min(following, end), found)

    def _some(self, offset: int, end: int, size_max: int) -> Iterator[bytes]:
        size = 0
        for batch in self._batches(offset, end):
            size += len(batch.content)
            if batch.end_offset > end or (size > size_max and size > len(batch.content)):
                return
            yield batch.content

    def _batches(self, offset: int, end: int) -> Iterator[FormBatch]:
        """Yield the batches from the one that contains an offset on."""
        if offset >= end:
            return
        if self._newest and self._newest[0].base_offset <= offset:
            found = iter(self._newest)
        else:
            found = self._from_disk(offset, end)
        yield from (batch for batch in found if batch.end_offset > offset)

    def _from_disk(self, offset: int, end: int) -> Iterator[FormBatch]:
        number = bisect_right(self._kept, offset, key=lambda kept: kept.offset)
        kept = self._kept[number - 1]
        form = kept.form.copy()
        with LogReader.open(self._directory) as reader:
            for batch in reader.batches(kept.offset, end):
                mapped = form.mapped(batch.rows)
                if batch.end_offset <= offset:
                    deque(mapped, maxlen=0)
                else:
                    yield from encoded_batches(mapped)


def _base_of(reader: LogReader) -> FormBase | None:
    return None if reader.base is None else form_base(reader.base)
