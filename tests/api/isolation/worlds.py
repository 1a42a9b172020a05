"""Clusters of two tenants, and the same clusters without one of the tenants.

A tenant has a namespace, and every kind of object that can be in it or belong to its users or
groups. In the cluster without the tenant, notes replace its records, so that the offsets are equal.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from api.service.service import Service
from controller.authorization.acls import SUPER_USERS, AclAuthorizer
from controller.authorization.authorizer import Operation, ResourceType
from controller.authorization.caller import Caller
from controller.decisions.context.cluster_index import SUBSCRIBED_PATTERN
from controller.decisions.context.context import Settings
from controller.decisions.features.levels_in_use import bootstrap_records
from controller.decisions.levels import NEW_CLUSTER_LEVELS
from controller.decisions.security.tokens import SECRET_KEY
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record, Uuid
from records.configs import ClientQuotaRecord, ConfigRecord, EntityData
from records.control import NoteRecord
from records.envelope import Origin
from records.partitions import DeleteTopicPartitionsRecord
from records.security import AccessControlEntryRecord, UserScramCredentialRecord
from records.text import uuid_text
from records.topics import RemoveTopicRecord
from replay.image.configs import GROUP, NAMESPACE, TOPIC
from tests.metadata_log.machine import START_MS, Machine
from tests.replay.builders import broker, change, namespace, partition, topic, uid

_TOPICS, _PARTITIONS = 120, 120
"""More than one piece of an image holds."""

_ADMIN = Origin(principal="User:admin", command="append")


@dataclass(frozen=True)
class Tenant:
    """A user and a namespace. All names and ids of its objects contain `name` or are derived from
    it.
    """

    name: str
    user: str

    @property
    def principal(self) -> str:
        return f"User:{self.user}"

    @property
    def caller(self) -> Caller:
        return Caller(principal=self.principal, client_id="test", host="10.0.0.1")

    def records(self) -> Iterator[Record]:
        """Yield the records that create the tenant and its objects."""
        name, inner = self.name, f"{self.name}:inner"
        yield namespace(name)
        yield namespace(inner)
        yield from self._acls()
        yield ConfigRecord(
            resource_type=NAMESPACE, resource_name=name, name="retention.ms", value="4711"
        )
        for each, held_by, count in (("orders", name, 3), ("plans", inner, 1)):
            yield topic(each, namespace=held_by, topic_id=f"{name} {each}")
            yield ConfigRecord(
                resource_type=TOPIC,
                resource_name=f"{held_by}:{each}",
                name="retention.ms",
                value="4712",
            )
            yield from self._partitions(each, count)
        yield DeleteTopicPartitionsRecord(
            topic_id=self.topic_id("orders"),
            partition_ids=(2,),
            delay_ms=3_600_000,
            create_time_ms=START_MS,
        )
        yield change(f"{name} orders", 2, mode=1)
        yield ConfigRecord(
            resource_type=GROUP,
            resource_name=f"{name}-group",
            name=SUBSCRIBED_PATTERN,
            value=".*",  # matches what the other tenant creates
        )
        yield ClientQuotaRecord(
            entity=(EntityData(entity_type="user", entity_name=self.user),),
            key="controller_mutation_rate",
            value=10_000.0,
            remove=False,
        )
        yield UserScramCredentialRecord(
            name=self.user,
            mechanism=1,
            salt=b"s" * 16,
            stored_key=b"k" * 32,
            server_key=b"v" * 32,
            iterations=4096,
        )

    def crowd(self) -> Iterator[Record]:
        """Yield enough topics and partitions for answers of several pieces and pages."""
        for number in range(_TOPICS):
            yield topic(f"t{number}", namespace=self.name, topic_id=f"{self.name} t{number}")
            yield from self._partitions(f"t{number}", 1)
        yield RemoveTopicRecord(topic_id=self.topic_id("t7"))
        yield topic("wide", namespace=self.name, topic_id=f"{self.name} wide")
        yield from self._partitions("wide", _PARTITIONS)

    def topic_id(self, name: str) -> Uuid:
        return uid(f"{self.name} {name}")

    def _partitions(self, name: str, count: int) -> Iterator[Record]:
        for number in range(count):
            yield partition(f"{self.name} {name}", number, replicas=(1,), isr=(1,), leader=1)

    def _acls(self) -> Iterator[Record]:
        for resource_type, name in (
            (ResourceType.NAMESPACE, self.name),
            (ResourceType.GROUP, f"{self.name}-group"),
        ):
            yield AccessControlEntryRecord(
                id=uid(f"{self.name} {resource_type}"),
                resource_type=resource_type.value,
                resource_name=name,
                pattern_type=3,
                principal=self.principal,
                host="*",
                operation=Operation.ALL.value,
                permission_type=3,
            )


ALPHA, BRAVO = Tenant("alpha", "ann"), Tenant("bravo", "bob")
CLUSTER_ID = uuid_text(bytes(range(16)))


class _Start:
    def now_ms(self) -> int:
        return START_MS


@asynccontextmanager
async def world(directory: Path, asking: Tenant, other: Tenant | None) -> AsyncIterator[Service]:
    """A service with the tenant `asking`, and with the other tenant or notes in its place."""
    create_log(directory, CLUSTER_ID)
    log = await MetadataLog.open(directory, clock=_Start())
    try:
        shared = [*bootstrap_records(NEW_CLUSTER_LEVELS), broker(1, fenced=False)]
        await log.append(NewBatch(records=tuple(shared), origin=_ADMIN))
        await log.append(NewBatch(records=tuple(asking.records()), origin=_ADMIN))
        for made in (Tenant.records, Tenant.crowd):
            records = tuple(made(BRAVO if asking is ALPHA else ALPHA))
            if other is None:
                notes = [NoteRecord(at_offset=n, author="x", text="") for n in range(len(records))]
                records = tuple(notes)
            await log.append(NewBatch(records=records, origin=_ADMIN))
    finally:
        await log.close()
    static = {
        SUPER_USERS: "User:admin",
        "delete.topic.partition.enable": "true",
        SECRET_KEY: "key",
    }
    settings = Settings(static_configs=static, authorizer=AclAuthorizer.of(static))
    machine = Machine(START_MS + 60_000)
    service = await Service.open(directory, settings=settings, machine=machine, with_timers=False)
    try:
        yield service
    finally:
        await service.close()
