"""The committed part of a log whose quorum has a single voter: all that this voter wrote.

With several voters only a checkpoint proves what a majority had. A single voter is its own
majority: a record is committed once it is on that voter's disk.

Source: KIP-595 (high watermark), KIP-853 (a VotersRecord acts from its offset on).
"""

from collections.abc import Sequence
from itertools import chain
from typing import Self

from metadata_log.format.needles import Needles
from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.control import LeaderChangeMessage, VotersRecord
from records.envelope import Envelope
from records.registry import is_control


class SoleVoter:
    """Tracks along a log whether its quorum has a single voter.

    Attributes:
        confirmed_end: Exclusive end of the last part that a single voter wrote; everything before
            it is committed, too. 0 if there never was a single voter.
    """

    def __init__(self) -> None:
        self._is_sole = False
        self.confirmed_end = 0

    @classmethod
    def after(cls, mirror: LogReader) -> Self:
        """Read a mirror to its end; track whether its quorum then has a single voter.

        Raises:
            CorruptLogError: the mirror is damaged.
        """
        sole = cls()
        needles = Needles()
        needles.add_type(LeaderChangeMessage)
        needles.add_type(VotersRecord)
        base = () if mirror.base is None else mirror.base.rows()
        for rows in chain(base, (batch.rows for batch in mirror.skim(needles))):
            sole.add(rows, rows[-1].offset + 1)
        if sole._is_sole:
            sole.confirmed_end = mirror.end_offset
        return sole

    def add(self, rows: Sequence[Envelope], end_offset: int) -> None:
        """Process the next batch; batches without control records may be left out."""
        if self._is_sole:
            # What came before a further voter joined is committed.
            self.confirmed_end = rows[0].offset
        if is_control(rows[0].payload):  # as all records of a batch, or none
            for row in rows:
                self.see(row.payload)
        if self._is_sole:
            self.confirmed_end = end_offset

    def see(self, record: Record) -> None:
        """Process one record, such as a record of the base checkpoint."""
        if isinstance(record, LeaderChangeMessage | VotersRecord):
            self._is_sole = len(record.voters) == 1
