"""Updates for one broker, computed from two images."""

from collections.abc import Iterable

from api.controller_server import broker_view, view_requests
from api.controller_server.broker_view import BrokerView, PartitionKey, Sender
from api.kafka.messages.replicas import FULL, INCREMENTAL, LEADER_DURING_DELETE
from api.service.history import Change
from controller.decisions.brokers.deletion_reports import (
    ReplicaReport,
    ReportDeletions,
    report_deletions,
)
from controller.decisions.context.context import Settings
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    MoveTopics,
    create_namespace,
    move_topics,
)
from controller.decisions.partitions.reassignments import (
    AlterReassignments,
    PartitionTarget,
    alter_reassignments,
)
from controller.decisions.topics.partition_removal import (
    DELETE_PARTITIONS_ENABLED,
    DeletePartitions,
    TopicShrink,
    advance_removals,
    delete_partitions,
)
from controller.decisions.topics.topics import DeleteTopics, delete_topics
from replay.image.metadata import MetadataImage
from replay.image.partitions import NONE, READ_ONLY
from tests.controller.cluster import Cluster

ENABLED = Settings(cluster_id="test", static_configs={DELETE_PARTITIONS_ENABLED: "true"})


def sender(broker_id: int) -> Sender:
    return Sender(
        controller_id=3000,
        controller_epoch=4,
        broker_id=broker_id,
        broker_epoch=9,
    )


def cluster() -> Cluster:
    made = Cluster(settings=ENABLED)
    made.add_brokers(1, 2, 3)
    return made


def changed(before: MetadataImage, made: Cluster, broker_id: int) -> BrokerView:
    """Return the updates for a broker, with every topic of either image marked as changed."""
    ids = {topic.topic_id for image in (before, made.image) for topic in image.topics()}
    return broker_view.changed_view(Change(before, made.image, frozenset(ids)), sender(broker_id))


def named(image: MetadataImage, keys: Iterable[PartitionKey]) -> set[tuple[str, int]]:
    topics = {topic.topic_id: topic.name for topic in image.topics()}
    return {(topics[topic_id], n) for topic_id, n in keys}


def test_full_view_has_the_brokers_partitions_and_all_topics() -> None:
    made = cluster()
    made.create("a", (1, 2), (2, 3))
    made.create("b", (3,))
    for broker_id, expected in (
        (1, {("a", 0)}),
        (2, {("a", 0), ("a", 1)}),
        (3, {("a", 1), ("b", 0)}),
    ):
        seen = broker_view.full_view(made.image, sender(broker_id))
        assert named(made.image, seen.partitions) == expected
        assert {topic.topic_name for topic in seen.topics} == {"a", "b"}
        assert seen.stops == ()


def test_change_has_what_changed_for_the_broker_alone() -> None:
    made = cluster()
    made.create("a", (1, 2))
    made.create("b", (2, 3))
    before = made.image
    made.fence(2)
    assert named(made.image, changed(before, made, 1).partitions) == {("a", 0)}
    assert named(made.image, changed(before, made, 3).partitions) == {("b", 0)}
    assert changed(made.image, made, 1).partitions == frozenset()


def test_deleted_topic_is_stopped_with_deletion_and_forgotten() -> None:
    made = cluster()
    topic = made.create("a", (1, 2))
    before = made.image
    made.do(delete_topics, DeleteTopics(topics=("a",)))
    seen = changed(before, made, 1)
    (stop,) = seen.stops
    assert (stop.topic, stop.topic_id, stop.partition_id, stop.delete) == (
        "a",
        topic.topic_id,
        0,
        True,
    )
    (forgotten,) = seen.topics
    assert [p.leader for p in forgotten.partition_states] == [LEADER_DURING_DELETE]
    assert changed(before, made, 3).stops == ()


def test_recreated_topic_is_removed_before_it_is_sent_again() -> None:
    made = cluster()
    made.create("a", (1,))
    before = made.image
    made.do(delete_topics, DeleteTopics(topics=("a",)))
    new = made.create("a", (1,))
    seen = changed(before, made, 1)
    assert [t.partition_states[0].leader for t in seen.topics] == [LEADER_DURING_DELETE, 1]
    assert seen.partitions == {(new.topic_id, 0)}
    assert [stop.topic_id != new.topic_id for stop in seen.stops] == [True]


