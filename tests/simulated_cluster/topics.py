"""Random events of topics and namespaces."""

import random

from records import configs, topics
from records.base import Record, Uuid
from tests.simulated_cluster.partitions import add_partition
from tests.simulated_cluster.state import CONFIG_NAMES, NAMES, TIERS, Cluster, Topic, new_id


def create_topic(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    namespace_id = rng.choice([None, None, *cluster.namespaces])
    name = _free_name(cluster, rng, namespace_id)
    if name is None:
        return []
    topic_id = new_id(rng)
    cluster.topics[topic_id] = Topic(name, namespace_id)
    count = rng.randrange(0, 4)
    created = [add_partition(cluster, rng, topic_id, n) for n in range(count)]
    record = topics.TopicRecord(name=name, topic_id=topic_id, namespace_id=namespace_id)
    return [*_topic_configs(cluster, rng, topic_id), record, *created]


def remove_topic(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    if not cluster.topics:
        return []
    topic_id = rng.choice(list(cluster.topics))
    del cluster.topics[topic_id]
    return [topics.RemoveTopicRecord(topic_id=topic_id)]


def recreate_topic(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    if not cluster.topics:
        return []
    old_id, topic_id = rng.choice(list(cluster.topics)), new_id(rng)
    old = cluster.topics.pop(old_id)
    cluster.topics[topic_id] = Topic(old.name, old.namespace_id)
    return [
        topics.RemoveTopicRecord(topic_id=old_id),
        topics.TopicRecord(name=old.name, topic_id=topic_id, namespace_id=old.namespace_id),
        add_partition(cluster, rng, topic_id, 0),
    ]


def move_topic(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    if not cluster.topics:
        return []
    topic_id = rng.choice(list(cluster.topics))
    namespace_id = rng.choice([None, *cluster.namespaces])
    name = _free_name(cluster, rng, namespace_id)
    if name is None:
        return []
    topic = cluster.topics[topic_id]
    topic.name, topic.namespace_id = name, namespace_id
    return [topics.MoveTopicRecord(topic_id=topic_id, namespace_id=namespace_id, name=name)]


def create_namespace(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    name = ":".join(rng.sample(TIERS, rng.randrange(1, len(TIERS) + 1)))
    if name in cluster.namespaces.values():
        return []
    namespace_id = new_id(rng)
    cluster.namespaces[namespace_id] = name
    return [topics.NamespaceRecord(namespace_id=namespace_id, name=name)]


def remove_namespace(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    used = {topic.namespace_id for topic in cluster.topics.values()}
    empty = [namespace_id for namespace_id in cluster.namespaces if namespace_id not in used]
    if not empty:
        return []
    namespace_id = rng.choice(empty)
    del cluster.namespaces[namespace_id]
    return [topics.RemoveNamespaceRecord(namespace_id=namespace_id)]


def _free_name(cluster: Cluster, rng: random.Random, namespace_id: Uuid | None) -> str | None:
    taken = {t.name for t in cluster.topics.values() if t.namespace_id == namespace_id}
    free = [name for name in NAMES if name not in taken]
    return rng.choice(free) if free else None


def _topic_configs(cluster: Cluster, rng: random.Random, topic_id: Uuid) -> list[Record]:
    return [
        configs.ConfigRecord(
            resource_type=2, resource_name=cluster.full_name(topic_id), name=name, value="1"
        )
        for name in rng.sample(CONFIG_NAMES, rng.randrange(3))
    ]
