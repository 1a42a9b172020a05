"""Feature levels, and the record layouts that they allow."""

from typing import Any

import pytest

from benchmarks.new_partition import new_partition
from controller.decisions.features.levels_in_use import (
    FeatureUpdate,
    UpdateFeatures,
    UpgradeType,
    bootstrap_records,
    update_features,
)
from controller.decisions.levels import (
    ELR_FEATURE,
    METADATA_VERSION_NEWEST,
    MODE_FEATURE,
    NAMESPACE_FEATURE,
    feature_in_use,
    record_version,
    record_versions,
)
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from records.base import Uuid
from records.brokers import BrokerFeature, BrokerRegistrationChangeRecord, RegisterBrokerRecord
from records.configs import FeatureLevelRecord, ZkMigrationStateRecord
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.errors import RequestError
from records.partitions import PartitionChangeRecord, ReplicaDeletionRecord
from records.topics import TopicRecord
from tests.controller.cluster import FEATURES, Cluster
from tests.replay.builders import image_of, uid


def _update(
    cluster: Cluster, name: str, level: int, upgrade_type: UpgradeType = UpgradeType.UPGRADE
) -> None:
    update = FeatureUpdate(name=name, level=level, upgrade_type=upgrade_type)
    cluster.do(update_features, UpdateFeatures(updates=(update,)))


def _code(
    cluster: Cluster, name: str, level: int, upgrade_type: UpgradeType = UpgradeType.UPGRADE
) -> str:
    update = FeatureUpdate(name=name, level=level, upgrade_type=upgrade_type)
    return cluster.refused(update_features, UpdateFeatures(updates=(update,))).code


# Levels at which the form of Kafka's metadata changed (MetadataVersion, `didMetadataChange`).
_CHANGED = {1, 3, 5, 6, 7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33}


@pytest.mark.parametrize("level", range(5, 34))
def test_a_downgrade_by_one_level_is_refused_exactly_where_metadata_changed(level: int) -> None:
    cluster = Cluster({"metadata.version": level})
    safe = UpgradeType.SAFE_DOWNGRADE
    if level in _CHANGED:
        update = FeatureUpdate(name="metadata.version", level=level - 1, upgrade_type=safe)
        error = cluster.refused(update_features, UpdateFeatures(updates=(update,)))
        assert f"level {level} changed the metadata format, and this downgrade would" in str(error)
    else:
        _update(cluster, "metadata.version", level - 1, safe)
        assert cluster.image.feature("metadata.version") == level - 1


@pytest.mark.parametrize(("level", "kept"), [(22, False), (23, True)])
def test_eligible_leader_replicas_are_kept_from_level_23_on(level: int, kept: bool) -> None:
    cluster = Cluster({"metadata.version": level, ELR_FEATURE: 1})
    cluster.add_brokers(1, 2, 3)
    cluster.create("orders", [1, 2, 3], configs=(("min.insync.replicas", "3"),))
    cluster.fence(3)
    elr = cluster.partition("orders", 0).eligible_leader_replicas
    assert elr == ((3,) if kept else ())


def test_lowest_level_that_can_be_set_is_4() -> None:
    cluster = Cluster({"metadata.version": 3})
    _update(cluster, "metadata.version", 4)
    assert cluster.image.feature("metadata.version") == 4
    cluster = Cluster({"metadata.version": 2})
    error = cluster.refused(
        update_features, UpdateFeatures(updates=(FeatureUpdate(name="metadata.version", level=3),))
    )
    assert "the lowest possible level is 4" in str(error)


@pytest.mark.parametrize(("level", "count"), [(12, 2), (13, 4)])
def test_from_level_13_on_a_new_log_has_a_transaction(level: int, count: int) -> None:
    assert len(bootstrap_records({"metadata.version": level})) == count


def test_an_update_that_is_only_validated_writes_nothing() -> None:
    cluster = Cluster({"metadata.version": 20})
    update = FeatureUpdate(name="metadata.version", level=21)
    cluster.do(update_features, UpdateFeatures(updates=(update,), validate_only=True))
    assert cluster.records == ()


def test_a_new_log_starts_with_its_levels_in_one_transaction() -> None:
    assert bootstrap_records({"b": 2, "metadata.version": 25, "a": 1}) == (
        BeginTransactionRecord(name="Bootstrap records"),
        FeatureLevelRecord(name="metadata.version", feature_level=25),
        FeatureLevelRecord(name="a", feature_level=1),
        FeatureLevelRecord(name="b", feature_level=2),
        ZkMigrationStateRecord(zk_migration_state=0),
        EndTransactionRecord(),
    )


