"""Which topics and brokers a record speaks of."""

from collections.abc import Iterable

import msgspec

from records.base import Record, Uuid
from records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)


class Touched(msgspec.Struct):
    """What records speak of, collected."""

    topic_ids: set[Uuid] = msgspec.field(default_factory=set)
    broker_ids: set[int] = msgspec.field(default_factory=set)

    def add(self, records: Iterable[Record]) -> None:
        """Collect what records speak of; a replica's broker is not touched by its deletion."""
        for record in records:
            match record:
                case FenceBrokerRecord(id=broker_id) | UnfenceBrokerRecord(id=broker_id):
                    self.broker_ids.add(broker_id)
                case (
                    RegisterBrokerRecord(broker_id=broker_id)
                    | UnregisterBrokerRecord(broker_id=broker_id)
                    | BrokerRegistrationChangeRecord(broker_id=broker_id)
                ):
                    self.broker_ids.add(broker_id)
                case _:
                    topic_id = getattr(record, "topic_id", None)
                    if topic_id is not None:
                        self.topic_ids.add(topic_id)
