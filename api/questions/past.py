"""The log that a question is about: its points, its images, and its position in answers."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from api.questions.points import Absolute, in_utc, offset_at
from metadata_log.format.manifest import Kind
from metadata_log.format.parts import Gap, earlier_parts
from metadata_log.reader.log_reader import LogReader
from records.errors import ContradictionError, CorruptLogError, RequestError, UnknownHistoryError
from replay.about import About, about_provenance, not_counted
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.time_travel.points import is_time, point_time
from replay.time_travel.spoken_times import is_spoken
from replay.timeline import Timeline

if TYPE_CHECKING:
    from controller.descriptions.view import View
    from replay.keep_going import WithoutContradictions
    from replay.report.kept_reports import KeptReports
    from replay.time_travel.change_index import ChangeIndex


Progress = Callable[[str, int, int], AbstractContextManager[Callable[[int], None]]]
"""Shows progress: takes a title, the first offset, and the end offset (exclusive)."""


_CLOCK = "clock"
"""Key of the question's time in `Past.points`; no point has this text."""


@contextmanager
def silent(what: str, start: int, end: int) -> Iterator[Callable[[int], None]]:
    """Yield a progress callback that shows nothing."""
    yield lambda offset: None


def _without_contradictions(reader: LogReader) -> "WithoutContradictions":
    from replay.keep_going import WithoutContradictions

    return WithoutContradictions(reader)


class Before:
    """The part of a recording before a gap."""

    def __init__(self, gap: Gap, folder: Path, open_past: "Callable[[], Past]") -> None:
        """Note the part before `gap`, which is in `folder`; it is opened only when it is read."""
        self.gap = gap
        self.folder = folder
        self._open = open_past
        # The log after the gap.
        self.after: Past | None = None

    @cached_property
    def past(self) -> "Past":
        """The log before the gap; raises RequestError if it is missing or another log."""
        found = self._open()
        found.after = self.after
        return found

    @property
    def last_offset(self) -> int:
        """The last offset before the gap."""
        return self.gap.from_offset - 1


