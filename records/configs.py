"""Settings of the cluster: configs, quotas, feature levels, producer id blocks."""

from records.base import Record


class ConfigRecord(Record, frozen=True, kw_only=True):
    """One config key was set or removed."""

    resource_type: int
    resource_name: str
    name: str
    value: str | None


class EntityData(Record, frozen=True, kw_only=True):
    """One part of a quota's entity: a type, such as `user`, and a name."""

    entity_type: str
    entity_name: str | None


class ClientQuotaRecord(Record, frozen=True, kw_only=True):
    """A quota of a client entity was set or removed."""

    entity: tuple[EntityData, ...]
    key: str
    value: float
    remove: bool


class FeatureLevelRecord(Record, frozen=True, kw_only=True):
    """A feature was finalized at a level; level 0 removes it."""

    name: str
    feature_level: int


class ProducerIdsRecord(Record, frozen=True, kw_only=True):
    """A block of producer ids was handed to a broker."""

    broker_id: int
    broker_epoch: int = -1
    next_producer_id: int


class ZkMigrationStateRecord(Record, frozen=True, kw_only=True):
    """State of a migration from ZooKeeper."""

    zk_migration_state: int
