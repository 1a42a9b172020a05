"""Silences: times without a record before a new controller's term."""

from collections.abc import Iterable, Iterator

import msgspec

from records.control import LeaderChangeMessage
from records.envelope import Envelope

SILENCE_MS_MIN = 5_000
"""Minimum time without a record before a new controller's first one that counts as a silence."""


class Silence(msgspec.Struct, frozen=True):
    """A time without records, before the record at `offset` with which a controller's term begins.

    What fails meanwhile shows only in later records.
    """

    offset: int
    time: int
    duration_ms: int

    @property
    def begin_time(self) -> int:
        """Append time of the last record before, ms since 1970."""
        return self.time - self.duration_ms


def silence_before(rows: Iterable[Envelope], last_time: int) -> Iterator[Silence]:
    """Yield the silence before a new controller's record, given the time of the record before."""
    for row in rows:
        if isinstance(row.payload, LeaderChangeMessage):
            if row.timestamp - last_time >= SILENCE_MS_MIN:
                yield Silence(row.offset, row.timestamp, row.timestamp - last_time)
            return
