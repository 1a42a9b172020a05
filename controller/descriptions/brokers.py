"""Descriptions of brokers."""

from collections.abc import Iterable

import msgspec

from controller.decisions.request import Request
from controller.descriptions.progress import applied_offsets
from controller.descriptions.view import View
from records.errors import RequestError
from replay.image.cluster import Broker


class BrokerDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A broker, with the numbers of partitions that it leads and of replicas that it has.

    `applied_offset`: the last offset of the log it has applied; None if unknown.
    """

    broker: Broker
    leads: int
    replicas: int
    applied_offset: int | None


class ListBrokers(Request["tuple[BrokerDescription, ...]"], frozen=True, kw_only=True):
    """A request for descriptions of all registered brokers."""


class DescribeBroker(Request["BrokerDescription"], frozen=True):
    """A request to describe one broker."""

    broker_id: int


def brokers_listed(view: View, request: ListBrokers) -> tuple[BrokerDescription, ...]:
    """Describe all registered brokers, ordered by id, without a scan of all partitions."""
    return _described(view, sorted(view.image.brokers(), key=lambda broker: broker.broker_id))


def broker_described(view: View, broker_id: int) -> BrokerDescription:
    """Describe one broker.

    Raises:
        RequestError: BROKER_ID_NOT_REGISTERED.
    """
    broker = view.image.broker(broker_id)
    if broker is None:
        raise RequestError("BROKER_ID_NOT_REGISTERED", f"broker {broker_id} is not registered")
    (described,) = _described(view, [broker])
    return described


def _described(view: View, brokers: Iterable[Broker]) -> tuple[BrokerDescription, ...]:
    leads = view.index.leader_counts(view.image)
    applied = {known.broker_id: known.offset for known in applied_offsets(view)}
    return tuple(
        [
            BrokerDescription(
                broker=broker,
                leads=leads[broker.broker_id],
                replicas=view.index.replica_count(broker.broker_id),
                applied_offset=applied[broker.broker_id],
            )
            for broker in brokers
        ]
    )
