"""Writes that wait until every replica in sync has them."""

import asyncio

from api.broker.replica import Replica
from api.kafka.errors import CODES
from api.kafka.messages.records_io import ProducedPartitionResult


class Written:
    """Batches that the leader has, and others must still get."""

    def __init__(
        self, replica: Replica, end_offset: int, leader_epoch: int, result: ProducedPartitionResult
    ) -> None:
        self._replica = replica
        self._end_offset = end_offset
        self._leader_epoch = leader_epoch
        self._result = result

    async def result(self, deadline: float) -> ProducedPartitionResult:
        """Wait until all in sync have them, or until that can no longer be said."""
        try:
            async with asyncio.timeout_at(deadline):
                while self._replica.high_watermark < self._end_offset:
                    if self._replica.leader_epoch != self._leader_epoch:
                        return self._failed("NOT_LEADER_OR_FOLLOWER")
                    await self._replica.moved()
        except TimeoutError:
            return self._failed("REQUEST_TIMED_OUT")
        return self._result

    def _failed(self, name: str) -> ProducedPartitionResult:
        return ProducedPartitionResult(
            index=self._result.index,
            error_code=CODES[name],
            error_message="not all replicas in sync are known to have it; the outcome is unknown",
        )


async def settled(
    write: ProducedPartitionResult | Written, deadline: float
) -> ProducedPartitionResult:
    return await write.result(deadline) if isinstance(write, Written) else write
