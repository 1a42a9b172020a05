"""Stories: incidents worth investigating, step by step.

A story is a generator: it yields the events of one step and continues in the next step. A step
takes a few seconds while brokers start or stop, else minutes.
"""

from collections.abc import Callable, Iterator
from functools import partial

from controller.decisions.brokers.registrations import unregister_broker
from controller.decisions.configs.changes import ConfigChange
from controller.decisions.configs.effective import BROKER, CLUSTER_DEFAULT
from controller.decisions.features.levels_in_use import (
    FeatureUpdate,
    UpdateFeatures,
    update_features,
)
from controller.decisions.levels import (
    METADATA_VERSION,
    MODE_FEATURE,
    NAMESPACE_FEATURE,
)
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    DeleteNamespace,
    MoveTopics,
    create_namespace,
    delete_namespace,
    move_topics,
)
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.partitions.elections import ElectLeaders, elect_leaders
from controller.decisions.topics.partition_removal import (
    DELETE_PARTITIONS_ENABLED,
    DeletePartitions,
    TopicShrink,
    cancel_delete_partitions,
    delete_partitions,
)
from controller.decisions.topics.topics import NewTopic
from controller.demo.brokers import LEVEL_OF_RELEASE, SimulatedBroker
from controller.demo.events import Event, event
from controller.demo.operations import (
    config_change,
    new_topic,
    topic_creation,
    topic_deletion,
)
from controller.demo.world import World
from replay.image.configs import TOPIC
from replay.image.topics import Topic

Story = Iterator[list[Event]]

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS


def namespaces_come(world: World) -> Story:
    """Features are enabled, teams create namespaces, and topics are moved into them."""
    asks = partial(world.people.asks, who="User:alice")
    levels = [
        (NAMESPACE_FEATURE, 1),
        (MODE_FEATURE, 1),
        (METADATA_VERSION, LEVEL_OF_RELEASE),
    ]
    for name, level in levels:
        request = UpdateFeatures(updates=(FeatureUpdate(name=name, level=level),))
        origin = asks("features upgrade", "every broker runs the new release")
        yield [event("features upgraded", update_features, request, origin)]
        yield from _pause(world, 20 * _MINUTE_MS)
    for namespace in ("shop:checkout", "shop:search", "shop:stock", "data:features"):
        origin = asks("namespaces create", "one namespace for each team")
        topics = tuple([new_topic(world, namespace=namespace) for _ in range(2)])
        create = CreateNamespace(namespace)
        yield [event("namespaces created", create_namespace, create, origin)]
        yield [topic_creation(topics, asks("topics create", "first topics of the team"))]
    yield from namespace_moves(world)


def namespace_moves(world: World) -> Story:
    """A topic moves, then a whole namespace is dissolved: its topics move and it is deleted."""
    asks, reason = world.people.asks, "the team was renamed"
    for topic in [t for t in world.topics() if t.namespace_id is None][:1]:
        yield [_move(world, "", "shop:checkout", topic.name)]
    create, origin = CreateNamespace("tmp:migration"), asks("namespaces create", reason)
    yield [event("namespaces created", create_namespace, create, origin)]
    topic_there = new_topic(world, namespace="tmp:migration")
    yield [topic_creation((topic_there,), asks("topics create", reason))]
    yield from _pause(world, _HOUR_MS)
    yield [_move(world, "tmp:migration", "shop:stock", None)]
    delete = DeleteNamespace(name="tmp", recursive=True)
    origin = asks("namespaces delete", reason)
    yield [event("namespaces deleted", delete_namespace, delete, origin)]


def broker_dies(world: World) -> Story:
    """A broker crashes and restarts; leadership moves away from it and back."""
    yield from _until_all_serve(world)
    broker = world.rng.choice(list(world.brokers.values()))
    broker.crash()
    yield from _until_fenced(world, broker)
    yield from _pause(world, 30 * _MINUTE_MS)
    yield from _comes_back(world, broker)


def topic_is_recreated(world: World) -> Story:
    """An operator deletes a topic; another operator needs it and creates it again."""
    topic = world.topic()
    if topic is None:
        return
    yield [topic_deletion(topic, world.people.asks("topics delete", "not in use", who="User:bob"))]
    yield from _pause(world, _HOUR_MS)
    again = NewTopic(
        name=topic.name,
        namespace=_namespace(world, topic),
        partitions=world.names.partitions(),
        replication_factor=world.options.replication_factor,
    )
    reason = "the nightly job needs it, who deleted it?"
    yield [topic_creation((again,), world.people.asks("topics create", reason, who="User:carol"))]


def partitions_lose_their_leader(world: World) -> Story:
    """Both brokers of a topic crash; one partition gets an unclean election, the other waits."""
    if len(world.brokers) < 2:
        return
    yield from _until_all_serve(world)
    first, second = world.rng.sample(list(world.brokers.values()), 2)
    name = world.names.topic()
    replicas = (first.broker_id, second.broker_id)
    topic = NewTopic(name=name, assignments=(Assignment(0, replicas), Assignment(1, replicas)))
    yield [topic_creation((topic,), world.people.asks("topics create", "two copies must do"))]
    second.crash()
    yield from _until_fenced(world, second)
    first.crash()
    yield from _until_fenced(world, first)
    yield from _comes_back(world, second)
    elect = ElectLeaders(partitions=((name, 0),), unclean=True)
    origin = world.people.asks("elect-leaders", "rather lose a minute than wait", who="User:carol")
    yield [event("leaders elected", elect_leaders, elect, origin)]
    yield from _pause(world, 20 * _MINUTE_MS)
    yield from _comes_back(world, first)


