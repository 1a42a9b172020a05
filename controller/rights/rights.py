"""The rights that each command and question requires: an operation on a resource.

For requests that Kafka has, the rights are Kafka's. A topic's name is authorized before it is
looked up, so that a refusal does not reveal whether the topic exists. A topic id is authorized by
the topic's name, which the answer does not repeat; the id of a hidden topic is refused like an
unknown id.

Source: ControllerApis and KafkaApis of Kafka 4.0; KIP-516 (ids), KIP-460 and KIP-455 (ALTER on the
cluster), KIP-631 (CLUSTER_ACTION).
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from controller.authorization.authorizer import (
    CLUSTER,
    Access,
    Operation,
    Resource,
    group_resource,
    namespace_resource,
    topic_resource,
)
from controller.decisions.configs.changes import ResourceChange, ResourceResult
from controller.decisions.lookup import TopicRef, ref_text
from controller.decisions.names import TIER_SEPARATOR
from controller.decisions.outcome import Refusal
from controller.decisions.security.tokens import require_owner
from controller.decisions.topics.alterations import UNSET, AlterationResult, TopicAlteration
from controller.decisions.topics.growth import TopicGrowth
from controller.decisions.topics.partition_plan import PartitionPlan
from controller.decisions.topics.partition_removal import ShrinkResult, TopicShrink
from controller.decisions.topics.topics import NewTopic, TopicResult
from controller.descriptions.configs import DescribeConfigs, ExplainConfigs
from controller.descriptions.namespaces import ListNamespaces, NamespaceListing
from controller.descriptions.operations import TOPIC_OPERATIONS
from controller.descriptions.partitions import PartitionFound
from controller.descriptions.progress import OngoingRemoval
from controller.descriptions.state_walk import Transition
from controller.descriptions.tokens import visible_tokens
from controller.descriptions.topics import (
    DescribeTopics,
    ListTopics,
    TopicDescription,
    TopicFound,
    TopicListing,
    TopicsDescribed,
)
from controller.results.refusals import unknown_namespace, unknown_topic_id
from controller.rights.guard import Guard, Items
from controller.rights.subscription_rights import topics_warned
from records.errors import RequestError
from records.text import uuid_text
from replay.image.configs import GROUP, NAMESPACE, TOPIC


def cluster_right(operation: Operation) -> Guard:
    """Return a guard that requires an operation on the cluster."""
    return Guard(operation=operation)


def require_topic(access: Access, operation: Operation, ref: TopicRef) -> None:
    """Check that the caller may do an operation on a topic.

    The id of a topic that the caller may not see is refused as unknown. Unknown ids pass only for
    callers with all rights: the decision refuses such ids, and questions about the past may find
    them.

    Raises:
        RequestError: TOPIC_AUTHORIZATION_FAILED or UNKNOWN_TOPIC_ID.
    """
    if isinstance(ref, str):
        access.require(operation, topic_resource(ref))
        return
    name = access.topic_name(ref)
    resource = None if name is None else topic_resource(name)
    if resource is not None and access.allows(operation, resource):
        return
    is_visible = resource is not None and access.allows(Operation.DESCRIBE, resource)
    if not is_visible and not access.allows(Operation.DESCRIBE, CLUSTER):
        raise unknown_topic_id(uuid_text(ref))
    if resource is not None:
        raise RequestError(
            "TOPIC_AUTHORIZATION_FAILED",
            f"{access.caller.principal} may not {operation.name} the topic {ref_text(ref)}",
        )


def _topics(
    operation: Operation,
    ref: Callable[[Any], TopicRef],
    refused: Callable[[str, Refusal], Any],
) -> Guard:
    """Return a guard that requires an operation on each of a request's `topics`."""
    return Guard(
        items=Items(
            field="topics",
            check=lambda access, item: require_topic(access, operation, ref(item)),
            refused=lambda item, refusal: refused(ref_text(ref(item)), refusal),
        )
    )


def _topic_result(name: str, refusal: Refusal) -> TopicResult:
    return TopicResult(name=name, refusal=refusal)


def _shrink_result(name: str, refusal: Refusal) -> ShrinkResult:
    return ShrinkResult(name=name, refusal=refusal)


def _partition_plan(name: str, refusal: Refusal) -> PartitionPlan:
    return PartitionPlan(name=name, refusal=refusal)


# Topics


