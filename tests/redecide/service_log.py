"""The log of a running service with real clients, brokers that fail, timers, and a restart."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from api.admin.local import LocalAdmin
from api.cli.log.remote_append import server_target
from api.clients.client import MetadataClient
from api.requests.transactions import NAME as TRANSACTION
from api.requests.transactions import Step, Transact
from api.socket.appends import encode_rows
from controller.decisions.brokers.fencing import SetFencing
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    Operation,
    ResourceChange,
)
from controller.decisions.configs.effective import BROKER, CLUSTER_DEFAULT
from controller.decisions.features.levels_in_use import FeatureUpdate, UpdateFeatures
from controller.decisions.levels import ELR_FEATURE
from controller.decisions.namespaces.namespaces import CreateNamespace, DeleteNamespace, MoveTopics
from controller.decisions.notes import AddNote
from controller.decisions.partitions.elections import ElectLeaders
from controller.decisions.partitions.reassignments import AlterReassignments, PartitionTarget
from controller.decisions.quotas.client_quotas import AlterQuotas, EntityChange, QuotaChange
from controller.decisions.security.tokens import CreateToken
from controller.decisions.security.users import AlterUsers, Expected, ScramDeletion
from controller.decisions.topics.alterations import AlterTopics, TopicAlteration
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth
from controller.decisions.topics.partition_removal import DeletePartitions, TopicShrink
from controller.decisions.topics.subscriptions import DeleteSubscription, RegisterSubscription
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from controller.descriptions.brokers import BrokerDescription
from controller.raw_appends.raw_append import AppendRows
from controller.results.quota_charges import MUTATION_RATE
from metadata_log.format.batch import NewBatch
from records.base import Record
from records.configs import ClientQuotaRecord, EntityData
from records.control import NoteRecord
from records.envelope import Origin
from replay.image.configs import TOPIC
from tests.controller.cluster import credential
from tests.stories.partition_client import Partitions, partitions
from tests.stories.processes import World, soon

_BROKERS = (1, 2, 3)
_SECRET = ConfigChange("ssl.keystore.password", "a secret")


async def write_service_log(directory: Path) -> Path:
    """Run a cluster of real processes for about a minute; return the log."""
    world = World(directory)
    secret = directory / "secret"
    secret.write_text("of tokens", "utf-8")
    try:
        await world.serve("--socket", "127.0.0.1:0", "--secret-key-file", str(secret))
        await world.start_brokers(*_BROKERS)
        async with partitions(world) as some:
            await ask_for_everything(some.client)
            await _lose_a_broker(world, some)
        await _append(world)
        await _run_other_clients(world)
        await _restart(world)
    finally:
        await world.end()
    await LocalAdmin(world.log, principal="User:ann").run(
        "namespaces create", CreateNamespace("offline"), request_id="offline"
    )
    return world.log


async def ask_for_everything(client: MetadataClient) -> None:
    """Send every kind of request as brokers 1, 2 and 3, with a request id and without."""
    for number, (command, request) in enumerate(_requests()):
        request_id = f"request-{number}" if number % 2 else None
        await client.run(command, request, request_id=request_id, reason="a reason")


def _requests() -> Iterator[tuple[str, Any]]:
    yield "namespaces create", CreateNamespace("org:apache")
    for _ in range(2):  # kept with the answer, and without
        yield "users alter", _users()
        yield "quotas alter", _quotas()
        yield "tokens create", CreateToken(owner="User:ann", renewers=("User:ANONYMOUS",))
    for placement in ("balanced", "striped", "classic", None):
        topics = [_topic(f"{placement}.{n}", partitions=n) for n in (1, 2, 7)]
        yield (
            "topics create",
            CreateTopics(topics=(*topics, _topic("no/name")), placement=placement),
        )
    yield "partitions create", _growth("balanced.1", 9)
    yield "topics alter", _altered(TopicAlteration(topic="balanced.2", replication_factor=3))
    yield "topics alter", _altered(TopicAlteration(topic="balanced.2", partitions=5))
    yield "configs alter", _configs(TOPIC, "balanced.1", ConfigChange("retention.ms", "1000"))
    yield "configs alter", _configs(TOPIC, "balanced.1", ConfigChange("retention.ms", "1000"))
    yield "configs alter", _configs(BROKER, "1", _SECRET, ConfigChange("log.retention.ms", "5"))
    yield "configs alter", _configs(BROKER, "1", _SECRET)
    yield (
        "configs alter",
        _configs(
            BROKER,
            CLUSTER_DEFAULT,
            ConfigChange("unclean.leader.election.enable", "true"),
            _SECRET,
            ConfigChange("min.insync.replicas", operation=Operation.DELETE),
        ),
    )
    yield "features update", UpdateFeatures(updates=(FeatureUpdate(name=ELR_FEATURE, level=1),))
    yield "reassignments alter", _moved("striped.2", 0, (2, 3))
    yield "reassignments alter", _moved("striped.2", 1, (3, 1))
    yield "brokers fence", SetFencing(broker_id=3, fenced=True)
    yield "leaders elect", ElectLeaders()
    yield "leaders elect", ElectLeaders(unclean=True)
    yield "partitions delete", _shrunk("striped.7", 3, delay_ms=3_600_000)
    yield "partitions cancel-delete", "striped.7"
    yield "partitions delete", _shrunk("classic.7", 2)
    yield "subscriptions register", RegisterSubscription(group="audit", pattern="org:.*")
    yield "subscriptions delete", DeleteSubscription(group="audit")
    yield "notes add", AddNote(at_offset=3, text="the first topic")
    yield "topics move", MoveTopics(from_namespace="", to_namespace="org", topic="classic.1")
    yield "namespaces delete", DeleteNamespace(name="org:apache")
    yield "topics delete", DeleteTopics(topics=("balanced.7", "nobody"))
    yield "records append", _rows(_note("one"), _note("two"))
    yield (
        TRANSACTION,
        steps(
            ("namespaces create", CreateNamespace("net")),
            ("records append", _rows(_note("three"))),
            ("topics create", CreateTopics(topics=(_topic("in", namespace="net", partitions=3),))),
            ("partitions create", _growth("net:in", 5)),
            ("records append", _rows(_note("four"), _note("five"))),
            ("configs alter", _configs(BROKER, "2", _SECRET)),
            ("users alter", AlterUsers(upsertions=(credential("zoe"),))),
        ),
    )
    quota = ClientQuotaRecord(
        entity=(EntityData(entity_type="user", entity_name=None),),
        key=MUTATION_RATE,
        value=2.0,
        remove=False,
    )
    yield "records append", _rows(quota)
    for number in range(3):  # the last ones are refused
        topics = [_topic(f"quota-{number}-{n}", partitions=9) for n in range(2)]
        yield "topics create", CreateTopics(topics=tuple(topics))
    yield "records append", _rows(_without(quota))


async def _lose_a_broker(world: World, some: Partitions) -> None:
    """Kill a broker until its session expires, start it again, and shut another one down
    cleanly.
    """
    await some.create("kept", (2, 1, 3), (3, 2, 1))
    await some.produce("kept", b"one")
    await some.led_by("kept", 2, {1, 2, 3})
    await world.brokers[2].kill()
    await soon(lambda: _is_fenced(some.client, 2))
    await some.produce("kept", b"two")
    await world.start_brokers(2)
    await some.client.run("leaders elect", ElectLeaders(partitions=(("kept", 0),), unclean=False))
    await world.brokers[3].stop()
    await some.client.run("brokers unregister", 3)
    await world.start_brokers(3)


async def _append(world: World) -> None:
    """Append over Kafka's protocol and over the socket."""
    assert world.service is not None
    urls = {"kafka": f"kafka://127.0.0.1:{world.port}", "socket": world.service.ready["socket"]}
    for name, url in urls.items():
        scheme = "" if "://" in url else "socket://"
        async with server_target(f"{scheme}{url}") as target:
            origin = Origin(request_id=f"by {name}", request_hash=b"h")
            await target.append(NewBatch(records=(_note(name),), origin=origin))
            await target.append(NewBatch(records=(_note(name), _note("again"))))


