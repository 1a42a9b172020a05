"""The index of an image is the same whether it was built or updated."""

import random
from pathlib import Path

import pytest

from controller.decisions.context import cluster_index
from controller.decisions.context.cluster_index import BrokerLoad, ClusterIndex
from controller.pipeline.latest import Latest, State
from replay.image.metadata import MetadataImage
from replay.loader import Replayer
from replay.snapshot.parts import Parts, chunks_of_image
from tests.controller.cluster import Cluster
from tests.histories import random_history
from tests.replay.oracles import batches, decoded_logs, final_images, needs_real_logs


@pytest.mark.parametrize("seed", range(5))
def test_an_index_that_followed_every_batch_is_the_index_of_the_image(seed: int) -> None:
    latest = Latest(State.of(MetadataImage.EMPTY), 0)
    for batch in random_history(random.Random(seed), 300):
        latest.apply(batch)
        assert latest.state.index == ClusterIndex.of(latest.state.image), f"seed {seed}"


@pytest.mark.parametrize("seed", range(5))
def test_the_index_finds_what_a_walk_over_the_image_finds(seed: int) -> None:
    latest = Latest(State.of(MetadataImage.EMPTY), 0)
    for batch in random_history(random.Random(seed), 300):
        latest.apply(batch)
    image = latest.state.image
    index = ClusterIndex.of(image)
    topics = sorted(image.topics(), key=lambda topic: topic.topic_id)
    partitions = [p for topic in topics for p in image.partitions(topic.topic_id)]
    assert list(index.leaderless_partitions(image)) == [p for p in partitions if p.leader == -1]
    assert list(index.imbalanced_partitions(image)) == [
        p for p in partitions if p.leader != p.replicas[0]
    ]
    assert list(index.moving_partitions(image)) == [
        p for p in partitions if p.adding_replicas or p.removing_replicas
    ]
    settled = [[r for r in p.replicas if r not in p.removing_replicas] for p in partitions]
    for broker in {replica for p in partitions for replica in p.replicas}:
        held = [p for p in partitions if broker in p.replicas]
        assert list(index.partitions_on(image, broker)) == held
        leaders = sum(replicas[:1] == [broker] for replicas in settled)
        replicas = sum(broker in each for each in settled)
        assert index.load(broker) == BrokerLoad(leaders=leaders, replicas=replicas)
        assert index.replica_count(broker) == len(held)
        assert index.leader_counts(image)[broker] == sum(p.leader == broker for p in partitions)


def _loaded(image: MetadataImage) -> MetadataImage:
    """Return the image as it is loaded from a snapshot, its partitions not yet made."""
    parts = Parts()
    for part, _, chunk in chunks_of_image(image):
        parts.decode(part, chunk.plain)
    return parts.image(image.provenance)


def _kept(image: MetadataImage) -> int:
    """Return the number of topics whose partitions are in memory as objects."""
    return sum(getattr(each, "_made", each) is not None for each in image._topics._entries.values())


@pytest.mark.parametrize("settled_at_once", [1, cluster_index._SETTLED_AT_ONCE])
@pytest.mark.parametrize("seed", range(5))
def test_the_index_of_a_loaded_image_is_made_without_keeping_its_partitions(
    seed: int, settled_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_index, "_SETTLED_AT_ONCE", settled_at_once)
    latest = Latest(State.of(MetadataImage.EMPTY), 0)
    for number, batch in enumerate(random_history(random.Random(seed), 300)):
        state = latest.apply(batch)
        if number % 50 == 49:
            loaded = _loaded(state.image)
            assert ClusterIndex.of(loaded) == state.index
            assert _kept(loaded) == 0 < _kept(state.image)
            # Again, with partitions that were read.
            for topic in loaded.topics():
                assert loaded.topic_size(topic.topic_id) == len(loaded.partitions(topic.topic_id))
            assert ClusterIndex.of(loaded) == state.index


@needs_real_logs[0]
@needs_real_logs[1]
@pytest.mark.parametrize("final_image", final_images(), ids=str)
def test_the_index_of_a_loaded_image_of_a_real_log_is_that_of_its_replay(
    final_image: Path,
) -> None:
    replayer = Replayer()
    for batch in batches(decoded_logs(final_image.parent / "__cluster_metadata-0")):
        replayer.replay(batch)
    image = replayer.image()
    assert ClusterIndex.of(_loaded(image)) == ClusterIndex.of(image)


def test_partitions_of_a_broker_come_out_in_one_order_whatever_was_created_first() -> None:
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    for name in ("c", "a", "b"):
        cluster.create(name, [1, 2], [2, 1], [2, 3])
    index = cluster.context().index
    found = [(p.topic_id, p.partition_id) for p in index.partitions_on(cluster.image, 1)]
    assert len(found) == 6
    assert found == sorted(found)


def test_leaderless_and_imbalanced_partitions_are_found() -> None:
    cluster = Cluster()
    cluster.add_brokers(1, 2)
    cluster.create("a", [1, 2], [2, 1])
    cluster.fence(1)
    index = cluster.context().index
    assert [p.partition_id for p in index.imbalanced_partitions(cluster.image)] == [0]
    assert list(index.leaderless_partitions(cluster.image)) == []
    cluster.fence(2)
    index = cluster.context().index
    assert [p.partition_id for p in index.leaderless_partitions(cluster.image)] == [0, 1]
    assert not index.leads_any(cluster.image, 2)
