"""JSON form of brokers: in lists, described, and waited for."""

from typing import Self

import msgspec

from api.documents.document import Document
from controller.descriptions.brokers import BrokerDescription
from records.brokers import BrokerEndpoint, BrokerFeature
from records.text import uuid_text
from replay.image.cluster import Broker as Registered
from replay.image.fields import copied


class Broker(msgspec.Struct, frozen=True, kw_only=True):
    """A broker, with the numbers of partitions that it leads and of replicas that it has.

    `applied_offset` is the last offset that it has applied, None if unknown.
    """

    broker: int
    state: str
    rack: str | None
    leads: int
    replicas: int
    listeners: tuple[str, ...]
    applied_offset: int | None

    @classmethod
    def of(cls, described: BrokerDescription) -> Self:
        """Return a broker in its JSON form for lists."""
        broker = described.broker
        return cls(
            broker=broker.broker_id,
            state=_state(broker),
            rack=broker.rack,
            leads=described.leads,
            replicas=described.replicas,
            listeners=tuple([f"{p.name}://{p.host}:{p.port}" for p in broker.end_points]),
            applied_offset=described.applied_offset,
        )


class Registration(Broker, frozen=True, kw_only=True):
    """A broker with all fields of its registration."""

    broker_id: int
    incarnation_id: str
    broker_epoch: int
    end_points: tuple[BrokerEndpoint, ...]
    features: tuple[BrokerFeature, ...]
    fenced: bool
    in_controlled_shutdown: bool
    is_migrating_zk_broker: bool
    log_dirs: tuple[str, ...]
    record_version: int

    @classmethod
    def registered(cls, described: BrokerDescription) -> Self:
        """Return a broker and its registration in their JSON form."""
        broker, listed = described.broker, Broker.of(described)
        fields = {name: getattr(listed, name) for name in listed.__struct_fields__}
        fields["incarnation_id"] = uuid_text(broker.incarnation_id)
        fields["log_dirs"] = tuple(map(uuid_text, broker.log_dirs))
        return copied(broker, cls, **fields)


class BrokerList(msgspec.Struct, frozen=True, kw_only=True):
    """A list of brokers, ordered by id."""

    brokers: tuple[Broker, ...]


class OneBroker(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `brokers describe`: one broker's registration."""

    broker: Registration


class BrokersWaited(msgspec.Struct, frozen=True, kw_only=True):
    """The result of waiting until all active brokers have applied an offset: these brokers."""

    offset: int
    brokers: tuple[Broker, ...]


def _state(broker: Registered) -> str:
    if broker.fenced:
        return "fenced"
    return "shutting down" if broker.in_controlled_shutdown else "active"


BROKER = Document(
    type=OneBroker, of=lambda _, found: OneBroker(broker=Registration.registered(found))
)
