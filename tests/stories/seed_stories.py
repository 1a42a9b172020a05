"""The stories of topic ids and of partition reduction, as steps with what has to be found.

A step is carried out with a client and the command line, by real brokers with records of clients;
it ends when the cluster is as it has to be then.
"""

import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from api.clients.client import MetadataClient
from api.clients.reconnecting_client import ReconnectingClient
from api.kafka.errors import name_of
from api.kafka.messages.brokers import (
    AlteredPartition,
    AlteredTopic,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrBroker,
)
from controller.decisions.config_definitions.brokers import DELETE_PARTITIONS_ENABLED
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.partitions.reassignments import AlterReassignments, PartitionTarget
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth
from controller.decisions.topics.partition_removal import DeletePartitions, TopicShrink
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from records.base import Uuid
from records.errors import RequestError, UnavailableError
from records.text import uuid_text
from replay.image.partitions import NONE, READ_ONLY, READ_WRITE, Partition
from tests.stories.partition_client import Partitions
from tests.stories.processes import World, soon

_HOUR_MS = 3_600_000


@dataclass
class Stage:
    """Where a story is carried out.

    Attributes:
        client: Knows all nodes, and gives each request an id.
        records: Of a client of broker 1, which never ends.
        topic_ids: Of the topics that were created, in order.
    """

    world: World
    client: ReconnectingClient
    records: Partitions
    topic_ids: list[Uuid] = field(default_factory=list)
    _asked: int = 0

    async def ask(self, command: str, request: object) -> Any:
        """Return the response to a request, which is carried out once."""
        self._asked += 1
        answer = await self.client.run(command, request, request_id=f"request-{self._asked}")
        return answer.response

    async def refusal(self, command: str, request: object) -> str | None:
        """Return the code with which a request or its one item is refused."""
        try:
            (result,) = await self.ask(command, request)
        except RequestError as error:
            return error.code
        return None if result.refusal is None else str(result.refusal.code)

    async def create(self, name: str, *replicas: tuple[int, ...]) -> str | None:
        """Create a topic with these replicas, one list per partition; return why not."""
        assignments = tuple([Assignment(n, broker_ids) for n, broker_ids in enumerate(replicas)])
        request = CreateTopics(topics=(NewTopic(name=name, assignments=assignments),))
        (result,) = await self.ask("topics create", request)
        if result.refusal is not None:
            return str(result.refusal.code)
        self.topic_ids.append(result.topic_id)
        return None

    def partition(self, partition_id: int = 0) -> Partition | None:
        """Return a partition of the newest topic."""
        return self.world.image().partition(self.topic_ids[-1], partition_id)

    def modes(self) -> list[int]:
        """Return the modes of the newest topic's partitions."""
        partitions = self.world.image().partitions(self.topic_ids[-1])
        return [each.mode for each in partitions]

    async def led_by(self, leader: int, *isr: int, partition_id: int = 0) -> None:
        """Wait until a partition of the newest topic is led by a broker, with this ISR."""

        def is_so() -> bool:
            found = self.partition(partition_id)
            return found is not None and (found.leader, {*found.isr}) == (leader, {*isr})

        await soon(is_so)

    async def without(self, broker_id: int) -> None:
        """Kill a broker, and wait until the cluster knows."""
        await self.world.brokers[broker_id].kill()

        def is_fenced() -> bool:
            found = self.world.image().broker(broker_id)
            return found is None or found.fenced

        await soon(is_fenced)

    async def is_refused(self, name: str, partition_id: int) -> bool:
        """Return whether a partition's leader takes no records for it."""
        found = await self.records.partition(name, partition_id)
        assert found is not None
        address = await self.records.address(found.leader_id)
        result = await self.records.try_produce(address, name, b"late", partition=partition_id)
        return name_of(result.error_code) == "POLICY_VIOLATION"


Step = Callable[[Stage], Coroutine[Any, Any, None]]


async def _orders(stage: Stage) -> None:
    assert await stage.create("orders", (1, 2), (2, 3)) is None
    await stage.records.produce("orders", b"old")
    await stage.led_by(1, 1, 2)


async def _name_is_taken(stage: Stage) -> None:
    assert await stage.create("orders", (1,)) == "TOPIC_ALREADY_EXISTS"


async def _broker_2_dies(stage: Stage) -> None:
    await stage.without(2)


async def _orders_are_deleted(stage: Stage) -> None:
    assert await stage.refusal("topics delete", DeleteTopics(topics=("orders",))) is None
    await soon(lambda: stage.world.image().topic_by_name("orders") is None)


async def _orders_again(stage: Stage) -> None:
    """At once, though broker 2 has replicas of the first."""
    assert await stage.create("orders", (1, 3)) is None
    assert stage.topic_ids[0] != stage.topic_ids[1]
    await stage.records.produce("orders", b"new")
    await stage.led_by(1, 1, 3)


async def _stale_leader(stage: Stage) -> None:
    """It believes in the first topic."""
    found, broker = stage.partition(), stage.world.image().broker(1)
    assert found is not None
    assert broker is not None
    altered = AlteredPartition(
        partition_index=0,
        leader_epoch=found.leader_epoch,
        new_isr_with_epochs=(IsrBroker(broker_id=1),),
        partition_epoch=found.partition_epoch,
    )
    topic = AlteredTopic(topic_id=stage.topic_ids[0], partitions=(altered,))
    request = AlterPartitionRequest(broker_id=1, broker_epoch=broker.broker_epoch, topics=(topic,))
    (about,) = (await soon(partial(_leaders_answer, stage, request))).topics
    assert name_of(about.partitions[0].error_code) == "UNKNOWN_TOPIC_ID"
    await stage.led_by(1, 1, 3)


