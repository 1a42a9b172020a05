"""Descriptions of topics.

Source: KIP-4 (TopicMetadataRequest with configs and lag), KIP-516 (by id), KIP-694 (mode).
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from controller.authorization.authorizer import Operation
from controller.decisions.config_definitions.definition import unknown_definition
from controller.decisions.config_definitions.topics import TOPIC_CONFIGS
from controller.decisions.configs.effective import ConfigSource, effective_config, topic_levels
from controller.decisions.lookup import TopicRef, find_namespace, find_topic, ref_text
from controller.decisions.names import TIER_SEPARATOR
from controller.decisions.outcome import Refusal
from controller.decisions.partitions.directories import MIGRATING, is_online
from controller.decisions.request import Request
from controller.decisions.topics.patterns import matching
from controller.descriptions.operations import TOPIC_OPERATIONS
from controller.descriptions.view import View
from records.base import Uuid
from records.errors import RequestError
from records.secrets import REDACTED, is_secret_config
from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.topics import Topic

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Kafka's own topics, in the default namespace."""


class ConfigValue(msgspec.Struct, frozen=True, kw_only=True):
    """A config of a topic: its effective value, and the kind of level that sets it.

    `namespace` is the namespace that sets it, or None.
    """

    name: str
    value: str
    source: ConfigSource
    namespace: str | None = None

    @property
    def is_overridden(self) -> bool:
        """True if the config is set on the topic itself."""
        return self.source is ConfigSource.TOPIC

    def redacted(self) -> "ConfigValue":
        """Return a copy without its value if the value is secret."""
        return replace(self, value=REDACTED) if is_secret_config(self.name) else self


class PartitionDescription(msgspec.Struct, frozen=True, kw_only=True):
    """One partition. `lags` are in the order of `replicas`; None if unknown.

    `offline_replicas` are the replicas on brokers that are fenced or unregistered, or in failed
    directories. `version`: as in all descriptions, the offset of the last record that changed the
    object; -1 if that is before the kept history; None from a service of an earlier release.
    """

    partition: Partition
    offline_replicas: tuple[int, ...]
    lags: tuple[int | None, ...]
    version: int | None = None


class TopicDescription(msgspec.Struct, frozen=True, kw_only=True):
    """One topic. `name` is its full name; `configs` are all of its configs, ordered by name.

    `configs` is empty for a caller who may not DESCRIBE_CONFIGS. `configs_version` is None if the
    topic sets no config itself, or the caller may not see it.
    """

    name: str
    topic_id: Uuid
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]
    configs: tuple[ConfigValue, ...]
    authorized_operations: tuple[Operation, ...] = TOPIC_OPERATIONS
    version: int | None = None
    configs_version: int | None = None


class TopicFound(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a requested topic, or the error. `name` is as in the request."""

    name: str
    description: TopicDescription | None = None
    refusal: Refusal | None = None

    def redacted(self) -> "TopicFound":
        """Return a copy without the values of secret configs."""
        if self.description is None:
            return self
        configs = tuple([config.redacted() for config in self.description.configs])
        return replace(self, description=replace(self.description, configs=configs))


class TopicListing(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a list of topics. `replication_factor` is that of the first partition."""

    name: str
    topic_id: Uuid
    is_internal: bool
    partition_count: int
    replication_factor: int


class ListTopics(Request["tuple[TopicListing, ...]"], frozen=True, kw_only=True):
    """A request for a list of topics; `internal` includes Kafka's own.

    `pattern` is a regular expression that full names must match; `namespace` selects topics in a
    namespace and those below it.
    """

    internal: bool = True
    pattern: str | None = None
    namespace: str = ""


class DescribeTopics(Request["TopicsDescribed"], frozen=True, kw_only=True):
    """A request to describe topics; an empty list means all."""

    topics: tuple[TopicRef, ...] = ()
    show_secrets: bool = False


class TopicsDescribed(msgspec.Struct, frozen=True, kw_only=True):
    """Topics and the cluster they belong to; `controller_id` is the answering node."""

    cluster_id: str
    controller_id: int | None
    topics: tuple[TopicFound, ...]


def topics_described(view: View, request: DescribeTopics) -> TopicsDescribed:
    """Describe the requested topics, in that order, or all topics, ordered by name."""
    found = _found(view, request.topics)
    if not request.show_secrets:
        found = [topic.redacted() for topic in found]
    return TopicsDescribed(
        cluster_id=view.settings.cluster_id,
        controller_id=None if view.sessions is None else view.settings.node_id,
        topics=tuple(found),
    )


def _found(view: View, refs: Sequence[TopicRef]) -> list[TopicFound]:
    if not refs:
        return [
            TopicFound(name=name, description=describe_topic(view, topic))
            for name, topic in _by_name(view)
        ]
    found = []
    for ref in refs:
        try:
            described = describe_topic(view, find_topic(view.image, ref))
            found.append(TopicFound(name=ref_text(ref), description=described))
        except RequestError as error:
            found.append(TopicFound(name=ref_text(ref), refusal=Refusal.of(error)))
    return found


def describe_topic(view: View, topic: Topic) -> TopicDescription:
    """Describe one topic of the view."""
    name = view.image.full_name(topic)
    return TopicDescription(
        name=name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic),
        partitions=tuple(
            [describe_partition(view, p) for p in view.image.partitions(topic.topic_id)]
        ),
        configs=topic_configs(view, topic),
        version=view.image.topic_version(topic.topic_id),
        configs_version=configs_version(view.image, TOPIC, name),
    )


