"""Registered brokers and controllers."""

import msgspec

from records.base import Uuid
from records.brokers import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
)
from records.errors import ContradictionError
from replay.image.changes import MapDelta
from replay.image.fields import copied
from replay.image.versions import UNKNOWN

Endpoint = BrokerEndpoint | ControllerEndpoint
SupportedFeature = BrokerFeature | ControllerFeature

_FENCE = 1
_UNFENCE = -1
_SHUT_DOWN = 1

_CORDONED_VERSION = 4
"""Layout version of the first registration records that hold cordoned log directories."""


class Broker(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A registered broker.

    `record_version` is the layout version in which the broker is exported: that of its
    registration record, or a higher one if a later record set a field that this version lacks.
    """

    broker_id: int
    incarnation_id: Uuid
    broker_epoch: int
    end_points: tuple[BrokerEndpoint, ...]
    features: tuple[BrokerFeature, ...]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    is_migrating_zk_broker: bool
    log_dirs: tuple[Uuid, ...]
    record_version: int
    cordoned_log_dirs: tuple[Uuid, ...] = ()


class Controller(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A controller of the quorum, as its last registration record describes it.

    `version` is the offset of the registration record.
    """

    controller_id: int
    incarnation_id: Uuid
    zk_migration_ready: bool
    end_points: tuple[ControllerEndpoint, ...]
    features: tuple[ControllerFeature, ...]
    version: int = UNKNOWN


class BrokersDelta(MapDelta[int, Broker]):
    """Changes to brokers, by broker id."""

    def register(self, record: RegisterBrokerRecord, record_version: int) -> None:
        """Add a broker, or replace its earlier registration."""
        cordoned = record.cordoned_log_dirs or ()
        broker = copied(record, Broker, record_version=record_version, cordoned_log_dirs=cordoned)
        self.put(record.broker_id, broker)

    def unregister(self, record: UnregisterBrokerRecord) -> None:
        """Remove a broker."""
        self.take(self._current(record.broker_id, record.broker_epoch).broker_id)

    def fence(self, record: FenceBrokerRecord) -> None:
        """Fence a broker."""
        self._set_fenced(self._current(record.id, record.epoch), True)

    def unfence(self, record: UnfenceBrokerRecord) -> None:
        """Unfence a broker."""
        self._set_fenced(self._current(record.id, record.epoch), False)

    def change(self, record: BrokerRegistrationChangeRecord) -> None:
        """Replace the fields of a broker that the record sets; the others stay."""
        broker = self._current(record.broker_id, record.broker_epoch)
        changed = msgspec.structs.replace(
            broker,
            fenced={_FENCE: True, _UNFENCE: False}.get(record.fenced, broker.fenced),
            in_controlled_shutdown=broker.in_controlled_shutdown
            or record.in_controlled_shutdown == _SHUT_DOWN,
            log_dirs=record.log_dirs or broker.log_dirs,
            record_version=max(broker.record_version, _CORDONED_VERSION)
            if record.cordoned_log_dirs
            else broker.record_version,
            cordoned_log_dirs=broker.cordoned_log_dirs
            if record.cordoned_log_dirs is None
            else record.cordoned_log_dirs,
        )
        self.put(changed.broker_id, changed)

    def _current(self, broker_id: int, broker_epoch: int) -> Broker:
        broker = self.get(broker_id)
        if broker is None:
            raise ContradictionError(
                f"broker {broker_id} is not registered", about=f"broker:{broker_id}"
            )
        if broker.broker_epoch != broker_epoch:
            raise ContradictionError(
                f"broker {broker_id} has epoch {broker.broker_epoch}, not {broker_epoch}",
                about=f"broker:{broker_id}#broker_epoch",
            )
        return broker

    def _set_fenced(self, broker: Broker, fenced: bool) -> None:
        self.put(broker.broker_id, msgspec.structs.replace(broker, fenced=fenced))


class ControllersDelta(MapDelta[int, Controller]):
    """Changes to controllers, by controller id."""

    def register(self, record: RegisterControllerRecord, offset: int) -> None:
        """Add a controller, or replace its earlier registration."""
        self.put(record.controller_id, copied(record, Controller, version=offset))

    def unregister(self, record: UnregisterControllerRecord) -> None:
        """Remove a controller, whether or not it was registered."""
        self.take(record.controller_id)
