"""Replay that skips contradictions: leaves out records of a mirror that contradict the state.

Results computed from such a log are never stored, exported or digested.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from metadata_log.format.batch import Batch
from metadata_log.format.manifest import Kind
from metadata_log.format.needles import Needles
from metadata_log.reader.position import Position
from records.control import NoOpRecord
from records.envelope import Envelope
from records.errors import ContradictionError, CorruptLogError
from replay.about import LeftOut
from replay.image.delta import MetadataDelta
from replay.loader import BaseState, replayer_from
from replay.time_travel.contradictions import explained
from replay.time_travel.skim import SkimmableSource
from replay.transactions import Transactions


class MirroredLog(SkimmableSource, Protocol):
    """A log that may be a mirror, such as a `LogReader`."""

    @property
    def kind(self) -> Kind:
        """The kind of the log: a mirror, or a log that this service writes."""

    @property
    def confirmed_end(self) -> int:
        """End of the confirmed records, exclusive."""


class WithoutContradictions:
    """A log in which records that contradict the state before them are replaced by NoOps.

    Attributes:
        left_out: The replaced records, in the order of the log.
    """

    def __init__(self, log: MirroredLog) -> None:
        """Replay a log once to find its contradictions.

        Raises:
            CorruptLogError: the log is not a mirror, and a record contradicts the state before it.
        """
        self._log = log
        self.kind = log.kind
        self.base: BaseState | None = log.base
        self.start_offset = log.start_offset
        self.history_start = log.history_start
        self.end_offset = log.end_offset
        self.confirmed_end = log.confirmed_end
        self.left_out = tuple(_contradictions(log))
        self._offsets = frozenset(each.offset for each in self.left_out)

    def batches(
        self, from_offset: int | None = None, to_offset: int | None = None
    ) -> Iterator[Batch]:
        """Yield the batches of the log, like `LogReader.batches`."""
        return map(self._without, self._log.batches(from_offset, to_offset))

    def skim(
        self, needles: Needles, to_offset: int | None = None, *, from_offset: int | None = None
    ) -> Iterator[Batch]:
        """Yield the batches that contain a search string, like `LogReader.skim`."""
        return map(self._without, self._log.skim(needles, to_offset, from_offset=from_offset))

    def position(self, end_offset: int) -> Position:
        """Return the position at an end offset, like `LogReader.position`."""
        return self._log.position(end_offset)

    def _without(self, batch: Batch) -> Batch:
        if self._offsets.isdisjoint(range(batch.base_offset, batch.end_offset)):
            return batch
        rows = [
            msgspec.structs.replace(row, payload=NoOpRecord(), extra=None)
            if row.offset in self._offsets
            else row
            for row in batch.rows
        ]
        return msgspec.structs.replace(batch, rows=tuple(rows))


def _contradictions(log: MirroredLog) -> Iterator[LeftOut]:
    """Yield the records that contradict the state before them; the replay skips these records."""
    delta = MetadataDelta(replayer_from(log, None).image())
    transactions = Transactions()
    with explained(log):
        for batch in _whole_batches(log):
            for row in batch.rows:
                for error in _replay(delta, transactions, row):
                    if log.kind is Kind.OWN:
                        raise error
                    assert error.record is not None, "replay named the record"
                    yield LeftOut(
                        offset=error.record.offset, type=error.record.type, text=error.text
                    )


def _whole_batches(log: MirroredLog) -> Iterator[Batch]:
    """Yield the batches before any damage, without raising an error for the damage.

    A caller that later reads the damaged batches gets the error then.
    """
    try:
        yield from log.batches(log.history_start)
    except CorruptLogError:
        return


def _replay(
    delta: MetadataDelta, transactions: Transactions, row: Envelope
) -> Iterator[ContradictionError]:
    try:
        effective: Sequence[Envelope] = list(transactions.effective((row,)))
    except ContradictionError as error:  # a misplaced marker
        yield error
        return
    for each in effective:
        try:
            # The rules check a record before they change anything, so the delta can go on.
            delta.replay(each)
        except ContradictionError as error:
            yield error