async def _leaders_answer(
    stage: Stage, request: AlterPartitionRequest
) -> AlterPartitionResponse | None:
    """Send a broker's request to each node; return the answer of the one that leads."""
    for address in stage.world.server.removeprefix("kafka://").split(","):
        with contextlib.suppress(UnavailableError):
            async with await MetadataClient.connect(f"kafka://{address}") as node:
                answer = await node.connection.request(request, AlterPartitionResponse)
                if name_of(answer.error_code) != "NOT_CONTROLLER":
                    return answer
    return None


async def _broker_2_is_stale(stage: Stage) -> None:
    """It comes back with a replica of the first topic, and puts that aside."""
    await stage.world.start_brokers(2)
    stale = f"{uuid_text(stage.topic_ids[0])}_0"
    await soon(lambda: stale in stage.world.staged(2))
    assert "orders_0" not in stage.world.folders(2)


async def _moved(stage: Stage) -> None:
    target = PartitionTarget(topic="orders", partition_id=0, broker_ids=(2, 1))
    request = AlterReassignments(partitions=(target,))
    assert await stage.refusal("reassignments alter", request) is None
    await stage.led_by(1, 1, 2)
    assert await stage.records.read("orders", 1) == [b"new"]


async def _first_id_is_gone(stage: Stage) -> None:
    request = DeleteTopics(topics=(stage.topic_ids[0],))
    assert await stage.refusal("topics delete", request) == "UNKNOWN_TOPIC_ID"


async def _deleted_by_id(stage: Stage) -> None:
    request = DeleteTopics(topics=(stage.topic_ids[1],))
    assert await stage.refusal("topics delete", request) is None
    await soon(lambda: not any("orders_0" in stage.world.folders(each) for each in (1, 2, 3)))


async def _broker_3_is_given_up(stage: Stage) -> None:
    await stage.without(3)
    await stage.world.ask("brokers", "unregister", 3)
    await soon(lambda: stage.world.image().broker(3) is None)


SEED_000: tuple[Step, ...] = (
    _orders,
    _name_is_taken,
    _broker_2_dies,
    _orders_are_deleted,
    _orders_again,
    _stale_leader,
    _broker_2_is_stale,
    _moved,
    _first_id_is_gone,
    _deleted_by_id,
    _broker_3_is_given_up,
)
"""Topic ids: a topic of a used name, a stale leader, and a broker that missed it all."""


async def _shrunk(stage: Stage, delay_ms: int) -> str | None:
    shrink = TopicShrink(topic="events", partitions=2)
    request = DeletePartitions(topics=(shrink,), delay_ms=delay_ms)
    return await stage.refusal("partitions delete", request)


async def _grown(stage: Stage, partitions: int) -> str | None:
    growth = TopicGrowth(topic="events", partitions=partitions)
    return await stage.refusal("partitions create", CreatePartitions(topics=(growth,)))


async def _events(stage: Stage) -> None:
    assert await stage.create("events", (1, 2), (2, 3), (3, 1), (1, 2)) is None
    await stage.records.produce("events", b"kept", partition=3)
    await stage.led_by(1, 1, 2, partition_id=3)


async def _not_enabled(stage: Stage) -> None:
    await stage.world.ask("configs", "set", "cluster", f"{DELETE_PARTITIONS_ENABLED}=false")
    assert await _shrunk(stage, 0) == "INVALID_PARTITIONS"
    await stage.world.ask("configs", "set", "cluster", f"{DELETE_PARTITIONS_ENABLED}=true")


async def _leaving(stage: Stage) -> None:
    assert await _shrunk(stage, _HOUR_MS) is None
    await soon(lambda: stage.modes() == [READ_WRITE, READ_WRITE, READ_ONLY, READ_ONLY])
    await soon(lambda: stage.is_refused("events", 3))


async def _no_growth_meanwhile(stage: Stage) -> None:
    assert await _grown(stage, 5) == "REASSIGNMENT_IN_PROGRESS"


async def _cancelled(stage: Stage) -> None:
    await stage.world.ask("topics", "alter", "events", "--cancel-delete-partitions")
    await soon(lambda: stage.modes() == [READ_WRITE] * 4)
    await stage.records.produce("events", b"after", partition=3)


async def _delay_ends(stage: Stage) -> None:
    assert await _shrunk(stage, 2_000) is None
    await soon(lambda: stage.modes() == [READ_WRITE, READ_WRITE, NONE, NONE])
    # Broker 2 has one of them, and does not answer.
    await soon(lambda: not {"events_2", "events_3"} & _on_disks(stage.world, 1, 3))
    assert stage.modes() == [READ_WRITE, READ_WRITE, NONE, NONE]


async def _gone(stage: Stage) -> None:
    await stage.world.start_brokers(2)
    await soon(lambda: stage.modes() == [READ_WRITE] * 2)
    await soon(lambda: "events_3" not in stage.world.folders(2))


async def _grows_back(stage: Stage) -> None:
    assert await _grown(stage, 3) is None
    await stage.records.produce("events", b"another", partition=2)
    assert await stage.records.read("events", 1, partition=2) == [b"another"]


def _on_disks(world: World, *broker_ids: int) -> set[str]:
    return {folder for broker_id in broker_ids for folder in world.folders(broker_id)}


SEED_003: tuple[Step, ...] = (
    _events,
    _not_enabled,
    _leaving,
    _no_growth_meanwhile,
    _cancelled,
    _broker_2_dies,
    _delay_ends,
    _gone,
    _grows_back,
)
"""Partition reduction: refused, cancelled, and carried out while a broker is away."""

STORIES = {"000": SEED_000, "003": SEED_003}
