"""Follower: answers questions from the state of a log that another controller writes."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeVar

from controller.decider import Decision
from controller.decisions.context.context import Context, Rng, Settings
from controller.decisions.context.lazy_index import IndexBeingMadeError
from controller.decisions.context.sessions import Sessions
from controller.descriptions.view import View
from controller.pipeline.latest import Latest, State
from controller.results.answer import Answer
from controller.results.refusals import not_active
from controller.turns_for_others import leave_turns
from metadata_log.format.batch import Batch
from metadata_log.writer.clock import Clock
from records.errors import RequestError
from replay.image.metadata import MetadataImage

T = TypeVar("T")


class Follower:
    """Stands in for a log's `Controller`, with the same methods, while another process decides.

    Attributes:
        settings: The settings of the controller.
        is_active: False: this process makes no decisions.
        leader_epoch: The epoch of the last record.
    """

    is_active = False

    def __init__(
        self,
        state: State,
        *,
        clock: Clock,
        rng: Rng,
        settings: Settings,
        on_commit: Callable[[Batch], None],
        refusal: Callable[[], RequestError] | None = None,
    ) -> None:
        """Start from a state.

        Args:
            on_commit: Called with each batch, in order, after `image` includes it.
            refusal: Returns the error for a request that only the leader can handle.
        """
        self.settings = settings
        self._latest = Latest(state, state.image.provenance.next_offset)
        self._clock = clock
        self._rng = rng
        self._on_commit = on_commit
        self._refusal = refusal or not_active
        # Questions that read an index that is being made.
        self._unanswered: list[tuple[asyncio.Future[Answer[Any]], Decision[Any]]] = []

    @property
    def state(self) -> State:
        """The state after the batches followed so far."""
        return self._latest.state

    @property
    def image(self) -> MetadataImage:
        """The committed image."""
        return self.state.image

    @property
    def leader_epoch(self) -> int:
        """The leader epoch of the last record."""
        return max(self.image.provenance.leader_epoch, 0)

    @property
    def view(self) -> View:
        """The committed state for descriptions; heartbeats are heard by the leader only."""
        state = self.state
        return View(image=state.image, lazy_index=state.lazy_index, settings=self.settings)

    def follow(self, batch: Batch) -> None:
        """Apply a committed batch, unless it is applied already.

        Raises:
            ContradictionError: the batch contradicts the state.
        """
        if batch.end_offset <= self._latest.next_offset:
            return
        self._latest.apply(batch)
        self._on_commit(batch)

    def ask(self, question: Decision[T]) -> asyncio.Future[Answer[T]]:
        """Answer a question from the committed state.

        Raises (from the future):
            RequestError: the question is refused.
        """
        future: asyncio.Future[Answer[T]] = asyncio.get_running_loop().create_future()
        self._answer(future, question)
        return future

    ask_at_once = ask

    async def make_index(self) -> None:
        """Make the index in turns of the event loop; questions that read it wait.

        If it is not made, or this is cancelled, they are refused.

        Raises:
            CorruptLogError: a topic of a loaded snapshot was written by another release.
        """
        try:
            with closing(self.state.lazy_index.in_turns()) as turns:
                for _ in turns:
                    await leave_turns()
        except BaseException as error:
            refusal = error if isinstance(error, Exception) else self._refusal()
            for future, _ in self._taken():
                if not future.done():
                    future.set_exception(refusal)
            raise
        for future, question in self._taken():
            self._answer(future, question)

    def submit(self, *_: Any, **__: Any) -> asyncio.Future[Answer[Any]]:
        """Refuse a request: this process decides nothing. Also used as `append` and `heartbeat`.

        Raises (from the future):
            RequestError: NOT_CONTROLLER.
        """
        future: asyncio.Future[Answer[Any]] = asyncio.get_running_loop().create_future()
        future.set_exception(self._refusal())
        return future

    append = heartbeat = submit

    async def drained(self) -> None:
        """Return at once, because a follower has nothing in flight."""

    def _taken(self) -> list[tuple[asyncio.Future[Answer[Any]], Decision[Any]]]:
        taken, self._unanswered = self._unanswered, []
        return taken

    def _answer(self, future: asyncio.Future[Answer[T]], question: Decision[T]) -> None:
        if future.done():  # cancelled by the caller
            return
        context = self._context()
        try:
            result = question(context)
        except IndexBeingMadeError:
            self._unanswered.append((future, question))
        except Exception as error:
            future.set_exception(error)
        else:
            assert not result.records, "a question changes nothing"
            future.set_result(Answer(result.response, context.next_offset, wrote=False))

    def _context(self) -> Context:
        image = self.image
        now_ms = max(self._clock.now_ms(), self._latest.timestamp)
        timeout_ms = self.settings.session_timeout_ms
        return Context(
            image=image,
            lazy_index=self.state.lazy_index,
            sessions=Sessions.of(image, timeout_ms=timeout_ms, now_ms=now_ms),
            settings=self.settings,
            rng=self._rng,
            now_ms=now_ms,
            next_offset=image.provenance.next_offset,
        )
