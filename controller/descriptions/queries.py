"""Descriptions as requests to a controller, answered from its latest state.

They write no records; an answer is sent once everything in it is committed.
"""

import msgspec

from controller.decisions.config_definitions.namespaces import (
    MAX_MUTATIONS,
    MAX_PARTITIONS,
    MAX_TOPICS,
)
from controller.decisions.config_definitions.resources import ConfigResourceCode
from controller.decisions.levels import SUPPORTED_LEVELS
from controller.decisions.lookup import TopicRef, find_namespace, partition_exists
from controller.decisions.names import TIER_SEPARATOR
from controller.decisions.quotas.namespace_limits import limit_of
from controller.decisions.request import Request
from controller.decisions.topics.patterns import matching
from controller.decisions.topics.subscriptions import Subscription
from controller.descriptions.brokers import BrokerDescription, describe_broker, list_brokers
from controller.descriptions.configs import (
    ConfigExplained,
    ConfigsDescribed,
    describe_configs,
    explain_configs,
)
from controller.descriptions.partitions import PartitionFound, describe_partitions
from controller.descriptions.progress import (
    OngoingReassignment,
    OngoingRemoval,
    list_reassignments,
    list_removals,
)
from controller.descriptions.topics import TopicFound, TopicListing, describe_topics, list_topics
from controller.descriptions.view import View
from records.base import Uuid
from replay.image.configs import BROKER_LOGGER
from replay.image.namespaces import Namespace


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


class ListBrokers(Request["tuple[BrokerDescription, ...]"], frozen=True, kw_only=True):
    """A request for descriptions of all registered brokers."""


class DescribeBroker(Request["BrokerDescription"], frozen=True):
    """A request to describe one broker."""

    broker_id: int


class ListReassignments(Request["tuple[OngoingReassignment, ...]"], frozen=True, kw_only=True):
    """A request for the partitions being reassigned: all, or those among the given partitions.

    Given partitions that do not exist are ignored.
    """

    partitions: tuple[tuple[TopicRef, int], ...] | None = None


class ListRemovals(Request["tuple[OngoingRemoval, ...]"], frozen=True, kw_only=True):
    """A request for the partitions being removed, of one topic or (None) of all."""

    topic: TopicRef | None = None


class DescribePartitions(Request["tuple[PartitionFound, ...]"], frozen=True, kw_only=True):
    """A request to describe the partitions of all topics or of one topic, or a single one."""

    topic: TopicRef | None = None
    partition_id: int | None = None


class DescribeConfigs(Request["ConfigsDescribed"], frozen=True, kw_only=True):
    """A request for the configs of a resource; the cluster is the broker "".

    `show_secrets`: include the values of secrets, which requires a separate right. `effective`: for
    all types, include configs that the resource does not set itself; for topics and namespaces
    these are always included.
    """

    resource_type: ConfigResourceCode
    resource_name: TopicRef
    show_secrets: bool = False
    effective: bool = False


class ExplainConfigs(Request["tuple[ConfigExplained, ...]"], frozen=True, kw_only=True):
    """A request for the levels that set a resource's config; None means each of its configs."""

    resource_type: ConfigResourceCode
    resource_name: TopicRef
    config: str | None = None
    show_secrets: bool = False


class DescribeFeatures(Request["tuple[FeatureDescription, ...]"], frozen=True, kw_only=True):
    """A request for the levels of all features."""


class FeatureDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A feature's level, 0 if it is not finalized, and the lowest and highest supported level."""

    feature: str
    level: int
    supported: tuple[int, int]


class ListNamespaces(Request["tuple[NamespaceListing, ...]"], frozen=True, kw_only=True):
    """A request for namespaces: all, or those below a namespace."""

    below: str = ""


