"""A service whose node leads at some times and follows at others; its listeners stay open."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping

from api.nodes.confirmations import Confirmations
from api.nodes.followed_log import FollowedLog
from api.nodes.options import Leader
from api.service.service import Service
from api.service.standing import Standing
from controller.controller import Controller
from controller.decisions.context.context import Settings
from controller.follower import Follower
from controller.pipeline.latest import State
from controller.results.decided import Decided
from metadata_log.format.batch import Batch
from metadata_log.shared.shared_log import Position
from metadata_log.writer.log import MetadataLog
from records.errors import RequestError
from replay.image.metadata import MetadataImage

_BATCHES_A_TURN = 50
"""Batches that are followed before questions have their turn."""


class NodeService(Service):
    """The service of a node: decides while it leads, and answers questions always.

    Attributes:
        leader: Who leads, as the lease said last; None if nobody does, or this node.
    """

    def __init__(
        self,
        log: FollowedLog,
        image: MetadataImage,
        settings: Settings,
        confirmed_end: Callable[[], Awaitable[Position]],
    ) -> None:
        """Follow on from the image of all records in the folder.

        Args:
            confirmed_end: That of the shared log.
        """
        super().__init__(log, image, settings=settings)
        self._followed = log
        self._confirmations = Confirmations(confirmed_end)
        self._told_to = image.provenance.next_offset
        self.leader: Leader | None = None
        self.caught_up()
        assert isinstance(self._controller, Controller)
        self._controller = self._new_follower(self._controller.state)

    @property
    def leader_id(self) -> int:
        """The id of the node that leads, -1 if none is known."""
        if self.is_active:
            return self.settings.node_id
        return -1 if self.leader is None else self.leader.node_id

    @property
    def leader_addresses(self) -> Mapping[str, str]:
        """Where the node that leads is reached, by listener, as it says itself."""
        return {} if self.leader is None else self.leader.addresses

    @property
    def why_inactive(self) -> str:
        """Who leads instead of this node, and where."""
        if self.leader is None:
            return "this node stands by, and no node leads now; try again"
        at = "".join(f", {name} {address}" for name, address in self.leader.addresses.items())
        return f"this node stands by; node {self.leader.node_id} leads{at}"

    @property
    def behind_s(self) -> float:
        """Seconds since this node last knew that it had all committed records; 0 if it leads."""
        return 0.0 if self.is_active else asyncio.get_running_loop().time() - self._caught_up_s

    @property
    def standing(self) -> Standing | None:
        """This node, and how far it may be behind; None while it leads."""
        if self.is_active:
            return None
        return Standing(node=self.settings.node_id, lag_ms=int(self.behind_s * 1_000))

    async def confirmed_end(self) -> int:
        """Return an end that the store has confirmed since this call.

        Raises:
            UnavailableError: the store did not confirm.
        """
        return await self._confirmations.end_offset()

    def caught_up(self) -> None:
        """Note that all records are here that the store showed just now."""
        self._caught_up_s = asyncio.get_running_loop().time()

    async def follow(self, batches: Iterable[Batch]) -> None:
        """Apply committed batches; those that were applied before are passed over."""
        follower = self._controller
        assert isinstance(follower, Follower), "a leader follows nobody"
        for number, batch in enumerate(batches, 1):
            follower.follow(batch)
            if number % _BATCHES_A_TURN == 0:
                await asyncio.sleep(0)

    async def lead(self, log: MetadataLog) -> None:
        """Decide from now on; the log ends where this service has followed it to.

        Raises:
            MetadataLogError: the log could not be written.
        """
        follower = self._controller
        assert isinstance(follower, Follower), "one leads once"
        self.leader = None
        controller = self._new_controller(log, follower.image, follower.state.index)
        log.on_sync = self._followed.on_sync
        self._log, self._controller = log, controller
        await self.know_requests()  # or the first request with an id would wait, and be overtaken
        await self._activate(controller)

    async def stand_by(self) -> None:
        """Stop deciding, commit what is in flight, and release the log; follow again."""
        controller = self._controller
        if isinstance(controller, Controller):
            controller.resign()
            await self._end_deciding()
            self._controller = self._new_follower(controller.state)
            self._log = self._followed

    def _new_follower(self, state: State) -> Follower:
        return Follower(
            state,
            clock=self._followed.clock,
            rng=random.SystemRandom(),
            settings=self.settings,
            on_commit=self._applied,
            refusal=self._refusal,
        )

    def _applied(self, batch: Batch) -> None:
        types = frozenset([type(row.payload) for row in batch.rows])
        self.history.committed(types, [row.payload for row in batch.rows], self.image)
        self._tell(batch)

    def _committed(self, decided: Decided) -> None:
        super()._committed(decided)
        self._told_to = decided.end_offset

    def _tell(self, batch: Batch) -> None:
        """Tell all of a batch once: one of an open transaction is followed again by the next."""
        if batch.end_offset > self._told_to:
            self._told_to = batch.end_offset
            for each in self.on_commit:
                each(batch)

    def _refusal(self) -> RequestError:
        return RequestError("NOT_CONTROLLER", self.why_inactive)
