"""The decider: makes decisions on the latest state and sends their records to the log.

Keeps the inputs of decisions that are not in the log: heartbeats, and the clients' remaining
quotas. Heartbeats belong to the latest image and are reset with it; quota charged for a request is
not refunded if its records are lost.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from controller.asked.asked import BoundDecision, asked_append, asked_of
from controller.asked.observed import STEP, Draws, Reads, observed
from controller.decisions.brokers.heartbeats import Heartbeat, HeartbeatReply, sessions_after
from controller.decisions.context.context import Context, Rng, Settings
from controller.decisions.context.lazy_index import IndexBeingMadeError
from controller.decisions.context.mutation_quotas import MutationBuckets
from controller.decisions.context.sessions import ABOUT_BROKERS, Sessions
from controller.pipeline.latest import State
from controller.pipeline.pipeline import Pipeline
from controller.pipeline.prepared_batch import next_batches, ready, replayed
from controller.raw_appends.raw_append import Appended, AppendRecords, append_records
from controller.results.answer import Answer
from controller.results.changed_versions import ObjectVersion, changed_versions
from controller.results.decided import Decided
from controller.results.refusals import overloaded
from controller.results.result import ControllerResult
from controller.results.turns import Turns, whole
from metadata_log.writer.clock import Clock
from metadata_log.writer.request_window import is_repeatable
from records.envelope import Origin, without_id
from records.errors import RequestError
from replay.image.metadata import MetadataImage

T = TypeVar("T")

Decision = Callable[[Context], ControllerResult[T]]
"""Reads a context and returns what to write; changes nothing."""


REPLAYED_IN_TURN = 1_000
"""Number of records from which a batch is replayed in a turn of the event loop of its own."""


class RawAppend(msgspec.Struct, frozen=True):
    """A raw append without a request id, and the future of its answer."""

    future: asyncio.Future[Answer[Appended]]
    request: AppendRecords
    origin: Origin | None


class Made(msgspec.Struct, Generic[T], frozen=True):
    """A decision's result and the values that it read, before its records are sent.

    `has_begun`: earlier steps of the decision were sent already.
    """

    decide: Decision[T]
    result: ControllerResult[T]
    context: Context
    reads: Reads
    draws: Draws
    has_begun: bool = False


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
        decide: Decision[T],
        origin: Origin | None,
        *,
        step_max: int | None = None,
        begun: T | None = None,
        has_begun: bool = False,
    ) -> Turns[Made[T]]:
        """Make a decision; the caller must send its records before the next decision is made.

        In between, only decisions that write nothing may be made.

        Args:
            step_max: Maximum number of records of a step; None: the decision is not split.
            begun: The response of the previous step.
            has_begun: This is not the decision's first step.

        Raises:
            RequestError: the decision's refusal.
        """
        self._pipeline.abort_left_open("A batch of it failed", self.now_ms)
        reads, draws = Reads(), Draws(self._rng)
        context = self.context(draws, origin)
        context = observed(replace(context, step_max=step_max, begun=begun), reads)
        if isinstance(decide, BoundDecision):
            result = yield from decide.turns(context)
        else:
            result = decide(context)
        if result.is_partial:
            # Only the last step is the request, as for `ControllerResult.batches`.
            context = replace(context, origin=without_id(origin))
            reads.note(STEP, step_max)
        return Made(decide, result, context, reads, draws, has_begun)

    def send(
        self, made: Made[T], future: asyncio.Future[Answer[T]], note: Callable[[T], None]
    ) -> Turns[None]:
        """Send a decision's records; `future` gets the response once they are committed.

        Each batch is encoded in a turn of its own, and a large one replayed in another; all are
        sent, and indexed, in the last one.

        Args:
            note: Called with the response as soon as the records are sent, before the commit.

        Raises:
            RequestError: a batch is too large, or holds a value that no record can; nothing was
                sent.
            UnavailableError: too many batches wait for the log; nothing was sent.
        """
        decide, result, context = made.decide, made.result, made.context
        origin = context.origin
        batches = next_batches(context, result, self._pipeline.leader_epoch)
        if len(batches) > self._pipeline.room:
            # A batch that the log refuses would fail all batches after it.
            raise overloaded()
        tells_versions = isinstance(decide, BoundDecision) and decide.tells_versions
        tells_versions = tells_versions and not result.is_partial
        is_kept = tells_versions and is_repeatable(origin)
        versions: tuple[ObjectVersion, ...] | None = ()
        if is_kept:
            # The whole answer is kept in the first batch, so the versions are needed before it.
            after = self._after(batches) if result.state is None else result.state.image
            versions = _versions(made, after)
            if len(batches) == 1:
                batches[0] = replace(batches[0], after=after)
        asked = None
        if isinstance(decide, BoundDecision) and result.records:
            asked = asked_of(
                decide,
                result,
                origin,
                seed=made.draws.seed,
                seen=made.reads.kept,
                versions=versions,
            )
        for index, batch in enumerate(batches):
            if index:
                yield
            batches[index] = ready(batch, None if index else asked)
        if len(batches) == 1 and len(result.records) >= REPLAYED_IN_TURN and result.state is None:
            yield
            batches[0] = replayed(batches[0], context.image)
            yield
        self._send(batches, result.state)
        if result.records:
            self._buckets = self._buckets.charged_all(result.charges)
        if tells_versions and not is_kept:
            versions = _versions(made, self._pipeline.latest.image)
        note(result.response)
        self._pipeline.answer_when_committed(
            future,
            result.response,
            start_offset=context.next_offset,
            is_transaction=result.is_transaction,
            versions=versions,
        )

    def answer(
        self, decide: Decision[T], origin: Origin | None, note: Callable[[T], None]
    ) -> asyncio.Future[Answer[T]] | None:
        """Answer a request that writes nothing, also between the turns of another decision.

        Args:
            note: As for `send`.

        Returns:
            None if the request would write, be refused, or read an index that is being made.
        """
        future: asyncio.Future[Answer[T]] = asyncio.get_running_loop().create_future()
        try:
            # One record shows that it writes: a heartbeat may fence a broker with 100,000 replicas.
            made = whole(self.decide(decide, origin, step_max=1))
        except (RequestError, IndexBeingMadeError):
            return None
        if made.result.records:
            return None
        whole(self.send(made, future, note))
        return future

    @contextmanager
    def append_group(self) -> Iterator[Context]:
        """Collect raw appends without request ids, so that they reach the log together.

        Inside the `with` block, call `append` for each one, with the context that the block yields.
        Each append is a batch of its own, with its own offset and outcome, and sees the records of
        the appends before it. All share the time and the settings of that context.
        """
        self._pipeline.abort_left_open("A batch of it failed", self.now_ms)
        shared = self.context()
        with self._pipeline.group():
            yield shared

    def append(self, append: RawAppend, shared: Context) -> None:
        """Decide on a raw append inside `append_group`, with the same results as `decide`.

        Takes less time than `decide`, because there are no random numbers, sessions or quotas to
        log.

        Args:
            shared: The context of `append_group`.

        Raises:
            RequestError: the append is refused; it leaves nothing.
            UnavailableError: too many batches wait for the log; the append leaves nothing.
        """
        latest = self._pipeline.latest
        context = replace(
            shared,
            image=latest.image,
            lazy_index=latest.lazy_index,
            next_offset=self._pipeline.next_offset,
            origin=append.origin,
        )
        result = append_records(context, append.request)
        assert result.checked is not None, "raw appends are checked"
        if not self._pipeline.room:
            raise overloaded()
        self._send([ready(result.checked, asked_append(append.request))], None)
        self._pipeline.answer_when_committed(
            append.future, result.response, start_offset=context.next_offset
        )

    def context(self, rng: Rng | None = None, origin: Origin | None = None) -> Context:
        """Return the input for a decision made now; by default with the controller's own `rng`."""
        return Context(
            image=self._pipeline.latest.image,
            lazy_index=self._pipeline.latest.lazy_index,
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

    def _after(self, batches: list[Decided]) -> MetadataImage:
        """Return the image after a decision's batches, which are not sent yet."""
        known = batches[0].after if len(batches) == 1 else None
        return self._pipeline.image_after(batches) if known is None else known

    def _send(self, batches: list[Decided], state: State | None) -> None:
        if state is None:
            for batch in batches:
                self._pipeline.send(batch)
        else:
            self._pipeline.send_transaction(batches, state)
        for batch in batches:
            self._note_brokers(batch)

    def _note_brokers(self, batch: Decided) -> None:
        if not batch.types.isdisjoint(ABOUT_BROKERS):
            self.sessions = self.sessions.replayed(
                batch.records, base_offset=batch.base_offset, now_ms=batch.timestamp
            )


def _versions(made: Made[Any], after: MetadataImage) -> tuple[ObjectVersion, ...] | None:
    """Return the versions of the objects that a decision changed; None if there are too many."""
    if made.has_begun:
        return None
    context = made.context
    return changed_versions(made.result.records, context.image, after, context.next_offset)