class NamespaceListing(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace, its version, and the number of topics directly in it.

    `topics_below` and `partitions_below` count everything in and below it. `topics_max`,
    `partitions_max` and `mutations_max` (per second) are its own limits on these; None: no limit.
    """

    name: str
    namespace_id: Uuid
    topics: int
    version: int | None = None
    topics_below: int = 0
    partitions_below: int = 0
    topics_max: float | None = None
    partitions_max: float | None = None
    mutations_max: float | None = None


class ListSubscriptions(Request["tuple[Subscription, ...]"], frozen=True, kw_only=True):
    """A request for the registered patterns of consumer groups."""


def subscriptions_listed(view: View, request: ListSubscriptions) -> tuple[Subscription, ...]:
    """List subscriptions, ordered by group."""
    return tuple([Subscription(*item) for item in sorted(view.index.subscriptions.items())])


def topics_listed(view: View, request: ListTopics) -> tuple[TopicListing, ...]:
    """List topics, ordered by name.

    Raises:
        RequestError: INVALID_REGULAR_EXPRESSION; or INVALID_TOPIC_EXCEPTION, there is no such
            namespace.
    """
    find_namespace(view.image, request.namespace)
    listed = list_topics(view, internal=request.internal)
    if request.namespace:
        prefix = request.namespace + TIER_SEPARATOR
        listed = tuple([topic for topic in listed if topic.name.startswith(prefix)])
    if request.pattern is None:
        return listed
    matched = frozenset(matching(request.pattern, [topic.name for topic in listed]))
    return tuple([topic for topic in listed if topic.name in matched])


def topics_described(view: View, request: DescribeTopics) -> TopicsDescribed:
    """Describe topics, in the requested order."""
    found = describe_topics(view, request.topics)
    if not request.show_secrets:
        found = tuple([topic.redacted() for topic in found])
    return TopicsDescribed(
        cluster_id=view.settings.cluster_id,
        controller_id=None if view.sessions is None else view.settings.node_id,
        topics=found,
    )


def brokers_listed(view: View, request: ListBrokers) -> tuple[BrokerDescription, ...]:
    """Describe brokers, ordered by id."""
    return list_brokers(view)


def reassignments_listed(view: View, request: ListReassignments) -> tuple[OngoingReassignment, ...]:
    """List the partitions being reassigned, ordered by topic."""
    if request.partitions is None:
        return list_reassignments(view)
    known = [each for each in request.partitions if partition_exists(view.image, *each)]
    return list_reassignments(view, known)


def removals_listed(view: View, request: ListRemovals) -> tuple[OngoingRemoval, ...]:
    """List the partitions being removed, ordered by topic.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID.
    """
    return list_removals(view, request.topic)


def partitions_described(view: View, request: DescribePartitions) -> tuple[PartitionFound, ...]:
    """Describe partitions, ordered by topic.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID.
    """
    return describe_partitions(view, request.topic, request.partition_id)


def configs_described(view: View, request: DescribeConfigs) -> ConfigsDescribed:
    """Describe configs, ordered by name, with their version.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID or BROKER_ID_NOT_REGISTERED.
    """
    found = describe_configs(
        view, request.resource_type, request.resource_name, effective=request.effective
    )
    # The levels of loggers go by names of any kind, and are no secrets.
    is_shown = request.show_secrets or request.resource_type == BROKER_LOGGER
    return found if is_shown else found.redacted()


def configs_explained(view: View, request: ExplainConfigs) -> tuple[ConfigExplained, ...]:
    """Explain configs, ordered by name.

    Raises:
        RequestError: as of `explain_configs`.
    """
    found = explain_configs(view, request.resource_type, request.resource_name, request.config)
    is_shown = request.show_secrets or request.resource_type == BROKER_LOGGER
    return found if is_shown else tuple([config.redacted() for config in found])


def features_described(view: View, request: DescribeFeatures) -> tuple[FeatureDescription, ...]:
    """Describe every feature that is finalized or supported, ordered by name."""
    levels = view.image.features()
    return tuple(
        [
            FeatureDescription(
                feature=name,
                level=levels.get(name, 0),
                supported=SUPPORTED_LEVELS.get(name, (0, 0)),
            )
            for name in sorted(levels.keys() | SUPPORTED_LEVELS.keys())
        ]
    )


def namespaces_listed(view: View, request: ListNamespaces) -> tuple[NamespaceListing, ...]:
    """List namespaces, ordered by name.

    Raises:
        RequestError: INVALID_TOPIC_EXCEPTION, there is no namespace `below`.
    """
    find_namespace(view.image, request.below)
    return tuple(
        [
            _listing(view, namespace)
            for namespace in sorted(view.image.namespaces(), key=lambda n: n.name)
            if not request.below or namespace.name.startswith(f"{request.below}:")
        ]
    )


def _listing(view: View, namespace: Namespace) -> NamespaceListing:
    name, use = namespace.name, view.index.uses.of(namespace.name)
    return NamespaceListing(
        name=name,
        namespace_id=namespace.namespace_id,
        topics=sum(1 for _ in view.image.topics_in(namespace.namespace_id)),
        version=namespace.version,
        topics_below=use.topics,
        partitions_below=use.partitions,
        topics_max=limit_of(view.image, name, MAX_TOPICS),
        partitions_max=limit_of(view.image, name, MAX_PARTITIONS),
        mutations_max=limit_of(view.image, name, MAX_MUTATIONS),
    )


broker_described = describe_broker
"""Describe one broker, by its id."""
