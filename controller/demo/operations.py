"""Everyday requests: topics created, changed and deleted, configs, reassignments."""

from collections.abc import Callable
from functools import partial

from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    Operation,
    ResourceChange,
)
from controller.decisions.configs.changes import alter_configs as alter_configs_decision
from controller.decisions.configs.effective import BROKER, CLUSTER_DEFAULT
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.partitions.elections import ElectLeaders, elect_leaders
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth, create_partitions
from controller.decisions.topics.topics import (
    CreateTopics,
    DeleteTopics,
    NewTopic,
    create_topics,
    delete_topics,
)
from controller.demo.events import Event, event
from controller.demo.world import World
from records.envelope import Origin
from replay.image.configs import TOPIC
from replay.image.topics import Topic

_HOUR_MS = 3_600_000

_TOPIC_CONFIGS = (
    ("retention.ms", tuple(str(hours * _HOUR_MS) for hours in (6, 24, 72, 168, 336))),
    ("cleanup.policy", ("delete", "compact", "compact,delete")),
    ("compression.type", ("zstd", "lz4", "snappy", "producer")),
    ("max.message.bytes", ("1048588", "2097152", "5242880")),
    ("min.insync.replicas", ("1", "2")),
    ("segment.ms", (str(_HOUR_MS), str(24 * _HOUR_MS))),
    ("delete.retention.ms", (str(_HOUR_MS), str(24 * _HOUR_MS))),
)
_BROKER_CONFIGS = (
    ("log.cleaner.threads", ("1", "2", "4")),
    ("num.io.threads", ("8", "16")),
    ("leader.replication.throttled.rate", ("50000000", "100000000")),
)
_CLUSTER_CONFIGS = (
    ("log.retention.ms", tuple(str(hours * _HOUR_MS) for hours in (72, 168))),
    ("min.insync.replicas", ("1", "2")),
    ("message.max.bytes", ("1048588", "2097152")),
)

_REASONS = (
    "capacity review", "team request", "incident follow-up", "new service", "cost saving",
    "release preparation", "audit finding", "load test",
)  # fmt: skip

_COUNTED_BY_HAND = 4
"""Number of partitions of a topic with a manual replica assignment."""


def ordinary_event(world: World) -> Event | None:
    """Return the next everyday request; None if there is nothing to change."""
    few_topics = len(world.topics()) < world.options.topics
    operations: list[tuple[int, Callable[[World], Event | None]]] = [
        (9 if few_topics else 3, create_topic),
        (2 if few_topics else 5, _delete_topic),
        (40, _set_topic_config),
        (12, _delete_topic_config),
        (4, _add_partitions),
        (5, _set_broker_config),
        (4, _set_cluster_config),
        (3, _elect_preferred),
    ]
    weights = [weight for weight, _ in operations]
    (operation,) = world.rng.choices([made for _, made in operations], weights)
    return operation(world)


def create_topic(world: World) -> Event:
    """Return a request for a new topic, sometimes in a namespace or with an assignment."""
    rng = world.rng
    namespace = world.names.namespace()
    if rng.random() > 0.3 or world.image.namespace_by_name(namespace) is None:
        namespace = ""
    configs = tuple([(n, rng.choice(values)) for n, values in rng.sample(_TOPIC_CONFIGS, 2)])
    if rng.random() < 0.15 and len(world.serving()) >= world.options.replication_factor:
        topic = NewTopic(
            name=world.names.topic(),
            namespace=namespace,
            assignments=_assignments(world),
            configs=configs,
        )
    else:
        topic = new_topic(world, namespace=namespace, configs=configs)
    return topic_creation((topic,), origin(world, "topics create"))


def new_topic(
    world: World, *, namespace: str = "", configs: tuple[tuple[str, str], ...] = ()
) -> NewTopic:
    """Return a new topic, to be placed by the controller."""
    return NewTopic(
        name=world.names.topic(),
        namespace=namespace,
        partitions=world.names.partitions(),
        replication_factor=world.options.replication_factor,
        configs=configs,
    )


def topic_creation(topics: tuple[NewTopic, ...], origin: Origin) -> Event:
    """Return a request for new topics."""
    return event("topics created", create_topics, CreateTopics(topics=topics), origin)


def topic_deletion(topic: Topic, origin: Origin) -> Event:
    """Return a request to delete a topic."""
    request = DeleteTopics(topics=(topic.topic_id,))
    return event("topics deleted", delete_topics, request, origin)


def config_change(resource_type: int, name: str, change: ConfigChange, origin: Origin) -> Event:
    """Return a request to change one config."""
    resource = ResourceChange(resource_type=resource_type, resource_name=name, changes=(change,))
    request = AlterConfigs(resources=(resource,))
    return event("configs changed", alter_configs_decision, request, origin)


def origin(world: World, command: str) -> Origin:
    """Return an origin with a random operator and reason."""
    return world.people.asks(command, world.rng.choice(_REASONS))


def _delete_topic(world: World) -> Event | None:
    topic = world.topic()
    if topic is None or any(world.image.pending_removals(topic.topic_id)):
        return None
    return topic_deletion(topic, origin(world, "topics delete"))


def _set_topic_config(world: World) -> Event | None:
    topic = world.topic()
    if topic is None:
        return None
    name, values = world.rng.choice(_TOPIC_CONFIGS)
    change = ConfigChange(name, world.rng.choice(values))
    full_name = world.image.full_name(topic)
    return config_change(TOPIC, full_name, change, origin(world, "configs alter"))


def _delete_topic_config(world: World) -> Event | None:
    topic = world.topic()
    if topic is None:
        return None
    full_name = world.image.full_name(topic)
    names = sorted(world.image.config(TOPIC, full_name))
    if not names:
        return None
    change = ConfigChange(world.rng.choice(names), operation=Operation.DELETE)
    return config_change(TOPIC, full_name, change, origin(world, "configs alter"))


def _add_partitions(world: World) -> Event | None:
    topic = world.topic()
    if topic is None:
        return None
    count = len(world.image.partitions(topic.topic_id)) + world.rng.choice((1, 2, 3, 6))
    request = CreatePartitions(topics=(TopicGrowth(topic=topic.topic_id, partitions=count),))
    return event("partitions added", create_partitions, request, origin(world, "topics alter"))


def _set_broker_config(world: World) -> Event | None:
    serving = world.serving()
    if not serving:
        return None
    broker_id = world.rng.choice(serving).broker_id
    name, values = world.rng.choice(_BROKER_CONFIGS)
    change = ConfigChange(name, world.rng.choice(values))
    return config_change(BROKER, str(broker_id), change, origin(world, "configs alter"))


def _set_cluster_config(world: World) -> Event:
    name, values = world.rng.choice(_CLUSTER_CONFIGS)
    change = ConfigChange(name, world.rng.choice(values))
    return config_change(BROKER, CLUSTER_DEFAULT, change, origin(world, "configs alter"))


def _elect_preferred(world: World) -> Event | None:
    topic = world.topic()
    if topic is None:
        return None
    partitions = world.image.partitions(topic.topic_id)
    request = ElectLeaders(partitions=tuple([(topic.topic_id, p.partition_id) for p in partitions]))
    return event("leaders elected", elect_leaders, request, origin(world, "elect-leaders"))


def _assignments(world: World) -> tuple[Assignment, ...]:
    brokers = [broker.broker_id for broker in world.serving()]
    sample = partial(world.rng.sample, brokers, world.options.replication_factor)
    return tuple([Assignment(n, tuple(sample())) for n in range(_COUNTED_BY_HAND)])
