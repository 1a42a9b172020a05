"""The four states of a broker."""

import pytest

from controller.decisions.brokers.heartbeats import Heartbeat, fence_stale_broker, heartbeat
from controller.decisions.partitions.assignments import usable_brokers
from records.brokers import BrokerRegistrationChangeRecord, FenceBrokerRecord, UnfenceBrokerRecord
from records.partitions import PartitionChangeRecord
from tests.controller.cluster import Cluster, directory


@pytest.fixture
def cluster() -> Cluster:
    """Three brokers; 1 leads orders-0, 2 leads orders-1."""
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    cluster.create("orders", [1, 2, 3], [2, 3, 1])
    return cluster


def _types(cluster: Cluster) -> list[str]:
    return [type(record).__name__ for record in cluster.records]


def test_a_broker_stays_fenced_until_it_has_seen_its_own_registration() -> None:
    cluster = Cluster()
    epoch = cluster.register(1)
    reply = cluster.heartbeat(1, metadata_offset=epoch - 1)
    assert (reply.is_caught_up, reply.is_fenced) == (False, True)
    assert cluster.records == ()
    reply = cluster.heartbeat(1, metadata_offset=epoch)
    assert (reply.is_caught_up, reply.is_fenced) == (True, False)


def test_a_broker_must_have_seen_the_record_not_only_the_beginning_of_its_batch() -> None:
    cluster = Cluster()
    cluster.add_brokers(1, 2)
    cluster.create("orders", [1, 2])
    cluster.now_ms += 9_001
    cluster.heartbeat(2)
    epoch = cluster.register(1)
    assert cluster.next_offset == epoch + 2
    assert cluster.heartbeat(1, metadata_offset=epoch).is_fenced
    assert not cluster.heartbeat(1, metadata_offset=epoch + 1).is_fenced


def test_a_broker_that_wants_to_stay_fenced_stays_fenced() -> None:
    cluster = Cluster()
    cluster.register(1)
    assert cluster.heartbeat(1, want_fence=True).is_fenced
    assert cluster.records == ()


def test_fencing_moves_the_partitions_and_then_fences(cluster: Cluster) -> None:
    assert cluster.heartbeat(1, want_fence=True).is_fenced
    assert _types(cluster) == ["PartitionChangeRecord"] * 2 + ["BrokerRegistrationChangeRecord"]
    assert cluster.partition("orders", 0).leader == 2
    assert cluster.partition("orders", 0).isr == (2, 3)
    assert cluster.partition("orders", 1).isr == (2, 3)


def test_unfencing_comes_first_and_then_leaders_for_partitions_without_one(
    cluster: Cluster,
) -> None:
    for broker_id in (1, 2, 3):
        cluster.fence(broker_id)
    assert cluster.partition("orders").leader == -1
    assert not cluster.heartbeat(3).is_fenced
    assert _types(cluster) == ["BrokerRegistrationChangeRecord"] + ["PartitionChangeRecord"] * 2
    assert cluster.partition("orders").leader == 3


def test_a_broker_outside_the_isr_leads_nothing_when_it_comes_back(cluster: Cluster) -> None:
    for broker_id in (1, 2, 3):
        cluster.fence(broker_id)
    cluster.heartbeat(1)
    assert _types(cluster) == ["BrokerRegistrationChangeRecord"]
    assert cluster.partition("orders").leader == -1
    assert cluster.partition("orders").isr == (3,)


def test_a_topic_that_allows_it_is_led_uncleanly(cluster: Cluster) -> None:
    cluster.create("logs", [1, 2], configs=(("unclean.leader.election.enable", "true"),))
    cluster.fence(2)
    cluster.fence(1)
    assert cluster.partition("logs").leader == -1
    cluster.heartbeat(2)
    partition = cluster.partition("logs")
    assert (partition.leader, partition.isr, partition.leader_recovery_state) == (2, (2,), 1)


def test_a_fenced_broker_that_wants_to_stop_may_go_at_once(cluster: Cluster) -> None:
    cluster.fence(1)
    assert cluster.heartbeat(1, want_shutdown=True).should_shut_down
    assert cluster.records == ()


def test_a_broker_that_leads_nothing_may_go_at_once(cluster: Cluster) -> None:
    reply = cluster.heartbeat(3, want_shutdown=True)
    assert (reply.should_shut_down, reply.is_fenced) == (True, True)
    assert cluster.broker(3).fenced


def test_fence_and_shutdown_together_mean_go_at_once(cluster: Cluster) -> None:
    assert cluster.heartbeat(1, want_fence=True, want_shutdown=True).should_shut_down


def test_a_controlled_shutdown_begins_with_the_broker_and_then_moves_leadership(
    cluster: Cluster,
) -> None:
    reply = cluster.heartbeat(1, want_shutdown=True)
    assert (reply.in_controlled_shutdown, reply.should_shut_down) == (True, False)
    assert _types(cluster) == ["BrokerRegistrationChangeRecord"] + ["PartitionChangeRecord"] * 2
    broker = cluster.broker(1)
    assert (broker.fenced, broker.in_controlled_shutdown) == (False, True)
    assert cluster.partition("orders", 0).leader == 2


def test_a_broker_shuts_down_only_when_all_others_know_that_they_lead(cluster: Cluster) -> None:
    cluster.heartbeat(1, want_shutdown=True)
    shutdown_offset = cluster.next_offset - 1
    cluster.heartbeat(2)
    cluster.heartbeat(3, metadata_offset=shutdown_offset - 1)
    assert not cluster.heartbeat(1, want_shutdown=True).should_shut_down
    cluster.heartbeat(3, metadata_offset=shutdown_offset)
    assert cluster.heartbeat(1, want_shutdown=True).should_shut_down
    assert _types(cluster) == ["BrokerRegistrationChangeRecord"]
    assert cluster.broker(1).fenced


