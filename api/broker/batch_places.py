"""Positions of a replica's batches on disk, and the header fields that are kept in memory."""

from operator import attrgetter

import msgspec

from api.broker.batch_times import RecordTime
from api.broker.batches import RawBatch
from api.broker.producer_states import Produced


class BatchPlace(msgspec.Struct, frozen=True, gc=False):
    """A batch's position in its segment, and header fields. `end_offset` is exclusive."""

    base_offset: int
    end_offset: int
    leader_epoch: int
    max_timestamp: int
    segment_base: int
    position: int
    size: int
    produced: Produced | None

    @classmethod
    def of(cls, batch: RawBatch, segment_base: int, position: int) -> "BatchPlace":
        """Return the place of a batch that begins at byte `position` of a segment."""
        header = batch.header
        return cls(
            base_offset=header.base_offset,
            end_offset=header.end_offset,
            leader_epoch=header.leader_epoch,
            max_timestamp=header.max_timestamp,
            segment_base=segment_base,
            position=position,
            size=len(batch.data),
            produced=Produced.of(header),
        )


class EpochEnd(msgspec.Struct, frozen=True):
    """A leader epoch and the offset after its last record."""

    leader_epoch: int
    end_offset: int


class TimedOffset(msgspec.Struct, frozen=True):
    """Offset, time (ms since 1970) and leader epoch of a record that was looked up by time."""

    offset: int
    timestamp: int
    leader_epoch: int

    @classmethod
    def of(cls, place: BatchPlace, found: RecordTime) -> "TimedOffset":
        """Return the offset and time of a record found in the batch at `place`."""
        return cls(place.base_offset + found.offset_delta, found.timestamp, place.leader_epoch)


end_offset_of = attrgetter("end_offset")
leader_epoch_of = attrgetter("leader_epoch")
segment_base_of = attrgetter("segment_base")
produced_of = attrgetter("produced")