def _check_new_topic(access: Access, topic: NewTopic) -> None:
    access.require(Operation.CREATE, CLUSTER, topic_resource(topic.full_name))


def _created(
    access: Access, request: Any, results: tuple[TopicResult, ...]
) -> tuple[TopicResult, ...]:
    """Return the results without configs and groups that the caller may not describe."""
    shown = [
        result
        if not result.configs
        or access.allows(Operation.DESCRIBE_CONFIGS, topic_resource(result.name))
        else replace(result, configs=None)
        for result in results
    ]
    return topics_warned(access, request, tuple(shown))


CREATE_TOPICS = Guard(
    items=Items(
        field="topics",
        check=_check_new_topic,
        refused=lambda topic, refusal: TopicResult(name=topic.full_name, refusal=refusal),
    ),
    shown=_created,
)
DELETE_TOPICS = _topics(Operation.DELETE, lambda ref: ref, _topic_result)


def _growth_ref(growth: TopicGrowth) -> TopicRef:
    return growth.topic


def _shrink_ref(shrink: TopicShrink) -> TopicRef:
    return shrink.topic


CREATE_PARTITIONS = _topics(Operation.ALTER, _growth_ref, _topic_result)
DELETE_PARTITIONS = _topics(Operation.ALTER, _shrink_ref, _shrink_result)
CANCEL_DELETE_PARTITIONS = Guard(
    check=lambda access, ref: require_topic(access, Operation.ALTER, ref)
)
# Like a dry run of what it plans.
PLAN_PARTITIONS = _topics(Operation.ALTER, lambda ref: ref, _partition_plan)


def _check_alteration(access: Access, item: TopicAlteration) -> None:
    """Check the rights that the separate command for this kind of change requires.

    These are ALTER_CONFIGS for configs, ALTER on the cluster for moves, and ALTER for other
    changes.
    """
    if item.configs:
        require_topic(access, Operation.ALTER_CONFIGS, item.topic)
    moves = item.replication_factor != UNSET or (
        bool(item.assignments) and item.partitions == UNSET
    )
    if moves:
        access.require(Operation.ALTER, CLUSTER)
    if item.partitions != UNSET or not (item.configs or moves):
        require_topic(access, Operation.ALTER, item.topic)


ALTER_TOPICS = Guard(
    items=Items(
        field="topics",
        check=_check_alteration,
        refused=lambda item, refusal: AlterationResult(name=ref_text(item.topic), refusal=refusal),
    )
)


# Configs


def _check_config_change(access: Access, resource: ResourceChange) -> None:
    _require_resource(
        access, Operation.ALTER_CONFIGS, resource.resource_type, resource.resource_name
    )


def _require_resource(access: Access, operation: Operation, type_: int, name: TopicRef) -> None:
    """Require an operation on a topic, namespace or group; for other resources, on the cluster."""
    if type_ == TOPIC:
        require_topic(access, operation, name)
    elif type_ == NAMESPACE:
        access.require(operation, namespace_resource(ref_text(name)))
    elif type_ == GROUP:
        access.require(operation, group_resource(ref_text(name)))
    else:
        access.require(operation, CLUSTER)


ALTER_CONFIGS = Guard(
    items=Items(
        field="resources",
        check=_check_config_change,
        refused=lambda resource, refusal: ResourceResult(
            resource_type=resource.resource_type,
            resource_name=ref_text(resource.resource_name),
            refusal=refusal,
        ),
    )
)


# Questions


def _may_see(access: Access, full_topic_name: str) -> bool:
    return access.allows(Operation.DESCRIBE, topic_resource(full_topic_name))


def _listed(access: Access, _: Any, listed: tuple[TopicListing, ...]) -> tuple[TopicListing, ...]:
    return tuple([topic for topic in listed if _may_see(access, topic.name)])


def _described(
    access: Access, request: DescribeTopics, response: TopicsDescribed
) -> TopicsDescribed:
    """Remove hidden topics from the response; a hidden topic requested by name gets a refusal."""
    if not request.topics:
        topics = [t for t in response.topics if t.description and _may_see(access, t.name)]
        return replace(response, topics=tuple([_with_rights(access, topic) for topic in topics]))
    pairs = zip(request.topics, response.topics, strict=True)
    return replace(response, topics=tuple([_found(access, ref, topic) for ref, topic in pairs]))


