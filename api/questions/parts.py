"""Recordings of several parts: a sequence of logs with gaps between them.

A question that reads across gaps asks each log for its stretch of the range. The gap between two
stretches is shown with the differences between the states before and after the gap. When, in which
order, and by whom these changes were made is unknown, so they are never shown as events.
"""

import datetime
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from api.questions.changes import ObjectChange
from api.questions.past import Before, Past
from metadata_log.format.manifest import Kind
from metadata_log.format.parts import EarlierPart, Gap, earlier_parts
from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError, UnknownHistoryError
from replay.about import About
from replay.time_travel.changes import Change
from replay.time_travel.objects import ObjectName
from replay.time_travel.points import is_time, point_time

T = TypeVar("T")
AboutT = TypeVar("AboutT", bound=About)


class GapFound(msgspec.Struct, frozen=True, kw_only=True):
    """A gap in the range of an answer, with the changes found after the gap, if requested."""

    gap: Gap
    found: tuple[ObjectChange, ...] | UnsetType = UNSET


class WithFates(msgspec.Struct, frozen=True):
    """Asks for changes with their fates, and without secrets."""

    show_secrets: bool = False
    fates: bool = True


FOUND = WithFates()
"""The request by which changes found after a gap are shown."""


class Stretch(NamedTuple):
    """The offsets [first, at] of one log in the range of a question.

    Attributes:
        before: The gap before `first`, if the range includes any of the gap; else None.
        is_last: True for the stretch that ends at the point of the question.
    """

    past: Past
    first: int
    at: int
    before: Before | None = None
    is_last: bool = True

    def counted_until(self, point: str | None = None) -> int | None:
        """Return the time up to which ongoing states are counted; None: up to the last record.

        Args:
            point: The point that was resolved to `at`; None: the point of the question.
        """
        if not self.is_last or (self.past.after is not None and point and point.startswith("end")):
            return None
        return self.past.counted_until(self.at, point)


class _Side(Enum):
    HERE = "here"
    GAP = "gap"
    EARLIER = "earlier"


def opened(reader: LogReader, past_of: Callable[[LogReader, Before | None], Past]) -> Past:
    """Return the past of a log and of all earlier parts, each opened only when it is read.

    Args:
        past_of: Creates the `Past` of one log.

    Raises:
        CorruptLogError: the list of the parts is damaged.
        RequestError: when an earlier part is read: it is missing, or not the part in the list.
    """
    before: Before | None = None
    directory = reader.local_directory
    if directory is None or reader.kind is not Kind.MIRROR:
        return past_of(reader, None)
    for part in earlier_parts(reader.fs, directory):
        folder = directory.resolve().with_name(part.folder)
        before = Before(part.gap, folder, partial(_open, reader, folder, part, before, past_of))
    return past_of(reader, before)


def located(past: Past, point: str) -> tuple[Past, int]:
    """Return the log that contains a point, and the last offset applied at that point.

    Raises:
        UnknownHistoryError: the point is in a gap.
        RequestError: as `Past.offset`.
    """
    before = past.before
    if before is None or point == "end":
        return past, past.offset(point)
    side = _side(past, before, point)
    if side is _Side.HERE or point == str(before.gap.to_offset - 1):
        return past, past.offset(point)
    if side is _Side.GAP:
        raise _in_gap(before.gap, point)
    return located(before.past, _absolute(past, point))


def stretches(past: Past, point: str, at: int) -> list[Stretch]:
    """Return the stretches of the range from a point to the offset `at`, oldest first.

    Raises:
        RequestError, UnknownHistoryError: as `Past.first_offset`.
    """
    before = past.before
    side = _Side.HERE if before is None else _side(past, before, point)
    if before is None or side is _Side.HERE:
        return [Stretch(past, past.first_offset(point, at), at)]
    rest = Stretch(past, past.first_offset("start", at), at, before)
    if side is _Side.GAP:
        return [rest]
    found = stretches(before.past, _absolute(past, point), before.last_offset)
    return [*(each._replace(is_last=False) for each in found), rest]


def part_reaching(newest: Past, end_offset: int) -> Past:
    """Return the part of a recording that has the record before an end offset, or begins there.

    Raises:
        RequestError: that part is missing, or another log is in its place.
    """
    part = newest
    while part.before is not None and end_offset < part.before.gap.to_offset:
        part = part.before.past
    return part


def newest(past: Past) -> Past:
    """Return the newest log of a recording, given any log of the recording."""
    while past.after is not None:
        past = past.after
    return past