def test_replica_that_was_reassigned_away_is_deleted() -> None:
    made = cluster()
    made.create("a", (1, 2))
    before = made.image
    target = PartitionTarget(topic="a", partition_id=0, broker_ids=(1,))
    made.do(alter_reassignments, AlterReassignments(partitions=(target,)))
    assert made.partition("a").replicas == (1,)
    assert [stop.delete for stop in changed(before, made, 2).stops] == [True]
    assert changed(before, made, 1).stops == ()


def test_moved_topic_is_sent_under_its_new_name_and_the_old_one_removed() -> None:
    made = cluster()
    made.create("a", (1,))
    made.do(create_namespace, CreateNamespace("org"))
    before = made.image
    made.do(move_topics, MoveTopics(from_namespace="", to_namespace="org", topic="a"))
    seen = changed(before, made, 1)
    assert [topic.topic_name for topic in seen.topics] == ["a", "org:a"]
    request = view_requests.leader_and_isr(
        made.image, seen.partitions, sender(1), lambda *_: 7, full=False
    )
    assert [topic.topic for topic in request.topic_states] == ["org:a"]
    assert seen.stops == ()


def _shrink(made: Cluster, delay_ms: int) -> None:
    shrink = TopicShrink(topic="a", partitions=1)
    made.do(delete_partitions, DeletePartitions(topics=(shrink,), delay_ms=delay_ms))


def test_modes_are_sent_to_every_broker() -> None:
    made = cluster()
    made.create("a", (1, 2), (2, 1))
    before = made.image
    _shrink(made, 1_000)
    for broker_id in (1, 2, 3):
        (topic,) = changed(before, made, broker_id).topics
        assert [p.mode for p in topic.partition_states] == [0, READ_ONLY]


def test_replica_of_a_partition_that_goes_is_deleted_until_it_is_known_to_be_gone() -> None:
    made = cluster()
    topic = made.create("a", (1, 2), (2, 3))
    made.fence(3)
    before = made.image
    _shrink(made, 0)
    key = (topic.topic_id, 1)
    assert made.partition("a", 1).mode == NONE
    assert [(s.key, s.delete) for s in changed(before, made, 2).stops] == [(key, True)]
    # Broker 3 is down: its replica cannot be deleted now, only stopped.
    assert [(s.key, s.delete) for s in changed(before, made, 3).stops] == [(key, False)]
    assert broker_view.tracked_deletions(made.image, 3) == frozenset()
    # Asked again as long as nothing was heard, also by a FULL view.
    assert [s.key for s in changed(made.image, made, 2).stops] == [key]
    assert [s.key for s in broker_view.full_view(made.image, sender(2)).stops] == [key]
    report = ReplicaReport(topic_id=topic.topic_id, partition_id=1, deleted=True)
    made.do(
        report_deletions,
        ReportDeletions(broker_id=2, broker_epoch=made.broker(2).broker_epoch, replicas=(report,)),
    )
    assert broker_view.full_view(made.image, sender(2)).stops == ()
    assert key not in broker_view.full_view(made.image, sender(2)).partitions
    # When broker 3 is back, its turn comes.
    made.heartbeat(3)
    made.decide(advance_removals)
    assert [(s.key, s.delete) for s in broker_view.full_view(made.image, sender(3)).stops] == [
        (key, True)
    ]


def test_requests_carry_type_creation_and_offset() -> None:
    made = cluster()
    topic = made.create("a", (1, 2), (1, 3))
    seen = broker_view.full_view(made.image, sender(1))
    request = view_requests.leader_and_isr(
        made.image, seen.partitions, sender(1), lambda _, n: 100 + n, full=True
    )
    assert request.type == FULL
    (state,) = request.topic_states
    assert (state.topic, state.topic_id) == ("a", topic.topic_id)
    assert [p.create_offset for p in state.partition_states] == [100, 101]
    update = view_requests.update_metadata(made.image, seen, sender(1))
    assert (update.type, update.metadata_offset) == (FULL, made.next_offset - 1)
    assert [broker.id for broker in update.live_brokers] == [1, 2, 3]
    assert view_requests.update_metadata(
        made.image, changed(made.image, made, 1), sender(1)
    ).type == (INCREMENTAL)
