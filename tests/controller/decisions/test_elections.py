"""Elections by request, and those that the controller starts by itself."""

import pytest

from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    alter_partition,
)
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ResourceChange,
    alter_configs,
)
from controller.decisions.configs.effective import BROKER
from controller.decisions.partitions import elections
from controller.decisions.partitions.elections import (
    ElectLeaders,
    balance_leaders,
    elect_leaders,
    elect_unclean_leaders,
)
from tests.controller.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    """Three brokers; the preferred leader of orders-0 is 1, that of orders-1 is 2."""
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    cluster.create("orders", [1, 2], [2, 3])
    return cluster


def _elect(cluster: Cluster, *partition_ids: int, unclean: bool = False) -> list[str]:
    partitions = tuple([("orders", partition_id) for partition_id in partition_ids])
    results = cluster.do(elect_leaders, ElectLeaders(partitions=partitions, unclean=unclean))
    return [result.refusal.code if result.refusal else "NONE" for result in results]


def _lose_preferred_leader(cluster: Cluster) -> None:
    """Make 2 the leader of orders-0, and put 1 back in the ISR."""
    cluster.fence(1)
    cluster.heartbeat(1)
    partition = cluster.partition("orders", 0)
    alteration = PartitionAlteration(
        topic_id=partition.topic_id,
        partition_id=0,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr=(IsrMember(1), IsrMember(2)),
    )
    epoch = cluster.broker(2).broker_epoch
    request = AlterPartition(broker_id=2, broker_epoch=epoch, partitions=(alteration,))
    cluster.do(alter_partition, request)
    assert cluster.partition("orders", 0).leader == 2


def test_a_partition_named_twice_is_refused_both_times(cluster: Cluster) -> None:
    _lose_preferred_leader(cluster)
    before = cluster.partition("orders", 0)
    partitions = (("orders", 0), (before.topic_id, 0))
    results = cluster.do(elect_leaders, ElectLeaders(partitions=partitions))
    assert [result.refusal.code for result in results] == ["INVALID_REQUEST"] * 2
    assert cluster.partition("orders", 0) == before


def test_the_preferred_replica_leads_again_when_asked(cluster: Cluster) -> None:
    _lose_preferred_leader(cluster)
    assert _elect(cluster, 0) == ["NONE"]
    assert cluster.partition("orders", 0).leader == 1


def test_a_partition_led_as_preferred_needs_no_election(cluster: Cluster) -> None:
    assert _elect(cluster, 0) == ["ELECTION_NOT_NEEDED"]
    assert cluster.records == ()


def test_a_preferred_replica_that_cannot_lead_is_not_elected(cluster: Cluster) -> None:
    cluster.fence(1)
    assert _elect(cluster, 0) == ["PREFERRED_LEADER_NOT_AVAILABLE"]
    assert cluster.records == ()


def test_an_unclean_election_is_refused_while_there_is_a_leader(cluster: Cluster) -> None:
    assert _elect(cluster, 0, unclean=True) == ["ELECTION_NOT_NEEDED"]


def test_an_unclean_election_is_held_on_request_whatever_the_configs_say(cluster: Cluster) -> None:
    cluster.fence(2)
    cluster.fence(1)
    assert _elect(cluster, 0, unclean=True) == ["ELIGIBLE_LEADERS_NOT_AVAILABLE"]
    cluster.heartbeat(2)
    assert cluster.partition("orders", 0).leader == -1
    assert _elect(cluster, 0, unclean=True) == ["NONE"]
    partition = cluster.partition("orders", 0)
    assert (partition.leader, partition.isr, partition.leader_recovery_state) == (2, (2,), 1)


def test_an_empty_list_means_all_partitions_and_leaves_out_what_needs_none(
    cluster: Cluster,
) -> None:
    assert _elect(cluster) == []
    _lose_preferred_leader(cluster)
    assert _elect(cluster) == ["NONE"]
    assert cluster.partition("orders", 0).leader == 1


def test_unknown_and_repeated_partitions_are_refused(cluster: Cluster) -> None:
    assert _elect(cluster, 7, 0, 0) == [
        "UNKNOWN_TOPIC_OR_PARTITION",
        "INVALID_REQUEST",
        "INVALID_REQUEST",
    ]
    results = cluster.do(elect_leaders, ElectLeaders(partitions=(("carts", 0),)))
    assert results[0].refusal.code == "UNKNOWN_TOPIC_OR_PARTITION"


def test_balancing_gives_leadership_back_where_it_can(cluster: Cluster) -> None:
    assert cluster.decide(balance_leaders) is False
    assert cluster.records == ()
    _lose_preferred_leader(cluster)
    cluster.decide(balance_leaders)
    assert [cluster.partition("orders", n).leader for n in (0, 1)] == [1, 2]
    cluster.decide(balance_leaders)
    assert cluster.records == ()


def test_balancing_stops_at_its_limit_and_says_so(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create("carts", [1, 2])
    cluster.fence(1)
    cluster.fence(2)
    monkeypatch.setattr(elections, "REBALANCE_ELECTIONS_MAX", 0)
    assert cluster.decide(balance_leaders) is True
    assert cluster.records == ()


def test_the_unclean_sweep_touches_only_topics_that_allow_it(cluster: Cluster) -> None:
    for broker_id in (3, 2, 1):
        cluster.fence(broker_id)
    cluster.heartbeat(3)
    assert cluster.partition("orders", 1).leader == -1
    assert cluster.decide(elect_unclean_leaders) == 0
    change = ConfigChange("unclean.leader.election.enable", "true")
    resource = ResourceChange(resource_type=BROKER, resource_name="", changes=(change,))
    cluster.do(alter_configs, AlterConfigs(resources=(resource,)))
    assert cluster.decide(elect_unclean_leaders) == 1
    assert cluster.partition("orders", 1).leader == 3
    assert cluster.partition("orders", 0).leader == -1


def test_a_refusal_names_its_partition(cluster: Cluster) -> None:
    (result,) = cluster.do(elect_leaders, ElectLeaders(partitions=(("orders", 1),)))
    assert result.refusal is not None
    assert result.refusal.message.startswith("orders/1: broker ")
