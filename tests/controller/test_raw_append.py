"""Records appended unchanged: what the decision accepts, by replay and the invariants."""

from typing import Any

import pytest
from msgspec.structs import replace

from controller.decisions.topics.topics import CreateTopics, NewTopic, create_topics
from controller.decisions.versions import ExpectedVersion, VersionMismatchError, version_of
from controller.raw_appends.raw_append import AppendRecords, AppendRows, append_records, append_rows
from metadata_log.format.block import encode_ahead
from records.avro.layout import first_appended
from records.avro.plain_rows import encode_records
from records.base import ZERO_UUID, Record, Uuid
from records.brokers import BrokerRegistrationChangeRecord
from records.configs import ConfigRecord
from records.control import AbortTransactionRecord, EndTransactionRecord, NoteRecord
from records.partitions import (
    DeleteTopicPartitionsRecord,
    PartitionChangeRecord,
    ReplicaDeletionRecord,
)
from records.topics import MoveTopicRecord, NamespaceRecord, RemoveNamespaceRecord, TopicRecord
from tests.controller.cluster import Cluster
from tests.replay.builders import broker, uid

_NOTE = NoteRecord(at_offset=0, author="alice", text="here it began")


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1, 2)
    cluster.create("orders", [1, 2], [2, 1])
    return cluster


def _append(cluster: Cluster, *records: Record, **fields: Any) -> None:
    cluster.do(append_records, AppendRecords(records=records, **fields))


def _refused(cluster: Cluster, *records: Record) -> str:
    error = cluster.refused(append_records, AppendRecords(records=records))
    assert error.code == "INVALID_RECORD", error
    return str(error)


def _change(cluster: Cluster, **fields: Any) -> PartitionChangeRecord:
    topic_id = cluster.topic("orders").topic_id
    return PartitionChangeRecord(topic_id=topic_id, partition_id=0, **fields)


def test_the_answer_says_where_the_records_stand(cluster: Cluster) -> None:
    base = cluster.next_offset
    answer = cluster.do(append_records, AppendRecords(records=(_NOTE, _NOTE)))
    assert (answer.base_offset, answer.end_offset) == (base, base + 2)
    assert cluster.records == (_NOTE, _NOTE)


def test_received_records_are_stored_in_the_usual_form(cluster: Cluster) -> None:
    usual = encode_records([_NOTE, _NOTE], [0, 0], layout=first_appended())
    # The same offset of the second note in a longer form than it needs.
    text = len(_NOTE.author) + len(_NOTE.text) + 2
    unusual = usual[: -text - 1] + b"\x80\0" + usual[-text:]
    stored = [
        append_rows(cluster.context(), AppendRows(rows=rows, count=2)).checked
        for rows in (usual, unusual)
    ]
    for checked in stored:
        assert checked is not None
        assert checked.encoded == encode_ahead(checked.as_read.rows)
        assert checked.records == (_NOTE, _NOTE)


def test_a_record_that_contradicts_the_state_is_refused(cluster: Cluster) -> None:
    unknown = PartitionChangeRecord(topic_id=uid("gone"), partition_id=0, leader=1)
    refused = _refused(cluster, _NOTE, unknown)
    assert refused.startswith("record 2 of 2: PartitionChangeRecord: there is no topic")
    refused = _refused(cluster, broker(3), unknown)  # replay reads its row, too
    assert refused.startswith("record 2 of 2: PartitionChangeRecord: there is no topic")


@pytest.mark.parametrize(
    ("fields", "broken"),
    [
        ({"leader": 3}, "leader_is_in_sync"),
        ({"isr": (3,), "leader": 3}, "isr_is_of_replicas"),
        ({"replicas": (1, 1)}, "replicas_are_a_set"),
        ({"mode": 1}, "modes_are_of_removals"),
        ({"adding_replicas": (7,)}, "moves_are_of_replicas"),
        ({"leader_recovery_state": 1}, "recovering_leader_stands_alone"),
    ],
)
def test_a_record_that_breaks_an_invariant_is_refused_by_its_name(
    cluster: Cluster, fields: dict[str, Any], broken: str
) -> None:
    assert broken in _refused(cluster, _change(cluster, **fields))


def test_a_broker_that_leads_cannot_be_fenced_alone(cluster: Cluster) -> None:
    broker = cluster.broker(1)
    fence = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=broker.broker_epoch, fenced=1)
    assert "leader_can_lead" in _refused(cluster, fence)