def naming_part(error: UnknownHistoryError, past: Past) -> UnknownHistoryError:
    """Return an error that also names the earlier part, for a question that reads a single part."""
    before = past.before
    if before is None:
        return error
    return UnknownHistoryError(
        f"{error}; what was recorded before offset {before.gap.from_offset} is in "
        f"{before.folder}; name that folder, because this question reads a single part"
    )


def check_in_any(parts: Iterable[Stretch], check: Callable[[Stretch], None]) -> None:
    """Check that an object is known in at least one of the parts.

    Raises:
        RequestError: it is known in none; the error is that of the newest part.
    """
    error: RequestError | None = None
    for stretch in parts:
        try:
            check(stretch)
        except RequestError as absent:
            error = absent
        else:
            return
    if error is not None:
        raise error


def across(
    parts: Iterable[Stretch],
    tell: Callable[[Stretch], Iterable[T]],
    shown: Callable[[Change], ObjectChange | None],
    only: ObjectName | None = None,
) -> Iterator[T | GapFound]:
    """Yield the items of each stretch, and the gap between two stretches.

    Args:
        tell: Returns the items of a stretch.
        shown: Returns a change found after a gap in the form to show; None: it is left out.
        only: Search only for changes of this object.
    """
    for stretch in parts:
        if stretch.before is not None:
            found = filter(None, map(shown, changes_after(stretch.past, only)))
            yield GapFound(gap=stretch.before.gap, found=tuple(found))
        yield from tell(stretch)


def changes_after(past: Past, only: ObjectName | None = None) -> list[Change]:
    """Return the differences between the states before and after the gap before a log."""
    from replay.time_travel.across_gap import changes_across

    before = past.before
    assert before is not None, "there is a gap before the log"
    old, new = before.past.image(before.last_offset), past.image(before.gap.to_offset - 1)
    return changes_across(old, new, only)


def about_across(about: AboutT) -> AboutT:
    """Return the position of an answer without the gap, for answers that show gaps themselves."""
    return msgspec.structs.replace(about, gap=UNSET)


def _open(
    reader: LogReader,
    folder: Path,
    part: EarlierPart,
    before: Before | None,
    past_of: Callable[[LogReader, Before | None], Past],
) -> Past:
    try:
        earlier = LogReader.open(folder, fs=reader.fs)
    except RequestError as error:
        raise RequestError(
            error.code,
            f"{folder} is no log, but should have what was recorded before offset "
            f"{part.gap.from_offset}: put that log back there, or ask for a range from "
            f"{part.gap.to_offset} on",
        ) from error
    if earlier.cluster_id != reader.cluster_id or earlier.confirmed_end < part.gap.from_offset:
        raise RequestError(
            "INCONSISTENT_CLUSTER_ID",
            f"{folder} is not the part before {reader.directory}: that part has cluster "
            f"{reader.cluster_id!r} up to offset {part.gap.from_offset}",
        )
    return past_of(earlier, before)


def _side(past: Past, before: Before, point: str) -> _Side:
    """Return whether a point is in a log, in the gap before that log, or in an earlier part."""
    gap = before.gap
    if point == "start":
        return _Side.EARLIER
    if is_time(point):
        try:
            past.range_start(point)
            return _Side.HERE
        except UnknownHistoryError:
            try:
                first = before.past.range_start(_absolute(past, point))
            except UnknownHistoryError:
                return _Side.EARLIER
    else:
        first = past.range_start(point)
        if first >= gap.to_offset:
            return _Side.HERE
    return _Side.GAP if first >= gap.from_offset else _Side.EARLIER


def _absolute(past: Past, point: str) -> str:
    """Return a point in a form that also holds in an earlier part: no distance from the end."""
    point = past.absolute(point, is_first=True)
    if not point.startswith("end-"):
        return point
    if not is_time(point):
        return str(past.range_start(point))
    time_ms = point_time(past.reader, point, past.now_ms())
    assert time_ms is not None, "a log after a gap has a time"
    return datetime.datetime.fromtimestamp(time_ms / 1_000, datetime.UTC).isoformat()


def _in_gap(gap: Gap, point: str) -> UnknownHistoryError:
    return UnknownHistoryError(
        f"{point} was not recorded: the recording has a gap from offset {gap.from_offset} to "
        f"{gap.to_offset - 1}; ask for {gap.from_offset - 1}, the last offset before the gap, or "
        f"for {gap.to_offset - 1}, whose state is in the snapshot that ends the gap"
    )
