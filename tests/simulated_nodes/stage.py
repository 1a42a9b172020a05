"""Where a story is carried out: one log, or three nodes whose leader ends at each step.

Both run in virtual time. What is compared afterwards has names instead of random ids, and neither
epochs of brokers nor offsets and times, for a leader begins its epoch with records of its own.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from functools import partial
from random import Random
from typing import Any, Protocol, TypeVar

import msgspec

from api.nodes.release import Release, this_release
from api.service.service import Service
from controller.authorization.caller import CONTROLLER
from controller.decisions.context.context import Settings
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.brokers import RegisterControllerRecord
from records.envelope import Origin
from records.errors import MetadataLogError, Outcome, RequestError
from replay.image.metadata import MetadataImage
from replay.image.records import image_records
from replay.loader import load_image
from tests.simulated_disk.disk import SimulatedDisk
from tests.simulated_disk.loop import SimulatedLoop
from tests.simulated_nodes.checks import Checks
from tests.simulated_nodes.clients import Broker, Machine
from tests.simulated_nodes.machine import DIRECTORY, SESSION_MS, SimulatedClocks, SimulatedNode
from tests.simulated_nodes.store import SimulatedStore
from tests.simulated_nodes.stories import Scene, Step

T = TypeVar("T")

_LONG_S = 120.0
_TICK_S = 0.05
_UNLIKE = frozenset({"broker_epoch", "epoch", "timestamp", "end_offset", "version", "create_time"})
"""Fields that are epochs of brokers, offsets or times."""


class FailOver(StrEnum):
    """How, and when within a step, the leader ends."""

    KILLED_BEFORE = "killed before"
    POWER_LOST_BEFORE = "power lost before"
    HANDS_OVER_BEFORE = "hands over before"
    KILLED_UNHEARD = "killed before the store has the step"
    KILLED_UNANSWERED = "killed when the store has the step"


BEFORE = (FailOver.KILLED_BEFORE, FailOver.POWER_LOST_BEFORE, FailOver.HANDS_OVER_BEFORE)


class Told(msgspec.Struct, frozen=True):
    """What a story came to: the answers to its steps, and what records recreate the image."""

    answers: list[str]
    image: list[str]


class Place(Protocol):
    """Where a story is carried out."""

    loop: SimulatedLoop

    @property
    def machines(self) -> Sequence[Machine]:
        """The machines that may lead."""
        ...

    def before(self, number: int) -> None:
        """Hear that a step begins."""
        ...

    def during(self, number: int) -> None:
        """Hear that the request of a step has been sent."""
        ...

    def image(self) -> MetadataImage | None:
        """Return the image of the leader; None if nobody leads."""
        ...


def carry_out(place: Place, story: Sequence[Step]) -> Told:
    """Carry a story out, as a client that repeats what has no answer."""
    scene, brokers, answers = Scene(), dict[int, asyncio.Task[None]](), list[str]()
    for number, step in enumerate(story):
        place.before(number)
        _until(place, lambda: place.image() is not None)
        scene.see(_image(place))
        for broker_id in step.stops:
            brokers.pop(broker_id).cancel()
        for broker_id, process in step.starts:
            broker = Broker(broker_id, place.machines, place.loop.time, process)
            brokers[broker_id] = place.loop.create_task(broker.run())
        if step.command:
            asking = place.loop.create_task(_ask(place, step, step.request(scene), number))
            place.during(number)
            _until(place, asking.done)
        _until(place, partial(_holds, place, step))
        scene.see(_image(place))
        if step.command:
            answers.append(_named(scene, asking.result()))
    for running in brokers.values():
        running.cancel()
    records = [r for r, _ in image_records(_image(place)) if not _is_of_a_node(r)]
    return Told(answers, [_named(scene, record) for record in records])


async def _ask(place: Place, step: Step, request: object, number: int) -> object:
    """Send a request to whoever leads until it is answered, always with the same id."""
    origin = Origin(principal=CONTROLLER.principal, request_id=f"step-{number}")

    async def run(service: Service) -> object:
        answer = await service.run(step.command, request, caller=CONTROLLER, origin=origin)
        return answer.response

    while True:
        for machine in place.machines:
            if machine.leads:
                try:
                    return await machine.call(run)
                except RequestError as error:
                    if error.code != "NOT_CONTROLLER":
                        return str(error)
                except MetadataLogError as error:
                    if error.outcome not in (Outcome.NOTHING, Outcome.UNKNOWN):
                        raise
        await asyncio.sleep(_TICK_S)


def _until(place: Place, holds: Callable[[], bool]) -> None:
    end = place.loop.time() + _LONG_S
    while not holds():
        assert place.loop.time() < end, "it takes for ever"
        place.loop.advance(_TICK_S)


def _holds(place: Place, step: Step) -> bool:
    image = place.image()
    return image is not None and step.until(image)


def _image(place: Place) -> MetadataImage:
    found = place.image()
    assert found is not None
    return found


def _is_of_a_node(record: object) -> bool:
    return isinstance(record, RegisterControllerRecord)


def _named(scene: Scene, value: object) -> str:
    """Return a value as text, without what differs from run to run."""
    text = msgspec.json.encode(_without(msgspec.to_builtins(value))).decode()
    kind = type(value).__name__
    for number, topic_id in enumerate(scene.topic_ids):
        for written in (base64.b64encode(topic_id), base64.urlsafe_b64encode(topic_id)):
            text = text.replace(written.decode(), f"topic {number}")
            text = text.replace(written.decode().rstrip("="), f"topic {number}")
    return f"{kind} {text}"


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(each) for key, each in value.items() if key not in _UNLIKE}
    return [_without(each) for each in value] if isinstance(value, list) else value


class OneLog:
    """A log that is not shared."""

    leads = True

    def __init__(self) -> None:
        self.loop = SimulatedLoop()
        self.machines = [self]
        self._service = self.loop.run(self._open())

    async def _open(self) -> Service:
        disk = SimulatedDisk()
        create_log(DIRECTORY, "simulated", fs=disk)
        log = await MetadataLog.open(DIRECTORY, fs=disk, machine=SimulatedClocks(self.loop))
        with log.reader() as reader:
            image = load_image(reader)
        settings = Settings(session_timeout_ms=SESSION_MS, cluster_id="simulated")
        return await Service.of(log, image, settings)

    async def call(self, ask: Callable[[Service], Awaitable[T]]) -> T:
        return await ask(self._service)

    def image(self) -> MetadataImage | None:
        return self._service.image

    def before(self, number: int) -> None:
        """Do nothing: it never ends."""

    def during(self, number: int) -> None:
        """Do nothing."""

    def end(self) -> None:
        self.loop.run(self._service.close())


class ThreeNodes:
    """Three nodes of a shared log; at some steps the leader ends, and starts again.

    Attributes:
        fail_overs: How the leader ends at a step, by the step's number.
        ended: Number of leaders that ended.
    """

    def __init__(self, fail_overs: dict[int, FailOver]) -> None:
        self.loop = SimulatedLoop()
        self.random = Random(0)
        self.store = SimulatedStore()
        self.machines = [SimulatedNode(self, number) for number in range(3)]
        self.checks = Checks(self.store, self.machines, self.loop)
        self.fail_overs = fail_overs
        self.ended = 0
        self.loop.at_rest = self.checks.look
        for node in self.machines:
            node.start()

    def release(self, number: int) -> Release:
        return this_release()

    def leads(self, node: SimulatedNode) -> None:
        self.checks.leads(node)

    def _leader(self) -> SimulatedNode | None:
        return next((node for node in self.machines if node.leads), None)

    def image(self) -> MetadataImage | None:
        leader = self._leader()
        return None if leader is None or leader.service is None else leader.service.image

    def before(self, number: int) -> None:
        leader = self._leader()
        if leader is None:  # at the beginning
            return
        match self.fail_overs.get(number):
            case FailOver.KILLED_BEFORE:
                self._end(leader)
            case FailOver.POWER_LOST_BEFORE:
                self._end(leader, loses_power=True)
            case FailOver.HANDS_OVER_BEFORE:
                leader.stop()
                _until(self, lambda: not leader.runs)
                self._end(leader)

    def during(self, number: int) -> None:
        leader = self._leader()
        assert leader is not None
        end = self.store.end.number
        match self.fail_overs.get(number):
            case FailOver.KILLED_UNHEARD:
                self.loop.advance(0.0)
                self._end(leader)
            case FailOver.KILLED_UNANSWERED:
                for _ in range(100):
                    if self.store.end.number > end:
                        break
                    self.loop.advance(0.000_2)
                self._end(leader)

    def _end(self, leader: SimulatedNode, *, loses_power: bool = False) -> None:
        leader.end(loses_power=loses_power)
        leader.start()
        self.ended += 1

    def problems(self) -> list[str]:
        """Let all nodes come to the end, and return what is wrong with them."""
        self.loop.advance(5.0)
        return self.checks.problems + self.checks.unlike_nodes()

    def end(self) -> None:
        for node in self.machines:
            node.end(loses_power=False)
        self.loop.at_rest = lambda: None
        self.loop.advance(30.0)
