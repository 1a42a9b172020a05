"""A log whose feature level is too low for a record type has no records of that type."""

import contextlib
import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from api.requests.commands import COMMANDS
from controller.authorization.caller import CONTROLLER
from controller.decisions import levels
from controller.decisions.features.levels_in_use import (
    FeatureUpdate,
    UpdateFeatures,
    UpgradeType,
    update_features,
)
from controller.decisions.levels import (
    ELR_FEATURE,
    METADATA_VERSION,
    METADATA_VERSION_NEWEST,
    MODE_FEATURE,
    NAMESPACE_FEATURE,
    first_missing_level,
    needed_level,
)
from controller.decisions.security.tokens import SECRET_KEY
from controller.raw_appends.raw_append import AppendRecords, append_records
from records import brokers, configs, metadata_versions, partitions, security, topics
from records.base import Record, Uuid
from records.brokers import BrokerFeature, ControllerFeature
from records.errors import RequestError
from tests.api.test_authorization import CASES
from tests.controller.cluster import Cluster
from tests.replay.builders import uid
from tests.scenarios.commands import run
from tests.scenarios.test_scenarios import blocks

# Kafka's MetadataVersion: 3.2-IV0, 3.3-IV2, 3.3-IV3, 3.5-IV2, 3.6-IV0 to IV2, 3.7-IV0, 3.7-IV2 and
# 4.0-IV1.
FIRST_LEVELS = {
    "LEADER_RECOVERY_LEVEL": 3,
    "REGISTRATION_CHANGE_LEVEL": 6,
    "CONTROLLED_SHUTDOWN_LEVEL": 7,
    "SCRAM_LEVEL": 11,
    "NO_EPOCH_BUMP_ON_SHRINK_LEVEL": 12,
    "TRANSACTIONS_LEVEL": 13,
    "DELEGATION_TOKEN_LEVEL": 14,
    "CONTROLLER_REGISTRATION_LEVEL": 15,
    "DIRECTORIES_LEVEL": 17,
    "ELR_LEVEL": 23,
}


def test_first_levels_are_those_of_kafka() -> None:
    declared = {name: getattr(levels, name) for name in dir(levels) if name.endswith("_LEVEL")}
    of_records = {name for name in dir(metadata_versions) if name.endswith("_LEVEL")}
    assert {name: declared[name] for name in declared.keys() - of_records} == FIRST_LEVELS


_BARE = {METADATA_VERSION: METADATA_VERSION_NEWEST}
_SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.txt"))


def _lacking(cluster: Cluster, first_step: int = 1) -> list[Record]:
    """Return the records that were written without the feature level that they need.

    The transaction around the bootstrap begins before its levels.
    """
    found = []
    levels: dict[str, int] = {}
    for step, (batch, image) in enumerate(cluster.steps):
        records = tuple([row.payload for row in batch.rows])
        missing = first_missing_level(levels, records, set(map(type, records)))
        if step >= first_step and missing is not None:
            found.append(records[missing[0]])
        levels = dict(image.features())
    return found


def _levels(rng: random.Random) -> dict[str, int]:
    return {
        METADATA_VERSION: rng.randrange(4, METADATA_VERSION_NEWEST + 1),
        **{name: rng.randrange(2) for name in (ELR_FEATURE, NAMESPACE_FEATURE, MODE_FEATURE)},
    }


@pytest.mark.parametrize("seed", range(12))
def test_no_command_writes_a_record_without_its_level(seed: int) -> None:
    rng = random.Random(seed)
    cluster = Cluster(
        {**_BARE, NAMESPACE_FEATURE: 1, MODE_FEATURE: 1} if seed == 0 else _levels(rng)
    )
    cluster.settings = replace(cluster.settings, static_configs={SECRET_KEY: "key"})
    cluster.add_brokers(1, 2)
    for name in ("a", "b", "leaving", "shrinking"):
        cluster.create(name, [1, 2], [2, 1])
    first = len(cluster.steps)
    written = 0
    for command in rng.sample(sorted(COMMANDS), len(COMMANDS)):
        case = CASES.get(command)
        for request in () if case is None else (case.request, case.other):
            if request is None:
                continue
            bound = COMMANDS[command].bound(request, CONTROLLER)
            with contextlib.suppress(RequestError):
                cluster.decide(bound)
                written += bool(cluster.records)
    assert written > 5
    assert _lacking(cluster, first) == []


@pytest.mark.parametrize("path", _SCENARIOS, ids=lambda path: path.stem)
def test_no_scenario_leaves_a_record_without_its_level(path: Path) -> None:
    cluster = Cluster()
    for commands, _ in blocks(path.read_text("utf-8")):
        for command in commands:
            run(cluster, command)
    assert _lacking(cluster) == []


def _acl(resource_type: int) -> Record:
    return security.AccessControlEntryRecord(
        id=uid("acl"),
        resource_type=resource_type,
        resource_name="org",
        pattern_type=3,
        principal="User:ann",
        host="*",
        operation=3,
        permission_type=3,
    )


