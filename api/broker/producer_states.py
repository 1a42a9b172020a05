"""The last batches of each idempotent producer of a partition, so that no batch is written twice.

A producer numbers its records per partition. If it sends a batch again because the response was
lost, it gets the offset of the first write. A batch is refused if batches before it are missing.
The last five batches of each producer are kept, because a producer may have that many in flight.

The state is derived from the log, so every replica with the same batches has the same state.

Source: KIP-98, KIP-360; ProducerStateManager and ProducerAppendInfo of Kafka 3.9.
"""

from collections import deque
from collections.abc import Iterable

import msgspec

from metadata_log.kraft_format.batch import NO_PRODUCER, BatchHeader
from records.errors import RequestError

BATCHES_KNOWN = 5
"""Number of a producer's last batches that are recognised if they are sent again."""

_SEQUENCES = 2**31
"""Number of sequence numbers; after the last one, they continue at 0."""


class Produced(msgspec.Struct, frozen=True, gc=False):
    """A written batch: its producer, its sequence numbers, and its offsets."""

    producer_id: int
    producer_epoch: int
    first_sequence: int
    last_sequence: int
    base_offset: int
    end_offset: int

    @classmethod
    def of(cls, header: BatchHeader) -> "Produced | None":
        """Return a batch's producer data from its header; None if the batch has no producer id."""
        if header.producer_id == NO_PRODUCER:
            return None
        return cls(
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            first_sequence=header.base_sequence,
            last_sequence=(header.base_sequence + header.last_offset_delta) % _SEQUENCES,
            base_offset=header.base_offset,
            end_offset=header.end_offset,
        )

    def is_same(self, other: "Produced") -> bool:
        """True if both batches have the same epoch and sequence numbers, whatever their offsets."""
        mine = self.producer_epoch, self.first_sequence, self.last_sequence
        return mine == (other.producer_epoch, other.first_sequence, other.last_sequence)


class ProducerStates:
    """The last batches of each producer of a partition."""

    def __init__(self, batches: Iterable[Produced] = ()) -> None:
        """Start with these batches, which must be in the order of their offsets."""
        self._last: dict[int, deque[Produced]] = {}
        for batch in batches:
            self.add(batch)

    def add(self, batch: Produced) -> None:
        """Record a batch that was written."""
        known = self._last.get(batch.producer_id)
        if known is None or known[-1].producer_epoch != batch.producer_epoch:
            known = self._last[batch.producer_id] = deque(maxlen=BATCHES_KNOWN)
        known.append(batch)

    def written(self, batch: Produced) -> Produced | None:
        """Return the earlier write of a repeated batch; None if the batch is not repeated.

        A producer without known batches may start with any sequence number, because its earlier
        batches may have been deleted.

        Raises:
            RequestError: INVALID_PRODUCER_EPOCH, the producer has already written with a later
                epoch; OUT_OF_ORDER_SEQUENCE_NUMBER, batches before this one are missing;
                DUPLICATE_SEQUENCE_NUMBER, the batch is older than the batches that are still known.
        """
        known = self._last.get(batch.producer_id)
        if known is None:
            return None
        last = known[-1]
        if batch.producer_epoch < last.producer_epoch:
            raise RequestError(
                "INVALID_PRODUCER_EPOCH",
                f"producer {batch.producer_id} has epoch {last.producer_epoch}, but the batch "
                f"says {batch.producer_epoch}",
            )
        if batch.producer_epoch > last.producer_epoch:
            if batch.first_sequence != 0:
                raise _out_of_order(batch, 0)
            return None
        for each in known:
            if each.is_same(batch):
                return each
        expected = (last.last_sequence + 1) % _SEQUENCES
        if batch.first_sequence == expected:
            return None
        if (expected - batch.first_sequence) % _SEQUENCES < _SEQUENCES // 2:
            raise RequestError(
                "DUPLICATE_SEQUENCE_NUMBER",
                f"producer {batch.producer_id} wrote up to sequence {last.last_sequence}; "
                f"the batch starts at {batch.first_sequence}",
            )
        raise _out_of_order(batch, expected)


def _out_of_order(batch: Produced, expected: int) -> RequestError:
    return RequestError(
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        f"producer {batch.producer_id}: sequence {expected} comes next, "
        f"the batch starts at {batch.first_sequence}",
    )
