"""Namespaces: folders for topics, in tiers.

Each tier of a namespace has its own record, so `org:apache` exists only if it was created, not
because a topic uses its name. The default namespace "" has no record.

Source: KIP-37, with namespaces as records of a KRaft log.
"""

from collections import Counter

import msgspec

from controller.authorization.authorizer import ResourceType
from controller.decisions.config_definitions.resources import ConfigResourceCode
from controller.decisions.config_definitions.topics import MIN_ISR
from controller.decisions.configs.changes import removed_configs
from controller.decisions.configs.min_isr_changes import cleared_by_move
from controller.decisions.context.context import Context, RecordList
from controller.decisions.ids import new_id
from controller.decisions.levels import NAMESPACE_FEATURE
from controller.decisions.lookup import (
    DEFAULT_NAMESPACE,
    TopicRef,
    find_namespace,
    find_topic,
    namespace_of,
)
from controller.decisions.names import (
    TIER_SEPARATOR,
    check_namespace_name,
    check_topic_name,
    full_name,
    tiers,
)
from controller.decisions.namespaces.move_effects import MoveEffects, move_effects
from controller.decisions.quotas.counted_records import CountedRecordList
from controller.decisions.request import Request
from controller.decisions.security.acls import AclFound, in_order
from controller.decisions.topics.subscriptions import Subscription, SubscriptionMatcher
from controller.results.refusals import (
    invalid_namespace,
    invalid_topic_name,
    topic_already_exists,
    unknown_topic,
)
from controller.results.result import ControllerResult
from records.base import Uuid
from records.errors import RequestError
from records.security import RemoveAccessControlEntryRecord
from records.topics import (
    MoveTopicRecord,
    NamespaceRecord,
    RemoveNamespaceRecord,
    RemoveTopicRecord,
)
from replay.image.acls import Acl
from replay.image.configs import NAMESPACE, TOPIC
from replay.image.metadata import MetadataImage
from replay.image.namespaces import Namespace
from replay.image.topics import Topic

_NAMESPACED = frozenset({ResourceType.TOPIC.value, ResourceType.NAMESPACE.value})
"""Types of resources whose names begin with a namespace."""


class CreateNamespace(Request["NamespaceResult"], frozen=True):
    """A request to create a namespace and all tiers above it."""

    name: str
    validate_only: bool = False


class DeleteNamespace(Request["NamespaceResult"], frozen=True, kw_only=True):
    """A request to delete a namespace and its topics.

    `recursive`: delete the namespaces below it, too, with their topics.
    """

    name: str
    recursive: bool = False
    validate_only: bool = False


class MoveTopics(Request["NamespaceResult"], frozen=True, kw_only=True):
    """A request to move one topic of a namespace, or all its topics, to another namespace.

    Topics of namespaces below `from_namespace` are not moved. `topic` is the last part of the
    topic's name, or its id; None: all topics.
    """

    from_namespace: str
    to_namespace: str
    topic: TopicRef | None = None
    validate_only: bool = False


class DeletedConfigs(msgspec.Struct, frozen=True):
    """The configs that a deleted topic or namespace set itself."""

    resource_type: ConfigResourceCode
    resource_name: str
    names: tuple[str, ...]


class NamespaceResult(msgspec.Struct, frozen=True):
    """Full names that a request created, deleted, or moved (the old names).

    `subscriptions` are the subscriptions that match topics in the created namespaces; None: there
    were too many to examine. `partitions`, `configs` and `acls` were deleted with topics and
    namespaces; `acls` is None if the caller may not see them. `effects` are the effects of a move;
    None for other requests.
    """

    namespaces: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    subscriptions: tuple[Subscription, ...] | None = ()
    partitions: int = 0
    configs: tuple[DeletedConfigs, ...] = ()
    acls: tuple[AclFound, ...] | None = ()
    effects: MoveEffects | None = None


