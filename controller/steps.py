"""Decides several steps as one decision: each step sees the records of the earlier ones.

The result is atomic. The records are between BeginTransactionRecord and EndTransactionRecord and
are decided as one event, so no other records come in between.
"""

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from controller.decider import Decision
from controller.decisions.context.context import Context
from controller.decisions.levels import TRANSACTIONS_LEVEL
from controller.pipeline.latest import Latest, State
from controller.pipeline.prepared_batch import next_batch
from controller.results.quota_charges import Charge
from controller.results.result import ControllerResult
from controller.results.turns import Turns
from metadata_log.limits import BATCH_RECORDS_MAX
from records.base import Record
from records.control import BeginTransactionRecord, EndTransactionRecord
from replay.image.quotas import QuotaEntity

T = TypeVar("T")


_APPLIED_IN_TURN = 1_000
"""Number of records of a step from which they are applied in a turn of their own."""


class Steps:
    """The state inside a transaction while its steps are decided."""

    def __init__(self, context: Context) -> None:
        """Start with the state of a context.

        Raises:
            RequestError: UNSUPPORTED_VERSION, the metadata.version has no transactions.
        """
        context.require_level(TRANSACTIONS_LEVEL, "transactions")
        start = context.next_offset + 1  # after the Begin
        self._context = replace(context, next_offset=start)
        self._latest = Latest(State(context.image, context.lazy_index), start)
        self._records: list[Record] = []
        self._charges: dict[QuotaEntity | None, Charge] = {}

    def take(self, decide: Decision[T]) -> T:
        """Decide the next step, and return its response.

        Raises:
            RequestError: the step's decision refused it.
        """
        return self._taken(decide(self._context))

    def take_in_turns(self, decide: Callable[[Context], Turns[ControllerResult[T]]]) -> Turns[T]:
        """Decide the next step as `take` does, in several turns of the event loop."""
        result = yield from decide(self._context)
        if len(result.records) >= _APPLIED_IN_TURN:
            yield
        return self._taken(result)

    def result(self, response: T, name: str) -> ControllerResult[T]:
        """Return the records of all steps as one result; without records if no step wrote any."""
        if not self._records:
            return ControllerResult(response=response)
        begin = BeginTransactionRecord(name=name)
        records = (begin, *self._records, EndTransactionRecord())
        return ControllerResult(
            response=response,
            records=records,
            atomic=len(records) <= BATCH_RECORDS_MAX,
            charges=tuple(self._charges.values()),
            state=self._latest.state,
        )

    def _taken(self, result: ControllerResult[T]) -> T:
        if result.records:
            self._apply(result)
        return result.response

    def _apply(self, result: ControllerResult[T]) -> None:
        context, records = self._context, result.records
        self._latest.advance(result.checked or next_batch(context, records))
        self._records.extend(records)
        for charge in result.charges:
            # What a bucket held before the first step, less what all steps take.
            first = self._charges.get(charge.allowance.bucket, Charge(charge.allowance, 0))
            total = first.mutations + charge.mutations
            self._charges[charge.allowance.bucket] = Charge(first.allowance, total)
        self._context = replace(
            context,
            image=self._latest.state.image,
            lazy_index=self._latest.state.lazy_index,
            next_offset=self._latest.next_offset,
            sessions=context.sessions.replayed(
                records, base_offset=context.next_offset, now_ms=context.now_ms
            ),
            buckets=context.buckets.charged_all(result.charges),
        )
