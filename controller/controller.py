"""The serial loop: decide, replay, append, commit, answer.

Decisions are made one at a time, but nothing waits for the disk between them. `submit` immediately
decides on the *latest* image, applies the records to it, passes them to the log, and keeps the
answer pending until they are committed. Thus many events share one fsync. All other readers see
only the *committed* image. Raw appends wait for the end of the event loop's turn
(`Controller._decide_appends`). A decision with many records takes several turns, so that other work
runs between them (decision_turns.py). Other decisions wait for it meanwhile, but heartbeats that
write nothing are answered. A decision that may have any number of records is made in steps, and
others are made between them (decision_steps.py).

    submit --> decide(latest) --> records --> log.append ......> committed --> answers
                  ^                  |
                  +---- latest <-----+  (immediately)

If an append fails, the latest image is replaced by the committed one, and every pending answer
becomes an error with the outcome of its records (failed_batches.py).

Pure asyncio: everything runs in one thread, so no two decisions overlap.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from controller.asked.asked import APPEND, BoundDecision
from controller.asked.repeated_requests import InFlight
from controller.decider import Decider, Decision, RawAppend
from controller.decision_steps import STEP_RECORDS, DecisionSteps
from controller.decision_turns import DecisionTurns
from controller.decisions.brokers.heartbeats import Heartbeat, HeartbeatReply, heartbeat
from controller.decisions.context.context import Context, Rng, Settings
from controller.decisions.context.lazy_index import LazyIndex
from controller.decisions.features.levels_in_use import bootstrap
from controller.decisions.levels import NEW_CLUSTER_LEVELS, TRANSACTIONS_LEVEL
from controller.deferred_events import DeferredEvents
from controller.descriptions.view import View
from controller.pipeline.latest import State
from controller.pipeline.log_port import LogPort
from controller.pipeline.pipeline import Pipeline
from controller.raw_appends.raw_append import (
    IN_TURNS,
    Appended,
    AppendRecords,
    append_in_turns,
    append_records,
)
from controller.results.answer import Answer
from controller.results.decided import Decided
from controller.results.refusals import cannot_be_repeated, not_active, overloaded
from controller.results.result import ControllerResult
from controller.results.turns import Turns, whole
from controller.transaction import Transaction, opened
from metadata_log.writer.clock import Clock
from metadata_log.writer.request_window import has_id
from records.envelope import Origin
from records.errors import MetadataLogError, RequestError
from replay.image.metadata import MetadataImage

T = TypeVar("T")

LARGE_DECISION = 1_000
"""Minimum number of records of a decision that takes several turns of the event loop, to decide and
to send: encoding and replaying the records takes as long as deciding on them."""


class Controller:
    """The controller of one log."""

    def __init__(
        self,
        log: LogPort,
        image: MetadataImage,
        *,
        clock: Clock,
        rng: Rng,
        settings: Settings | None = None,
        on_commit: Callable[[Decided], None] = lambda _: None,
        lazy_index: LazyIndex | None = None,
    ) -> None:
        """Take over a log; no decision is made before `activate`.

        Args:
            image: The state at the log's end, without an open transaction.
            lazy_index: The index of the image; None: nothing of it is known.
            clock: Should not be far behind the times in the log, as decisions use the last batch's
                time whenever the clock is behind it.
            on_commit: Called with each batch, in order, after `image` includes it.
        """
        self.settings = settings or Settings()
        self._activated = False
        self._indexed: asyncio.Future[Answer[None]] | None = None
        self._requests = InFlight()
        self._waiting = DeferredEvents(lambda: self._is_free)  # until a decision can be made
        self._transaction_began_ms = 0
        # To be decided together; none while a transaction is open.
        self._appends: list[RawAppend] = []
        self._turns = DecisionTurns(self._attempt, self._waiting.process_waiting)
        state = State.loaded(image) if lazy_index is None else State(image, lazy_index)
        self._pipeline = Pipeline(log, state, on_failure=self._gone_back, on_commit=on_commit)
        self._decider = Decider(self._pipeline, clock=clock, rng=rng, settings=self.settings)

    @property
    def state(self) -> State:
        """The committed state."""
        return self._pipeline.committed

    @property
    def image(self) -> MetadataImage:
        """The committed image."""
        return self.state.image

    @property
    def leader_epoch(self) -> int:
        """The leader epoch under which this controller writes."""
        return self._pipeline.leader_epoch

    @property
    def view(self) -> View:
        """The committed state for descriptions, with the latest heartbeats."""
        return View(
            image=self.state.image,
            lazy_index=self.state.lazy_index,
            settings=self.settings,
            sessions=self._decider.sessions,
        )

    @property
    def is_active(self) -> bool:
        """True if the controller accepts requests."""
        return self._activated and self._pipeline.is_open

    @property
    def has_resigned(self) -> bool:
        """True if another controller took over the log; this one is then inactive for good."""
        return self._pipeline.is_lost

    async def activate(
        self, levels: Mapping[str, int] = NEW_CLUSTER_LEVELS, *, makes_index: bool = True
    ) -> None:
        """Start deciding: abort a predecessor's open transaction; write a new log's feature levels.

        Args:
            levels: Feature levels for a log that is still empty.
            makes_index: Make the index then, if it is not known, in turns of the event loop:
                decisions wait. False: the first decision that reads it makes it.

        Raises:
            MetadataLogError: the log could not be written.
        """
        self._decide_appends()  # those of this turn came before, so they are refused
        self._activated = True
        self._pipeline.abort_left_open("Controller failover", self._decider.now_ms)
        origin = Origin(command="activate", reason="a new log gets its feature levels")
        try:
            await self.submit(BoundDecision("bootstrap", bootstrap, levels), origin=origin)
        except MetadataLogError:
            self._activated = False
            raise
        if makes_index:
            in_turns = partial(self._index_in_turns, self._decider.now_ms())
            self._indexed = self.submit(BoundDecision("index", _nothing, None, in_turns=in_turns))
            # Asyncio logs an exception that is never retrieved: this controller may resign before.
            self._indexed.add_done_callback(asyncio.Future.exception)

    async def indexed(self) -> None:
        """Wait until the index is made that `activate` began.

        Raises:
            RequestError: it is not made, since this controller has resigned or an append failed.
            CorruptLogError: a topic of a loaded snapshot was written by another release. Nothing is
                decided then, nor after any other error.
        """
        if self._indexed is not None:
            await asyncio.shield(self._indexed)

    def resign(self) -> None:
        """Accept no more requests; requests already decided are still committed.

        A request that is in progress is refused.
        """
        self._decide_appends()
        self._activated = False

    def drop_index(self) -> None:
        """Resign if the index is being made: a process that stops does not wait for it."""
        if self._pipeline.latest.lazy_index.is_being_made:
            self.resign()

    def ask(self, question: Decision[T]) -> asyncio.Future[Answer[T]]:
        """Answer a question; future, errors and order as for `submit`."""
        return self.submit(question)

    def ask_at_once(self, question: Decision[T]) -> asyncio.Future[Answer[T]]:
        """Answer a question, perhaps before decisions that are in progress or wait.

        It waits only if it is refused, or reads an index that is being made.
        """
        return self._at_once(question, None, _ignore) or self.submit(question)

    def submit(
        self, decide: Decision[T], *, origin: Origin | None = None
    ) -> asyncio.Future[Answer[T]]:
        """Decide immediately, in the order of the calls; answer after the records are committed.

        A request that writes nothing, or is refused, is answered once everything decided before it
        is committed. A request whose id is already in flight is not decided again; it gets the
        first answer. A `Service` also recognizes a request that is already committed.

        Raises (from the future):
            RequestError: the decision's refusal; or NOT_CONTROLLER: this controller is not active,
                or an earlier batch failed; or INVALID_REQUEST, the id comes without a hash.
            UnavailableError: too many requests wait, or the disk is full; the outcome is partial if
                the first batches of a long list of records are committed.
            FencedError: the log was lost to another writer; the outcome is unknown if the records
                were being written.
            CorruptLogError: a topic of a loaded snapshot was written by another release.
        """
        return self._submit(decide, origin, _ignore)

    def append(
        self, request: AppendRecords, *, origin: Origin | None = None
    ) -> asyncio.Future[Answer[Appended]]:
        """Append the given records unchanged; future and errors as for `submit`.

        The appends of one turn of the event loop are decided together, at its end, but before any
        request that follows them.
        """
        has_to_wait = self._waiting or not self._is_free
        if has_to_wait or len(request.records) >= IN_TURNS or has_id(origin):
            # It has to wait, takes several turns, or its answer is logged.
            bound = BoundDecision(APPEND, append_records, request, in_turns=append_in_turns)
            return self.submit(bound, origin=origin)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer[Appended]] = loop.create_future()
        if not self._appends:
            loop.call_soon(self._decide_appends)
        self._appends.append(RawAppend(future, request, origin))
        return future

    @asynccontextmanager
    async def transaction(
        self, name: str, *, origin: Origin | None = None
    ) -> AsyncIterator[Transaction]:
        """Open a metadata transaction: several batches that take effect together or not at all.

        Decisions inside the transaction see its earlier records; other readers see them only after
        it has ended. Other requests wait meanwhile, so keep it short: it is aborted after
        `transaction_timeout_ms`. An exception in the body aborts it; leaving the body ends it, and
        returns once the end is committed.

        Raises:
            RequestError: NOT_CONTROLLER, this controller is not active, or a batch failed;
                REQUEST_TIMED_OUT, the transaction was open for too long and was aborted;
                UNSUPPORTED_VERSION, the metadata.version is too old; or INVALID_REQUEST, the origin
                of the transaction or of a request inside has a request id.
            UnavailableError, FencedError: as `submit`; the written records take effect only if the
            transaction's end was written.
        """
        if has_id(origin):
            raise cannot_be_repeated()
        begun: asyncio.Future[Transaction] = asyncio.get_running_loop().create_future()
        begin = partial(self._begin, begun, name, origin)
        self._waiting.process(partial(self._attempt, begun, begin), begun)
        async with await opened(begun) as transaction:
            yield transaction

    def heartbeat(
        self, request: Heartbeat, *, origin: Origin | None = None
    ) -> asyncio.Future[Answer[HeartbeatReply]]:
        """Process a broker's heartbeat; future and errors as for `submit`.

        While another decision is in progress, a heartbeat that writes nothing does not wait.
        """
        decide = BoundDecision("heartbeat", heartbeat, request)
        note = partial(self._decider.heard, request)
        answer = None if has_id(origin) else self._at_once(decide, origin, note)
        return answer or self._submit(decide, origin, note)

    def paused(self, pause_ms: int) -> None:
        """Extend the brokers' sessions by a time in which this process could not run."""
        self._decider.paused(pause_ms)

    async def drained(self) -> None:
        """Wait until no batch is in flight, and no decision that began, or waited, before now.

        While a transaction is open, requests that wait for its end are not waited for: its body may
        call this too.
        """
        if self._pipeline.transaction is None:
            await self._waiting.processed()
        self._decide_appends()
        await self._pipeline.drained()

    def _index_in_turns(
        self, began_ms: int, context: Context, request: None
    ) -> Turns[ControllerResult[None]]:
        """Make the index, unless it is known; heartbeats that wait for it are not late."""
        try:
            yield from context.lazy_index.in_turns()
        except Exception as error:
            self._pipeline.give_up(error)
            raise
        self._decider.paused(self._decider.now_ms() - began_ms)
        return _nothing(context, request)

    def _at_once(
        self, decide: Decision[T], origin: Origin | None, note: Callable[[T], None]
    ) -> asyncio.Future[Answer[T]] | None:
        """Answer a request that writes nothing, if another decision is in progress."""
        if not (self._turns.is_in_progress and self.is_active):
            return None
        return self._decider.answer(decide, origin, note)

    def _submit(
        self, decide: Decision[T], origin: Origin | None, note: Callable[[T], None]
    ) -> asyncio.Future[Answer[T]]:
        self._decide_appends()
        future: asyncio.Future[Answer[T]] = asyncio.get_running_loop().create_future()
        try:
            again = self._requests.find(origin, decide)
        except RequestError as error:
            future.set_exception(error)
            return future
        if again is not None:
            return again
        self._requests.add(origin, decide, future)
        self._waiting.process(partial(self._decide, future, decide, origin, note), future)
        return future

    def _decide(
        self,
        future: asyncio.Future[Answer[T]],
        decide: Decision[T],
        origin: Origin | None,
        note: Callable[[T], None],
        steps: DecisionSteps[T] | None = None,
    ) -> None:
        """Make a decision, or the next one of its steps."""
        self._decide_appends()
        turns = self._made(future, decide, origin, note, steps)
        if self._pipeline.transaction is None:
            self._turns.begin(future, turns)
        else:
            self._attempt(future, partial(whole, turns))

    def _made(
        self,
        future: asyncio.Future[Answer[T]],
        decide: Decision[T],
        origin: Origin | None,
        note: Callable[[T], None],
        steps: DecisionSteps[T] | None,
    ) -> Turns[None]:
        """Make a decision and send its records."""
        in_transaction = self._pipeline.transaction is not None
        made = yield from self._decider.decide(
            decide,
            origin,
            step_max=None if in_transaction else STEP_RECORDS,
            begun=None if steps is None else steps.response,
            has_begun=steps is not None,
        )
        if len(made.result.records) >= LARGE_DECISION:
            yield
        answered, tell = future, note
        if made.result.is_partial:  # only the response of the last step is the answer
            rest = partial(self._decide_rest, decide, origin, note)
            answered, tell = (steps or DecisionSteps(future, rest)).part(), _ignore
        yield from self._decider.send(made, answered, tell)

    @property
    def _is_free(self) -> bool:
        """True if a decision can be made now."""
        return self._pipeline.transaction is None and not self._turns.is_in_progress

    def _decide_rest(
        self,
        decide: Decision[T],
        origin: Origin | None,
        note: Callable[[T], None],
        steps: DecisionSteps[T],
    ) -> None:
        """Make a decision again after one of its steps."""
        rest = steps.rest()
        self._waiting.process(partial(self._decide, rest, decide, origin, note, steps), rest)

    def _decide_appends(self) -> None:
        """Decide on the appends of this turn."""
        appends, self._appends = self._appends, []
        if appends and self.is_active:
            with self._decider.append_group() as shared:
                for append in appends:
                    self._attempt(append.future, partial(self._decider.append, append, shared))
            return
        for append in appends:
            if not append.future.done():  # cancelled by the caller
                append.future.set_exception(self._refusal())

    def _attempt(self, future: asyncio.Future[Any], decide: Callable[[], None]) -> None:
        """Call `decide`, which makes a decision that answers `future`; set errors on `future`."""
        if future.done():  # cancelled by the caller
            return
        if not self.is_active:
            future.set_exception(self._refusal())
            return
        try:
            decide()
        except RequestError as error:
            self._pipeline.refuse_when_committed(future, error)
        except Exception as error:
            # Bugs of a decision too: other callers wait for their turn or for this answer.
            future.set_exception(error)

    def _refusal(self) -> Exception:
        """Return the error for a request while this controller is not active."""
        return self._pipeline.unusable or not_active()

    def _after_transaction(self) -> None:
        """Process the events deferred during a transaction, in order.

        These events may contain heartbeats, perhaps after a check that fences brokers. So the time
        of the transaction does not count against the brokers' sessions.
        """
        if self._waiting:
            self._decider.paused(self._decider.now_ms() - self._transaction_began_ms)
        self._waiting.process_waiting()

    def _begin(self, begun: asyncio.Future[Transaction], name: str, origin: Origin | None) -> None:
        self._decide_appends()
        if not self._pipeline.room:
            raise overloaded()
        self._decider.context().require_level(TRANSACTIONS_LEVEL, "transactions")
        self._pipeline.abort_left_open("A batch of it failed", self._decider.now_ms)
        self._transaction_began_ms = self._decider.now_ms()
        transaction = Transaction(
            name,
            pipeline=self._pipeline,
            decider=self._decider,
            decide=self._decide,
            on_end=self._after_transaction,  # at once, or newcomers would overtake
            origin=origin,
            began_ms=self._transaction_began_ms,
            timeout_ms=self.settings.transaction_timeout_ms,
        )
        begun.set_result(transaction)

    def _gone_back(self) -> None:
        """Continue from the committed state after a failed append; forget an open transaction."""
        self._decider.restart_sessions()
        self._turns.refuse(self._refusal())
        # Answer the failed requests first; the pipeline is open again by then.
        asyncio.get_running_loop().call_soon(self._after_transaction)


def _nothing(context: Context, request: None) -> ControllerResult[None]:
    """Write nothing."""
    return ControllerResult(response=None)


def _ignore(_: object) -> None:
    """Note nothing about a response."""
