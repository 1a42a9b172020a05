"""The block of producer ids that was handed out last."""

import msgspec

from records.configs import ProducerIdsRecord
from records.errors import ContradictionError
from replay.image.changes import ValueDelta
from replay.image.fields import copied


class ProducerIds(msgspec.Struct, frozen=True, gc=False):
    """Who got the last block, and the first id of the next one."""

    broker_id: int
    broker_epoch: int
    next_producer_id: int


class ProducerIdsDelta(ValueDelta[ProducerIds | None]):
    """Changes of the block; None while none has been handed out."""

    def set(self, record: ProducerIdsRecord) -> None:
        """Replace the block; ids never go back."""
        last = self.get()
        if last is not None and record.next_producer_id < last.next_producer_id:
            raise ContradictionError(
                f"next producer id {record.next_producer_id} is below {last.next_producer_id}",
                about="cluster:producer_ids#next_producer_id",
            )
        self.put(copied(record, ProducerIds))
