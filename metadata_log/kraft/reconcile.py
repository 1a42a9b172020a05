"""Compares a mirror with the log it was imported from: where to go on, and what to cut before.

In Kafka two logs of a cluster are equal up to an offset if they have the same leader epoch there.
So one look at the mirror's last batch is enough while nothing was replaced. Otherwise epochs are
compared from the confirmed end on, until they differ.

An epoch proves nothing if a cluster was set up anew with the id of an earlier one. So the time of
the batch, and its CRC where the mirror has the whole batch, are compared, too.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from metadata_log.batch import Batch
from metadata_log.kraft.batch import HEADER_SIZE, BatchHeader
from metadata_log.kraft.directory import KraftDirectory
from metadata_log.kraft.file_scan import FileScan
from metadata_log.kraft.log_position import LogPosition
from metadata_log.log_reader import LogReader
from metadata_log.position import source_crc
from records.control import NoOpRunRecord
from records.errors import RequestError
from records.text import time_text


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """How to bring a mirror up to its source.

    `end_offset` is where the two part: the mirror is cut there (`last_timestamp` is the time of the
    batch before), unless it ends there. Reading goes on behind `position`; None means at the
    source's start. `source_end` is set if the source ends before the mirror and does not
    contradict it: then there is nothing to read.
    """

    end_offset: int
    last_timestamp: int = 0
    position: LogPosition | None = None
    source_end: int | None = None


class _Placed(msgspec.Struct, frozen=True):
    position: LogPosition
    header: BatchHeader


def reconcile(source: KraftDirectory, mirror: LogReader) -> Continuation:
    """Compare a source with its mirror.

    Raises:
        RequestError: INCONSISTENT_CLUSTER_ID, the source is of another history; or
            OFFSET_OUT_OF_RANGE, it no longer has what the mirror lacks. Both name offsets.
        CorruptLogError: either of them is damaged.
        UnavailableError: Kafka removed a file meanwhile.
    """
    return _Comparison(source, mirror).continuation()


class _Comparison:
    def __init__(self, source: KraftDirectory, mirror: LogReader) -> None:
        self._source = source
        self._mirror = mirror
        self._start = source.start_offset

    def continuation(self) -> Continuation:
        end = self._mirror.end_offset
        if end < self._start or self._cannot_compare(end):
            raise self._gap(end)
        if end == self._start:
            return Continuation(end_offset=end)
        last = self._last_below(end)
        if last.header.end_offset == end and self._agrees(last.header):
            return Continuation(end_offset=end, position=last.position)
        return self._parting()