_NEED = {
    NAMESPACE_FEATURE: [
        topics.NamespaceRecord(namespace_id=uid("org"), name="org"),
        topics.TopicRecord(name="t", topic_id=uid("t"), namespace_id=uid("org")),
        configs.ConfigRecord(resource_type=100, resource_name="org", name="x", value="1"),
        _acl(100),
    ],
    MODE_FEATURE: [
        partitions.DeleteTopicPartitionsRecord(
            topic_id=uid("t"), partition_ids=(0,), delay_ms=0, create_time_ms=0
        ),
        partitions.PartitionChangeRecord(topic_id=uid("t"), partition_id=0, mode=1),
    ],
    METADATA_VERSION: [
        security.RemoveUserScramCredentialRecord(name="ann", mechanism=1),
        security.RemoveDelegationTokenRecord(token_id="t"),
        brokers.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, fenced=1),
        brokers.BrokerRegistrationChangeRecord(
            broker_id=1, broker_epoch=1, cordoned_log_dirs=(uid("dir"),)
        ),
        brokers.UnregisterControllerRecord(controller_id=3000),
    ],
}


@pytest.mark.parametrize(
    ("name", "record"), [(name, record) for name, some in _NEED.items() for record in some]
)
def test_records_appended_as_they_are_need_their_level_too(name: str, record: Record) -> None:
    needed = needed_level(record)
    assert needed is not None
    assert needed[0] == name
    cluster = Cluster({METADATA_VERSION: 4})
    error = cluster.refused(append_records, AppendRecords(records=(record,)))
    assert error.code == "INVALID_RECORD"
    assert f"record 1 of 1: {type(record).__name__} needs the feature {name}" in str(error)
    assert f"metalog features upgrade {name}={needed[1]}" in str(error)


@pytest.mark.parametrize(
    "record",
    [
        topics.TopicRecord(name="t", topic_id=uid("t")),
        partitions.PartitionChangeRecord(topic_id=uid("t"), partition_id=0, leader=1),
        _acl(2),
    ],
)
def test_other_records_need_none(record: Record) -> None:
    assert needed_level(record) is None


def test_a_level_counts_from_its_record_on() -> None:
    level = configs.FeatureLevelRecord(name=NAMESPACE_FEATURE, feature_level=1)
    namespace = topics.NamespaceRecord(namespace_id=uid("org"), name="org")
    cluster = Cluster(_BARE)
    error = cluster.refused(append_records, AppendRecords(records=(namespace, level)))
    assert "record 1 of 2" in str(error)
    cluster.do(append_records, AppendRecords(records=(level, namespace)))
    gone = replace(level, feature_level=0)
    error = cluster.refused(append_records, AppendRecords(records=(gone,)))
    assert "there are still objects that need the feature namespace.version" in str(error)


def test_a_feature_stays_while_an_acl_of_a_namespace_is_left() -> None:
    cluster = Cluster()
    cluster.write([_acl(100)])
    lower = FeatureUpdate(name=NAMESPACE_FEATURE, level=0, upgrade_type=UpgradeType.SAFE_DOWNGRADE)
    error = cluster.refused(update_features, UpdateFeatures(updates=(lower,)))
    assert "in use" in str(error)
    cluster.write([security.RemoveAccessControlEntryRecord(id=uid("acl"))])
    cluster.do(update_features, UpdateFeatures(updates=(lower,)))
    assert not cluster.image.feature(NAMESPACE_FEATURE)


def test_registrations_that_stand_in_the_way_are_named_with_what_to_do() -> None:
    cluster = Cluster(_BARE)
    cluster.add_brokers(1)
    old = BrokerFeature(name=METADATA_VERSION, min_supported_version=1, max_supported_version=33)
    dead = cluster.register(2, features=(old,))
    alive = cluster.register(3, features=(old,))
    cluster.heartbeat(3)
    controller = cluster.next_offset
    cluster.write(
        [
            brokers.RegisterControllerRecord(
                controller_id=3001,
                incarnation_id=Uuid(bytes([1] * 16)),
                zk_migration_ready=False,
                end_points=(),
                features=(
                    ControllerFeature(
                        name=NAMESPACE_FEATURE, min_supported_version=0, max_supported_version=0
                    ),
                ),
            )
        ]
    )
    update = UpdateFeatures(updates=(FeatureUpdate(name=NAMESPACE_FEATURE, level=1),))
    text = str(cluster.refused(update_features, update))
    assert f"broker 2 supports 0 to 0 (fenced, registered at offset {dead})" in text
    assert "`metalog brokers unregister 2`" in text
    assert f"broker 3 supports 0 to 0 (registered at offset {alive})" in text
    assert f"controller 3001 supports 0 to 0 (registered at offset {controller})" in text
    assert "broker 1 " not in text
