"""Rights required to change namespaces; a request is allowed as a whole or not at all."""

from typing import Any

from msgspec.structs import replace

from controller.authorization.authorizer import (
    CLUSTER,
    Access,
    Operation,
    Resource,
    namespace_resource,
    topic_resource,
)
from controller.decisions.lookup import DEFAULT_NAMESPACE
from controller.decisions.names import TIER_SEPARATOR, full_name, tiers
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    DeleteNamespace,
    MoveTopics,
    NamespaceResult,
)
from controller.rights.guard import Guard
from controller.rights.rights import require_topic
from controller.rights.subscription_rights import groups_seen, namespaces_warned
from records.errors import RequestError
from replay.image.topics import Topic


def _check_new_namespace(access: Access, request: CreateNamespace) -> None:
    """Require CREATE on each tier to be created; the error does not reveal which tiers exist."""
    if access.allows(Operation.CREATE, CLUSTER):
        return
    missing = [n for n in tiers(request.name) if access.image.namespace_by_name(n) is None]
    needed = [namespace_resource(name) for name in (*missing, request.name)]
    if not all(access.allows(Operation.CREATE, resource) for resource in needed):
        access.refuse(Operation.CREATE, needed[-1])


def _check_namespace_deletion(access: Access, request: DeleteNamespace) -> None:
    """Require DELETE on everything to be deleted; the error does not reveal hidden objects."""
    access.require(Operation.DELETE, namespace_resource(request.name))
    doomed: list[Resource] = []
    for namespace in access.image.namespaces():
        if namespace.name == request.name or namespace.name.startswith(
            request.name + TIER_SEPARATOR
        ):
            doomed.append(namespace_resource(namespace.name))
            topics = access.image.topics_in(namespace.namespace_id)
            doomed += [topic_resource(access.image.full_name(topic)) for topic in topics]
    if not all(access.allows(Operation.DELETE, resource) for resource in doomed):
        raise RequestError(
            "TOPIC_AUTHORIZATION_FAILED",
            f"{access.caller.principal} may not DELETE everything in {request.name!r}",
        )


def _check_move(access: Access, request: MoveTopics) -> None:
    """Require DELETE in the old namespace and CREATE in the new one."""
    for name in (request.from_namespace, request.to_namespace):
        if name != DEFAULT_NAMESPACE:
            access.require(Operation.DESCRIBE, namespace_resource(name))
    if request.topic is None:
        for topic in _topics_of(access, request.from_namespace):
            _check_moved(access, request, topic.name)
    elif isinstance(request.topic, str):
        _check_moved(access, request, request.topic)
    else:
        require_topic(access, Operation.DELETE, request.topic)
        found = access.image.topic(request.topic)
        if found is not None:
            _check_moved(access, request, found.name)


def _topics_of(access: Access, namespace: str) -> list[Topic]:
    if namespace == DEFAULT_NAMESPACE:
        return list(access.image.topics_in(None))
    found = access.image.namespace_by_name(namespace)
    return [] if found is None else list(access.image.topics_in(found.namespace_id))


def _check_moved(access: Access, request: MoveTopics, name: str) -> None:
    old, new = full_name(request.from_namespace, name), full_name(request.to_namespace, name)
    is_allowed = access.allows(Operation.DELETE, topic_resource(old)) and (
        access.allows(Operation.CREATE, CLUSTER)
        or access.allows(Operation.CREATE, topic_resource(new))
    )
    if not is_allowed:
        what = repr(name) if request.topic == name else "every topic of the namespace"
        raise RequestError(
            "TOPIC_AUTHORIZATION_FAILED",
            f"{access.caller.principal} may not move {what}: this requires DELETE on the topic and "
            "CREATE on its new name",
        )


def _deleted(access: Access, _: Any, result: NamespaceResult) -> NamespaceResult:
    return result if _may_see_acls(access) else replace(result, acls=None)


def _moved(access: Access, request: MoveTopics, result: NamespaceResult) -> NamespaceResult:
    effects = result.effects
    if effects is None:
        return result  # of an earlier release
    if not _may_see_acls(access):
        effects = replace(effects, acls_lost=None, acls_gained=None)
    if not _may_see_configs(access, request, result.topics):
        effects = replace(effects, configs=None)
    effects = replace(
        effects,
        subscriptions_lost=groups_seen(access, effects.subscriptions_lost),
        subscriptions_gained=groups_seen(access, effects.subscriptions_gained),
    )
    return replace(result, effects=effects)


def _may_see_acls(access: Access) -> bool:
    return access.allows(Operation.DESCRIBE, CLUSTER)


def _may_see_configs(access: Access, request: MoveTopics, topics: tuple[str, ...]) -> bool:
    """True if the caller may see the configs of the topics under both their old and new names."""
    for topic in topics:
        _, _, name = topic.rpartition(TIER_SEPARATOR)
        for namespace in (request.from_namespace, request.to_namespace):
            resource = topic_resource(full_name(namespace, name))
            if not access.allows(Operation.DESCRIBE_CONFIGS, resource):
                return False
    return True


CREATE_NAMESPACE = Guard(check=_check_new_namespace, shown=namespaces_warned)
DELETE_NAMESPACE = Guard(check=_check_namespace_deletion, shown=_deleted)
MOVE_TOPICS = Guard(check=_check_move, shown=_moved)
