"""Finalized feature levels, and the state of a migration from ZooKeeper."""

from records.configs import FeatureLevelRecord, ZkMigrationStateRecord
from replay.image.changes import MapDelta, ValueDelta


class FeaturesDelta(MapDelta[str, int]):
    """Changes to feature levels, by feature name."""

    def set_level(self, record: FeatureLevelRecord) -> None:
        """Finalize a feature at a level; level 0 removes it, whether or not it was set."""
        if record.feature_level == 0:
            self.take(record.name)
        else:
            self.put(record.name, record.feature_level)


class ZkMigrationDelta(ValueDelta[int | None]):
    """Changes of the migration state; None while no record has been written."""

    def set_state(self, record: ZkMigrationStateRecord) -> None:
        """Replace the state."""
        self.put(record.zk_migration_state)