def test_a_partial_removal_is_refused(cluster: Cluster) -> None:
    removal = DeleteTopicPartitionsRecord(
        topic_id=cluster.topic("orders").topic_id, partition_ids=(0,), delay_ms=0, create_time_ms=0
    )
    assert "removals_are_of_the_highest_ids" in _refused(cluster, removal, _change(cluster, mode=1))


def test_a_deletion_that_was_not_started_cannot_succeed(cluster: Cluster) -> None:
    deletion = ReplicaDeletionRecord(
        topic_id=cluster.topic("orders").topic_id, partition_id=1, broker_id=1, state=5
    )
    error = cluster.refused(append_records, AppendRecords(records=(deletion,)))
    assert error.code == "INVALID_REQUEST"
    assert "a replica cannot go from OfflineReplica to ReplicaDeletionSuccessful" in str(error)


def test_a_deletion_that_failed_is_not_over_while_its_broker_is_registered(
    cluster: Cluster,
) -> None:
    started, ineligible, gone = (
        ReplicaDeletionRecord(
            topic_id=cluster.topic("orders").topic_id, partition_id=1, broker_id=1, state=state
        )
        for state in (4, 6, 7)
    )
    request = AppendRecords(records=(started, ineligible, gone))
    error = cluster.refused(append_records, request)
    assert error.code == "INVALID_REQUEST"
    assert "a replica cannot go from ReplicaDeletionIneligible to NonExistentReplica" in str(error)


@pytest.mark.parametrize("record", [EndTransactionRecord(), AbortTransactionRecord(reason=None)])
def test_records_of_the_log_itself_are_refused(cluster: Cluster, record: Record) -> None:
    assert "cannot be written by callers" in _refused(cluster, record)


def test_what_would_stand_alone_is_refused(cluster: Cluster) -> None:
    config = ConfigRecord(resource_type=2, resource_name="gone", name="a", value="1")
    assert "does not exist" in _refused(cluster, config)
    child = NamespaceRecord(namespace_id=uid("1"), name="a:b")
    parent = NamespaceRecord(namespace_id=uid("2"), name="a")
    assert "needs the missing namespace 'a'" in _refused(cluster, child)
    _append(cluster, parent, child)
    assert "would lose the namespace above it" in _refused(
        cluster, RemoveNamespaceRecord(namespace_id=parent.namespace_id)
    )


@pytest.mark.parametrize("name", ["", "..", "../../up", "a:b", "x" * 250, "__cluster_metadata"])
def test_a_name_that_no_command_gives_is_refused(cluster: Cluster, name: str) -> None:
    assert "InvalidArgumentTopicName" in _refused(
        cluster, TopicRecord(name=name, topic_id=uid("7"))
    )
    moved = MoveTopicRecord(topic_id=cluster.topic("orders").topic_id, namespace_id=None, name=name)
    assert "InvalidArgumentTopicName" in _refused(cluster, moved)


@pytest.mark.parametrize("name", ["", "..", "../up", "a::b", "deleting", ":".join("a" * 1_001)])
def test_a_namespace_that_no_command_makes_is_refused(cluster: Cluster, name: str) -> None:
    record = NamespaceRecord(namespace_id=uid("7"), name=name)
    assert "InvalidNamespace" in _refused(cluster, record)


@pytest.mark.parametrize("octets", [(1).to_bytes(16), b"\xfb" + bytes(15)])
def test_an_id_that_is_reserved_or_reads_like_an_option_is_refused(
    cluster: Cluster, octets: bytes
) -> None:
    assert "cannot be an id" in _refused(cluster, TopicRecord(name="a", topic_id=Uuid(octets)))
    topic = NewTopic(name="a", topic_id=Uuid(octets))
    (result,) = cluster.do(create_topics, CreateTopics(topics=(topic,)))
    assert result.refusal.code == "INVALID_REQUEST"


def test_the_reserved_id_is_refused(cluster: Cluster) -> None:
    assert "cannot be an id" in _refused(cluster, TopicRecord(name="a", topic_id=ZERO_UUID))


def test_what_was_wrong_before_is_no_reason_to_refuse(cluster: Cluster) -> None:
    cluster.write([_change(cluster, directories=(uid("a"),))])
    _append(cluster, _change(cluster, isr=(1,)))
    assert cluster.partition("orders").isr == (1,)


