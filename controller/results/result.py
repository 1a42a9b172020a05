"""Results of decisions: records to write, and the response once they are committed."""

from collections.abc import Iterator, Sequence
from typing import Any, Generic, Self, TypeVar

import msgspec
from msgspec.structs import replace

from controller.results.decided import Decided
from controller.results.quota_charges import Charge
from metadata_log.limits import BATCH_RECORDS_MAX
from records.base import Record
from records.control import BeginTransactionRecord
from records.envelope import Origin, without_id

T = TypeVar("T")


class ControllerResult(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """The result of a decision: records to write, and a response; nothing has changed yet.

    `atomic`: the records must become visible together, so they must fit in one batch. If False, a
    long list is split into several batches, and a reader may see a state between two of them.
    `charges` are the partitions to subtract from quotas. `checked`: `records` as a batch, already
    encoded and replayed. `is_partial`: these are only the first records; the same decision, made
    again on the state after them, returns the rest. The response is then that of the state so far.
    `state`: the pipeline's state after all records of a transaction, if it is known already; its
    image has the position of the last record before the transaction's end.
    """

    response: T
    records: tuple[Record, ...] = ()
    atomic: bool = True
    charges: tuple[Charge, ...] = ()
    checked: Decided | None = None
    is_partial: bool = False
    state: Any = None

    @property
    def is_transaction(self) -> bool:
        """True if the records form a transaction, so they take effect only with the last one."""
        return bool(self.records) and isinstance(self.records[0], BeginTransactionRecord)

    def unless(self, validate_only: bool) -> Self:
        """Return the result, without its records if the request is a dry run."""
        return replace(self, records=(), checked=None, state=None) if validate_only else self

    def batches(self, origin: Origin | None) -> Iterator[tuple[Sequence[Record], Origin | None]]:
        """Split the records into batches, each with its origin.

        Only the last batch has the request's id. If a crash leaves only the first batches, the
        request does not count as done, and deciding it again writes the rest.
        """
        count = len(self.records)
        assert not self.atomic or count <= BATCH_RECORDS_MAX, "cannot be written as one"
        if 0 < count <= BATCH_RECORDS_MAX:
            yield self.records, origin
            return
        earlier = without_id(origin)
        for start in range(0, count, BATCH_RECORDS_MAX):
            end = start + BATCH_RECORDS_MAX
            yield self.records[start:end], origin if end >= count else earlier
