"""The state machines of partitions and replicas allow exactly the transitions in their tables."""

import pytest

from controller.decisions.partitions import partition_states, replica_states
from controller.decisions.partitions.partition_states import PARTITIONS, partition_state
from controller.decisions.partitions.replica_states import REPLICAS, check_deletion
from controller.decisions.partitions.state_machine import StateMachine
from records.errors import RequestError
from tests.controller.cluster import Cluster

# Written out from the rules, not from the code.
LEGAL = {
    "a partition": {
        ("NonExistentPartition", "NewPartition"),
        ("NewPartition", "OnlinePartition"),
        ("OnlinePartition", "OnlinePartition"),
        ("OfflinePartition", "OnlinePartition"),
        ("NewPartition", "OfflinePartition"),
        ("OnlinePartition", "OfflinePartition"),
        ("OfflinePartition", "OfflinePartition"),
        ("OfflinePartition", "NonExistentPartition"),
    },
    "a replica": {
        ("NonExistentReplica", "NewReplica"),
        ("NewReplica", "OnlineReplica"),
        ("OnlineReplica", "OnlineReplica"),
        ("OfflineReplica", "OnlineReplica"),
        ("ReplicaDeletionIneligible", "OnlineReplica"),
        ("NewReplica", "OfflineReplica"),
        ("OnlineReplica", "OfflineReplica"),
        ("OfflineReplica", "OfflineReplica"),
        ("ReplicaDeletionIneligible", "OfflineReplica"),
        ("OfflineReplica", "ReplicaDeletionStarted"),
        ("ReplicaDeletionStarted", "ReplicaDeletionSuccessful"),
        ("OfflineReplica", "ReplicaDeletionIneligible"),
        ("ReplicaDeletionStarted", "ReplicaDeletionIneligible"),
        ("ReplicaDeletionSuccessful", "NonExistentReplica"),
    },
}

_CASES = [
    pytest.param(machine, before, after, id=f"{machine.name(before)}-{machine.name(after)}")
    for machine in (PARTITIONS, REPLICAS)
    for before in machine.names
    for after in machine.names
]


@pytest.mark.parametrize(("machine", "before", "after"), _CASES)
def test_a_machine_takes_the_steps_of_its_table_and_refuses_every_other(
    machine: StateMachine, before: int, after: int
) -> None:
    if (machine.name(before), machine.name(after)) in LEGAL[machine.subject]:
        machine.check(before, after)
        assert machine.walk(before, after) == after
        return
    with pytest.raises(RequestError, match=f"{machine.subject} cannot go from") as caught:
        machine.check(before, after)
    assert caught.value.code == "INVALID_REQUEST"
    with pytest.raises(AssertionError):
        machine.walk(before, after)


@pytest.mark.parametrize(("machine", "before", "after"), _CASES)
def test_every_way_is_made_of_legal_steps(machine: StateMachine, before: int, after: int) -> None:
    way = machine.path(before, after)
    assert (way[0], way[-1]) == (before, after)
    machine.walk(*way)


def test_the_machines_have_four_and_seven_states() -> None:
    assert sorted(PARTITIONS.names) == [0, 1, 2, 3]
    assert sorted(REPLICAS.names) == [1, 2, 3, 4, 5, 6, 7]
    states = partition_states
    names = [states.NEW, states.ONLINE, states.OFFLINE, states.NON_EXISTENT]
    assert names == [0, 1, 2, 3]


def test_ways_that_matter() -> None:
    p, r = partition_states, replica_states
    assert PARTITIONS.path(p.NON_EXISTENT, p.ONLINE) == (p.NON_EXISTENT, p.NEW, p.ONLINE)
    assert PARTITIONS.path(p.ONLINE, p.NON_EXISTENT) == (p.ONLINE, p.OFFLINE, p.NON_EXISTENT)
    assert REPLICAS.path(r.NON_EXISTENT, r.ONLINE) == (r.NON_EXISTENT, r.NEW, r.ONLINE)
    assert REPLICAS.path(r.ONLINE, r.NON_EXISTENT) == (
        r.ONLINE,
        r.OFFLINE,
        r.DELETION_STARTED,
        r.DELETION_SUCCESSFUL,
        r.NON_EXISTENT,
    )


_WRITABLE = {
    (None, 4), (None, 6),
    (4, 5), (4, 6), (4, 7),
    (5, 7),
    (6, 4), (6, 6),
}  # fmt: skip


@pytest.mark.parametrize("after", range(1, 9))
@pytest.mark.parametrize("before", [None, 4, 5, 6])
def test_records_of_a_deletion_follow_each_other_legally(before: int | None, after: int) -> None:
    if (before, after) in _WRITABLE:
        check_deletion(before, after, registered=True)
        return
    with pytest.raises(RequestError):
        check_deletion(before, after, registered=True)


@pytest.mark.parametrize("before", [4, 5, 6])
def test_nobody_waits_for_a_broker_that_is_not_registered(before: int) -> None:
    check_deletion(before, 7, registered=False)


def test_a_partition_is_online_while_it_has_a_leader() -> None:
    cluster = Cluster()
    cluster.add_brokers(1)
    cluster.create("orders", [1])
    assert partition_state(None) == partition_states.NON_EXISTENT
    assert partition_state(cluster.partition("orders")) == partition_states.ONLINE
    cluster.fence(1)
    assert partition_state(cluster.partition("orders")) == partition_states.OFFLINE