def test_before_level_13_there_is_no_transaction() -> None:
    assert bootstrap_records({"metadata.version": 12}) == (
        FeatureLevelRecord(name="metadata.version", feature_level=12),
        ZkMigrationStateRecord(zk_migration_state=0),
    )


def test_a_level_goes_up() -> None:
    cluster = Cluster({"metadata.version": 20})
    _update(cluster, "metadata.version", 25)
    assert cluster.records == (FeatureLevelRecord(name="metadata.version", feature_level=25),)


def test_the_same_level_writes_nothing() -> None:
    cluster = Cluster({"metadata.version": 20})
    _update(cluster, "metadata.version", 20)
    assert cluster.records == ()


def test_a_level_goes_down_only_as_a_downgrade_and_only_where_nothing_changed() -> None:
    cluster = Cluster({"metadata.version": 25})
    safe = UpgradeType.SAFE_DOWNGRADE
    assert _code(cluster, "metadata.version", 24) == "INVALID_UPDATE_VERSION"
    _update(cluster, "metadata.version", 24, safe)
    assert _code(cluster, "metadata.version", 22, safe) == "INVALID_UPDATE_VERSION"
    assert _code(cluster, "metadata.version", 25, safe) == "INVALID_UPDATE_VERSION"
    unsafe = UpgradeType.UNSAFE_DOWNGRADE
    assert _code(cluster, "metadata.version", 22, unsafe) == "INVALID_UPDATE_VERSION"


@pytest.mark.parametrize(
    ("name", "level"),
    [("metadata.version", 34), ("metadata.version", 3), ("no.such.feature", 1), ("a", -1)],
)
def test_a_level_that_this_release_does_not_support_is_refused(name: str, level: int) -> None:
    assert _code(Cluster({"metadata.version": 20}), name, level) == "INVALID_UPDATE_VERSION"


def test_a_level_that_some_broker_does_not_support_is_refused() -> None:
    cluster = Cluster({"metadata.version": 20})
    old = BrokerFeature(name="metadata.version", min_supported_version=1, max_supported_version=24)
    cluster.register(1)
    cluster.register(2, features=(*(f for f in FEATURES if f.name != old.name), old))
    assert _code(cluster, "metadata.version", 25) == "INVALID_UPDATE_VERSION"
    _update(cluster, "metadata.version", 24)


def test_a_feature_that_some_broker_lacks_is_not_switched_on() -> None:
    cluster = Cluster({"metadata.version": 20})
    cluster.register(1, features=tuple(f for f in FEATURES if f.name == "metadata.version"))
    assert _code(cluster, NAMESPACE_FEATURE, 1) == "INVALID_UPDATE_VERSION"


def test_one_refused_item_refuses_all() -> None:
    cluster = Cluster({"metadata.version": 20})
    updates = tuple(
        FeatureUpdate(name=name, level=level)
        for name, level in ((MODE_FEATURE, 1), ("metadata.version", 99))
    )
    error = cluster.refused(update_features, UpdateFeatures(updates=updates))
    assert error.code == "INVALID_UPDATE_VERSION"


def test_a_feature_in_use_is_not_switched_off() -> None:
    cluster = Cluster()
    cluster.do(create_namespace, CreateNamespace("org"))
    safe = UpgradeType.SAFE_DOWNGRADE
    with pytest.raises(RequestError, match="the feature is in use: there are namespaces"):
        _update(cluster, NAMESPACE_FEATURE, 0, safe)
    _update(cluster, MODE_FEATURE, 0, safe)
    assert cluster.image.feature(MODE_FEATURE) is None


@pytest.mark.parametrize(
    ("name", "level", "upgrade_type", "why"),
    [
        ("metadata.version", -1, UpgradeType.UPGRADE, "a level is never negative"),
        ("no.such.feature", 1, UpgradeType.UPGRADE, "there is no such feature, only"),
        ("metadata.version", 34, UpgradeType.UPGRADE, "this release supports 1 to 33"),
        (
            "metadata.version",
            19,
            UpgradeType.UPGRADE,
            "at level 20; an upgrade needs a higher level",
        ),
        ("metadata.version", 21, UpgradeType.SAFE_DOWNGRADE, "at level 20; a downgrade"),
        ("metadata.version", 19, UpgradeType.UNSAFE_DOWNGRADE, "that loses metadata"),
        (ELR_FEATURE, 2, UpgradeType.UPGRADE, "this release supports 0 to 1"),
        (MODE_FEATURE, 2, UpgradeType.UPGRADE, "this release supports 0 to 1"),
        (NAMESPACE_FEATURE, 2, UpgradeType.UPGRADE, "this release supports 0 to 1"),
    ],
)
def test_refused_level_is_told_why(
    name: str, level: int, upgrade_type: UpgradeType, why: str
) -> None:
    update = FeatureUpdate(name=name, level=level, upgrade_type=upgrade_type)
    cluster = Cluster({"metadata.version": 20})
    error = cluster.refused(update_features, UpdateFeatures(updates=(update,)))
    assert error.code == "INVALID_UPDATE_VERSION"
    assert f"{name} cannot be set to {level}: " in str(error)
    assert why in str(error)