def _found(access: Access, ref: TopicRef, found: TopicFound) -> TopicFound:
    try:
        require_topic(access, Operation.DESCRIBE, ref)
    except RequestError as error:
        return TopicFound(name=found.name, refusal=Refusal.of(error))
    return _with_rights(access, found)


def _with_rights(access: Access, found: TopicFound) -> TopicFound:
    """Return a topic with the caller's allowed operations, and without configs hidden from the
    caller.
    """
    if found.description is None:
        return found
    description = found.description
    resource = topic_resource(description.name)
    allowed = tuple([o for o in TOPIC_OPERATIONS if access.allows(o, resource)])
    if allowed == TOPIC_OPERATIONS:
        return found
    return replace(found, description=_restricted(description, allowed))


def _restricted(description: TopicDescription, allowed: tuple[Operation, ...]) -> TopicDescription:
    shown = replace(description, authorized_operations=allowed)
    if Operation.DESCRIBE_CONFIGS in allowed:
        return shown
    return replace(shown, configs=(), configs_version=None)


def _check_partitions(access: Access, request: Any) -> None:
    if request.topic is not None:
        require_topic(access, Operation.DESCRIBE, request.topic)


def _partitions_seen(
    access: Access, _: Any, found: tuple[PartitionFound | OngoingRemoval | Transition, ...]
) -> tuple[PartitionFound | OngoingRemoval | Transition, ...]:
    return tuple([partition for partition in found if _may_see(access, partition.topic)])


def require_secrets(access: Access, request: Any) -> None:
    """Refuse a request for secrets unless the caller may read the log as brokers do.

    Raises:
        RequestError: CLUSTER_AUTHORIZATION_FAILED.
    """
    if request.show_secrets:
        access.require(Operation.CLUSTER_ACTION, CLUSTER)


def _check_configs(access: Access, request: DescribeConfigs | ExplainConfigs) -> None:
    require_secrets(access, request)
    _require_resource(
        access, Operation.DESCRIBE_CONFIGS, request.resource_type, request.resource_name
    )


def _namespaces_seen(
    access: Access, _: Any, found: tuple[NamespaceListing, ...]
) -> tuple[NamespaceListing, ...]:
    return tuple(
        [n for n in found if access.allows(Operation.DESCRIBE, namespace_resource(n.name))]
    )


def _check_namespace_of_topics(access: Access, request: ListTopics) -> None:
    """Refuse a missing namespace; the error is the same as for a namespace that is hidden.

    Raises:
        RequestError: INVALID_TOPIC_EXCEPTION.
    """
    names = (access.image.full_name(topic) for topic in access.image.topics())
    _check_namespace(access, request.namespace, topic_resource, names)


def _check_namespace_above(access: Access, request: ListNamespaces) -> None:
    """Refuse to list below a missing namespace; the error is the same as for a hidden one."""
    names = (namespace.name for namespace in access.image.namespaces())
    _check_namespace(access, request.below, namespace_resource, names)


def _check_namespace(
    access: Access, name: str, resource: Callable[[str], Resource], names: Iterable[str]
) -> None:
    if not name or access.allows(Operation.DESCRIBE, namespace_resource(name)):
        return
    below = (each for each in names if each.startswith(name + TIER_SEPARATOR))
    if not any(access.allows(Operation.DESCRIBE, resource(each)) for each in below):
        raise unknown_namespace(name)


LIST_TOPICS = Guard(check=_check_namespace_of_topics, shown=_listed)
DESCRIBE_TOPICS = Guard(check=require_secrets, shown=_described)
DESCRIBE_CONFIGS = Guard(check=_check_configs)
LIST_NAMESPACES = Guard(check=_check_namespace_above, shown=_namespaces_seen)
DESCRIBE_PARTITIONS = Guard(check=_check_partitions, shown=_partitions_seen)


# The cluster, and its ACLs

ALTER_CLUSTER = cluster_right(Operation.ALTER)
DESCRIBE_CLUSTER = cluster_right(Operation.DESCRIBE)
CREATE_TOKEN = Guard(check=require_owner)
# The decision itself asks for the owner or a renewer.
OWN_TOKEN = Guard()
DESCRIBE_TOKENS = Guard(check=require_secrets, shown=visible_tokens)
ALTER_QUOTAS = cluster_right(Operation.ALTER_CONFIGS)
DESCRIBE_QUOTAS = cluster_right(Operation.DESCRIBE_CONFIGS)
BROKER_ACTION = cluster_right(Operation.CLUSTER_ACTION)
