"""Reads a quorum's log from its leader, whoever that is, with one request in flight.

An observer asks the last leader that it knows. A node that does not lead names the leader, which is
then asked. If a node does not answer, the observer waits (backoff.py) and asks the next node.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Self

from api.kafka.messages.records_io import FetchRequest, FetchResponse, SnapshotId
from api.kafka.messages.snapshots import FetchSnapshotResponse
from api.quorum.answers import (
    Answer,
    Chunk,
    Diverged,
    Elsewhere,
    Fetched,
    Leader,
    SnapshotGone,
    SnapshotNeeded,
    fetch_answer,
    snapshot_answer,
)
from api.quorum.backoff import BackOff
from api.quorum.controller import Controller
from api.quorum.leaders import Address, Leaders
from api.quorum.requests import MAX_WAIT_MS, Position, fetch_request, snapshot_request
from api.quorum.standstill import Standstill
from api.quorum.time_limit import LEAST_S, TimeLimit
from api.security.client import ConnectionSecurity
from records.errors import RequestError, UnavailableError

log = logging.getLogger(__name__)

_MOVES_MAX = 4
"""After so many nodes in a row that name another leader, the observer waits before it goes on."""


SAID_AFTER_S = 60.0
"""A follower warns once if no leader answers for so long: longer than an election or a restart."""

_OF_LOGIN = frozenset({"SASL_AUTHENTICATION_FAILED", "INVALID_CONFIG"})

_Ask = Callable[[Controller], Awaitable[tuple[Answer, Leader]]]
"""Asks a controller; returns its answer and the leader that it names."""


class Observer:
    """Asks the leader of a quorum. Use as an asynchronous context manager.

    Attributes:
        leaders: What is known about the quorum's leader.
        give_up_s: Seconds after which it gives up looking for a leader; None: never.
    """

    def __init__(
        self,
        addresses: Sequence[Address],
        *,
        cluster_id: str | None,
        security: Callable[[], ConnectionSecurity],
        mapped: Mapping[int, Address] | None = None,
        give_up_s: float | None,
        back_off: BackOff | None = None,
        standstill: Standstill | None = None,
    ) -> None:
        """Create an observer without connecting.

        Args:
            addresses: Addresses of one or more controllers.
            cluster_id: The cluster that the nodes must belong to; None: any (only for `doctor`).
            security: Returns the TLS context and login for a new connection; files are read again
                each time, so that renewed certificates and tokens are used.
            mapped: Addresses by node id, used instead of those that the quorum tells.
            standstill: Decides when a controller other than the leader is asked who leads.
        """
        self.leaders = Leaders(addresses, mapped or {})
        self.give_up_s = give_up_s
        self._cluster_id = cluster_id
        self._security = security
        self._back_off = back_off or BackOff()
        self._standstill = standstill or Standstill()
        self._controller: Controller | None = None
        self._at: Address | None = None
        self._limit = TimeLimit()
        self._moves = 0
        self._has_answer = False
        self._is_said = False
        self._troubles: dict[Address, str] = {}
        self._troubled_since: float | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._disconnect()

    @property
    def node(self) -> str:
        """Address of the node that answered last."""
        return self._text(self._at) if self._at is not None else "no node"

    async def fetch(
        self, position: Position, *, max_wait_ms: int = MAX_WAIT_MS
    ) -> Fetched | Diverged | SnapshotNeeded:
        """Return the leader's answer for a position; no records if none come within `max_wait_ms`.

        Raises:
            RequestError: a retry would not help.
            UnavailableError: no leader answered within `give_up_s`.
        """

        # A node compares the two epochs first, and refuses a last one that is above the leader's.
        self.leaders.at_least(position.last_epoch)

        async def ask(controller: Controller) -> tuple[Answer, Leader]:
            request = fetch_request(
                position,
                leader_epoch=self.leaders.epoch,
                version=controller.version_of(FetchRequest),
                cluster_id=self._cluster_id,
                max_wait_ms=max_wait_ms,
            )
            answer = await controller.ask(request, FetchResponse, self._limit.seconds)
            return fetch_answer(answer, controller.address)

        answer = await self._answered(ask)
        assert isinstance(answer, Fetched | Diverged | SnapshotNeeded), answer
        if isinstance(answer, Fetched) and self._standstill.is_due(answer.high_watermark):
            await self._ask_another()
        return answer

    async def fetch_chunk(self, snapshot: SnapshotId, byte: int) -> Chunk | SnapshotGone:
        """Return a chunk of a snapshot from a byte position on; raises the errors of `fetch`."""

        async def ask(controller: Controller) -> tuple[Answer, Leader]:
            request = snapshot_request(
                snapshot, byte, leader_epoch=self.leaders.epoch, cluster_id=self._cluster_id
            )
            answer = await controller.ask(request, FetchSnapshotResponse, self._limit.seconds)
            return snapshot_answer(answer, controller.address)

        answer = await self._answered(ask)
        assert isinstance(answer, Chunk | SnapshotGone), answer
        return answer

    async def _ask_another(self) -> None:
        """Ask a controller other than the leader which epoch and leader it knows.

        If that epoch is later, the next request goes to that leader. Errors are ignored.
        """
        address = None if self._at is None else self.leaders.other_than(self._at)
        if address is None:
            return
        try:
            controller = await Controller.open(*address, self._security(), LEAST_S)
            try:
                request = fetch_request(
                    Position(),
                    leader_epoch=self.leaders.epoch,
                    version=controller.version_of(FetchRequest),
                    cluster_id=self._cluster_id,
                    max_wait_ms=0,
                )
                answer = await controller.ask(request, FetchResponse, LEAST_S)
                _, leader = fetch_answer(answer, controller.address)
            finally:
                await controller.close()
        except (RequestError, UnavailableError) as error:
            log.debug("%s", error)
            return
        if self.leaders.named(leader):
            log.info("%s names another leader than %s", self._text(address), self.node)

    async def _answered(self, ask: _Ask) -> Answer:
        """Ask one controller after the other until the leader answers."""
        time = asyncio.get_running_loop().time
        while True:
            address = self.leaders.next_address()
            try:
                controller = await self._connected(address)
                asked_s = time()
                answer, leader = await ask(controller)
            except RequestError as error:
                if not self._may_pass(error):
                    raise
                await self._disconnect()
                await self._wait_after(address, str(error), needs_renewal=True)
                continue
            except UnavailableError as error:
                if isinstance(error.__cause__, TimeoutError):
                    self._limit.missed()
                await self._disconnect()
                await self._wait_after(address, str(error))
                continue
            has_moved = self.leaders.named(leader)
            if not isinstance(answer, Elsewhere):
                self._limit.kept(time() - asked_s)
                self._succeeded()
                return answer
            self._moves += 1
            if not has_moved or self._moves > _MOVES_MAX:
                await self._wait_after(address, f"{self._text(address)}: {answer.why}")

    def _may_pass(self, error: RequestError) -> bool:
        """True for an error of a login or certificate that worked before: it may be renewed."""
        return self._has_answer and self.give_up_s is None and error.code in _OF_LOGIN

    async def _connected(self, address: Address) -> Controller:
        controller = self._controller
        if controller is not None and controller.is_open and self._at == address:
            return controller
        await self._disconnect()
        host, port = address
        self._controller = await Controller.open(host, port, self._security(), self._limit.seconds)
        self._at = address
        return self._controller

    async def _disconnect(self) -> None:
        controller, self._controller = self._controller, None
        if controller is not None:
            await controller.close()

    async def _wait_after(self, address: Address, why: str, *, needs_renewal: bool = False) -> None:
        now = asyncio.get_running_loop().time()
        self.leaders.failed(address)
        self._troubles[address] = why
        if self._troubled_since is None:
            self._troubled_since = now
        elif self.give_up_s is not None and now - self._troubled_since >= self.give_up_s:
            raise UnavailableError(self._all_troubles())
        if self.give_up_s is None:
            self._say(why, now - self._troubled_since, needs_renewal=needs_renewal)
        self._moves = 0
        await asyncio.sleep(self._back_off.next_s())

    def _say(self, why: str, lasted_s: float, *, needs_renewal: bool) -> None:
        """Warn once if a login or certificate has to be renewed, or if the trouble lasts."""
        if not self._is_said and (needs_renewal or lasted_s >= SAID_AFTER_S):
            self._is_said = True
            log.warning("%s; trying again", why if needs_renewal else self._all_troubles())
        elif len(self._troubles) == 1:
            log.info("%s; trying again", why)

    def _succeeded(self) -> None:
        self._has_answer = True
        self._is_said = False
        self._moves = 0
        self._troubles.clear()
        self._troubled_since = None
        self._back_off.reset()

    def _all_troubles(self) -> str:
        text = f"no leader of the quorum answers: {'; '.join(self._troubles.values())}"
        leader_id = self.leaders.leader_id
        if leader_id is None:
            return text
        if not self.leaders.has_leaders_address:
            return (
                f"{text}, whose address is not known: a controller tells it only since Kafka 3.9; "
                f"name all controllers, or that one with --map {leader_id}=HOST:PORT"
            )
        return (
            f"{text}; if this machine cannot reach the address of node {leader_id}, name another "
            f"with --map {leader_id}=HOST:PORT"
        )

    @staticmethod
    def _text(address: Address) -> str:
        return f"{address[0]}:{address[1]}"
