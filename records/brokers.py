"""Brokers and controllers: registration and fencing."""

from records.base import Record, Uuid


class BrokerEndpoint(Record, frozen=True, kw_only=True):
    """One listener of a broker.

    Attributes:
        name: Name of the listener.
        host: Host name or address to connect to.
        port: TCP port, 0 to 65535.
        security_protocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    """

    name: str
    host: str
    port: int
    security_protocol: int


class BrokerFeature(Record, frozen=True, kw_only=True):
    """A range of levels of one feature that a broker supports.

    Attributes:
        name: Name of the feature.
        min_supported_version: Lowest supported level, inclusive.
        max_supported_version: Highest supported level, inclusive.
    """

    name: str
    min_supported_version: int
    max_supported_version: int


class RegisterBrokerRecord(Record, frozen=True, kw_only=True):
    """A broker joined the cluster, or came back with a new incarnation. It starts fenced.

    Attributes:
        broker_id: The broker's id.
        is_migrating_zk_broker: True while the broker still runs in ZooKeeper mode during a
            migration.
        incarnation_id: Random id of this run of the broker's process.
        broker_epoch: The offset at which this registration was written; a stale broker is known by
            a lower one.
        end_points: Where clients and other brokers reach it, one entry a listener.
        features: The feature levels this broker supports.
        rack: The rack, or null when none is configured.
        fenced: True when the broker may not lead or join an ISR.
        in_controlled_shutdown: True while the broker hands its leaderships over before it stops.
        log_dirs: Ids of the broker's log directories that are online.
        cordoned_log_dirs: Ids of the log directories that get no new partitions; null is none.
    """

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
    """A broker's registration was removed for good.

    Attributes:
        broker_id: The broker's id.
        broker_epoch: Epoch of the registration that is removed; must be the current one.
    """

    broker_id: int
    broker_epoch: int


class FenceBrokerRecord(Record, frozen=True, kw_only=True):
    """A broker was fenced (metadata.version below 6).

    Attributes:
        id: The broker's id.
        epoch: The broker epoch; must be the current one.
    """

    id: int
    epoch: int


class UnfenceBrokerRecord(Record, frozen=True, kw_only=True):
    """A broker was unfenced (metadata.version below 6).

    Attributes:
        id: The broker's id.
        epoch: The broker epoch; must be the current one.
    """

    id: int
    epoch: int


class BrokerRegistrationChangeRecord(Record, frozen=True, kw_only=True):
    """A registered broker was fenced, unfenced, began to shut down, or changed its log
    directories.

    Attributes:
        broker_id: The broker's id.
        broker_epoch: The broker epoch; must be the current one.
        fenced: 1 fence, -1 unfence, 0 unchanged.
        in_controlled_shutdown: 1 begins a controlled shutdown, 0 unchanged.
        log_dirs: New online log directories; empty is unchanged.
        cordoned_log_dirs: New cordoned log directories; null is unchanged.
    """

    broker_id: int
    broker_epoch: int
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: tuple[Uuid, ...] = ()
    cordoned_log_dirs: tuple[Uuid, ...] | None = None


class ControllerEndpoint(Record, frozen=True, kw_only=True):
    """One listener of a controller.

    Attributes:
        name: Name of the listener.
        host: Host name or address to connect to.
        port: TCP port, 0 to 65535.
        security_protocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    """

    name: str
    host: str
    port: int
    security_protocol: int


class ControllerFeature(Record, frozen=True, kw_only=True):
    """A range of levels of one feature that a controller supports.

    Attributes:
        name: Name of the feature.
        min_supported_version: Lowest supported level, inclusive.
        max_supported_version: Highest supported level, inclusive.
    """

    name: str
    min_supported_version: int
    max_supported_version: int


class RegisterControllerRecord(Record, frozen=True, kw_only=True):
    """A controller of the quorum registered itself; a later record of the same controller replaces
    it.

    Attributes:
        controller_id: The controller's id.
        incarnation_id: Random id of this run of the controller's process.
        zk_migration_ready: True when it can take part in a migration from ZooKeeper.
        end_points: Where it is reached, one entry a listener.
        features: The feature levels this controller supports.
    """

    controller_id: int
    incarnation_id: Uuid
    zk_migration_ready: bool
    end_points: tuple[ControllerEndpoint, ...]
    features: tuple[ControllerFeature, ...]


class UnregisterControllerRecord(Record, frozen=True, kw_only=True):
    """A controller's registration was removed.

    Attributes:
        controller_id: The controller's id.
    """

    controller_id: int
