"""The last allocated block of producer ids."""

import msgspec

from records.configs import ProducerIdsRecord
from records.errors import ContradictionError
from replay.image.changes import ValueDelta
from replay.image.fields import copied


class ProducerIds(msgspec.Struct, frozen=True, gc=False):
    """The broker that got the last block of producer ids, and the first id of the next block."""

    broker_id: int
    broker_epoch: int
    next_producer_id: int


class ProducerIdsDelta(ValueDelta[ProducerIds | None]):
    """Changes to the last block; None until one is allocated."""

    def set(self, record: ProducerIdsRecord) -> None:
        """Replace the block; the next producer id must not decrease."""
        last = self.get()
        if last is not None and record.next_producer_id < last.next_producer_id:
            raise ContradictionError(
                f"next producer id {record.next_producer_id} is below {last.next_producer_id}",
                about="cluster:producer_ids#next_producer_id",
            )
        self.put(copied(record, ProducerIds))