class Past:
    """A log that questions are asked about, up to its end when it was opened.

    Attributes:
        points: The offsets of the points resolved so far. All pages of an answer share them, so
            that they belong together while the log grows.
        is_live: True if the log is read by the service that writes it: then the state after the
            last record is known to hold until now.
        by_name: True if an object is identified by its name alone, as for callers whose rights are
            limited to names: the history of a moved topic ends under its old name, and a new one
            begins under the new name.
        before: The earlier part of the recording, for questions that read across gaps; else None.
    """

    def __init__(
        self,
        reader: LogReader,
        *,
        absolute: Absolute = in_utc,
        progress: Progress = silent,
        points: dict[str, int] | None = None,
        timeline: Timeline | None = None,
        keep_going: bool = False,
        kept_reports: "KeptReports | None" = None,
        is_live: bool = False,
        sql_history: str | None = None,
        by_name: bool = False,
        before: Before | None = None,
    ) -> None:
        """Use a log; by default with the snapshots in its directory.

        Args:
            absolute: Converts points to a form that means the same in any time zone.
            timeline: Timeline to use instead of one with the snapshots in the log's directory.
            kept_reports: Cache of the last report of this log.
            is_live: True if the caller is the service that writes the log.
            sql_history: URL of a database whose SQL history is used; None: that in the directory.
            by_name: Identify objects by their names alone.
            keep_going: Leave out the records that contradict the state before them, and use no
                snapshots; `about` lists the records that were left out.

        Raises:
            CorruptLogError: with `keep_going`, the log is not a mirror and contradicts itself.
        """
        self.reader = reader
        self._without = _without_contradictions(reader) if keep_going else None
        if self._without is not None:
            timeline = Timeline(self._without)
        self.timeline = timeline or Timeline.of(reader, _index(sql_history, reader))
        self.names_snapshots = timeline is not None
        self.points = points or {}
        self.kept_reports = kept_reports
        self.is_live = is_live
        self.by_name = by_name
        self.before = before
        self.after: Past | None = None
        if before is not None:
            before.after = self
        self._absolute = absolute
        # By the text of a point, and whether it begins a range.
        self._absolutes: dict[tuple[str, bool], str] = {}
        self._progress = progress
        # The end of a range is resolved before its start.
        self._last_point = ""

    @property
    def is_part(self) -> bool:
        """True if the log is one of several parts of a recording, all of which are read."""
        return self.before is not None or self.after is not None

    def offset(self, point: str) -> int:
        """Return the last offset applied at a point.

        Raises:
            RequestError: the point is malformed, past the end, or before the kept history.
        """
        self._last_point = point
        if point not in self.points:
            self.points[point] = offset_at(self.reader, self.absolute(point))
        return self.points[point]

    def absolute(self, point: str, *, is_first: bool = False) -> str:
        """Return a point that means the same in any time zone, on any day; see `Absolute`."""
        if not is_time(point):
            return point
        key = point, is_first
        if key not in self._absolutes:
            self._absolutes[key] = self._absolute(
                self.reader, point, self.now_ms(), is_first=is_first, is_live=self.is_live
            )
        return self._absolutes[key]

    @property
    def read_as(self) -> dict[str, str]:
        """By point: the absolute form in which relative times, such as times of day, were read."""
        return {point: read for (point, _), read in self._absolutes.items() if is_spoken(point)}

    def range_start(self, point: str) -> int:
        """Return the first offset of a range that begins at a point; the log may not have it yet.

        Raises:
            RequestError: as for `offset`.
        """
        key = f"from {point}"
        if key not in self.points:
            absolute = self.absolute(point, is_first=True)
            self.points[key] = offset_at(self.reader, absolute, is_first=True)
        return self.points[key]

    def first_offset(self, point: str, to: int) -> int:
        """Return the first offset of a range that starts at a point and ends at `to`, inclusive.

        A time means the first record at or after it; a range of times may contain no record.
        `start`, and a time before all records, mean the first record.

        Raises:
            RequestError: as for `offset`; or the range ends before it begins.
            UnknownHistoryError: the point is before the kept history.
        """
        start = self.reader.start_offset
        if point == "start":
            return start
        first = self.range_start(point)
        # In a run of NoOps, whose times are not kept, two times may mean the same offset.
        if to in (first - 1, first) and self._is_after(point, self._last_point):
            raise RequestError(
                "INVALID_REQUEST",
                f"the range begins at {point}, which is after its end, {self._last_point}; "
                "exchange the two points",
            )
        if to < (first - 1 if is_time(point) else first):
            raise RequestError(
                "INVALID_REQUEST",
                f"the range begins at offset {first}, which is after its end, {to}; exchange the "
                "two points",
            )
        if first == start - 1:
            return start
        if first < start:
            raise UnknownHistoryError(f"offset {first} is not kept: history starts at {start}")
        return first

    def now_ms(self) -> int:
        """Return the time of the question, ms since 1970; the same for all pages of its answer."""
        return self.points.setdefault(_CLOCK, time.time_ns() // 1_000_000)

    def first_known_offset(self, point: str, to: int) -> int:
        """Return `first_offset`, but at the earliest the start of the kept history.

        For answers that start from the state before the range.
        """
        return max(self.first_offset(point, to), self.reader.history_start)

    def counted_until(self, at: int, point: str | None = None) -> int | None:
        """Return the time up to which states that last at offset `at` are counted, ms since 1970.

        Args:
            point: The point that was resolved to `at`; None: the point of the question.

        Returns:
            None if they are counted up to the record at `at`.
        """
        is_end = at + 1 >= self.reader.end_offset
        # Files may be a copy: they do not say what came after their last record.
        if is_end and not self.is_live:
            return None
        asked_ms = self.asked_time(point or self._last_point)
        return min(asked_ms, self.now_ms()) if is_end and asked_ms is not None else asked_ms

    def asked_time(self, point: str, *, is_first: bool = False) -> int | None:
        """Return the time that a point means, ms since 1970; None if the point is an offset.

        Args:
            is_first: True for the start of a range.
        """
        if not is_time(point):
            return None  # the answer does not depend on the time of the question
        return point_time(self.reader, self.absolute(point, is_first=is_first), self.now_ms())

    def _is_after(self, point: str, other: str) -> bool:
        """True if both points are times and `point`, the start of a range, is after `other`."""
        found, before = self.asked_time(point, is_first=True), self.asked_time(other)
        return found is not None and before is not None and found > before

    def progress(self, what: str, end: int) -> AbstractContextManager[Callable[[int], None]]:
        """Show progress up to an end offset (exclusive) inside the `with` block."""
        return self._progress(what, self.reader.history_start, end)

    def image(self, at: int) -> MetadataImage:
        """Return the image as of an offset."""
        with self.progress("replaying", at + 1) as advance:
            return self.timeline.image(at, progress=advance)

    def view(self, image: MetadataImage) -> "View":
        """Return an image in the form that descriptions read, without heartbeats."""
        # Importing these takes longer than most questions that need no view.
        from controller.decisions.context.context import Settings
        from controller.descriptions.view import View

        return View.of(image, Settings(cluster_id=self.reader.cluster_id))

    def about(self, at: int) -> About:
        """Return the position of an answer that was not read from an image.

        If the log is damaged elsewhere, the answer can still be complete. Then the position has no
        count of records not understood, and gives the damage as the reason.
        """
        place = self.place(at)
        try:
            found = self.timeline.not_understood(at)
        except (ContradictionError, CorruptLogError) as error:
            return not_counted(place, str(error))
        return msgspec.structs.replace(place, not_understood=found)

    def place(self, at: int) -> About:
        """Like `about`, but does not read the log to count the records not understood."""
        found = self.about_image(MetadataImage.EMPTY, at)
        return msgspec.structs.replace(found, as_of_timestamp=msgspec.UNSET)

    def about_image(self, image: MetadataImage, at: int) -> About:
        """Return the position of an answer read from the image at an offset."""
        return self.about_provenance(image.provenance, at)

    def about_provenance(self, provenance: Provenance, at: int) -> About:
        """Return the position of an answer, given the provenance of the image at an offset."""
        about = about_provenance(self.reader, provenance, at)
        if self._gap is not UNSET:
            about = msgspec.structs.replace(about, gap=self._gap)
        if self.read_as:
            about = msgspec.structs.replace(about, read_as=self.read_as)
        if provenance.offset == at:
            about = msgspec.structs.replace(about, as_of_timestamp_max=self._latest_time_at(at))
        if self._without is None:
            return about
        left_out = tuple([each for each in self._without.left_out if each.offset <= at])
        return msgspec.structs.replace(about, left_out=left_out)

    def times_at(self, offset: int) -> tuple[int | None, int | UnsetType]:
        """Return the append time of a record, and the latest possible append time if that differs.

        The times inside a sequence of collapsed NoOps are not kept; the first value is then the
        earliest possible time. It is None if the log does not have the record.
        """
        if offset >= self.reader.start_offset:
            for batch in self.reader.batches(offset, offset + 1):
                earliest, latest = batch.times_at(offset)
                return earliest, UNSET if earliest == latest else latest
        return None, UNSET

    @cached_property
    def _gap(self) -> Gap | UnsetType:
        """The gap before this log."""
        if self.before is not None:
            return self.before.gap
        if self.reader.kind is not Kind.MIRROR:
            return UNSET
        earlier = earlier_parts(self.reader.fs, self.reader.directory)
        return earlier[-1].gap if earlier else UNSET

    def _latest_time_at(self, at: int) -> int | UnsetType:
        """Return the latest possible time of an offset inside a sequence of collapsed NoOps."""
        if self.reader.kind is Kind.MIRROR:
            # An answer from a snapshot does not need the record.
            with suppress(CorruptLogError):
                return self.times_at(at)[1]
        return UNSET


def _index(sql_history: str | None, reader: LogReader) -> "ChangeIndex | None":
    if sql_history is None:
        return None
    # Importing SQLAlchemy takes half a second.
    from replay.sql_history.server import HistoryDatabase

    return HistoryDatabase(sql_history, reader)
