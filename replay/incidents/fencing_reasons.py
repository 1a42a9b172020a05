"""Why brokers were fenced, as far as records before and after the fencing show it.

Kafka's controller writes the same record for a broker that missed its heartbeats, and for one that
asked to stop while it led nothing. docs/causes.md has the rules that tell them apart.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from metadata_log.format.batch import latest_time
from metadata_log.limits import NOOP_PAUSE_MS_MIN
from records.base import Uuid
from records.brokers import BrokerRegistrationChangeRecord, FenceBrokerRecord
from records.control import NoOpRecord, NoOpRunRecord
from records.envelope import Envelope
from records.text import duration_text
from replay.image.cluster import Broker
from replay.incidents.terms_and_runs import Return, Term, TermsAndRuns, time_of
from replay.loader import BatchSource

NO_HEARTBEAT = "missed heartbeats"
NO_HEARTBEAT_OR_STOPPED = "missed heartbeats, or stopped while it led nothing"
STOPPED = "controlled shutdown, inferred"
STALLED = f"{NO_HEARTBEAT}; it did not restart"

STOP_MS_MAX = 500
"""Maximum time from an orderly stop to the last record of the controller's term, ms: it writes a
NoOp after as long without a record."""

SESSION_MS = 9_000
"""Time without a heartbeat after which Kafka's controller fences a broker by default, ms."""

_RECORDS_BEFORE = 256
"""Number of records before a fencing that are looked at: more than a controller writes in a
session timeout, if it writes only NoOps."""

Brokers = Callable[[], Iterable[Broker]]
"""Returns the brokers that are registered as a fencing takes effect, whenever it is called."""


class _Fencing(NamedTuple):
    offset: int
    batch_offset: int
    time: int
    broker_id: int
    led: bool
    brokers: Brokers

    @property
    def first_reason(self) -> str:
        return first_reason(led=self.led)


class Gone(NamedTuple):
    """When a process of broker and controller was gone at the latest, and seen last, ms since 1970.

    `seen_time` is None if that is not known.
    """

    broker_id: int
    time: int
    seen_time: int | None


def first_reason(*, led: bool) -> str:
    """Return why a broker was fenced, as far as its record tells; one that leads is never fenced
    because it stops.
    """
    return NO_HEARTBEAT if led else NO_HEARTBEAT_OR_STOPPED