def test_the_last_broker_keeps_what_nobody_else_can_lead() -> None:
    cluster = Cluster()
    cluster.add_brokers(1)
    cluster.create("orders", [1])
    assert cluster.heartbeat(1, want_shutdown=True).in_controlled_shutdown
    assert cluster.partition("orders").leader == -1
    assert cluster.heartbeat(1, want_shutdown=True).should_shut_down
    assert cluster.partition("orders").isr == (1,)


def test_a_heartbeat_of_another_process_is_refused(cluster: Cluster) -> None:
    epoch = cluster.broker(1).broker_epoch
    for broker_id, broker_epoch in ((1, epoch - 1), (1, epoch + 1), (9, epoch)):
        request = Heartbeat(broker_id=broker_id, broker_epoch=broker_epoch, metadata_offset=0)
        assert cluster.refused(heartbeat, request).code == "STALE_BROKER_EPOCH"


def test_silent_brokers_are_fenced_one_at_a_time_the_longest_silent_first(
    cluster: Cluster,
) -> None:
    cluster.now_ms += 1
    cluster.heartbeat(2)
    cluster.now_ms += 9_000
    cluster.heartbeat(3)
    assert cluster.decide(fence_stale_broker) == 1
    assert cluster.decide(fence_stale_broker) is None
    cluster.now_ms += 1
    assert cluster.decide(fence_stale_broker) == 2
    assert cluster.decide(fence_stale_broker) is None
    assert not cluster.broker(3).fenced


def test_a_failed_directory_takes_its_replicas_along_and_no_others() -> None:
    cluster = Cluster()
    cluster.add_brokers(1)
    cluster.register(2, log_dirs=(directory(2), directory(22)))
    cluster.heartbeat(2)
    cluster.create("a", [2, 1])
    cluster.create("b", [2, 1])
    for name, log_dir in (("a", directory(2)), ("b", directory(22))):
        partition = cluster.partition(name)
        cluster.write(
            [
                PartitionChangeRecord(
                    partition_id=0,
                    topic_id=partition.topic_id,
                    directories=(log_dir, directory(1)),
                )
            ]
        )
    cluster.heartbeat(2, offline_log_dirs=(directory(22),))
    assert _types(cluster) == ["PartitionChangeRecord", "BrokerRegistrationChangeRecord"]
    assert (cluster.partition("a").leader, cluster.partition("b").leader) == (2, 1)
    assert cluster.broker(2).log_dirs == (directory(2),)
    cluster.heartbeat(2, offline_log_dirs=(directory(22),))
    assert cluster.records == (), "the failure is known by now"


def test_a_broker_without_any_directory_left_is_fenced(cluster: Cluster) -> None:
    assert cluster.heartbeat(1, offline_log_dirs=(directory(1),)).is_fenced
    assert cluster.broker(1).log_dirs == (directory(1),)
    assert cluster.heartbeat(1, offline_log_dirs=(directory(1),)).is_fenced
    assert cluster.records == ()


def test_cordoned_directories_are_recorded_when_they_change(cluster: Cluster) -> None:
    cordoned = (directory(1),)
    cluster.heartbeat(1, cordoned_log_dirs=cordoned)
    epoch = cluster.broker(1).broker_epoch
    assert [*cluster.records] == [
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, cordoned_log_dirs=cordoned)
    ]
    for unchanged in (cordoned, None):
        cluster.heartbeat(1, cordoned_log_dirs=unchanged)
        assert cluster.records == ()
    cluster.heartbeat(1, cordoned_log_dirs=())
    assert cluster.broker(1).cordoned_log_dirs == ()


def test_cordoned_directories_need_a_level_that_has_them() -> None:
    cluster = Cluster({"metadata.version": 29})
    cluster.register(1)
    cluster.heartbeat(1, cordoned_log_dirs=(directory(1),))
    assert _types(cluster) == ["BrokerRegistrationChangeRecord"]
    assert cluster.broker(1).cordoned_log_dirs == ()


def test_broker_gets_no_replica_once_all_its_directories_are_cordoned() -> None:
    cluster = Cluster()
    cluster.register(1, log_dirs=(directory(1), directory(11)))
    cluster.heartbeat(1)
    cluster.heartbeat(1, cordoned_log_dirs=(directory(1),))
    assert [broker.broker_id for broker in usable_brokers(cluster.context())] == [1]
    cluster.heartbeat(1, cordoned_log_dirs=(directory(1), directory(11)))
    assert usable_brokers(cluster.context()) == []


def test_old_levels_use_the_old_records() -> None:
    cluster = Cluster({"metadata.version": 5})
    cluster.register(1, log_dirs=())
    epoch = cluster.broker(1).broker_epoch
    cluster.heartbeat(1)
    assert [*cluster.records] == [UnfenceBrokerRecord(id=1, epoch=epoch)]
    cluster.fence(1)
    assert [*cluster.records] == [FenceBrokerRecord(id=1, epoch=epoch)]


def test_before_level_7_a_controlled_shutdown_leaves_no_record_of_its_own() -> None:
    cluster = Cluster({"metadata.version": 6})
    for broker_id in (1, 2):
        cluster.register(broker_id, log_dirs=())
        cluster.heartbeat(broker_id)
    cluster.create("orders", [1, 2])
    assert cluster.heartbeat(1, want_shutdown=True).in_controlled_shutdown
    assert not any(isinstance(r, BrokerRegistrationChangeRecord) for r in cluster.records)
    cluster.heartbeat(2)
    assert cluster.heartbeat(1, want_shutdown=True).should_shut_down
