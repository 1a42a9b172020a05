"""Clients that change and ask, and brokers that send heartbeats, over nodes that come and go."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, Protocol, TypeVar

from api.requests.commands import COMMANDS
from api.service.service import Service
from controller.authorization.caller import CONTROLLER
from controller.controller import Controller
from controller.decisions.brokers.heartbeats import Heartbeat
from controller.decisions.brokers.registrations import RegisterBroker
from controller.decisions.levels import SUPPORTED_LEVELS
from controller.decisions.namespaces.namespaces import CreateNamespace, DeleteNamespace
from records.base import Uuid
from records.brokers import BrokerFeature
from records.envelope import Origin
from records.errors import MetadataLogError, Outcome, RequestError
from tests.simulated_nodes.history import REFUSED, Call, Kind
from tests.simulated_nodes.machine import SESSION_MS, SimulatedNode

T = TypeVar("T")

NEW = "new"
"""How the names begin that nobody else uses."""

_NAMES = 6
_ATTEMPTS = 6

_FEATURES = tuple(
    BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
    for name, (low, high) in SUPPORTED_LEVELS.items()
)
_REFUSALS = ("DUPLICATE_RESOURCE", "INVALID_TOPIC_EXCEPTION")


class Clients:
    """Clients, each of which makes one request.

    Attributes:
        calls: All that they asked.
        problems: Answers that are older than they say, or than what the clients have seen.
    """

    def __init__(
        self,
        nodes: list[SimulatedNode],
        committed_end: Callable[[], int],
        must_have: Callable[[Service], int],
    ) -> None:
        """Ask nodes.

        Args:
            committed_end: Returns the end offset that is committed now.
            must_have: Returns the end offset that a service's answer of now has.
        """
        self._nodes = nodes
        self._must_have = must_have
        self._committed_end = committed_end
        self._asked = 0
        self._known_end = 0
        self.calls: list[Call] = []
        self.problems: list[str] = []

    async def ask(self, random: Random) -> None:
        """Make a request: list the names, or change one; follow the leader, and try again."""
        if random.random() < 0.3:
            await self._list(random.choice(self._nodes), is_consistent=random.random() < 0.5)
            return
        kind, name = random.choice((Kind.CREATE, Kind.DELETE)), f"n{random.randrange(_NAMES)}"
        await self._change(random, kind, name, has_id=random.random() < 0.7)

    async def keep_asking(self, random: Random) -> None:
        """Make one request after the other, until cancelled."""
        while True:
            await self.ask(random)
            await asyncio.sleep(random.choice((0.05, 0.2, 0.5)))

    async def create_new(self, random: Random) -> None:
        """Create a namespace that nobody else does."""
        await self._change(random, Kind.CREATE, f"{NEW}{self._asked}", has_id=True)

    async def transaction(self, node: SimulatedNode, open_s: float) -> None:
        """Create a namespace in a transaction that stays open for a while."""
        name = f"open{self._number()}"

        async def run(service: Service) -> None:
            controller = service._controller
            if isinstance(controller, Controller):
                async with controller.transaction("open for a while") as transaction:
                    create = COMMANDS["namespaces create"].bound(CreateNamespace(name), CONTROLLER)
                    await transaction.submit(create)
                    await asyncio.sleep(open_s)

        with contextlib.suppress(MetadataLogError):
            await node.call(run)

    async def _change(self, random: Random, kind: Kind, name: str, *, has_id: bool) -> None:
        number = self._number()
        for _ in range(_ATTEMPTS):
            call = self._begun(number, kind, name)
            loses_answer = has_id and random.random() < 0.15
            await self._attempt(call, self._chosen(random), has_id=has_id)
            if loses_answer:
                call.told = Outcome.UNKNOWN
            if isinstance(call.told, int) or call.told == REFUSED:
                return
            if not has_id:
                if call.told is not Outcome.NOTHING:
                    return
                number = self._number()
            await asyncio.sleep(random.choice((0.01, 0.1, 0.6, 2.5, 4.0)))

    def _chosen(self, random: Random) -> SimulatedNode:
        """Return a node that believes it leads, or else any."""
        leading = [node for node in self._nodes if node.leads]
        return random.choice(leading or self._nodes)

    async def _attempt(self, call: Call, node: SimulatedNode, *, has_id: bool) -> None:
        origin = Origin(
            principal=CONTROLLER.principal,
            request_id=f"id-{call.number}" if has_id else None,
            reason=f"call {call.number}",
        )
        request: Any = CreateNamespace(call.name)
        if call.kind is Kind.DELETE:
            request = DeleteNamespace(name=call.name)

        async def run(service: Service) -> int:
            command = f"namespaces {call.kind.value}"
            answer = await service.run(command, request, caller=CONTROLLER, origin=origin)
            return answer.end_offset

        try:
            self._answered(call, end_offset := await node.call(run))
            self._known_end = max(self._known_end, end_offset)
        except RequestError as error:
            self._answered(call, REFUSED if error.code in _REFUSALS else error.outcome)
        except MetadataLogError as error:
            self._answered(call, error.outcome)

    async def _list(self, node: SimulatedNode, *, is_consistent: bool) -> None:
        """List the names: as of now, or as a node knows them that says how old this may be."""
        call = self._begun(self._number(), Kind.LIST, "")
        min_end = call.first  # of what its client has seen

        async def read(service: Service) -> tuple[frozenset[str], int]:
            if is_consistent:
                await service.answers.up_to_date(CONTROLLER)
            else:
                if min_end > 0:
                    await service.answers.holds(min_end - 1, CONTROLLER)
                call.first = max(self._must_have(service), min_end)
            end_offset = service.image.provenance.next_offset
            if end_offset < call.first:
                self.problems.append(f"a node answered up to {end_offset} instead of {call.first}")
            return frozenset(each.name for each in service.image.namespaces()), end_offset

        try:
            names, end_offset = await node.call(read)
        except MetadataLogError as error:
            self._answered(call, error.outcome)
        else:
            self._answered(call, names)
            self._known_end = max(self._known_end, end_offset)

    def _number(self) -> int:
        self._asked += 1
        return self._asked

    def _begun(self, number: int, kind: Kind, name: str) -> Call:
        call = Call(number=number, kind=kind, name=name, first=self._known_end)
        self.calls.append(call)
        return call

    def _answered(self, call: Call, told: int | Outcome | str | frozenset[str]) -> None:
        call.last, call.told = self._committed_end(), told


class Machine(Protocol):
    """Where a service runs."""

    @property
    def leads(self) -> bool:
        """True if its service decides."""
        ...

    async def call(self, ask: Callable[[Service], Awaitable[T]]) -> T:
        """Let the service carry out a request; raises as `SimulatedNode.call`."""
        ...


class Broker:
    """A broker's process: it registers once, and sends heartbeats to whoever leads.

    Attributes:
        heard: Leader epoch and virtual time of each answer to a heartbeat.
        problems: What a broker must not be told.
    """

    def __init__(
        self,
        number: int,
        nodes: Sequence[Machine],
        now_s: Callable[[], float],
        incarnation: int = 1,
    ) -> None:
        self._nodes = nodes
        self._now_s = now_s
        self.number = number
        self._incarnation = incarnation
        self._epoch: int | None = None
        self._applied = 0
        self.heard: list[tuple[int, float]] = []
        self.problems: list[str] = []

    def heard_before(self, epoch: int, at_s: float) -> float:
        """Return when the leader of an epoch answered last before a time; 0 if never."""
        return max((s for e, s in self.heard if e == epoch and s < at_s), default=0.0)

    async def run(self) -> None:
        """Send heartbeats, until cancelled."""
        while True:
            for node in self._nodes:
                if node.leads:
                    await self._beat(node)
            await asyncio.sleep(SESSION_MS / 1_000 / 6)

    async def _beat(self, node: Machine) -> None:
        try:
            async with asyncio.timeout(SESSION_MS / 1_000 / 3):
                await node.call(self._heartbeat if self._epoch is not None else self._register)
        except RequestError as error:
            if error.code not in ("NOT_CONTROLLER",):
                self.problems.append(f"broker {self.number} was told {error.code}: {error}")
        except (MetadataLogError, TimeoutError):
            return

    async def _register(self, service: Service) -> None:
        request = RegisterBroker(
            broker_id=self.number,
            cluster_id="simulated",
            incarnation_id=Uuid(bytes([self._incarnation, self.number] * 8)),
            log_dirs=(Uuid(bytes([self.number]) * 16),),
            features=_FEATURES,
        )
        answer = await service.run("brokers register", request, caller=CONTROLLER)
        self._epoch = answer.response.broker_epoch
        self._applied = answer.end_offset - 1

    async def _heartbeat(self, service: Service) -> None:
        assert self._epoch is not None
        request = Heartbeat(
            broker_id=self.number, broker_epoch=self._epoch, metadata_offset=self._applied
        )
        epoch = service.controller_epoch
        answer = await service.heartbeat(request, caller=CONTROLLER)
        self.heard.append((epoch, self._now_s()))
        self._applied = max(self._applied, answer.end_offset - 1)