class FencingReasons:
    """Decides, from all records of a log, why brokers were fenced."""

    def __init__(self, source: BatchSource) -> None:
        self._source = source
        self._log = TermsAndRuns(source)
        # By offset, and whether the broker led anything: the reason, and the offset that shows it.
        self._known: dict[tuple[int, bool], tuple[str, int]] = {}
        # By offset: the brokers of all fencings that were asked for.
        self._brokers: dict[int, int] = {}
        # By the first offset of each term that was asked for: the time of the record before.
        self._times_before: dict[int, int] = {}
        # The rows last read: several brokers are often fenced in one batch.
        self._near: tuple[tuple[int, int], list[Envelope]] = (0, 0), []
        # Those that later records may decide.
        self._open: dict[tuple[int, bool], _Fencing] = {}

    def move(self, source: BatchSource) -> bool:
        """Decide by the records of the same log, which may have grown, from now on.

        Returns:
            True if they show another reason of a fencing that was asked for.
        """
        self._source = source
        fencings = list(self._open.items())
        return any(self._decide(key, fencing) != fencing.first_reason for key, fencing in fencings)

    def were_open(self, at: int) -> bool:
        """True if records after an offset showed the reason of a fencing up to it."""
        return any(offset <= at < shown for (offset, _), (_, shown) in self._known.items())

    @property
    def were_asked(self) -> bool:
        """True if the reason of a fencing was asked for, which the record itself does not tell."""
        return bool(self._brokers)

    def of(self, row: Envelope, broker_id: int, brokers: Brokers, *, led: bool) -> str:
        """Return why a broker was fenced.

        Args:
            led: True if the fencing took the leadership of a partition away.
        """
        key = row.offset, led
        if key in self._known:
            return self._known[key][0]
        if key in self._open:
            return self._open[key].first_reason
        self._brokers[row.offset] = broker_id
        place = row.offset, row.batch_offset, row.timestamp
        return self._decide(key, _Fencing(*place, broker_id, led, brokers))

    def gone(self, offset: int, broker_id: int) -> Gone | None:
        """Return since when a fenced broker was gone, if its process is known to have restarted.

        A process that is broker and controller did, if it led before its broker registered.
        """
        self._log.read(self._source)
        term, after = self._log.around(offset)
        back, run = self._log.return_of(broker_id, offset), self._log.run_of(broker_id, offset)
        if term is None or back is None or term.leader != broker_id:
            return None
        if back.incarnation_id is None or (run is not None and run.offset > term.begin):
            return None
        if run is not None and run.incarnation_id == back.incarnation_id:
            return None
        if after is not None and after.begin < back.offset:
            return None
        return Gone(broker_id, term.time, self._seen_before(term))

    def all_gone(self) -> Iterator[tuple[int, Gone]]:
        """Yield the fencings that were asked for, by offset, with what `gone` says of them."""
        for offset, broker_id in self._brokers.items():
            found = self.gone(offset, broker_id)
            if found is not None:
                yield offset, found

    def _seen_before(self, term: Term) -> int | None:
        """Return when a term's node wrote last before it, if it was the controller, too."""
        before, _ = self._log.around(term.begin - 1)
        if before is None or before.leader != term.leader:
            return None
        first = max(before.begin, term.begin - _RECORDS_BEFORE)
        batches = self._source.batches(first, term.begin)
        types = {type(row.payload) for batch in batches for row in batch.rows}
        return None if types.isdisjoint((NoOpRecord, NoOpRunRecord)) else self._time_before(term)

    def _time_before(self, term: Term) -> int:
        """Return the time of the last record before a term, of which there is one."""
        if term.begin not in self._times_before:
            self._times_before[term.begin] = time_of(self._source, term.begin - 1)
        return self._times_before[term.begin]

    def _decide(self, key: tuple[int, bool], fencing: _Fencing) -> str:
        self._open.pop(key, None)
        self._log.read(self._source)
        back = self._log.return_of(fencing.broker_id, fencing.offset)
        if back is None:
            self._open[key] = fencing
            return fencing.first_reason
        reason, shown = fencing.first_reason, fencing.offset
        if back.incarnation_id is None and not back.is_unfencing:
            pass  # It was unregistered.
        elif back.is_unfencing or back.incarnation_id == self._run_of(fencing):
            reason, shown = f"{STALLED}{self._paused(fencing)}", back.offset
        elif not fencing.led and self._is_stop(fencing, back):
            reason, shown = STOPPED, back.offset
        self._known[key] = reason, shown
        return reason

    def _is_stop(self, fencing: _Fencing, back: Return) -> bool:
        """True if the controller stopped just after a fencing, and the broker with it."""
        term, after = self._log.around(fencing.offset)
        if term is None or after is None or not after.begin < back.offset:
            return False
        if not 0 <= self._time_before(after) - fencing.time <= STOP_MS_MAX:
            return False
        near = self._rows(fencing, term, after.begin)
        before = [row for row in near if row.offset < fencing.batch_offset]
        pause = _longest_pause(before, fencing.time)
        if pause is None or pause >= NOOP_PAUSE_MS_MIN:
            return False
        down = {_gone(row) for row in near if row.timestamp >= fencing.time - STOP_MS_MAX}
        if fencing.broker_id == term.leader:
            return True
        return term.leader in down and all(
            it.fenced or it.in_controlled_shutdown or it.broker_id in down
            for it in fencing.brokers()
        )

    def _run_of(self, fencing: _Fencing) -> Uuid | None:
        """Return the process that was fenced."""
        run = self._log.run_of(fencing.broker_id, fencing.offset)
        if run is not None:
            return run.incarnation_id
        runs = (it.incarnation_id for it in fencing.brokers() if it.broker_id == fencing.broker_id)
        return next(runs, None)

    def _paused(self, fencing: _Fencing) -> str:
        """Return how long the controller paused before a fencing, if it did."""
        term, _ = self._log.around(fencing.offset)
        before = [] if term is None else self._rows(fencing, term, fencing.batch_offset)
        pause = _longest_pause(before, fencing.time) or 0
        if pause < NOOP_PAUSE_MS_MIN:
            return ""
        return f", and the controller wrote nothing for up to {duration_text(round(pause, -2))}"

    def _rows(self, fencing: _Fencing, term: Term, end: int) -> list[Envelope]:
        """Return the rows of a term from shortly before a fencing up to an offset."""
        first = max(term.begin, fencing.batch_offset - _RECORDS_BEFORE)
        if self._near[0] != (first, end):
            batches = self._source.batches(first, end)
            # A run of NoOps may have begun long before.
            rows = [row for it in batches for row in it.rows if term.begin <= row.offset < end]
            self._near = (first, end), rows
        return self._near[1]


def _longest_pause(rows: Sequence[Envelope], until: int) -> int | None:
    """Return the longest time between two records in the session timeout up to a time, ms.

    None if there are no NoOps: an idle controller then writes nothing.
    """
    has_noops, last, longest = False, until, 0
    for row in reversed(rows):
        longest = max(longest, last - latest_time(row))
        has_noops = has_noops or isinstance(row.payload, NoOpRecord | NoOpRunRecord)
        last = row.timestamp
        if until - last >= SESSION_MS:
            break
    return longest if has_noops else None


def _gone(row: Envelope) -> int | None:
    """Return the broker that a record fences, or which begins a controlled shutdown."""
    match row.payload:
        case FenceBrokerRecord(id=broker_id):
            return broker_id
        case BrokerRegistrationChangeRecord(broker_id=broker_id) as change:
            return broker_id if change.fenced == 1 or change.in_controlled_shutdown == 1 else None
    return None
