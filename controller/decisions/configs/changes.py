"""Config changes of topics, namespaces, brokers, the cluster, loggers, client metrics and groups.

Source: KIP-339 (incremental changes), KIP-133 (replacing all); docs/kafka_rules.md, section 9.
"""

import enum
from collections.abc import Callable, Iterable

import msgspec

from controller.decisions.config_definitions.definition import ConfigType, list_items
from controller.decisions.config_definitions.resources import (
    ConfigResourceCode,
    definitions,
    find_definition,
    unknown_config,
)
from controller.decisions.configs.checks import check_configs
from controller.decisions.configs.effective import BROKER, CLUSTER_DEFAULT
from controller.decisions.configs.impact import topics_changed
from controller.decisions.configs.min_isr_changes import check_one_minimum, cleared_elrs
from controller.decisions.context.cluster_index import SUBSCRIBED_PATTERN
from controller.decisions.context.context import Context, PlannedConfigs, RecordList
from controller.decisions.items import decide_each
from controller.decisions.lookup import TopicRef, find_namespace, is_broker_id, ref_text
from controller.decisions.names import named_more_than_once
from controller.decisions.outcome import Refusal
from controller.decisions.request import Request
from controller.results.refusals import invalid_config, named_twice, unknown_topic, unknown_topic_id
from controller.results.result import ControllerResult
from records.configs import ConfigRecord
from records.errors import RequestError
from records.text import uuid_text
from replay.image.configs import BROKER_LOGGER, GROUP, NAMESPACE, TOPIC, ConfigResource
from replay.image.metadata import MetadataImage

_ROOT_LOGGER = "root"


class Operation(enum.Enum):
    """Operation on a config; APPEND and SUBTRACT are for lists only.

    UNKNOWN stands for any other operation that a client sends: as in Kafka, all changes of that
    resource are then refused.
    """

    SET = "set"
    DELETE = "delete"
    APPEND = "append"
    SUBTRACT = "subtract"
    UNKNOWN = "unknown"


class ConfigChange(msgspec.Struct, frozen=True):
    """A change of one config; DELETE needs no value."""

    name: str
    value: str | None = None
    operation: Operation = Operation.SET


class ResourceChange(msgspec.Struct, frozen=True, kw_only=True):
    """Config changes of one resource.

    `resource_name` is a topic's full name or id, a namespace's full name, a broker's id as text, or
    "" of type BROKER for the cluster; for other types any name.
    """

    resource_type: ConfigResourceCode
    resource_name: TopicRef
    changes: tuple[ConfigChange, ...]


class AlterConfigs(Request["tuple[ResourceResult, ...]"], frozen=True, kw_only=True):
    """A request to change configs of some resources."""

    resources: tuple[ResourceChange, ...]
    validate_only: bool = False


class ReplaceConfigs(Request["tuple[ResourceResult, ...]"], frozen=True, kw_only=True):
    """A request to set exactly the given configs, and delete all others of each resource."""

    resources: tuple[ResourceChange, ...]
    validate_only: bool = False


class ResourceResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one resource; without a refusal, its changes are made.

    `resource_name` is a topic's full name, also if the request had its id. `topics_changed` is the
    number of topics whose effective values change; None if topics cannot inherit the changed
    configs. `deleted` are the configs that a replacement deletes because the request omits them.
    """

    resource_type: ConfigResourceCode
    resource_name: str
    refusal: Refusal | None = None
    topics_changed: int | None = None
    deleted: tuple[str, ...] = ()


def alter_configs(
    context: Context, request: AlterConfigs
) -> ControllerResult[tuple[ResourceResult, ...]]:
    """Change configs; a refused resource does not stop the others.

    Raises:
        TooLargeError: POLICY_VIOLATION, the request makes too many records.
    """
    return _alter(
        context,
        [_by_name(context, resource) for resource in request.resources],
        lambda _, resource: resource,
        validate_only=request.validate_only,
    )


def _alter(
    context: Context,
    named: list[ResourceChange],
    incremental: Callable[[Context, ResourceChange], ResourceChange],
    *,
    validate_only: bool,
) -> ControllerResult[tuple[ResourceResult, ...]]:
    """Change the configs of resources.

    Args:
        incremental: Converts a requested resource change to incremental operations.
    """
    twice = named_more_than_once([_resource_text(resource) for resource in named])
    records = RecordList()
    changes: list[ConfigRecord] = []

    def alter(requested: ResourceChange) -> ResourceResult:
        if _resource_text(requested) in twice:
            raise named_twice(_resource_text(requested))
        _check_id(requested)
        resource = incremental(context, requested)
        made = config_records(context, resource)
        _check_existence(context, resource)
        check_policy(context, requested, made)
        records.add(*made)
        changes.extend(made)
        result = _result(resource)
        key = resource.resource_type, result.resource_name
        count = topics_changed(context, key, [c.name for c in resource.changes], made)
        named = {change.name for change in requested.changes}
        deleted = tuple([c.name for c in resource.changes if c.name not in named])
        return msgspec.structs.replace(result, topics_changed=count, deleted=deleted)

    results = decide_each(named, alter, _result)
    records.add(*cleared_elrs(context, changes))
    return records.result(results, validate_only=validate_only)


def replace_configs(
    context: Context, request: ReplaceConfigs
) -> ControllerResult[tuple[ResourceResult, ...]]:
    """Replace all configs of resources; a refused resource does not stop the others.

    Raises:
        TooLargeError: POLICY_VIOLATION, the request makes too many records.
        RequestError: INVALID_REQUEST, for changes other than SET.
    """
    for resource in request.resources:
        if any(change.operation is not Operation.SET for change in resource.changes):
            raise RequestError(
                "INVALID_REQUEST", "a replacement of all configs can only set values"
            )
    return _alter(
        context,
        [_by_name(context, resource) for resource in request.resources],
        _replacement,
        validate_only=request.validate_only,
    )


def _replacement(context: Context, resource: ResourceChange) -> ResourceChange:
    """Return a replacement as incremental changes: those requested, and deletions of other configs.

    A group's subscription is not deleted: it is stored as a config, but has commands of its own.

    Raises:
        RequestError: INVALID_REQUEST, the resource is a broker's loggers.
    """
    if resource.resource_type == BROKER_LOGGER:
        raise RequestError(
            "INVALID_REQUEST",
            "a broker's logger levels cannot be replaced as a whole; set or delete single ones",
        )
    kept = {SUBSCRIBED_PATTERN, *(change.name for change in resource.changes)}
    old = context.image.config(resource.resource_type, ref_text(resource.resource_name))
    deletions = [ConfigChange(n, operation=Operation.DELETE) for n in sorted(old.keys() - kept)]
    return msgspec.structs.replace(resource, changes=(*resource.changes, *deletions))


def _result(resource: ResourceChange, refusal: Refusal | None = None) -> ResourceResult:
    return ResourceResult(
        resource_type=resource.resource_type,
        resource_name=ref_text(resource.resource_name),
        refusal=refusal,
    )


def config_records(context: Context, resource: ResourceChange) -> list[ConfigRecord]:
    """Return the records of one resource's config changes; the resource need not exist.

    Raises:
        RequestError: INVALID_CONFIG or INVALID_REQUEST.
    """
    twice = named_more_than_once([change.name for change in resource.changes])
    if twice:
        raise RequestError("INVALID_REQUEST", f"{sorted(twice)[0]!r} is changed more than once")
    type_, name = key = resource.resource_type, _name(resource)
    definitions(type_)  # refuses an unknown type
    _check_resource_name(key)
    old = context.image.config(type_, name)
    new = {c.name: _new_value(type_, c, old.get(c.name)) for c in resource.changes}
    check_one_minimum(context, key, new)
    after = {n: value for n, value in {**old, **new}.items() if value is not None}
    check_configs(context, key, [n for n, value in new.items() if value != old.get(n)], after)
    return [
        ConfigRecord(resource_type=type_, resource_name=name, name=config, value=value)
        for config, value in new.items()
        # Written even if unchanged: a broker rereads its configs on every such record.
        if value != old.get(config) or type_ == BROKER
    ]


def check_policy(
    context: Context, resource: ResourceChange, records: Iterable[ConfigRecord]
) -> None:
    """Let the operator's policy check the requested changes of a resource.

    Args:
        resource: The changes as requested.
        records: The resulting records.

    Raises:
        RequestError: the policy's own, usually POLICY_VIOLATION.
    """
    policy = context.settings.config_policy
    named = {change.name for change in resource.changes}
    changed = {record.name: record.value for record in records if record.name in named}
    if policy is not None and changed:
        policy(
            PlannedConfigs(
                resource_type=resource.resource_type,
                resource_name=_name(resource),
                configs=changed,
            )
        )


def removed_configs(image: MetadataImage, resource_type: int, name: str) -> list[ConfigRecord]:
    """Return the records that remove all configs of a resource."""
    return [
        ConfigRecord(resource_type=resource_type, resource_name=name, name=config, value=None)
        for config in sorted(image.config(resource_type, name))
    ]


def _new_value(type_: int, change: ConfigChange, old: str | None) -> str | None:
    if change.operation is Operation.UNKNOWN:
        raise RequestError(
            "INVALID_REQUEST",
            f"{change.name}: the operation is unknown; use set, delete, append or subtract",
        )
    if change.operation is Operation.DELETE:
        _check_deletion(type_, change.name, old)
        return None
    if change.value is None:
        raise RequestError(
            "INVALID_REQUEST", f"{change.name}: {change.operation.value} needs a value"
        )
    if change.operation is Operation.SET:
        return change.value
    definition = find_definition(type_, change.name)
    if definition is None:
        raise unknown_config(type_, change.name)
    if definition.type is not ConfigType.LIST:
        raise invalid_config(
            type_, f"{change.name} is not a list, which {change.operation.value} needs; use set"
        )
    items = list_items(definition.default if old is None else old)
    given = list_items(change.value)
    if change.operation is Operation.APPEND:
        return ",".join([*items, *(item for item in given if item not in items)])
    return ",".join([item for item in items if item not in given])


def _check_deletion(type_: int, name: str, old: str | None) -> None:
    """Check that a config may be deleted: its name is known, or it is set (`old`).

    Imported logs may set configs with unknown names. Subscriptions and the root logger are refused.

    Raises:
        RequestError: INVALID_CONFIG or INVALID_REQUEST.
    """
    if type_ == GROUP and name == SUBSCRIBED_PATTERN:
        raise invalid_config(type_, f"only `metalog subscriptions delete` deletes {name}")
    if old is None and find_definition(type_, name) is None:
        raise unknown_config(type_, name)
    if type_ == BROKER_LOGGER and name == _ROOT_LOGGER:
        raise RequestError(
            "INVALID_REQUEST", "the level of the root logger cannot be deleted; set another level"
        )


def _check_resource_name(resource: ConfigResource) -> None:
    type_, name = resource
    if type_ == BROKER and name == CLUSTER_DEFAULT:
        return
    if type_ in (BROKER, BROKER_LOGGER) and not is_broker_id(name):
        raise RequestError("INVALID_REQUEST", f"{name!r} is not the id of a broker")
    if not name and type_ != TOPIC:
        reason = "the name of the resource is empty"
        if type_ == NAMESPACE:
            reason = "the default namespace has no configs; set those of the cluster instead"
        raise RequestError("INVALID_REQUEST", reason)


def _check_existence(context: Context, resource: ResourceChange) -> None:
    type_, name = resource.resource_type, _name(resource)
    if type_ == TOPIC and context.image.topic_by_full_name(name) is None:
        raise unknown_topic(name)
    if type_ == NAMESPACE:
        find_namespace(context.image, name)
    is_broker = type_ == BROKER_LOGGER or (type_ == BROKER and name != CLUSTER_DEFAULT)
    if is_broker and context.image.broker(int(name)) is None:
        raise RequestError("BROKER_ID_NOT_REGISTERED", f"broker {name} is not registered")


def _resource_text(resource: ResourceChange) -> str:
    return f"{resource.resource_type}/{ref_text(resource.resource_name)}"


def _by_name(context: Context, resource: ResourceChange) -> ResourceChange:
    """Return the resource with a topic's id replaced by its name, if the topic exists."""
    if isinstance(resource.resource_name, str) or resource.resource_type != TOPIC:
        return resource
    topic = context.image.topic(resource.resource_name)
    if topic is None:
        return resource
    return msgspec.structs.replace(resource, resource_name=context.image.full_name(topic))


def _check_id(resource: ResourceChange) -> None:
    if isinstance(resource.resource_name, str):
        return
    if resource.resource_type == TOPIC:
        raise unknown_topic_id(uuid_text(resource.resource_name))
    raise RequestError("INVALID_REQUEST", "only topics can be given by id; give a name")


def _name(resource: ResourceChange) -> str:
    assert isinstance(resource.resource_name, str), "ids were replaced by names"
    return resource.resource_name
