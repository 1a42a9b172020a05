"""Limits, levels and features at their edges: the last allowed value, and the first that is not."""

from functools import partial

import pytest

from controller.authorization.acls import PatternType
from controller.authorization.authorizer import ResourceType
from controller.decisions.config_definitions import brokers as broker_configs
from controller.decisions.config_definitions.definition import ConfigDefinition, ConfigType
from controller.decisions.context.context import Settings
from controller.decisions.context.mutation_quotas import MutationBuckets
from controller.decisions.features.levels_in_use import (
    FeatureUpdate,
    UpdateFeatures,
    update_features,
)
from controller.decisions.levels import (
    DIRECTORIES_LEVEL,
    MODE_FEATURE,
    NAMESPACE_FEATURE,
    NEW_CLUSTER_LEVELS,
)
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.partitions.partition_states import PARTITIONS
from controller.decisions.security.acls import AclBinding, CreateAcls, create_acls
from controller.decisions.security.tokens import CHECK_INTERVAL, check_interval_ms
from controller.decisions.topics import subscriptions
from controller.decisions.topics.alterations import (
    AlterTopics,
    Instruction,
    TopicAlteration,
    alter_topics,
)
from controller.decisions.topics.partition_removal import DELETE_PARTITIONS_ENABLED
from controller.results.quota_charges import Allowance
from metadata_log.files.network_file_systems import _NETWORK
from records.base import Uuid
from records.brokers import BrokerEndpoint
from records.configs import ConfigRecord, FeatureLevelRecord
from records.errors import RequestError
from records.topics import TopicRecord
from tests.controller.cluster import Cluster, directory


def test_network_file_systems_are_those_of_the_document() -> None:
    assert " ".join(sorted(_NETWORK)) == (
        "9p afpfs afs beegfs ceph cifs fuse.glusterfs fuse.s3fs fuse.sshfs gfs2 glusterfs gpfs "
        "lustre ncpfs nfs nfs4 ocfs2 smb3 smbfs webdav"
    )


def test_names_of_configs_are_kafkas() -> None:
    assert broker_configs.LOG_DIR == "log.dir"
    assert broker_configs.LOG_DIRS == "log.dirs"
    assert broker_configs.AUTO_CREATE_TOPICS == "auto.create.topics.enable"


def test_kinds_of_changes_have_the_words_of_released_json() -> None:
    words = ["growth", "shrink", "reassignment", "replication factor", "configs"]
    assert [each.value for each in Instruction] == words


def test_the_last_subscription_is_taken_and_the_next_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subscriptions, "SUBSCRIPTIONS_MAX", 2)
    cluster = Cluster()
    register = subscriptions.register_subscription
    for group in ("a", "b"):
        cluster.do(register, subscriptions.RegisterSubscription(group=group, pattern=".*"))
    error = cluster.refused(register, subscriptions.RegisterSubscription(group="c", pattern=".*"))
    assert error.code == "POLICY_VIOLATION"
    cluster.do(register, subscriptions.RegisterSubscription(group="a", pattern="x.*"))


def test_tokens_are_looked_at_every_ms_at_most() -> None:
    settings = [Settings(static_configs={CHECK_INTERVAL: each}) for each in ("0", "1", "2")]
    assert [check_interval_ms(each) for each in settings] == [1, 1, 2]


def test_elr_makes_min_isr_safe_whatever_else_is_changed_with_it() -> None:
    cluster = Cluster(levels=dict(NEW_CLUSTER_LEVELS) | {"eligible.leader.replicas.version": 0})
    updates = (
        FeatureUpdate(name="eligible.leader.replicas.version", level=1),
        FeatureUpdate(name="transaction.version", level=0),
    )
    cluster.do(update_features, UpdateFeatures(updates=updates))
    assert ConfigRecord in {type(record) for record in cluster.records}
    assert FeatureLevelRecord in {type(record) for record in cluster.records}


@pytest.mark.parametrize(
    ("level", "is_kept"), [(DIRECTORIES_LEVEL - 1, False), (DIRECTORIES_LEVEL, True)]
)
def test_directories_are_kept_from_their_level_on(level: int, is_kept: bool) -> None:
    cluster = Cluster(levels=dict(NEW_CLUSTER_LEVELS) | {"metadata.version": level})
    cluster.register(1)
    assert cluster.broker(1).log_dirs == ((directory(1),) if is_kept else ())


def test_ports_end_at_65535() -> None:
    listener = partial(BrokerEndpoint, name="PLAINTEXT", host="h", security_protocol=0)
    cluster = Cluster()
    cluster.register(1, end_points=(listener(port=65_535),))
    with pytest.raises(RequestError):
        cluster.register(2, end_points=(listener(port=65_536),))


def test_a_bucket_is_full_when_its_rate_says_so() -> None:
    """Of 22 tokens, what 11 s make, 21 are missing: at two a second for 10.5 s."""
    allowance = Allowance(rate=2.0, tokens=2.0, now_ms=1_000, bucket=(("user", "ann"),))
    (bucket,) = MutationBuckets().charged(allowance, 1)._by_client.values()
    assert bucket.full_at_ms == pytest.approx(11_500)


def test_valid_values_of_a_config_are_its_list() -> None:
    limited = ConfigDefinition(
        name="x", type=ConfigType.STRING, default="a", allowed=frozenset("ba")
    )
    assert limited.valid_values == "a, b"
    free = ConfigDefinition(name="x", type=ConfigType.STRING, default="a")
    assert free.valid_values == ""


def test_what_needs_a_feature_is_refused_without_it() -> None:
    levels = dict(NEW_CLUSTER_LEVELS) | {NAMESPACE_FEATURE: 0, MODE_FEATURE: 0}
    cluster = Cluster(levels=levels)
    cluster.add_brokers(1)
    cluster.create("t", (1,), (1,))
    acl = AclBinding(
        resource_type=ResourceType.NAMESPACE.value,
        resource_name="eu",
        pattern_type=PatternType.LITERAL.value,
        principal="User:ann",
        host="*",
        operation=2,
        permission_type=3,
    )
    (created,) = cluster.do(create_acls, CreateAcls(acls=(acl,)))
    assert created.refusal is not None
    assert created.refusal.code == "UNSUPPORTED_VERSION"
    cluster.write(
        [
            ConfigRecord(
                resource_type=4, resource_name="", name=DELETE_PARTITIONS_ENABLED, value="true"
            )
        ]
    )
    (altered,) = cluster.do(
        alter_topics, AlterTopics(topics=(TopicAlteration(topic="t", partitions=1),))
    )
    assert altered.refusal is not None
    assert altered.refusal.code == "UNSUPPORTED_VERSION"


def test_a_topic_without_partitions_is_refused_for_that() -> None:
    """A log may hold one; its first partition would be 0, as the request says."""
    cluster = Cluster()
    cluster.add_brokers(1)
    cluster.write([TopicRecord(name="t", topic_id=Uuid(bytes(15) + b"t"), namespace_id=None)])
    item = TopicAlteration(topic="t", partitions=1, assignments=(Assignment(0, (1,)),))
    (altered,) = cluster.do(alter_topics, AlterTopics(topics=(item,)))
    assert altered.refusal is not None
    assert altered.refusal.code == "INVALID_PARTITIONS"


def test_partitions_have_four_states() -> None:
    names = ["NewPartition", "OnlinePartition", "OfflinePartition", "NonExistentPartition"]
    assert list(PARTITIONS.names.values()) == names
    assert PARTITIONS.names[PARTITIONS.absent] == "NonExistentPartition"
