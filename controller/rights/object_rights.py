"""Rights required for questions about an object, given by name: `topic:orders`, `config:topic/a`.

Today's rights also apply to questions about the past: to the names that topics had then. DESCRIBE
on the cluster is required for objects given by an id that did not exist then, and for ids of topics
that the caller may not see. It is also required for a pattern of names, because its matches would
reveal hidden objects.
"""

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
from controller.results.changed_versions import ObjectVersion
from controller.rights.guard import Guard
from controller.rights.rights import require_secrets
from records.text import parse_uuid
from replay.image.configs import NAMESPACE, TOPIC
from replay.name_patterns import is_pattern
from replay.time_travel.labels import config_resource, escaped, unescaped

# How many numbers follow the topic in the name of an object.
_IN_TOPICS = {"topic": 0, "partition": 1, "removal": 1, "deletion": 2}


def _right(access: Access, name: str) -> tuple[Operation, Resource]:
    """Return the right that is required to see an object."""
    kind, _, label = name.partition("#")[0].partition(":")
    if is_pattern(label):
        return Operation.DESCRIBE, CLUSTER
    if kind == "config":
        return Operation.DESCRIBE_CONFIGS, _configured(access, label)
    if kind in _IN_TOPICS:
        numbers = _IN_TOPICS[kind]
        return Operation.DESCRIBE, _topic(access, label.rsplit("/", numbers)[0])
    if kind == "namespace" and not label.startswith("@"):
        return Operation.DESCRIBE, namespace_resource(unescaped(label))
    return Operation.DESCRIBE, CLUSTER


def _configured(access: Access, label: str) -> Resource:
    try:
        resource_type, name = config_resource(label)
    except ValueError:
        return CLUSTER
    if resource_type == NAMESPACE:
        return namespace_resource(unescaped(name))
    return _topic(access, name) if resource_type == TOPIC else CLUSTER


def _topic(access: Access, label: str) -> Resource:
    if not label.startswith("@"):
        return topic_resource(unescaped(label))
    try:
        name = access.topic_name(parse_uuid(label[1:]))
    except ValueError:
        return CLUSTER
    if name is None:
        return CLUSTER
    found = topic_resource(name)
    # The id of a hidden topic is answered like one that names nothing.
    return found if access.allows(Operation.DESCRIBE, found) else CLUSTER


def _may_see(access: Access, name: str) -> bool:
    return access.allows(*_right(access, name))


def require_seen(access: Access, name: str) -> None:
    """Check that the caller may see an object.

    Raises:
        RequestError: TOPIC_AUTHORIZATION_FAILED or CLUSTER_AUTHORIZATION_FAILED.
    """
    access.require(*_right(access, name))


def seen_versions(
    access: Access, versions: tuple[ObjectVersion, ...] | None
) -> tuple[ObjectVersion, ...] | None:
    """Return the versions of objects that the caller may see; None stays None."""
    if versions is None or access.allows_all:
        return versions
    return tuple([each for each in versions if _may_see(access, each.object)])


def _check_object(access: Access, request: Any) -> None:
    require_secrets(access, request)
    if request.object is not None:
        access.require(*_right(access, request.object))


def _check_history(access: Access, request: Any) -> None:
    """Check the right to read an object's history: the right to see the object.

    To read the notes as well, DESCRIBE on the cluster is required instead: a note may mention other
    objects.
    """
    check = _check_all if request.notes else _check_object
    check(access, request)


def _check_all(access: Access, request: Any) -> None:
    require_secrets(access, request)
    access.require(Operation.DESCRIBE, CLUSTER)


def _check_rows(access: Access, request: Any) -> None:
    """Check the right to read the records about an object: the right to see the object.

    To read all records, or the logged requests, DESCRIBE on the cluster is required instead: a
    request may concern several objects.
    """
    check = _check_all if request.object is None or request.asked else _check_object
    check(access, request)


def _check_report(access: Access, request: Any) -> None:
    """Require DESCRIBE on each topic of a report, or on the cluster if the report is for all."""
    if request.topics is None:
        access.require(Operation.DESCRIBE, CLUSTER)
    for name in request.topics or ():
        access.require(Operation.DESCRIBE, _topic(access, escaped(name)))


def _changes_seen(access: Access, _: Any, changes: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([change for change in changes if _may_see(access, change.object)])


def _pieces_seen(access: Access, _: Any, pieces: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        [
            replace(piece, value=[item for item in piece.value if _may_see(access, item["object"])])
            for piece in pieces
        ]
    )


DESCRIBE_OBJECT = Guard(check=_check_object)
DESCRIBE_HISTORY = Guard(check=_check_history)
DESCRIBE_ALL = Guard(check=_check_all)
SHOW_ROWS = Guard(check=_check_rows)
SHOW_REPORT = Guard(check=_check_report)
SHOW_DIFF = Guard(check=_check_object, shown=_changes_seen)
SHOW_IMAGE = Guard(check=require_secrets, shown=_pieces_seen)
