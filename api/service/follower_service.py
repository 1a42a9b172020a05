"""A service that answers questions about a log that another process writes; decides nothing."""

import random
from collections.abc import Iterable

from api.service.followed_log import FollowedLog
from api.service.service import Service
from controller.controller import Controller
from controller.decisions.context.context import Settings
from controller.follower import Follower
from controller.pipeline.latest import State
from controller.turns_for_others import leave_turns
from metadata_log.format.batch import Batch
from records.errors import RequestError
from replay.image.metadata import MetadataImage

_BATCHES_A_TURN = 50
"""Batches applied in one turn of the event loop, before questions have their turn."""


class FollowerService(Service):
    """Answers questions from the state after the batches passed to `follow`."""

    def __init__(self, log: FollowedLog, image: MetadataImage, settings: Settings) -> None:
        """Start from `image`, the state after all records in the log."""
        super().__init__(log, image, settings=settings)
        self._followed = log
        self._told_to = image.provenance.next_offset
        assert isinstance(self._controller, Controller)
        self._controller = self._new_follower(self._controller.state)

    async def follow(self, batches: Iterable[Batch]) -> None:
        """Apply committed batches; skip those that are applied already.

        Raises:
            ContradictionError: a batch contradicts the state.
        """
        follower = self._controller
        assert isinstance(follower, Follower), "a leader follows nobody"
        for number, batch in enumerate(batches, 1):
            follower.follow(batch)
            if number % _BATCHES_A_TURN == 0:
                await leave_turns()

    async def make_index(self) -> None:
        """Make the index of the state, in turns of the event loop; as `Follower.make_index`."""
        assert isinstance(self._controller, Follower), "a leader has made it"
        await self._controller.make_index()

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

    def _tell(self, batch: Batch) -> None:
        """Pass a batch to the callbacks; a batch that was passed before is left out."""
        if batch.end_offset > self._told_to:
            self._told_to = batch.end_offset
            for each in self.on_commit:
                each(batch)

    def _refusal(self) -> RequestError:
        return RequestError("NOT_CONTROLLER", self.why_inactive)
