"""A running service: one log, the controller over it, and its timers.

Listeners (Kafka's protocol, HTTP, sockets) translate requests into commands and run them with
`run`; all state of the cluster is in the images.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from msgspec.structs import replace

from api.large_work import beside
from api.requests.command import Command
from api.requests.commands import any_command
from api.service.alone import Alone
from api.service.appends import Appends, shielded
from api.service.feed import Feed
from api.service.history import History
from api.service.lockout import check_lockout
from api.service.refused_items import refused_items
from api.service.trace import Trace
from api.transport.shutdown import cancel_all
from controller.asked.asked import asked_settings
from controller.asked.repeated_requests import earlier_hash, first_answer, identified
from controller.authorization.authorizer import CLUSTER, Access, Operation
from controller.authorization.caller import CONTROLLER, Caller
from controller.controller import Controller
from controller.decider import Decision
from controller.decisions.brokers.heartbeats import Heartbeat, HeartbeatReply
from controller.decisions.context.context import Settings
from controller.decisions.context.lazy_index import LazyIndex
from controller.decisions.versions import ExpectedVersion
from controller.descriptions.view import View
from controller.follower import Follower
from controller.pipeline.log_port import ServedLog
from controller.raw_appends.raw_append import AppendRows
from controller.results.answer import Answer
from controller.results.decided import Decided
from controller.rights.object_rights import seen_versions
from controller.timers import Timers
from controller.wire import to_wire
from metadata_log.files.fs import OsFs
from metadata_log.format.batch import Batch
from metadata_log.format.manifest import read_manifest
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.clock import MachineClocks
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.request_window import Committed, is_repeatable
from records.envelope import Origin
from replay.image.metadata import MetadataImage
from replay.timeline import Timeline

if TYPE_CHECKING:
    from api.questions.workers import Workers
    from api.service.answers import Answers, Live

T = TypeVar("T")


class Service(Alone):
    """The only writer of a log.

    Attributes:
        on_commit: Functions to call with each committed batch.
        history: The committed images.
        append: Appends records within the caller's rights; `Appends.append`.
        appends: The raw appends; for callers that begin an append and await it elsewhere.
        workers: Processes that answer questions about the past; None: started with the first one.
    """

    workers: "Workers | None" = None

    def __init__(
        self, metadata_log: ServedLog, image: MetadataImage, *, settings: Settings
    ) -> None:
        """Create a service over an open log; callers use `Service.open`."""
        self._log = metadata_log
        self.on_commit: list[Callable[[Batch], None]] = []
        self.history = History(image)
        self._settings = settings
        self._controller: Controller | Follower = self._new_controller(metadata_log, image)
        self.appends = Appends(
            lambda: self._controller, self.access, self._committed_before, self._decided
        )
        self.append = self.appends.append
        self._running: asyncio.Task[None] | None = None
        # As whom brokers have sent heartbeats, by id; also those that are not registered any more.
        self._brokers: dict[int, Caller] = {}

    @classmethod
    async def open(
        cls,
        directory: Path | str,
        *,
        settings: Settings | None = None,
        machine: MachineClocks | None = None,
        progress: Callable[[int], None] | None = None,
        with_timers: bool = True,
    ) -> Self:
        """Become the writer of a log, load its state, and start deciding.

        Args:
            settings: The cluster id is taken from the log.
            machine: The clocks to use; None means this machine's.
            progress: Called with the end offset of each batch loaded.
            with_timers: False for a service that brokers cannot reach, so that it does not fence
                them. Its index is made only for a decision that reads it.

        Raises:
            RequestError: there is no log, or it is a mirror, which takes no records.
            UnavailableError: another process writes the log.
            CorruptLogError: the log is damaged.
        """
        directory = Path(directory)
        cluster_id = read_manifest(OsFs(), directory).cluster_id
        settings = replace(settings or Settings(), cluster_id=cluster_id)
        metadata_log = await MetadataLog.open(
            directory, node_id=settings.node_id, machine=machine, asked=asked_settings(settings)
        )
        try:
            with metadata_log.reader() as reader:
                image = Timeline.of(reader).image(progress=progress)
        except BaseException:
            await metadata_log.close()
            raise
        return await cls.of(metadata_log, image, settings, with_timers=with_timers)

    @classmethod
    async def of(
        cls,
        metadata_log: MetadataLog,
        image: MetadataImage,
        settings: Settings,
        *,
        with_timers: bool = True,
    ) -> Self:
        """Start deciding on an open log; if that fails, close the log.

        Args:
            image: The state at the log's end.
            with_timers: As for `open`.

        Raises:
            MetadataLogError: the log could not be written.
        """
        try:
            service = cls(metadata_log, image, settings=settings)
            assert isinstance(service._controller, Controller)
            await service._activate(service._controller, with_timers=with_timers)
        except BaseException:
            await metadata_log.close()
            raise
        return service

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _new_controller(
        self, log: ServedLog, image: MetadataImage, lazy_index: LazyIndex | None = None
    ) -> Controller:
        return Controller(
            log,
            image,
            clock=log.clock,
            rng=random.SystemRandom(),
            settings=self._settings,
            on_commit=self._committed,
            lazy_index=lazy_index,
        )

    async def _activate(self, controller: Controller, *, with_timers: bool = True) -> None:
        await controller.activate(makes_index=with_timers)
        if with_timers:
            timers = Timers(controller, self._log.clock)
            self._running = asyncio.create_task(timers.run(), name="timers")

    @property
    def image(self) -> MetadataImage:
        """The committed image."""
        return self._controller.image

    @cached_property
    def feed(self) -> Feed:
        """The feed of the newest committed records; it keeps records from its first use on."""
        feed = Feed(self.image.provenance.next_offset)
        self.on_commit.append(feed.committed)
        return feed

    @cached_property
    def answers(self) -> "Answers":
        """Answers questions, as `run` runs commands."""
        # An append to a log asks none, and the questions are a third of this program.
        from api.service.answers import Answers

        return Answers(
            *(self._log, self._asked_at_once, self.history, self.access, lambda: self.feed),
            standing=lambda: self.standing,
            is_live=self.is_live,
            workers=self.workers,
            final_end=self.final_end,
            confirmed_end=self.confirmed_end,
            live=self.live_answers,
        )

    @property
    def live_answers(self) -> "Mapping[str, Live]":
        """Questions that are answered neither from the log nor from the controller's state."""
        return {}

    @property
    def settings(self) -> Settings:
        """The controller's settings."""
        return self._settings

    @property
    def directory(self) -> Path:
        """The log's directory."""
        return self._log.directory

    def reader(self) -> LogReader:
        """Return a reader of the log's committed records; close it after use."""
        return self._log.reader()

    @property
    def controller_epoch(self) -> int:
        """The leader epoch under which the log is written."""
        return self._controller.leader_epoch

    @property
    def is_active(self) -> bool:
        """True if the controller makes decisions, i.e. this process can write the log."""
        return self._controller.is_active

    @property
    def view(self) -> View:
        """The committed state with the latest heartbeats, for describing the cluster."""
        return self._controller.view

    def observe_syncs(self, observe: Callable[[float], None]) -> None:
        """Register a function to call with the duration of each fsync of the log.

        Args:
            observe: Gets the duration in seconds; may be called from any thread.
        """
        self._log.on_sync = observe

    def access(self, caller: Caller) -> Access:
        """Return a caller's current rights."""
        return Access(self.settings.authorizer, self.image, caller)

    async def submit(self, decide: Decision[T], *, origin: Origin | None = None) -> Answer[T]:
        """Make a decision for this process itself: as `run`, but without an authorization check.

        Cancelling the caller does not undo the decision. A repeated request is not decided again:
        it gets its first answer.

        Raises:
            RequestError: as `Controller.submit`; or INVALID_REQUEST, the id belongs to another
                request or comes without a hash; or DUPLICATE_REQUEST, the request was carried out
                before and its answer is not known.
            UnavailableError, FencedError: as `Controller.submit`.
        """
        committed = await self._committed_before(origin)
        if committed is not None:
            return await self._logged_answer(committed, decide)
        return await shielded(self._decided(self._controller.submit(decide, origin=origin)))

    def _decided(self, future: asyncio.Future[Answer[T]]) -> asyncio.Future[Answer[T]]:
        """Return the answer unchanged, because no other process writes this log."""
        return future

    async def run(
        self,
        command: str,
        request: Any,
        *,
        caller: Caller,
        origin: Origin | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
        trace: Trace | None = None,
    ) -> Answer[Any]:
        """Run a command within the caller's rights; answer once it is committed.

        Args:
            command: A name in `api.requests.commands`, or a verb of the command line.
            origin: Stored in the log; None: the caller's, without a request id. A request id gets
                the request's hash, if it has none.
            expected_versions: Objects, and the versions they must have when the command is decided.
            trace: Gets the decision and the commit.

        Raises:
            RequestError: TOPIC_AUTHORIZATION_FAILED or CLUSTER_AUTHORIZATION_FAILED for the whole
                request; MESSAGE_TOO_LARGE, there are too many items; or as `submit`; or
                INVALID_UPDATE_VERSION; or as `check_lockout`; or INVALID_REQUEST, a type in the
                request is wrong.
            UnavailableError, FencedError: as `submit`.
        """
        found = any_command(command)
        found.check_type(request)
        origin = origin or caller.origin(found.name)
        if origin.command == command:
            origin = replace(origin, command=found.name)
        try:
            return await self._run(found, request, caller, origin, expected_versions, trace)
        except (AttributeError, TypeError):
            found.check_fields(request)  # a request made in this process was never decoded
            raise

    async def _run(
        self,
        found: Command,
        request: Any,
        caller: Caller,
        origin: Origin,
        expected_versions: tuple[ExpectedVersion, ...],
        trace: Trace | None,
    ) -> Answer[Any]:
        if found.is_question:
            origin = replace(origin, request_id=None)  # a repeated one is answered anew
        if origin.request_id is not None and origin.request_hash is None:
            payload = to_wire(request)
            origin = await beside(
                len(payload), lambda: identified(origin, origin.request_id, found.name, payload)
            )
        if isinstance(request, AppendRows):
            return await self.appends.append_rows(request, caller, origin)
        committed = await self._committed_before(origin, found.name, request)
        if committed is not None:
            return await self._first_answer(caller, found, request, committed)
        found.check_items(request)
        refused = await refused_items(found, request, lambda: self.access(caller))
        if refused is not None:
            return Answer(refused, self.image.provenance.next_offset, wrote=False)
        check_lockout(self.access(caller), request, self._brokers)
        decide = found.bound(request, caller, expected_versions)
        if found.is_question:
            return await self._asked(decide)
        if trace is not None:
            decide = trace.decision(decide)
        answer = await shielded(self._decided(self._controller.submit(decide, origin=origin)))
        if trace is not None:
            trace.committed(answer.end_offset)
        return replace(answer, versions=seen_versions(self.access(caller), answer.versions))

    async def know_requests(self) -> None:
        """Load the ids of recently committed requests.

        Without this call, the first request with an id loads them, and later requests may overtake
        it meanwhile.
        """
        await self._log.find_request(Origin())

    async def heartbeat(
        self, request: Heartbeat, *, caller: Caller, origin: Origin | None = None
    ) -> Answer[HeartbeatReply]:
        """Process a broker's heartbeat; arguments and errors as for `run`."""
        self.access(caller).require(Operation.CLUSTER_ACTION, CLUSTER)
        answer = await shielded(self._controller.heartbeat(request, origin=origin))
        self._brokers[request.broker_id] = caller
        return answer

    async def lost(self) -> None:
        """Wait until this process can no longer write the log."""
        assert self._running is not None
        await asyncio.wait([self._running])

    async def indexed(self) -> None:
        """Wait until the index of the loaded state is made; errors as for `Controller.indexed`."""
        if isinstance(self._controller, Controller):
            await self._controller.indexed()

    def drop_index(self) -> None:
        """Make no index any more, before this process stops; what waits for it is refused."""
        if isinstance(self._controller, Controller):
            self._controller.drop_index()

    async def close(self) -> None:
        """Stop deciding, commit all decisions in flight, and release the log."""
        if "answers" in self.__dict__:  # a question was asked
            await self.answers.close()
        await self._stop_deciding()
        await self._log.close()

    async def _stop_deciding(self) -> None:
        """End the timers, and wait until nothing is in flight."""
        if self._running is not None:
            await cancel_all(self._running)
            self._running = None
        self.drop_index()
        await self._controller.drained()

    async def _committed_before(
        self, origin: Origin | None, command: str = "", request: Any = None
    ) -> Committed | None:
        """Return the position at which a repeated request was committed, None for a new request.

        Repeated requests that are still in flight are left to the controller.
        """
        if origin is None or not is_repeatable(origin):
            return None
        found = await self._log.find_request(origin, partial(earlier_hash, command, request))
        end_offset = self.image.provenance.next_offset
        return found if found is not None and found.result.end_offset <= end_offset else None

    async def _first_answer(
        self, caller: Caller, command: Command, request: Any, committed: Committed
    ) -> Answer[Any]:
        """Return the first answer to a repeated request, limited to the caller's current rights."""
        access = self.access(caller)
        refused = command.guard.refused(access, request)
        if refused is not None:
            return Answer(refused, self.image.provenance.next_offset, wrote=False)
        bound = command.bound(request, CONTROLLER)
        answer = await self._logged_answer(committed, bound)
        response = command.guard.shown_again(access, request, answer.response)
        return replace(answer, response=response)

    async def _asked(self, question: Decision[T]) -> Answer[T]:
        """Answer a question from the current state, once that state is committed."""
        return await shielded(self._controller.ask(question))

    async def _asked_at_once(self, question: Decision[T]) -> Answer[T]:
        """Answer a question whose connection has no changes in flight."""
        return await shielded(self._controller.ask_at_once(question))

    async def _logged_answer(self, committed: Committed, decide: Decision[T]) -> Answer[T]:
        read = self._log.first_batch
        return await asyncio.to_thread(first_answer, read, committed, decide, self.settings)

    def _committed(self, decided: Decided) -> None:
        self.history.committed(decided.types, decided.records, self._controller.image)
        for each in self.on_commit:
            each(decided.as_read)
