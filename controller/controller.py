"""The one serial loop: decide, append, replay, commit, answer.

It is serial in deciding, not in waiting. `submit` decides at once on the *latest* image, applies
the records to it, hands them to the log, and parks the answer until they are committed; so many
events share one sync. Everybody else sees the *committed* image only.

    submit --> decide(latest) --> records --> log.append ......> committed --> answers
                  ^                  |
                  +---- latest <-----+  (at once)

When an append fails, the latest image is dropped for the committed one, and every parked answer
becomes NOT_CONTROLLER: its outcome is unknown.

Pure asyncio: all of this runs in one thread, so no two decisions overlap.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from controller.decisions.context import Context, Rng, Settings
from controller.decisions.features import bootstrap_records
from controller.decisions.heartbeats import Heartbeat, HeartbeatReply, heartbeat
from controller.decisions.levels import NEW_CLUSTER_LEVELS, record_version
from controller.decisions.sessions import Sessions
from controller.descriptions.view import View
from controller.log_port import LogPort
from controller.parking import Answer
from controller.pipeline import Pipeline
from controller.result import ControllerResult
from metadata_log.clock import Clock
from metadata_log.limits import BATCH_RECORDS_MAX
from records.base import Record
from records.envelope import Origin
from records.errors import RequestError
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance

T = TypeVar("T")

Decision = Callable[[Context], ControllerResult[T]]
"""Reads a context and says what to write; changes nothing."""


class Controller:
    """Decides on behalf of one log."""

    def __init__(
        self,
        log: LogPort,
        image: MetadataImage,
        *,
        clock: Clock,
        rng: Rng,
        settings: Settings | None = None,
    ) -> None:
        """Take office over a log; nothing is decided before `activate`.

        Args:
            image: The state at the log's end, an open transaction left out.
            clock: Must not be behind the times in the log by much: a decision never gets a time
                below that of the last batch.
        """
        self._clock = clock
        self._rng = rng
        self.settings = settings or Settings()
        self._activated = False
        self._pipeline = Pipeline(log, image, on_failure=self._start_sessions)
        self._sessions = Sessions(timeout_ms=self.settings.session_timeout_ms)
        self._start_sessions()

    @property
    def image(self) -> MetadataImage:
        """The committed image."""
        return self._pipeline.committed.image

    @property
    def view(self) -> View:
        """The committed state as descriptions read it, with what heartbeats told."""
        committed = self._pipeline.committed
        return View(
            image=committed.image,
            index=committed.index,
            settings=self.settings,
            sessions=self._sessions,
        )

    @property
    def is_active(self) -> bool:
        """Whether decisions are taken."""
        return self._activated and self._pipeline.is_open

    async def activate(self, levels: Mapping[str, int] = NEW_CLUSTER_LEVELS) -> None:
        """Begin to decide: abort what a predecessor left open, and give a new log its levels.

        Args:
            levels: Feature levels of a log that is still empty.

        Raises:
            RequestError: NOT_CONTROLLER, the log could not be written.
        """
        self._activated = True
        if self._pipeline.latest.image.provenance.pending_transaction is not None:
            self._pipeline.abort_transaction("Controller failover", timestamp=self._now_ms())
        records = bootstrap_records(levels) if _is_empty(self._pipeline.latest.image) else ()
        origin = Origin(command="activate", reason="a new log gets its feature levels")
        try:
            await self.submit(
                lambda _: ControllerResult(response=None, records=records), origin=origin
            )
        except RequestError:
            self._activated = False
            raise

    def submit(
        self, decide: Decision[T], *, origin: Origin | None = None
    ) -> asyncio.Future[Answer[T]]:
        """Decide at once, in the order of the calls; answer when it is committed.

        An event that writes nothing is answered when everything decided before it is committed.

        Raises (from the future):
            RequestError: the decision's refusal, with nothing written; or NOT_CONTROLLER: this
                controller is not active, or lost the log, and then the outcome is unknown.
        """
        return self._submit(decide, origin, lambda _: None)

    def heartbeat(
        self, request: Heartbeat, *, origin: Origin | None = None
    ) -> asyncio.Future[Answer[HeartbeatReply]]:
        """Take a broker's heartbeat in; as `submit`."""
        return self._submit(
            partial(heartbeat, request=request), origin, partial(self._heard_of, request)
        )

    async def drained(self) -> None:
        """Return when nothing is in flight, whatever became of it."""
        await self._pipeline.drained()

    def _submit(
        self, decide: Decision[T], origin: Origin | None, note: Callable[[T], None]
    ) -> asyncio.Future[Answer[T]]:
        future: asyncio.Future[Answer[T]] = asyncio.get_running_loop().create_future()
        if not self.is_active:
            future.set_exception(RequestError("NOT_CONTROLLER", "this controller is not active"))
            return future
        context = self._context()
        try:
            result = decide(context)
        except RequestError as error:
            future.set_exception(error)
            return future
        for records in _batches(result):
            self._send(records, context, origin)
        note(result.response)
        self._pipeline.answer_when_committed(future, result.response)
        return future

    def _context(self) -> Context:
        return Context(
            image=self._pipeline.latest.image,
            index=self._pipeline.latest.index,
            sessions=self._sessions,
            settings=self.settings,
            rng=self._rng,
            now_ms=self._now_ms(),
            next_offset=self._pipeline.next_offset,
        )

    def _send(self, records: Sequence[Record], context: Context, origin: Origin | None) -> None:
        versions = [record_version(record, context.metadata_version) for record in records]
        batch = self._pipeline.send(records, versions, timestamp=context.now_ms, origin=origin)
        self._sessions = self._sessions.replayed(
            records, base_offset=batch.base_offset, now_ms=batch.timestamp
        )

    def _heard_of(self, request: Heartbeat, reply: HeartbeatReply) -> None:
        sessions = self._sessions.heard_of(
            request.broker_id,
            metadata_offset=request.metadata_offset,
            now_ms=self._now_ms(),
            lags=request.lags,
        )
        if reply.in_controlled_shutdown:
            sessions = sessions.shutting_down(request.broker_id, self._pipeline.next_offset - 1)
        self._sessions = sessions

    def _start_sessions(self) -> None:
        """Start them anew: they may speak of registrations that never happened."""
        self._sessions = Sessions.of(
            self._pipeline.latest.image,
            timeout_ms=self.settings.session_timeout_ms,
            now_ms=self._now_ms(),
        )

    def _now_ms(self) -> int:
        return max(self._clock.now_ms(), self._pipeline.timestamp)


def _batches(result: ControllerResult[T]) -> Iterator[Sequence[Record]]:
    """Cut a result's records into batches that the log takes."""
    records = result.records
    assert not result.atomic or len(records) <= BATCH_RECORDS_MAX, "cannot be written as one"
    for start in range(0, len(records), BATCH_RECORDS_MAX):
        yield records[start : start + BATCH_RECORDS_MAX]


def _is_empty(image: MetadataImage) -> bool:
    return replace(image, provenance=Provenance()) == MetadataImage.EMPTY