def describe_partition(view: View, partition: Partition) -> PartitionDescription:
    """Describe one partition of the view."""
    offline = offline_replicas(view, partition)
    return PartitionDescription(
        partition=partition,
        offline_replicas=offline,
        lags=tuple(
            [
                None if broker_id in offline else _lag(view, partition, broker_id)
                for broker_id in partition.replicas
            ]
        ),
        version=view.image.partition_version(partition.topic_id, partition.partition_id),
    )


def topics_listed(view: View, request: ListTopics) -> tuple[TopicListing, ...]:
    """List topics, ordered by name.

    Raises:
        RequestError: INVALID_REGULAR_EXPRESSION; or INVALID_TOPIC_EXCEPTION, there is no such
            namespace.
    """
    find_namespace(view.image, request.namespace)
    prefix = request.namespace + TIER_SEPARATOR if request.namespace else ""
    found = [
        (name, topic)
        for name, topic in _by_name(view)
        if name.startswith(prefix) and (request.internal or not is_internal(topic))
    ]
    if request.pattern is not None:
        matched = frozenset(matching(request.pattern, [name for name, _ in found]))
        found = [(name, topic) for name, topic in found if name in matched]
    return tuple([_listing(view, name, topic) for name, topic in found])


def _listing(view: View, name: str, topic: Topic) -> TopicListing:
    partitions = view.image.partitions(topic.topic_id)
    return TopicListing(
        name=name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic),
        partition_count=len(partitions),
        replication_factor=len(partitions[0].replicas) if partitions else 0,
    )


def topic_configs(view: View, topic: Topic) -> tuple[ConfigValue, ...]:
    """Return all configs of a topic, including inherited values and defaults.

    A config unknown to this release is included if the topic sets it.
    """
    own = view.image.config(TOPIC, view.image.full_name(topic))
    levels = tuple(topic_levels(view, topic))
    values = []
    for name in sorted(TOPIC_CONFIGS.keys() | own.keys()):
        definition = TOPIC_CONFIGS.get(name) or unknown_definition(name)
        found = effective_config(levels, definition)
        values.append(
            ConfigValue(
                name=name, value=found.effective, source=found.source, namespace=found.namespace
            )
        )
    return tuple(values)


def configs_version(image: MetadataImage, resource_type: int, name: str) -> int | None:
    """Return the version of the configs that a resource sets itself; None if it sets none."""
    has_own = bool(image.config(resource_type, name))
    return image.config_version(resource_type, name) if has_own else None


def offline_replicas(view: View, partition: Partition) -> tuple[int, ...]:
    """Return the replicas that are currently not available."""
    directories = dict(zip(partition.replicas, partition.directories, strict=False))
    offline = []
    for broker_id in partition.replicas:
        broker = view.image.broker(broker_id)
        directory = directories.get(broker_id, MIGRATING)
        if broker is None or broker.fenced or not is_online(broker, directory):
            offline.append(broker_id)
    return tuple(offline)


def is_internal(topic: Topic) -> bool:
    """True if this is one of Kafka's own topics."""
    return topic.namespace_id is None and topic.name in INTERNAL_TOPICS


def _by_name(view: View) -> Iterable[tuple[str, Topic]]:
    return sorted((view.image.full_name(topic), topic) for topic in view.image.topics())


def _lag(view: View, partition: Partition, broker_id: int) -> int | None:
    """Return the lag of a replica; 0 for the leader, None if unknown."""
    if broker_id == partition.leader:
        return 0
    session = None if view.sessions is None else view.sessions.get(broker_id)
    if session is None:
        return None
    return session.lags.get((partition.topic_id, partition.partition_id))
