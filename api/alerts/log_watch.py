"""Checks a log as it grows, and returns which checks began to fail and which ceased to.

Only final records are checked: in a mirror, those below the high watermark. A recording in parts is
read part by part. Across a gap, the states on both sides are compared, and differences are reported
as found after the gap.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import msgspec

from api.alerts.checks import Checks
from api.alerts.notification import Notification, firing
from api.alerts.state import AlertState
from api.questions.past import Past
from api.questions.points import Absolute, in_utc
from controller.invariants.history import Key, Violation
from controller.log_check import EXPECT, Change, LogCheck, check_log
from metadata_log.files.fs import OsFs
from metadata_log.format.batch import Batch
from metadata_log.format.manifest import Kind
from metadata_log.format.parts import earlier_parts
from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError
from replay.loader import replayer_from
from replay.time_travel.contradictions import explained

_BATCHES_MAX = 1_000
"""Batches read at once; their notifications are saved before the next batches are read."""

_OBJECTS_MAX = 10


class LogWatch:
    """The checks of one log; may be used by one thread at a time.

    Attributes:
        active: The ongoing alerts, by the check and object that fail.
        is_behind: True if the log has more records to read.
    """

    def __init__(
        self,
        log: Path,
        name: str,
        checks: Checks,
        state: AlertState,
        *,
        first: str = "start",
        absolute: Absolute = in_utc,
    ) -> None:
        """Continue at the offset of a state.

        Args:
            name: The log's name, for receivers.
            first: If the state is empty, the point from which beginnings of failures are searched.
            absolute: Converts points to a form that means the same in any time zone.
        """
        self._log, self._name, self._checks = log, name, checks
        self._state, self._first, self._absolute = state, first, absolute
        self._is_new = state.cluster_id is None
        self._names = {expression.text: name for name, expression in checks.expect.items()}
        self._check: LogCheck | None = None
        # While the history is read that was there before anybody was to be told of it.
        self._silent_below: int | None = None
        self.active: dict[Key, Notification] = {each.key: each for each in state.active}
        self.is_behind = True

    @property
    def next_offset(self) -> int:
        """The first offset that was not checked; a later process continues there."""
        if self._check is None or self._silent_below is not None:
            return self._state.next_offset
        return self._check.checked_end

    @property
    def cluster_id(self) -> str | None:
        """The log's cluster id; None until the first start has completed."""
        return None if self._silent_below is not None else self._state.cluster_id

    def read(self) -> list[Notification]:
        """Check the new records, or some of them; return the notifications to send.

        Raises:
            RequestError: there is no log; it is of another cluster than the state, or was restored
                to an earlier offset; or the types of an expectation do not fit.
            ContradictionError: a record contradicts the state before it.
            CorruptLogError: the log is damaged.
            UnavailableError: a file vanished while it was read; try again.
        """
        with self._part() as reader, explained(reader):
            end = self._end(reader)
            told: list[Notification] = []
            if self._check is None or self._check.next_offset < reader.history_start:
                told = self._begun(reader, end)
            check = self._check
            assert check is not None
            if check.next_offset < end:
                told += self._read(check, reader.batches(check.next_offset, end), end)
            if self._silent_below is not None and check.next_offset >= self._silent_below:
                self._silent_below = None
                told = self._compared(check)
            self.is_behind = check.next_offset < end
        return told

    @contextmanager
    def _part(self) -> Iterator[LogReader]:
        """Open the part of the recording with the next records; other logs have a single part."""
        read_end = self._state.next_offset if self._check is None else self._check.next_offset
        folder = self._log
        is_first = self._state.cluster_id is None
        for part in () if is_first else earlier_parts(OsFs(), self._log):
            earlier = self._log.resolve().with_name(part.folder)
            if read_end < part.gap.from_offset and earlier.exists():
                folder = earlier
                break
        with LogReader.open(folder) as reader:
            self._check_same(reader, read_end)
            yield reader

    def _check_same(self, reader: LogReader, read_end: int) -> None:
        known = self._state.cluster_id
        if known is None:
            self._state = msgspec.structs.replace(self._state, cluster_id=reader.cluster_id)
        elif known != reader.cluster_id:
            raise RequestError(
                "INCONSISTENT_CLUSTER_ID",
                f"{self._log} is of cluster {reader.cluster_id!r}, but the state of its alerts is "
                f"of cluster {known!r}; name another --state FILE",
            )
        if read_end > reader.end_offset:
            raise RequestError(
                "OFFSET_OUT_OF_RANGE",
                f"{self._log} ends at {reader.end_offset}, but was checked up to {read_end}: the "
                "log was restored; remove the state of its alerts to begin anew",
            )

    def _end(self, reader: LogReader) -> int:
        if reader.kind is Kind.OWN:
            return reader.end_offset
        return min(reader.confirmed_end, reader.end_offset)

    # Beginning

    def _begun(self, reader: LogReader, end: int) -> list[Notification]:
        """Begin at the first point, at the state's offset, or after a gap."""
        past = Past(reader, absolute=self._absolute)
        is_first = self._check is None and self._is_new
        if is_first:
            at = past.first_known_offset(self._first, end - 1)
            self._silent_below = end
        else:
            at = max(self.next_offset, reader.history_start)
        after_gap = not is_first and self.next_offset < at
        replayer = replayer_from(reader, past.timeline.image(at - 1))
        self._check = LogCheck(replayer, tuple(self._checks.expect.values()))
        if is_first:
            return []
        look_back = None if after_gap else reader
        return self._compared(self._check, look_back=look_back, after_gap=after_gap)

    def _compared(
        self, check: LogCheck, *, look_back: LogReader | None = None, after_gap: bool = False
    ) -> list[Notification]:
        """Compare the checks that fail now with the alerts that were sent.

        Args:
            look_back: The log in which the beginnings of new failures are searched.
        """
        offset, time_ms = check.next_offset - 1, check.image.provenance.timestamp or 0
        wanted = {key: each for key, each in check.lasting.items() if self._is_wanted(each)}
        told = [
            self.active.pop(key).resolved(offset, time_ms, after_gap=after_gap)
            for key in self.active.keys() - wanted.keys()
        ]
        new = [each for key, each in wanted.items() if key not in self.active]
        if new and look_back is not None:
            new = self._since(new, look_back, check.next_offset)
        for each in new:
            if after_gap:
                each.offset, each.time = offset, time_ms
            notification = self._notification(each, check, offset, time_ms)
            notification = msgspec.structs.replace(notification, after_gap=after_gap)
            self.active[notification.key] = notification
            told.append(notification)
        return told

    def _since(self, new: list[Violation], reader: LogReader, end_offset: int) -> list[Violation]:
        """Return violations with their beginnings, for checks added since the last run."""
        start = replayer_from(reader, None).image()
        expectations = tuple(self._checks.expect.values())
        found = check_log(reader, start, end_offset, expectations=expectations)
        known = {_key(each): each for each in found if each.until is None}
        return [known.get(_key(each), each) for each in new]

    # Going on

    def _read(self, check: LogCheck, batches: Iterable[Batch], end: int) -> list[Notification]:
        told: list[Notification] = []
        for batch in islice(batches, _BATCHES_MAX):
            if batch.end_offset > end:
                break
            change = check.step(batch)
            if self._silent_below is None:
                told += self._told(change, batch, check)
        return told

    def _told(self, change: Change, batch: Batch, check: LogCheck) -> list[Notification]:
        told = []
        offset, time_ms = batch.end_offset - 1, batch.timestamp
        for each in filter(self._is_wanted, change.begun):
            notification = self._notification(each, check, offset, time_ms)
            self.active[notification.key] = notification
            told.append(notification)
        ended = filter(self._is_wanted, change.ended)
        return [
            *told,
            *(self.active.pop(_key(each)).resolved(offset, time_ms) for each in ended),
        ]

    def _is_wanted(self, found: Violation) -> bool:
        return self._checks.invariants or found.invariant == EXPECT

    def _notification(
        self, found: Violation, check: LogCheck, offset: int, time_ms: int
    ) -> Notification:
        is_expected = found.invariant == EXPECT
        notification = firing(
            found,
            self._names[found.text] if is_expected else found.invariant,
            log=self._name,
            cluster_id=self._state.cluster_id or "",
            as_of=offset,
            as_of_time=time_ms,
        )
        if not is_expected:
            return notification
        objects, count = check.objects(found.text, _OBJECTS_MAX)
        return msgspec.structs.replace(notification, objects=tuple(objects), object_count=count)


def _key(found: Violation) -> Key:
    return found.invariant, found.object, found.text
