"""The controllers' terms in a log, and the records that end the fencing of a broker."""

from bisect import bisect_left, bisect_right
from contextlib import suppress
from operator import attrgetter
from typing import NamedTuple

from metadata_log.format.needles import Needles
from records.base import Record, Uuid
from records.brokers import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from records.control import LeaderChangeMessage
from records.envelope import Envelope
from records.errors import CorruptLogError
from replay.loader import BatchSource
from replay.time_travel.skim import SkimmableSource

_TYPES: tuple[type[Record], ...] = (
    LeaderChangeMessage,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
    UnfenceBrokerRecord,
    BrokerRegistrationChangeRecord,
)


class Term(NamedTuple):
    """A controller's term: its first offset and its time, and its node."""

    begin: int
    time: int
    leader: int


class Return(NamedTuple):
    """A record that ends the fencing of a broker.

    Attributes:
        incarnation_id: Of the process that it registers; None if it registers none.
        is_unfencing: True if it unfences the process that was fenced.
    """

    offset: int
    incarnation_id: Uuid | None
    is_unfencing: bool


class TermsAndRuns:
    """The terms and returns in a log, read once, without its other records."""

    def __init__(self, source: BatchSource) -> None:
        self.terms: list[Term] = []
        self._returns: dict[int, list[Return]] = {}
        self._next = source.history_start

    def read(self, source: BatchSource) -> None:
        """Read on up to the log's end; no further than to where it is damaged.

        Whoever asks for the records there is told of the damage.
        """
        first, end_offset = self._next, source.end_offset
        self._next = max(first, end_offset)
        if first < end_offset:
            with suppress(CorruptLogError):
                self._read(source, first, end_offset)

    def _read(self, source: BatchSource, first: int, end_offset: int) -> None:
        batches = source.batches(first, end_offset)
        if isinstance(source, SkimmableSource):
            needles = Needles()
            for record_type in _TYPES:
                needles.add_type(record_type)
            batches = source.skim(needles, end_offset, from_offset=first)
        for batch in batches:
            for row in batch.rows:
                if type(row.payload) in _TYPES and first <= row.offset < end_offset:
                    self._add(row)

    def around(self, offset: int) -> tuple[Term | None, Term | None]:
        """Return the term with an offset, if the log names its controller, and the next one."""
        index = bisect_right(self.terms, offset, key=attrgetter("begin"))
        after = self.terms[index] if index < len(self.terms) else None
        return (self.terms[index - 1] if index else None), after

    def return_of(self, broker_id: int, after: int) -> Return | None:
        """Return the first return of a broker after an offset."""
        found = self._returns.get(broker_id, [])
        index = bisect_right(found, after, key=attrgetter("offset"))
        return found[index] if index < len(found) else None

    def run_of(self, broker_id: int, before: int) -> Return | None:
        """Return the last registration of a broker before an offset, if it is known."""
        found = self._returns.get(broker_id, [])
        index = bisect_left(found, before, key=attrgetter("offset"))
        return next((each for each in reversed(found[:index]) if each.incarnation_id), None)

    def _add(self, row: Envelope) -> None:
        offset = row.offset
        match row.payload:
            case LeaderChangeMessage(leader_id=leader):
                self.terms.append(Term(offset, row.timestamp, leader))
            case RegisterBrokerRecord(broker_id=broker_id, incarnation_id=run):
                self._return(broker_id, Return(offset, run, False))
            case UnregisterBrokerRecord(broker_id=broker_id):
                self._return(broker_id, Return(offset, None, False))
            case UnfenceBrokerRecord(id=broker_id):
                self._return(broker_id, Return(offset, None, True))
            case BrokerRegistrationChangeRecord(broker_id=broker_id, fenced=-1):
                self._return(broker_id, Return(offset, None, True))

    def _return(self, broker_id: int, found: Return) -> None:
        self._returns.setdefault(broker_id, []).append(found)


def time_of(source: BatchSource, offset: int) -> int:
    """Return the latest possible append time of a record, ms since 1970."""
    (batch,) = source.batches(offset, offset + 1)
    return batch.times_at(offset)[1]
