"""The decider: makes decisions on the latest state and sends their records to the log.

Keeps the inputs of decisions that are not in the log: heartbeats, and the clients' remaining
quotas. Heartbeats belong to the latest image and are reset with it; quota charged for a request is
not refunded if its records are lost.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from controller.append_group import AppendGroup, RawAppend
from controller.asked.asked import BoundDecision, asked_of
from controller.asked.observed import Draws, Reads, observed
from controller.decisions.context import Context, Rng, Settings
from controller.decisions.heartbeats import Heartbeat, HeartbeatReply, sessions_after
from controller.decisions.levels import record_versions
from controller.decisions.mutation_quotas import MutationBuckets
from controller.decisions.sessions import ABOUT_BROKERS, Sessions
from controller.pipeline.batch_check import check_size
from controller.pipeline.pending_answers import Answer
from controller.pipeline.pipeline import Pipeline
from controller.raw_appends.raw_append import Appended
from controller.results.changed_versions import ObjectVersion, changed_versions
from controller.results.decided_batch import CheckedBatch, DecidedBatch
from controller.results.refusals import overloaded
from controller.results.result import ControllerResult
from metadata_log.writer.clock import Clock
from metadata_log.writer.request_window import is_repeatable
from records.base import Record
from records.envelope import Asked, Origin
from replay.image.metadata import MetadataImage

T = TypeVar("T")

Decision = Callable[[Context], ControllerResult[T]]
"""Reads a context and returns what to write; changes nothing."""

Attempt = Callable[[asyncio.Future[Answer[Appended]], Callable[[], None]], None]
"""Makes a decision; if it fails, the future gets the error."""


class Decider:
    """Decides on a pipeline's latest state and sends the records to the pipeline.

    Attributes:
        sessions: State from heartbeats. Aborting a transaction restores its state from before the
            transaction.
    """

    def __init__(self, pipeline: Pipeline, *, clock: Clock, rng: Rng, settings: Settings) -> None:
        self._pipeline = pipeline
        self._clock = clock
        self._rng = rng
        self._settings = settings
        self._buckets = MutationBuckets()
        self.sessions = self._new_sessions()

    def now_ms(self) -> int:
        """Return the time, ms since 1970; never less than the last batch's time."""
        return max(self._clock.now_ms(), self._pipeline.timestamp)

    def decide(
        self,
        future: asyncio.Future[Answer[T]],
        decide: Decision[T],
        origin: Origin | None,
        note: Callable[[T], None],
    ) -> None:
        """Make a decision; `future` gets the response once its records are committed.

        Args:
            note: Called with the response as soon as the decision is made, before the commit.

        Raises:
            RequestError: the decision's refusal; nothing was sent.
            UnavailableError: too many batches wait for the log; nothing was sent.
        """
        self._pipeline.abort_left_open("A batch of it failed", self.now_ms)
        reads, draws = Reads(), Draws(self._rng)
        context = observed(self.context(draws, origin), reads)
        result = decide(context)
        batches = list(result.batches(origin))
        tells_versions = isinstance(decide, BoundDecision) and decide.tells_versions
        versions: tuple[ObjectVersion, ...] | None = ()
        after: MetadataImage | None = None
        if tells_versions and is_repeatable(origin):
            # The whole answer is kept in the first batch, so the versions are needed before it.
            after = self._after(result, batches, context)
            versions = _versions(result, context, after)
        asked = None
        if isinstance(decide, BoundDecision) and result.records:
            asked = asked_of(
                decide, result, origin, seed=draws.seed, seen=reads.kept, versions=versions
            )
        if len(batches) > self._pipeline.room:
            # A batch that the log refuses would fail all batches after it.
            raise overloaded()
        encoded = None if result.checked is None else result.checked.encoded
        for index, (records, _) in enumerate(batches):
            check_size(context, records, asked if index == 0 else None, encoded)
        self._send(batches, context, asked, result.checked, after)
        if result.records:
            self._buckets = self._buckets.charged_all(result.charges)
        if tells_versions and after is None:
            versions = _versions(result, context, self._pipeline.latest.image)
        note(result.response)
        self._pipeline.answer_when_committed(
            future,
            result.response,
            start_offset=context.next_offset,
            is_transaction=result.is_transaction,
            versions=versions,
        )

    def append(self, appends: Iterable[RawAppend], attempt: Attempt) -> None:
        """Decide on raw appends without request ids, with the same results as `decide`.

        Takes less time: the decisions read no random numbers, sessions or quotas that would have to
        be logged, and the group shares a context.

        Args:
            attempt: Called with each append's future and its decision; handles the errors.
        """
        self._pipeline.abort_left_open("A batch of it failed", self.now_ms)
        group = AppendGroup(self._pipeline, self.context())
        for append in appends:
            attempt(append.future, partial(group.decide, append))
        for applied in group.send():
            self._sent(applied.batch)

    def _after(
        self,
        result: ControllerResult[Any],
        batches: Sequence[tuple[Sequence[Record], Origin | None]],
        context: Context,
    ) -> MetadataImage:
        """Return the image after a decision whose records are not sent yet."""
        if result.checked is not None:
            return result.checked.after
        return self._pipeline.image_after(batches, timestamp=context.now_ms)

    def context(self, rng: Rng | None = None, origin: Origin | None = None) -> Context:
        """Return the input for a decision made now; by default with the controller's own `rng`."""
        return Context(
            image=self._pipeline.latest.image,
            index=self._pipeline.latest.index,
            sessions=self.sessions,
            settings=self._settings,
            rng=rng or self._rng,
            now_ms=self.now_ms(),
            next_offset=self._pipeline.next_offset,
            origin=origin,
            buckets=self._buckets,
        )

    def heard(self, request: Heartbeat, reply: HeartbeatReply) -> None:
        """Update the sessions with a heartbeat."""
        self.sessions = sessions_after(
            self.sessions,
            request,
            reply,
            next_offset=self._pipeline.next_offset,
            now_ms=self.now_ms(),
        )

    def paused(self, pause_ms: int) -> None:
        """Do not count a pause of this process against the brokers' sessions."""
        self.sessions = self.sessions.after_pause(pause_ms, self.now_ms())

    def restart_sessions(self) -> None:
        """Reset the sessions, because they may contain registrations that were never committed.

        Afterwards, every registered broker is treated as if it had just sent a heartbeat.
        """
        self.sessions = self._new_sessions()

    def _new_sessions(self) -> Sessions:
        return Sessions.of(
            self._pipeline.latest.image,
            timeout_ms=self._settings.session_timeout_ms,
            now_ms=self.now_ms(),
        )

    def _send(
        self,
        batches: Sequence[tuple[Sequence[Record], Origin | None]],
        context: Context,
        asked: Asked | None,
        checked: CheckedBatch | None,
        after: MetadataImage | None,
    ) -> None:
        """Send the batches of one decision.

        Args:
            asked: The decision's inputs, logged with the first batch.
            after: The image after all batches, if it is already computed.
        """
        if checked is not None:
            self._sent(self._pipeline.send_checked(checked, asked))
            return
        level = context.metadata_version
        for records, origin in batches:
            versions = record_versions(records, level)
            batch = self._pipeline.send(
                records,
                versions,
                timestamp=context.now_ms,
                origin=origin,
                asked=asked,
                after=after if len(batches) == 1 else None,
            )
            self._sent(batch)
            asked = None

    def _sent(self, batch: DecidedBatch) -> None:
        if not batch.types.isdisjoint(ABOUT_BROKERS):
            self.sessions = self.sessions.replayed(
                batch.records, base_offset=batch.base_offset, now_ms=batch.timestamp
            )


def _versions(
    result: ControllerResult[Any], context: Context, after: MetadataImage
) -> tuple[ObjectVersion, ...] | None:
    """Return the versions of the objects that a decision changed; None if there are too many."""
    return changed_versions(result.records, context.image, after, context.next_offset)
