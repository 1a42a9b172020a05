"""A service whose node leads at some times and follows at others; its listeners stay open."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from api.nodes.confirmations import Confirmations
from api.nodes.options import Leader
from api.questions.nodes import SharedLogState
from api.service.followed_log import FollowedLog
from api.service.follower_service import FollowerService
from api.service.follower_status import FollowerStatus
from controller.controller import Controller
from controller.decisions.context.context import Settings
from controller.follower import Follower
from controller.results.answer import Answer
from controller.results.decided import Decided
from metadata_log.shared.shared_log import Position
from metadata_log.writer.log import MetadataLog
from records.errors import RequestError, UnavailableError
from replay.image.metadata import MetadataImage

if TYPE_CHECKING:
    from api.service.answers import Live

_LOG = logging.getLogger(__name__)

T = TypeVar("T")


class NodeService(FollowerService):
    """The service of a node: decides while it leads, and answers questions always.

    Attributes:
        leader: The other node that leads, as last read from the lease; None if there is none.
    """

    def __init__(
        self,
        log: FollowedLog,
        image: MetadataImage,
        settings: Settings,
        confirmed_end: Callable[[], Awaitable[Position]],
        nodes: Callable[[], Awaitable[SharedLogState]],
        known_s: float,
    ) -> None:
        """Begin as a follower, with the image of all records in the folder.

        Args:
            confirmed_end: Asks the store for the end of the shared log.
            nodes: Asks the store for the nodes of the shared log.
            known_s: As for `caught_up`.
        """
        super().__init__(log, image, settings)
        self._confirmations = Confirmations(confirmed_end)
        self._nodes = nodes
        self._lease_left_s: Callable[[], float] = _no_time
        self.leader: Leader | None = None
        self.caught_up(known_s)

    @property
    def live_answers(self) -> "Mapping[str, Live]":
        """The questions that only the store can answer, such as which nodes the shared log has."""
        return {"nodes list": self._nodes}

    @property
    def leader_id(self) -> int:
        """The id of the node that leads, -1 if none is known."""
        if self.is_active:
            return self.settings.node_id
        return -1 if self.leader is None else self.leader.node_id

    @property
    def leader_addresses(self) -> Mapping[str, str]:
        """Addresses of the node that leads, by listener, as in its lease."""
        return {} if self.leader is None else self.leader.addresses

    @property
    def why_inactive(self) -> str:
        """The reason why this node refuses requests: which node leads, and at which addresses."""
        if self.leader is None:
            return "this node stands by, and no node leads now; try again"
        at = "".join(f", {name} {address}" for name, address in self.leader.addresses.items())
        return f"this node stands by; node {self.leader.node_id} leads{at}"

    @property
    def behind_s(self) -> float:
        """Seconds since this node last knew that it had all committed records; 0 if it leads.

        For a leader that was suspended beyond its lease, the time since the lease ran out: another
        node may lead, and this one does not know yet.
        """
        if self.is_active:
            return max(-self._lease_left_s(), 0.0)
        return asyncio.get_running_loop().time() - self._caught_up_s

    @property
    def lease_left_s(self) -> float:
        """Seconds for which this node may decide unless it renews its lease; 0: it may not."""
        return max(self._lease_left_s(), 0.0) if self.is_active else 0.0

    @property
    def standing(self) -> FollowerStatus | None:
        """This node's id, and how many ms it may be behind; None while it leads by its lease."""
        if self.is_active and self._lease_left_s() >= 0:
            return None
        return FollowerStatus(node=self.settings.node_id, lag_ms=int(self.behind_s * 1_000))

    async def confirmed_end(self) -> int:
        """Return the shared log's end, as the store has confirmed it after this call.

        Raises:
            UnavailableError: the store did not confirm.
        """
        return (await self._confirmations.end()).end_offset

    def caught_up(self, known_s: float) -> None:
        """Note that this node has all records that the store had at a time of the event loop."""
        self._caught_up_s = known_s

    async def follow_folder(self) -> None:
        """Apply all batches in the folder; a former leader may have applied fewer than it wrote."""
        with self._followed.reader() as reader:
            await self.follow(list(reader.batches(self.image.provenance.next_offset)))

    async def lead(self, log: MetadataLog, lease_left_s: Callable[[], float]) -> None:
        """Decide on requests from now on; `log` must end where this service has followed to.

        Args:
            lease_left_s: Returns for how long this node still holds the lease.

        Raises:
            MetadataLogError: the log could not be written.
        """
        follower = self._controller
        assert isinstance(follower, Follower), "one leads once"
        self.leader, self._lease_left_s = None, lease_left_s
        controller = self._new_controller(log, follower.image, follower.state.lazy_index)
        log.on_sync = self._followed.on_sync
        self._log, self._controller = log, controller
        await self._activate(controller)

    async def stand_by(self, give_away: Callable[[], Awaitable[None]]) -> None:
        """Stop deciding, commit the requests in flight, follow again, and release the log.

        Records that do not fit on a full disk are in the shared log, and are fetched again.

        Args:
            give_away: Gives the lease away, once nothing more is committed: the next leader does
                not wait for the syncs with which this node's folder is closed.
        """
        controller, log = self._controller, self._log
        if isinstance(controller, Controller):
            controller.resign()
            await self._stop_deciding()
            self._controller = self._new_follower(controller.state)
            self._log = self._followed
        try:
            await give_away()
        finally:
            try:
                await log.close()
            except (UnavailableError, OSError) as error:
                _LOG.warning("the folder was not closed: %s", error)

    def _decided(self, future: asyncio.Future[Answer[T]]) -> asyncio.Future[Answer[T]]:
        """Ask the store to confirm the leadership before an answer for which nothing was written.

        A leader that was suspended learns only from a commit that another node has taken over.
        Without a commit it could refuse a request for a reason that no longer holds.
        """
        answer: asyncio.Future[Answer[T]] = asyncio.get_running_loop().create_future()
        epoch = self.controller_epoch

        def pass_on(done: asyncio.Future[Answer[T]]) -> None:
            if answer.done():
                return
            if not done.cancelled() and _wrote_nothing(done):
                confirming = asyncio.create_task(self._check_leads(epoch), name="confirm refusal")
                confirming.add_done_callback(partial(_set_confirmed, answer, done))
            else:
                _copy(done, answer)

        future.add_done_callback(pass_on)
        return answer

    async def _check_leads(self, epoch: int) -> None:
        """Check that no other node had taken over by the time of this call.

        Raises:
            RequestError: NOT_CONTROLLER, another node has taken over.
            UnavailableError: the store did not confirm.
        """
        if (await self._confirmations.end()).epoch > epoch:
            raise RequestError("NOT_CONTROLLER", "another node has taken over; try again")

    def _committed(self, decided: Decided) -> None:
        super()._committed(decided)
        self._told_to = decided.end_offset


def _no_time() -> float:
    return 0.0


def _wrote_nothing(done: asyncio.Future[Answer[T]]) -> bool:
    error = done.exception()
    if error is None:
        return not done.result().wrote
    return isinstance(error, RequestError) and error.code != "NOT_CONTROLLER"


def _set_confirmed(
    answer: asyncio.Future[T], done: asyncio.Future[T], confirmed: "asyncio.Task[None]"
) -> None:
    """Pass the result of `done` on to `answer`; if the confirmation failed, its error."""
    if answer.done():
        return
    failed = confirmed.cancelled() or confirmed.exception() is not None
    _copy(confirmed if failed else done, answer)


def _copy(done: "asyncio.Future[Any]", answer: "asyncio.Future[Any]") -> None:
    if done.cancelled():
        answer.cancel()
    elif (error := done.exception()) is not None:
        answer.set_exception(error)
    else:
        answer.set_result(done.result())