async def _run_other_clients(world: World) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.stories.kafka_python_client", f"127.0.0.1:{world.port}"),
        stdout=asyncio.subprocess.DEVNULL,
    )
    assert await process.wait() == 0


async def _restart(world: World) -> None:
    """Kill the service; the next one learns from heartbeats the state that is not in the log."""
    assert world.service is not None
    await world.service.kill()
    await world.serve()
    async with world.client() as client:
        await client.run("topics create", CreateTopics(topics=(_topic("after", partitions=5),)))
        await world.brokers[1].kill()
        await soon(lambda: _is_fenced(client, 1))


async def _is_fenced(client: MetadataClient, broker_id: int) -> bool:
    described: BrokerDescription = (await client.page("brokers describe", broker_id)).response
    return described.broker.fenced


def _topic(name: str, **fields: Any) -> NewTopic:
    return NewTopic(name=name, **fields)


def _users() -> AlterUsers:
    """Return a request with some items that are refused."""
    return AlterUsers(
        deletions=(ScramDeletion(user="ann"), ScramDeletion(user="nobody")),
        upsertions=(
            credential("bob"),
            credential("cat", expected=Expected.ABSENT),
            credential("dan", iterations=1),
            credential("eve", stored_key=b"short"),
        ),
    )


def _quotas() -> AlterQuotas:
    changes = (QuotaChange("producer_byte_rate", 2.0**60), QuotaChange("request_percentage"))
    entities = ((("user", "ann"), ("client-id", None)), (("ip", "nowhere"),), (("user", None),))
    return AlterQuotas(
        entities=tuple([EntityChange(entity=entity, changes=changes) for entity in entities])
    )


def _growth(topic: str, partitions: int) -> CreatePartitions:
    return CreatePartitions(topics=(TopicGrowth(topic=topic, partitions=partitions),))


def _altered(alteration: TopicAlteration) -> AlterTopics:
    return AlterTopics(topics=(alteration,))


def _shrunk(topic: str, partitions: int, delay_ms: int = 0) -> DeletePartitions:
    shrink = TopicShrink(topic=topic, partitions=partitions)
    return DeletePartitions(topics=(shrink,), delay_ms=delay_ms)


def _configs(resource_type: int, name: str, *changes: ConfigChange) -> AlterConfigs:
    resource = ResourceChange(resource_type=resource_type, resource_name=name, changes=changes)
    return AlterConfigs(resources=(resource,))


def _moved(topic: str, partition_id: int, broker_ids: tuple[int, ...]) -> AlterReassignments:
    target = PartitionTarget(topic=topic, partition_id=partition_id, broker_ids=broker_ids)
    return AlterReassignments(partitions=(target,))


def steps(*of: tuple[str, Any]) -> Transact:
    """Return commands as one transaction."""
    return Transact(steps=tuple([Step.of(command, request) for command, request in of]))


def _rows(*records: Record) -> AppendRows:
    return AppendRows(rows=encode_rows(NewBatch(records=records)), count=len(records))


def _note(text: str) -> NoteRecord:
    return NoteRecord(at_offset=0, author="ann", text=text)


def _without(quota: ClientQuotaRecord) -> ClientQuotaRecord:
    return ClientQuotaRecord(entity=quota.entity, key=quota.key, value=0.0, remove=True)
