"""An active controller with a log in memory."""

import asyncio
from functools import partial
from random import Random
from typing import Any

import pytest

from controller.asked.asked import BoundDecision
from controller.controller import Controller
from controller.decisions.brokers.registrations import RegisterBroker, register_broker
from controller.decisions.context.context import Context, Settings
from controller.decisions.ids import new_id
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from controller.results.answer import Answer
from controller.results.decided import Decided
from controller.results.result import ControllerResult
from controller.results.turns import Turns
from controller.steps import Steps
from metadata_log.format.batch import Batch
from records.errors import MetadataLogError, Outcome, RequestError
from replay.image.metadata import MetadataImage
from tests.controller.cluster import FEATURES, START_MS, directory
from tests.controller.memory_log import MemoryLog

SETTINGS = Settings(cluster_id="test")


class Clock:
    def __init__(self) -> None:
        self.time_ms = START_MS

    def now_ms(self) -> int:
        return self.time_ms


class Office:
    """A controller, its log and its clock.

    Attributes:
        committed: The committed batches, each with the committed image after it.
    """

    def __init__(
        self,
        image: MetadataImage = MetadataImage.EMPTY,
        end_offset: int = 0,
        settings: Settings = SETTINGS,
    ) -> None:
        self.log = MemoryLog(end_offset)
        self.clock = Clock()
        self.committed: list[tuple[Batch, MetadataImage]] = []
        self.controller = Controller(
            self.log,
            image,
            clock=self.clock,
            rng=Random(1),
            settings=settings,
            on_commit=self._note,
        )

    def _note(self, batch: Decided) -> None:
        self.committed.append((batch.as_read, self.controller.image))

    def namespace(self, name: str, **fields: Any) -> asyncio.Future[Answer[Any]]:
        """Create a namespace with one record; refused if it exists."""
        return self.controller.submit(
            partial(create_namespace, request=CreateNamespace(name)), **fields
        )

    def names(self) -> list[str]:
        """Return the names of the committed namespaces."""
        return sorted(namespace.name for namespace in self.controller.image.namespaces())

    async def register(self, broker_id: int) -> int:
        request = RegisterBroker(
            broker_id=broker_id,
            cluster_id="test",
            incarnation_id=new_id(Random(broker_id)),
            features=FEATURES,
            log_dirs=(directory(broker_id),),
        )
        answer = await self.controller.submit(partial(register_broker, request=request))
        return answer.response.broker_epoch


def nothing(_: Context) -> ControllerResult[str]:
    """A decision that writes nothing."""
    return ControllerResult(response="looked")


def namespaces_in_turns(*names: str) -> BoundDecision[None]:
    """Create namespaces in one transaction, each in a turn of its own."""

    def in_turns(context: Context, _: object) -> Turns[ControllerResult[None]]:
        steps = Steps(context)
        for name in names:
            steps.take(partial(create_namespace, request=CreateNamespace(name)))
            yield
        return steps.result(None, "t")

    def at_once(_: Context) -> ControllerResult[None]:
        raise AssertionError("it is decided in turns")

    return BoundDecision("t", at_once, in_turns=in_turns)


async def code_of(future: asyncio.Future[Answer[Any]]) -> str:
    """Return the error code with which an event is refused."""
    with pytest.raises(RequestError) as caught:
        await future
    return caught.value.code


async def outcome_of(future: asyncio.Future[Answer[Any]]) -> tuple[type[Exception], Outcome]:
    """Return the type of the error with which an event fails, and its outcome."""
    with pytest.raises(MetadataLogError) as caught:
        await future
    return type(caught.value), caught.value.outcome