def test_no_record_and_too_many_are_refused(cluster: Cluster) -> None:
    for records, code in (((), "INVALID_REQUEST"), ((_NOTE,) * 10_001, "POLICY_VIOLATION")):
        assert cluster.refused(append_records, AppendRecords(records=records)).code == code


@pytest.mark.parametrize("count", [1, 2])
def test_what_the_log_cannot_hold_is_refused_before_it_is_sent(
    cluster: Cluster, count: int
) -> None:
    assert "cannot be encoded" in _refused(cluster, *[replace(_NOTE, at_offset=2**80)] * count)
    large = AppendRecords(records=(replace(_NOTE, text="x" * 9 * 1024 * 1024),) * count)
    assert cluster.refused(append_records, large).code == "POLICY_VIOLATION"


# Optimistic appends.


def test_another_end_than_expected_is_refused_with_the_current_one(cluster: Cluster) -> None:
    end = cluster.next_offset
    request = AppendRecords(records=(_NOTE,), expected_end_offset=end - 1)
    error = cluster.refused(append_records, request)
    assert error.code == "INVALID_UPDATE_VERSION"
    assert f"ends at {end}" in str(error)
    _append(cluster, _NOTE, expected_end_offset=end)


@pytest.mark.parametrize("name", ["partition:orders/0", "config:topic/orders", "topic:orders"])
def test_an_object_in_another_version_is_refused_with_the_current_one(
    cluster: Cluster, name: str
) -> None:
    config = ConfigRecord(resource_type=2, resource_name="orders", name="a", value="1")
    _append(cluster, config)
    seen = version_of(cluster.image, name)
    expected = (ExpectedVersion(name, seen),)
    _append(cluster, _NOTE, expected_versions=expected)
    cluster.create("carts", [1])
    move = MoveTopicRecord(topic_id=cluster.topic("orders").topic_id, namespace_id=None, name="o")
    back = replace(move, name="orders")
    _append(cluster, _change(cluster, isr=(1,)), config, move, back)
    current = version_of(cluster.image, name)
    assert seen is not None
    assert current is not None
    assert current > seen
    request = AppendRecords(records=(_NOTE,), expected_versions=expected)
    error = cluster.refused(append_records, request)
    assert isinstance(error, VersionMismatchError)
    assert (error.code, error.current) == ("INVALID_UPDATE_VERSION", current)
    assert f"{name} is at version {current}, expected {seen}" in str(error)


def test_versions_change_with_their_object_only(cluster: Cluster) -> None:
    names = ("topic:orders", "partition:orders/0", "partition:orders/1")
    before = [version_of(cluster.image, name) for name in names]
    cluster.create("carts", [1])
    _append(cluster, _change(cluster, isr=(1,)))
    after = [version_of(cluster.image, name) for name in names]
    assert [a == b for a, b in zip(after, before, strict=True)] == [True, False, True]
    assert after[1] == cluster.next_offset - 1


def test_a_version_follows_its_topic_into_a_namespace(cluster: Cluster) -> None:
    topic_id = cluster.topic("orders").topic_id
    namespace = NamespaceRecord(namespace_id=uid("org"), name="org")
    move = MoveTopicRecord(topic_id=topic_id, namespace_id=uid("org"), name="orders")
    _append(cluster, namespace, move)
    end = cluster.next_offset
    assert version_of(cluster.image, "topic:org:orders") == end - 1
    assert version_of(cluster.image, "namespace:org") == end - 2
    assert version_of(cluster.image, "topic:orders") is None


def test_what_must_not_exist_yet_can_be_expected(cluster: Cluster) -> None:
    for name in ("topic:new", "partition:orders/9", "namespace:new", "config:broker/1"):
        _append(cluster, _NOTE, expected_versions=(ExpectedVersion(name, None),))
    exists = (ExpectedVersion("topic:orders", None),)
    request = AppendRecords(records=(_NOTE,), expected_versions=exists)
    assert cluster.refused(append_records, request).code == "INVALID_UPDATE_VERSION"


@pytest.mark.parametrize("name", ["broker:1", "orders", "topic:orders#name", "partition:orders"])
def test_what_has_no_version_is_refused(cluster: Cluster, name: str) -> None:
    request = AppendRecords(records=(_NOTE,), expected_versions=(ExpectedVersion(name, 1),))
    assert cluster.refused(append_records, request).code == "INVALID_REQUEST"
