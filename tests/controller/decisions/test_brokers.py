"""Brokers register and unregister."""

from typing import Any

import pytest
from msgspec.structs import replace

from controller.decisions.brokers.registrations import (
    RegisterBroker,
    register_broker,
    unregister_broker,
)
from controller.decisions.levels import ELR_FEATURE, NEW_CLUSTER_LEVELS
from records.base import Uuid
from records.brokers import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from records.partitions import PartitionChangeRecord
from tests.controller.cluster import FEATURES, Cluster, directory

_INCARNATION = Uuid(bytes([3] * 16))


def _end_point(port: int) -> BrokerEndpoint:
    return BrokerEndpoint(name="PLAINTEXT", host="localhost", port=port, security_protocol=0)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def _request(**fields: Any) -> RegisterBroker:
    defaults: dict[str, Any] = {
        "broker_id": 1,
        "cluster_id": "test",
        "incarnation_id": _INCARNATION,
        "features": FEATURES,
        "log_dirs": (directory(1),),
    }
    return RegisterBroker(**defaults | fields)


def test_a_new_broker_is_fenced_and_its_epoch_is_its_offset(cluster: Cluster) -> None:
    offset = cluster.next_offset
    assert cluster.do(register_broker, _request(rack="a")).broker_epoch == offset
    (record,) = cluster.records
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.fenced, record.in_controlled_shutdown, record.rack) == (True, False, "a")
    assert record.broker_epoch == offset


@pytest.mark.parametrize(
    "fields",
    [
        {"broker_id": -1},
        {"broker_id": 2**31},
        {"end_points": (_end_point(-1),)},
        {"end_points": (_end_point(9_092), _end_point(2**40))},
        {"end_points": (replace(_end_point(9_092), security_protocol=2**15),)},
        {"features": (*FEATURES, replace(FEATURES[0], name="x", max_supported_version=2**15))},
        {"features": (*FEATURES, replace(FEATURES[0], name="x", min_supported_version=-(2**40)))},
    ],
)
def test_numbers_that_no_record_holds_are_refused(cluster: Cluster, fields: dict[str, Any]) -> None:
    assert cluster.refused(register_broker, _request(**fields)).code == "INVALID_REGISTRATION"


def test_the_same_process_keeps_epoch_and_flags(cluster: Cluster) -> None:
    epoch = cluster.register(1, incarnation_id=_INCARNATION)
    cluster.heartbeat(1)
    assert cluster.do(register_broker, _request(rack="b")).broker_epoch == epoch
    broker = cluster.broker(1)
    assert (broker.fenced, broker.rack) == (False, "b")


def test_a_new_process_is_fenced_whatever_the_old_one_was(cluster: Cluster) -> None:
    old = cluster.register(1)
    cluster.heartbeat(1)
    cluster.now_ms += 9_001
    new = cluster.register(1)
    assert new > old
    assert cluster.broker(1).fenced


def test_a_second_process_waits_until_the_session_of_the_first_has_ended(cluster: Cluster) -> None:
    cluster.register(1)
    cluster.heartbeat(1)
    cluster.now_ms += 9_000
    error = cluster.refused(register_broker, _request())
    assert error.code == "DUPLICATE_BROKER_REGISTRATION"
    cluster.now_ms += 1
    cluster.do(register_broker, _request())


def test_a_broker_that_was_told_to_stop_may_come_back_at_once(cluster: Cluster) -> None:
    cluster.register(1)
    cluster.heartbeat(1)
    assert cluster.heartbeat(1, want_shutdown=True).should_shut_down
    cluster.do(register_broker, _request())


def test_a_process_that_comes_back_unnoticed_leaves_what_it_led(cluster: Cluster) -> None:
    cluster.add_brokers(1, 2)
    cluster.create("orders", [1, 2])
    cluster.now_ms += 9_001
    cluster.heartbeat(2)
    epoch = cluster.register(1)
    change, registration = cluster.records
    assert isinstance(change, PartitionChangeRecord)
    assert (change.isr, change.leader) == ((2,), 2)
    assert isinstance(registration, RegisterBrokerRecord)
    assert epoch == cluster.base_offset, "the epoch is where the batch begins"


