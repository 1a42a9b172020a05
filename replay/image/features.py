"""Finalized feature levels, and the state of a migration from ZooKeeper."""

import msgspec

from records.configs import FeatureLevelRecord, ZkMigrationStateRecord
from replay.image.changes import MapDelta, ValueDelta
from replay.image.fields import copied


class Feature(msgspec.Struct, frozen=True, gc=False):
    """A finalized feature."""

    name: str
    feature_level: int


class ZkMigration(msgspec.Struct, frozen=True, gc=False):
    """The state of a migration from ZooKeeper."""

    zk_migration_state: int


class FeaturesDelta(MapDelta[str, Feature]):
    """Changes to feature levels, by feature name."""

    def set_level(self, record: FeatureLevelRecord) -> None:
        """Finalize a feature at a level; level 0 removes the feature, if it is finalized."""
        if record.feature_level == 0:
            self.take(record.name)
        else:
            self.put(record.name, copied(record, Feature))


class ZkMigrationDelta(ValueDelta[ZkMigration | None]):
    """Changes to the migration state; it is None until a record sets it."""

    def set_state(self, record: ZkMigrationStateRecord) -> None:
        """Replace the state."""
        self.put(copied(record, ZkMigration))