def test_what_a_feature_brings_is_refused_without_it() -> None:
    cluster = Cluster({"metadata.version": METADATA_VERSION_NEWEST})
    error = cluster.refused(create_namespace, CreateNamespace("org"))
    assert error.code == "UNSUPPORTED_VERSION"
    assert "metalog features upgrade namespace.version=1" in str(error)


@pytest.mark.parametrize(
    ("level", "version"), [(6, 0), (7, 1), (8, 2), (16, 2), (17, 3), (29, 3), (30, 4)]
)
def test_a_registration_is_written_in_the_layout_of_its_level(level: int, version: int) -> None:
    record = RegisterBrokerRecord(
        broker_id=1,
        incarnation_id=Uuid(bytes(16)),
        broker_epoch=1,
        end_points=(),
        features=(),
        rack=None,
    )
    assert record_version(record, level) == version


@pytest.mark.parametrize(("level", "version"), [(16, 0), (17, 1), (22, 1), (23, 2), (25, 2)])
def test_a_partition_change_is_written_in_the_layout_of_its_level(level: int, version: int) -> None:
    change = PartitionChangeRecord(partition_id=0, topic_id=Uuid(bytes(16)))
    assert record_version(change, level) == version


@pytest.mark.parametrize(("level", "version"), [(16, 0), (17, 1), (22, 1), (23, 2), (25, 2)])
def test_a_partition_is_written_in_the_layout_of_its_level(level: int, version: int) -> None:
    partition = new_partition(Uuid(bytes(16)), 0, (1,))
    assert record_version(partition, level) == version


def test_a_registration_change_is_written_in_the_oldest_layout_that_holds_it() -> None:
    def version(**fields: Any) -> int:
        change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, **fields)
        return record_version(change, METADATA_VERSION_NEWEST)

    assert version(fenced=1) == 0
    assert version(in_controlled_shutdown=1) == 1
    assert version(log_dirs=(Uuid(bytes(16)),)) == 2
    assert version(cordoned_log_dirs=()) == 3


def test_other_records_have_one_layout() -> None:
    topic = TopicRecord(name="a", topic_id=Uuid(bytes(16)))
    assert record_version(topic, METADATA_VERSION_NEWEST) == 0


def test_records_of_a_batch_have_the_layouts_that_each_has_alone() -> None:
    topic = TopicRecord(name="a", topic_id=Uuid(bytes(16)))
    partition = PartitionChangeRecord(partition_id=0, topic_id=Uuid(bytes(16)))
    change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, in_controlled_shutdown=1)
    assert record_versions([topic, partition, topic], 25) == [0, 2, 0]
    assert record_versions([partition, topic], 16) == [0, 0]
    assert record_versions([change, partition], 25) == [1, 2]


def test_eligible_replicas_are_not_given_up_while_nobody_is_in_sync() -> None:
    cluster = Cluster({"metadata.version": 25, ELR_FEATURE: 1})
    cluster.add_brokers(1, 2)
    cluster.create("orders", [1, 2], configs=(("min.insync.replicas", "2"),))
    for broker_id in (2, 1):
        cluster.fence(broker_id)
    assert cluster.partition("orders").isr == ()
    safe = UpgradeType.SAFE_DOWNGRADE
    assert _code(cluster, ELR_FEATURE, 0, safe) == "INVALID_UPDATE_VERSION"
    cluster.heartbeat(1)
    _update(cluster, ELR_FEATURE, 0, safe)
    assert cluster.partition("orders").isr == (1,)


def test_a_replica_that_waits_for_its_deletion_needs_the_feature_of_modes() -> None:
    gone = ReplicaDeletionRecord(topic_id=uid("t"), partition_id=0, broker_id=1, state=4)
    assert feature_in_use(image_of(gone), MODE_FEATURE)
    assert not feature_in_use(image_of(), MODE_FEATURE)
