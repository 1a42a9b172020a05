"""Produce requests in progress: waits for the leader's write, then for the in-sync replicas."""

import asyncio

from api.broker.record_rules import RecordsRefusedError
from api.broker.replica import Replica
from api.kafka.errors import CODES, code_for
from api.kafka.messages.records_io import ProducedPartitionResult
from records.errors import RequestError

_UNKNOWN = "not all replicas in sync are known to have it; the outcome is unknown"


class PendingWrite:
    """The write of a client's batches to one partition, while it is in progress."""

    def __init__(
        self,
        index: int,
        replica: Replica,
        append: "asyncio.Task[tuple[int, int]]",
        *,
        by_all: bool,
        is_log_append_time: bool = False,
    ) -> None:
        """Create the object for a write that has been started.

        Args:
            index: The partition's id, for the result.
            append: The task of the leader's write.
            by_all: True to wait for all in-sync replicas, False to wait only for the leader.
            is_log_append_time: True if the answer tells the time of the write.
        """
        self._index = index
        self._replica = replica
        self._leader_epoch = replica.leader_epoch
        self._append = append
        self._by_all = by_all
        self._is_log_append_time = is_log_append_time

    async def result(self, deadline: float) -> ProducedPartitionResult:
        """Wait for the write, and return its result.

        Args:
            deadline: Time until which to wait for the in-sync replicas, by the event loop's clock.
        """
        try:
            # The write continues if the client disconnects.
            base_offset, end_offset = await asyncio.shield(self._append)
        except RequestError as error:
            return refused(self._index, error)
        except OSError as error:
            return self._failed("KAFKA_STORAGE_ERROR", error.strerror)
        time_ms = self._replica.log.time_of(base_offset) if self._is_log_append_time else -1
        if self._by_all:
            try:
                async with asyncio.timeout_at(deadline):
                    if not await self._is_everywhere(end_offset):
                        return self._failed("NOT_LEADER_OR_FOLLOWER", _UNKNOWN)
            except TimeoutError:
                return self._failed("REQUEST_TIMED_OUT", _UNKNOWN)
        return ProducedPartitionResult(
            index=self._index,
            base_offset=base_offset,
            log_append_time_ms=time_ms,
            log_start_offset=self._replica.log.start_offset,
        )

    async def _is_everywhere(self, end_offset: int) -> bool:
        """Wait until all in-sync replicas have the batches; False if the leader epoch changes."""
        # Check the epoch first: in a later one, other records may have the same offsets.
        while self._replica.leader_epoch == self._leader_epoch:
            if self._replica.high_watermark >= end_offset:
                return True
            await self._replica.moved()
        return False

    def _failed(self, name: str, message: str | None) -> ProducedPartitionResult:
        return ProducedPartitionResult(
            index=self._index, error_code=CODES[name], error_message=message
        )


def refused(index: int, error: RequestError) -> ProducedPartitionResult:
    """Return the result of a partition whose batches were refused."""
    record_errors = error.record_errors if isinstance(error, RecordsRefusedError) else ()
    return ProducedPartitionResult(
        index=index,
        error_code=code_for(error),
        error_message=str(error),
        record_errors=record_errors,
    )