def create_namespace(
    context: Context, request: CreateNamespace
) -> ControllerResult[NamespaceResult]:
    """Create each tier that does not exist yet.

    Raises:
        RequestError: UNSUPPORTED_VERSION, INVALID_TOPIC_EXCEPTION (InvalidNamespace), or
            DUPLICATE_RESOURCE when all tiers exist.
    """
    context.require_feature(NAMESPACE_FEATURE, "namespaces")
    check_namespace_name(request.name)
    image = context.image
    missing = tuple([n for n in tiers(request.name) if image.namespace_by_name(n) is None])
    if not missing:
        raise RequestError("DUPLICATE_RESOURCE", f"namespace {request.name!r} exists")
    records = RecordList()
    for name in missing:
        records.add(NamespaceRecord(namespace_id=new_id(context.rng), name=name))
    matched = SubscriptionMatcher(context).of_namespaces(missing)
    return records.result(
        NamespaceResult(missing, subscriptions=matched), validate_only=request.validate_only
    )


def delete_namespace(
    context: Context, request: DeleteNamespace
) -> ControllerResult[NamespaceResult]:
    """Delete a namespace with its topics, configs and ACLs.

    A recursive request deletes the namespaces below it, too, the deepest first.

    Raises:
        RequestError: INVALID_TOPIC_EXCEPTION (InvalidNamespace), INVALID_REQUEST if there are
            namespaces below it and the request is not recursive, POLICY_VIOLATION if the namespace
            contains too many objects for a single request, or THROTTLING_QUOTA_EXCEEDED.
    """
    image = context.image
    if request.name == DEFAULT_NAMESPACE:
        raise invalid_namespace("the default namespace cannot be deleted")
    find_namespace(image, request.name)
    doomed = _at_and_below(image, request.name)
    topics = [t for namespace in doomed for t in _topics_in(image, namespace.namespace_id)]
    acls = _acls_within(image, request.name)
    result = NamespaceResult(
        tuple([namespace.name for namespace in doomed]),
        tuple([image.full_name(topic) for topic in topics]),
        partitions=sum(len(image.partitions(topic.topic_id)) for topic in topics),
        configs=_configs_of(image, doomed, topics),
        acls=in_order(acls),
    )
    if len(doomed) > 1 and not request.recursive:
        raise _has_namespaces_below(request.name, result)
    records = CountedRecordList(context)
    counts = Counter({request.name: 0})
    for topic in topics:
        counts[namespace_of(image, topic)] += len(image.partitions(topic.topic_id))
    records.mutate(counts)
    for topic in topics:
        records.add(RemoveTopicRecord(topic_id=topic.topic_id))
    for namespace in doomed:
        records.add(*removed_configs(image, NAMESPACE, namespace.name))
        records.add(RemoveNamespaceRecord(namespace_id=namespace.namespace_id))
    # A namespace of that name which is created later must not inherit the rights to this one.
    for acl in acls:
        records.add(RemoveAccessControlEntryRecord(id=acl.id))
    return records.result(result, validate_only=request.validate_only)


def _has_namespaces_below(name: str, result: NamespaceResult) -> RequestError:
    below = ", ".join(map(repr, result.namespaces[:-1]))
    configs = sum(len(each.names) for each in result.configs)
    return RequestError(
        "INVALID_REQUEST",
        f"namespace {name!r} has namespaces below it: {below}; delete them first, or delete "
        f"recursively, which also deletes topics ({len(result.topics)}), partitions "
        f"({result.partitions}), configs ({configs}) and ACLs ({len(result.acls or ())})",
    )


def _configs_of(
    image: MetadataImage, namespaces: list[Namespace], topics: list[Topic]
) -> tuple[DeletedConfigs, ...]:
    """Return the configs that topics and namespaces set themselves."""
    resources = [(TOPIC, image.full_name(topic)) for topic in topics]
    resources += [(NAMESPACE, namespace.name) for namespace in namespaces]
    return tuple(
        [
            DeletedConfigs(resource_type, name, tuple(sorted(own)))
            for resource_type, name in resources
            if (own := image.config(resource_type, name))
        ]
    )