@pytest.mark.parametrize(("clean", "eligible"), [(True, (1,)), (False, ())])
def test_only_a_clean_stop_keeps_a_replica_eligible(clean: bool, eligible: tuple[int, ...]) -> None:
    cluster = Cluster({**NEW_CLUSTER_LEVELS, ELR_FEATURE: 1})
    cluster.add_brokers(1, 2)
    cluster.create("orders", [2, 1], configs=(("min.insync.replicas", "2"),))
    cluster.now_ms += 9_001
    epoch = cluster.broker(1).broker_epoch
    cluster.register(1, previous_broker_epoch=epoch if clean else -1)
    partition = cluster.partition("orders")
    assert (partition.isr, partition.eligible_leader_replicas) == ((2,), eligible)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"cluster_id": "other"}, "INCONSISTENT_CLUSTER_ID"),
        ({"log_dirs": ()}, "INVALID_REGISTRATION"),
        ({"log_dirs": (directory(1), directory(1))}, "INVALID_REGISTRATION"),
        ({"log_dirs": (Uuid((99).to_bytes(16, "big")),)}, "INVALID_REGISTRATION"),
        ({"log_dirs": (directory(2),)}, "INVALID_REGISTRATION"),
        ({"features": ()}, "UNSUPPORTED_VERSION"),
        (
            {
                "features": (
                    *FEATURES[1:],
                    BrokerFeature(
                        name="metadata.version", min_supported_version=1, max_supported_version=24
                    ),
                )
            },
            "UNSUPPORTED_VERSION",
        ),
    ],
)
def test_a_broker_that_does_not_fit_is_refused(
    cluster: Cluster, fields: dict[str, Any], code: str
) -> None:
    cluster.register(2)
    assert cluster.refused(register_broker, _request(**fields)).code == code


def test_from_level_17_on_log_directories_are_asked_for() -> None:
    cluster = Cluster({"metadata.version": 17})
    error = cluster.refused(register_broker, _request(log_dirs=()))
    assert (error.code, "names no log directory" in str(error)) == ("INVALID_REGISTRATION", True)


@pytest.mark.parametrize("log_dirs", [(directory(1), directory(1)), (directory(2),)])
def test_before_level_17_log_directories_are_not_looked_at(log_dirs: tuple[Uuid, ...]) -> None:
    cluster = Cluster({"metadata.version": 16})
    cluster.do(register_broker, _request(broker_id=2, log_dirs=(directory(2),)))
    cluster.do(register_broker, _request(log_dirs=log_dirs))


def test_numbers_at_their_bounds_are_taken(cluster: Cluster) -> None:
    feature = replace(
        FEATURES[0], name="x", min_supported_version=-(2**15), max_supported_version=2**15 - 1
    )
    points = (
        _end_point(0),
        replace(_end_point(65_535), name="OTHER", security_protocol=2**15 - 1),
        replace(_end_point(1), name="THIRD", security_protocol=-(2**15)),
    )
    request = _request(broker_id=2**31 - 1, end_points=points, features=(*FEATURES, feature))
    cluster.do(register_broker, request)
    assert [point.port for point in cluster.broker(2**31 - 1).end_points] == [0, 65_535, 1]
    for point in (_end_point(65_536), replace(_end_point(1), security_protocol=-(2**15) - 1)):
        refused = _request(broker_id=0, end_points=(point,))
        assert cluster.refused(register_broker, refused).code == "INVALID_REGISTRATION"
    cluster.do(register_broker, _request(broker_id=0, log_dirs=(directory(2),)))


def test_before_level_17_no_log_directory_is_asked_for() -> None:
    cluster = Cluster({"metadata.version": 16})
    cluster.do(register_broker, _request(log_dirs=()))
    assert cluster.broker(1).record_version == 2


def test_unregistering_takes_a_broker_out_of_its_partitions_first(cluster: Cluster) -> None:
    cluster.add_brokers(1, 2)
    cluster.create("orders", [1, 2])
    epoch = cluster.broker(1).broker_epoch
    cluster.do(unregister_broker, 1)
    change, removal = cluster.records
    assert isinstance(change, PartitionChangeRecord)
    assert (change.isr, change.leader) == ((2,), 2)
    assert removal == UnregisterBrokerRecord(broker_id=1, broker_epoch=epoch)


def test_an_unregistered_broker_is_no_longer_eligible() -> None:
    cluster = Cluster({**NEW_CLUSTER_LEVELS, ELR_FEATURE: 1})
    cluster.add_brokers(1, 2)
    cluster.create("orders", [2, 1], configs=(("min.insync.replicas", "2"),))
    cluster.fence(1)
    assert cluster.partition("orders").eligible_leader_replicas == (1,)
    cluster.do(unregister_broker, 1)
    assert cluster.partition("orders").eligible_leader_replicas == ()


def test_only_a_registered_broker_can_be_unregistered(cluster: Cluster) -> None:
    assert cluster.refused(unregister_broker, 1).code == "BROKER_ID_NOT_REGISTERED"
