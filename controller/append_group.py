"""Raw appends of one turn of the event loop, decided together.

Each append is a batch of its own, with its own offset and outcome, and sees the records of those
before it; a refused one leaves nothing. But all are decided before the first one is sent to the
log, at one time. That takes two thirds of the time of deciding and sending one after the other
(benchmarks/README.md, "The socket").
"""

import asyncio
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from controller.asked.asked import asked_append
from controller.decisions.context import Context
from controller.pipeline.batch_check import check_size
from controller.pipeline.pending_answers import Answer
from controller.pipeline.pipeline import AppliedBatch, Pipeline
from controller.raw_appends.raw_append import Appended, AppendRecords, append_records
from controller.results.refusals import overloaded
from records.envelope import Origin


class RawAppend(msgspec.Struct, frozen=True):
    """A raw append without a request id, and the future of its answer."""

    future: asyncio.Future[Answer[Appended]]
    request: AppendRecords
    origin: Origin | None


class AppendGroup:
    """Decides raw appends on a pipeline's latest state; `send` then sends their batches.

    Nothing else may be decided before `send`.
    """

    def __init__(self, pipeline: Pipeline, context: Context) -> None:
        """Start a group; `context` gives the time and the settings for all of its appends."""
        self._pipeline = pipeline
        self._context = context
        self._room = pipeline.room
        self._applied: list[AppliedBatch] = []

    def decide(self, append: RawAppend) -> None:
        """Decide on an append; its future gets the response once its records are committed.

        Raises:
            RequestError: the append is refused; it leaves nothing.
            UnavailableError: too many batches wait for the log; the append leaves nothing.
        """
        pipeline, request = self._pipeline, append.request
        latest = pipeline.latest
        context = replace(
            self._context,
            image=latest.image,
            index=latest.index,
            next_offset=pipeline.next_offset,
            origin=append.origin,
        )
        result = append_records(context, request)
        checked = result.checked
        assert checked is not None, "raw appends are checked"
        if len(self._applied) >= self._room:
            raise overloaded()
        asked = asked_append(request)
        check_size(context, checked.batch.records, asked, checked.encoded)
        self._applied.append(pipeline.apply_checked(checked, asked))
        pipeline.answer_when_committed(
            append.future, result.response, start_offset=context.next_offset
        )

    def send(self) -> Sequence[AppliedBatch]:
        """Send the batches to the log, and return them."""
        for applied in self._applied:
            self._pipeline.send_applied(applied)
        return self._applied