def configs_drift(world: World) -> Story:
    """Two operators disagree about a topic's retention."""
    topic = world.topic()
    if topic is None:
        return
    name = world.image.full_name(topic)
    opinions = (
        ("User:alice", 168, "consumers may be a week behind"),
        ("User:bob", 24, "the disks are filling up"),
        ("User:alice", 168, "restored, see the runbook"),
        ("User:bob", 6, "the disks are full"),
    )
    for who, hours, reason in opinions:
        origin = world.people.asks("configs alter", reason, who=who)
        change = ConfigChange("retention.ms", str(hours * _HOUR_MS))
        yield [config_change(TOPIC, name, change, origin)]
        yield from _pause(world, 45 * _MINUTE_MS)


def rolling_restart(world: World) -> Story:
    """Every broker is stopped cleanly and restarted, one after the other."""
    for broker in list(world.brokers.values()):
        yield from _until_all_serve(world)
        broker.stop()
        while broker.is_running:
            yield []
        yield from _comes_back(world, broker)


def shrink_is_cancelled(world: World) -> Story:
    """The removal of partitions is requested, then cancelled."""
    origin = world.people.asks("configs alter", "fewer partitions, see the cost review")
    change = ConfigChange(DELETE_PARTITIONS_ENABLED, "true")
    yield [config_change(BROKER, CLUSTER_DEFAULT, change, origin)]
    topic = _large_topic(world)
    if topic is None:
        return
    yield [_shrink(world, topic, delay_ms=12 * _HOUR_MS)]
    yield from _pause(world, 2 * _HOUR_MS)
    origin = world.people.asks("topics alter", "the topic is keyed", who="User:carol")
    yield [event("shrinks cancelled", cancel_delete_partitions, topic.topic_id, origin)]


def shrink_is_finished(world: World) -> Story:
    """Partitions are removed although one of their brokers is down for a while."""
    yield from _until_all_serve(world)
    topic = _large_topic(world)
    if topic is None:
        return
    yield [_shrink(world, topic, delay_ms=_HOUR_MS)]
    broker = world.brokers[world.image.partitions(topic.topic_id)[-1].replicas[-1]]
    broker.crash()
    yield from _until_fenced(world, broker)
    yield from _pause(world, 2 * _HOUR_MS)
    yield from _comes_back(world, broker)
    while any(world.image.pending_removals(topic.topic_id)):
        yield []


def stray_broker(world: World) -> Story:
    """A broker joins by mistake and is unregistered."""
    broker = SimulatedBroker(max(world.brokers) + 100, world.rng)
    broker.start()
    joining = broker.next_event(world.controller.settings.cluster_id, 0)
    yield [] if joining is None else [joining]
    broker.crash()
    yield from _pause(world, _HOUR_MS)
    origin = world.people.asks("brokers unregister", "started with the wrong settings")
    yield [event("brokers unregistered", unregister_broker, broker.broker_id, origin)]


FIRST_STORY = namespaces_come

STORIES: tuple[Callable[[World], Story], ...] = (
    broker_dies,
    topic_is_recreated,
    shrink_is_cancelled,
    configs_drift,
    partitions_lose_their_leader,
    namespace_moves,
    shrink_is_finished,
    stray_broker,
    rolling_restart,
)
"""The stories of each cycle, in order."""


def _until_all_serve(world: World) -> Story:
    while len(world.serving()) < len(world.brokers):
        yield []


def _until_fenced(world: World, broker: SimulatedBroker) -> Story:
    yield []
    while not world.is_fenced(broker.broker_id):
        yield []


def _comes_back(world: World, broker: SimulatedBroker) -> Story:
    broker.start()
    while not world.serves(broker.broker_id):
        yield []


def _pause(world: World, duration_ms: int) -> Story:
    until_ms = world.clock.now_ms() + duration_ms
    while world.clock.now_ms() < until_ms:
        yield []


def _move(world: World, source: str, target: str, topic: str | None) -> Event:
    request = MoveTopics(from_namespace=source, to_namespace=target, topic=topic)
    origin = world.people.asks("namespaces move", "it belongs to the other team")
    return event("topics moved", move_topics, request, origin)


def _shrink(world: World, topic: Topic, *, delay_ms: int) -> Event:
    count = len(world.image.partitions(topic.topic_id))
    shrink = TopicShrink(topic=topic.topic_id, partitions=count - count // 3)
    request = DeletePartitions(topics=(shrink,), delay_ms=delay_ms)
    origin = world.people.asks("topics alter", "far more partitions than consumers")
    return event("shrinks begun", delete_partitions, request, origin)


def _large_topic(world: World) -> Topic | None:
    """Return the topic with the most partitions, for a removal."""
    image = world.image
    settled = [t for t in world.topics() if not any(image.pending_removals(t.topic_id))]
    large = max(settled, key=lambda t: len(image.partitions(t.topic_id)), default=None)
    return large if large and len(image.partitions(large.topic_id)) >= _LARGE else None


_LARGE = 3


def _namespace(world: World, topic: Topic) -> str:
    namespace = topic.namespace_id and world.image.namespace(topic.namespace_id)
    return namespace.name if namespace else ""
