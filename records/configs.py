"""Settings of the cluster: configs, quotas, feature levels, producer id blocks."""

from records.base import Record


class ConfigRecord(Record, frozen=True, kw_only=True):
    """One config key was set or removed.

    Attributes:
        resource_type: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group, 100
            namespace.
        resource_name: Full name of the resource; empty for the cluster-wide default of brokers.
        name: The config key.
        value: The new value; null removes the key.
    """

    resource_type: int
    resource_name: str
    name: str
    value: str | None


class EntityData(Record, frozen=True, kw_only=True):
    """One part of a quota's entity: a type, such as `user`, and a name.

    Attributes:
        entity_type: user, client-id or ip.
        entity_name: The name, or null for the default entity of this type.
    """

    entity_type: str
    entity_name: str | None


class ClientQuotaRecord(Record, frozen=True, kw_only=True):
    """A quota of a client entity was set or removed.

    Attributes:
        entity: The parts that together name the entity; their order has no meaning.
        key: Name of the quota.
        value: The limit, in the quota's own unit.
        remove: True when the quota is removed.
    """

    entity: tuple[EntityData, ...]
    key: str
    value: float
    remove: bool


class FeatureLevelRecord(Record, frozen=True, kw_only=True):
    """A feature was finalized at a level; level 0 removes it.

    Attributes:
        name: Name of the feature.
        feature_level: The finalized level.
    """

    name: str
    feature_level: int


class ProducerIdsRecord(Record, frozen=True, kw_only=True):
    """A block of producer ids was handed to a broker.

    Attributes:
        broker_id: The broker that asked.
        broker_epoch: Its broker epoch.
        next_producer_id: The first id after the block.
    """

    broker_id: int
    broker_epoch: int = -1
    next_producer_id: int


class ZkMigrationStateRecord(Record, frozen=True, kw_only=True):
    """State of a migration from ZooKeeper.

    Attributes:
        zk_migration_state: 0 none, 1 migration, 2 pre-migration, 3 post-migration, 4 ZooKeeper.
    """

    zk_migration_state: int
