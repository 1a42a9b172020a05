"""Brokers and controllers: registration and fencing."""

from records.base import Record, Uuid


class BrokerEndpoint(Record, frozen=True, kw_only=True):
    """One listener of a broker."""

    name: str
    host: str
    port: int
    security_protocol: int


class BrokerFeature(Record, frozen=True, kw_only=True):
    """A range of levels of one feature that a broker supports."""

    name: str
    min_supported_version: int
    max_supported_version: int


class RegisterBrokerRecord(Record, frozen=True, kw_only=True):
    """A broker joined the cluster, or came back with a new incarnation. It starts fenced."""

    broker_id: int
    is_migrating_zk_broker: bool = False
    incarnation_id: Uuid
    broker_epoch: int
    end_points: tuple[BrokerEndpoint, ...]
    features: tuple[BrokerFeature, ...]
    rack: str | None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: tuple[Uuid, ...] = ()
    cordoned_log_dirs: tuple[Uuid, ...] | None = None


class UnregisterBrokerRecord(Record, frozen=True, kw_only=True):
    """A broker's registration was removed for good."""

    broker_id: int
    broker_epoch: int


class FenceBrokerRecord(Record, frozen=True, kw_only=True):
    """A broker was fenced (metadata.version below 6)."""

    id: int
    epoch: int


class UnfenceBrokerRecord(Record, frozen=True, kw_only=True):
    """A broker was unfenced (metadata.version below 6)."""

    id: int
    epoch: int


class BrokerRegistrationChangeRecord(Record, frozen=True, kw_only=True):
    """A registered broker was fenced, unfenced, began to shut down, or changed its log
    directories.
    """

    broker_id: int
    broker_epoch: int
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: tuple[Uuid, ...] = ()
    cordoned_log_dirs: tuple[Uuid, ...] | None = None


class ControllerEndpoint(Record, frozen=True, kw_only=True):
    """One listener of a controller."""

    name: str
    host: str
    port: int
    security_protocol: int


class ControllerFeature(Record, frozen=True, kw_only=True):
    """A range of levels of one feature that a controller supports."""

    name: str
    min_supported_version: int
    max_supported_version: int


class RegisterControllerRecord(Record, frozen=True, kw_only=True):
    """A controller of the quorum registered itself; a later record of the same controller replaces
    it.
    """

    controller_id: int
    incarnation_id: Uuid
    zk_migration_ready: bool
    end_points: tuple[ControllerEndpoint, ...]
    features: tuple[ControllerFeature, ...]


class UnregisterControllerRecord(Record, frozen=True, kw_only=True):
    """A controller's registration was removed."""

    controller_id: int