def _acls_within(image: MetadataImage, namespace: str) -> list[Acl]:
    """Return the ACLs on a namespace, and on names and prefixes inside it; O(ACLs)."""
    inside = namespace + TIER_SEPARATOR
    return sorted(
        [
            acl
            for acl in image.acls()
            if acl.resource_type in _NAMESPACED
            and (
                acl.resource_name.startswith(inside)
                or (acl.resource_name == namespace and acl.resource_type == NAMESPACE)
            )
        ],
        key=lambda acl: acl.id,
    )


def move_topics(context: Context, request: MoveTopics) -> ControllerResult[NamespaceResult]:
    """Move topics: all of them, or none. Ids, partitions, configs and history are kept.

    Raises:
        RequestError: UNSUPPORTED_VERSION, INVALID_TOPIC_EXCEPTION (InvalidNamespace, or a name that
            collides or is reserved), UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID,
            TOPIC_ALREADY_EXISTS, INVALID_REQUEST if both namespaces are the same, or
            POLICY_VIOLATION.
    """
    context.require_feature(NAMESPACE_FEATURE, "namespaces")
    image = context.image
    source = find_namespace(image, request.from_namespace)
    target = find_namespace(image, request.to_namespace)
    if source == target:
        raise RequestError(
            "INVALID_REQUEST",
            f"the topics are already in namespace {request.to_namespace!r}; name another target",
        )
    if request.topic is None:
        topics = _topics_in(image, source)
    else:
        topics = [_topic_in(image, source, request.from_namespace, request.topic)]
    records = CountedRecordList(context)
    for topic in topics:
        _check_target(context, target, request.to_namespace, topic.name)
        count = len(image.partitions(topic.topic_id))
        records.move(request.to_namespace, moved_from=request.from_namespace, partitions=count)
        records.add(MoveTopicRecord(topic_id=topic.topic_id, namespace_id=target, name=topic.name))
    effects = move_effects(context, topics, request.from_namespace, request.to_namespace)
    if any(shift.name == MIN_ISR for shift in effects.configs or ()):
        records.add(*cleared_by_move(context, topics))
    result = NamespaceResult(
        topics=tuple([image.full_name(topic) for topic in topics]), effects=effects
    )
    return records.result(result, validate_only=request.validate_only)


def _topic_in(
    image: MetadataImage, namespace_id: Uuid | None, namespace: str, ref: TopicRef
) -> Topic:
    """Return a topic of a namespace, given by the last part of its name or by its id."""
    if isinstance(ref, str):
        named = image.topic_by_name(ref, namespace_id)
        if named is None:
            raise unknown_topic(full_name(namespace, ref))
        return named
    topic = find_topic(image, ref)
    if topic.namespace_id != namespace_id:
        raise unknown_topic(full_name(namespace, topic.name))
    return topic


def _check_target(context: Context, target: Uuid | None, namespace: str, name: str) -> None:
    # An imported or older log may hold a name that is refused today; such a topic cannot move.
    check_topic_name(name)
    if context.image.topic_by_name(name, target) is not None:
        raise topic_already_exists(full_name(namespace, name))
    other = context.index.colliding_name(target, name)
    if other is not None:
        raise invalid_topic_name(
            f"{name!r} collides with the topic {full_name(namespace, other)!r}: '.' and '_' are "
            "the same in metrics"
        )


def _at_and_below(image: MetadataImage, name: str) -> list[Namespace]:
    """Return a namespace and all namespaces below it.

    The deepest are first, the namespace itself is last.
    """
    found = [
        namespace
        for namespace in image.namespaces()
        if namespace.name == name or namespace.name.startswith(name + TIER_SEPARATOR)
    ]
    return sorted(found, key=lambda n: (-n.name.count(TIER_SEPARATOR), n.name))


def _topics_in(image: MetadataImage, namespace_id: Uuid | None) -> list[Topic]:
    return sorted(image.topics_in(namespace_id), key=lambda topic: topic.name)
