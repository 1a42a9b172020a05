"""Config changes of a topic, a namespace, a broker, or the whole cluster.

Source: KIP-339 (incremental changes); docs/kafka_rules.md, section 9.
"""

import enum
import re

import msgspec

from controller.decisions.config_definitions import list_items
from controller.decisions.context import Context, RecordList
from controller.decisions.effective_configs import BROKER, CLUSTER_DEFAULT
from controller.decisions.items import decide_each
from controller.decisions.lookup import TopicRef, find_namespace, ref_text
from controller.decisions.names import named_more_than_once
from controller.decisions.namespace_configs import check_namespace_configs
from controller.decisions.outcome import Refusal
from controller.decisions.topic_configs import (
    check_server_configs,
    check_topic_configs,
    default_value,
    is_list,
)
from controller.refusals import invalid_config, named_twice, unknown_topic, unknown_topic_id
from controller.request import Request
from controller.result import ControllerResult
from records.configs import ConfigRecord
from records.errors import RequestError
from records.text import uuid_text
from replay.image.configs import NAMESPACE, TOPIC
from replay.image.metadata import MetadataImage

# The form in which brokers look up their id; configs of "01" would never be found.
_BROKER_ID = re.compile(r"0|[1-9][0-9]{0,9}")


class Operation(enum.Enum):
    """Operation on a config; APPEND and SUBTRACT are for lists only."""

    SET = "set"
    DELETE = "delete"
    APPEND = "append"
    SUBTRACT = "subtract"


class ConfigChange(msgspec.Struct, frozen=True):
    """One config to change; DELETE needs no value."""

    name: str
    value: str | None = None
    operation: Operation = Operation.SET


class ResourceChange(msgspec.Struct, frozen=True, kw_only=True):
    """Config changes of one resource.

    `resource_name` is a topic's full name or its id, a namespace's full name, a broker's number as
    text, or "" of type BROKER for the cluster.
    """

    resource_type: int
    resource_name: TopicRef
    changes: tuple[ConfigChange, ...]


class AlterConfigs(Request["tuple[ResourceResult, ...]"], frozen=True, kw_only=True):
    """A request to change configs of some resources."""

    resources: tuple[ResourceChange, ...]
    validate_only: bool = False


class ResourceResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one resource; no refusal means that its changes are made.

    `resource_name` is the full name of a topic that was named by its id.
    """

    resource_type: int
    resource_name: str
    refusal: Refusal | None = None


def alter_configs(
    context: Context, request: AlterConfigs
) -> ControllerResult[tuple[ResourceResult, ...]]:
    """Change configs; a refused resource does not stop the others.

    Raises:
        TooLargeError: POLICY_VIOLATION, the request makes too many records.
    """
    named = [_by_name(context, resource) for resource in request.resources]
    twice = named_more_than_once([_resource_text(resource) for resource in named])
    records = RecordList()

    def alter(resource: ResourceChange) -> ResourceResult:
        if _resource_text(resource) in twice:
            raise named_twice(_resource_text(resource))
        _check_id(resource)
        made = config_records(context, resource)
        _check_existence(context, resource)
        records.add(*made)
        return _result(resource)

    results = decide_each(named, alter, _result)
    return records.result(results, validate_only=request.validate_only)


def _result(resource: ResourceChange, refusal: Refusal | None = None) -> ResourceResult:
    return ResourceResult(
        resource_type=resource.resource_type,
        resource_name=ref_text(resource.resource_name),
        refusal=refusal,
    )


def config_records(context: Context, resource: ResourceChange) -> list[ConfigRecord]:
    """Return the records of one resource's changes, whether or not the resource exists.

    Raises:
        RequestError: INVALID_CONFIG or INVALID_REQUEST.
    """
    twice = named_more_than_once([change.name for change in resource.changes])
    if twice:
        raise RequestError("INVALID_REQUEST", f"{sorted(twice)[0]!r} is changed more than once")
    resource_name = _name(resource)
    old = context.image.config(resource.resource_type, resource_name)
    new = dict(old)
    records = []
    for change in resource.changes:
        value = _new_value(change, old.get(change.name))
        # Written even if unchanged: a broker rereads its configs on every such record.
        if value != old.get(change.name) or resource.resource_type == BROKER:
            records.append(
                ConfigRecord(
                    resource_type=resource.resource_type,
                    resource_name=resource_name,
                    name=change.name,
                    value=value,
                )
            )
        if value is None:
            new.pop(change.name, None)
        else:
            new[change.name] = value
    _check_values(resource, new)
    return records


def removed_configs(image: MetadataImage, resource_type: int, name: str) -> list[ConfigRecord]:
    """Return the records that remove all configs of a resource."""
    return [
        ConfigRecord(resource_type=resource_type, resource_name=name, name=config, value=None)
        for config in sorted(image.config(resource_type, name))
    ]


def _new_value(change: ConfigChange, old: str | None) -> str | None:
    if change.operation is Operation.DELETE:
        return None
    if change.value is None:
        raise invalid_config(f"{change.name}: a value is needed to {change.operation.value} it")
    if change.operation is Operation.SET:
        return change.value
    if not is_list(change.name):
        raise invalid_config(
            f"{change.name} is not a list, so it cannot {change.operation.value} anything"
        )
    items = list_items(default_value(change.name) if old is None else old)
    given = list_items(change.value)
    if change.operation is Operation.APPEND:
        return ",".join([*items, *(item for item in given if item not in items)])
    return ",".join([item for item in items if item not in given])


def _check_values(resource: ResourceChange, values: dict[str, str]) -> None:
    if resource.resource_type == TOPIC:
        check_topic_configs(values)
    elif resource.resource_type == BROKER:
        _check_broker_name(_name(resource))
        check_server_configs(values)
    elif resource.resource_type == NAMESPACE:
        check_namespace_configs(values)
    else:
        raise RequestError(
            "INVALID_REQUEST",
            f"configs of resource type {resource.resource_type} cannot be changed here; "
            f"{TOPIC} is a topic, {NAMESPACE} a namespace, {BROKER} a broker or the cluster",
        )


def _check_broker_name(name: str) -> None:
    if name != CLUSTER_DEFAULT and not _BROKER_ID.fullmatch(name):
        raise RequestError("INVALID_REQUEST", f"{name!r} is not the id of a broker")


def _check_existence(context: Context, resource: ResourceChange) -> None:
    name = _name(resource)
    if resource.resource_type == TOPIC:
        if context.image.topic_by_full_name(name) is None:
            raise unknown_topic(name)
    elif resource.resource_type == NAMESPACE:
        if find_namespace(context.image, name) is None:
            raise RequestError(
                "INVALID_REQUEST",
                "the default namespace has no configs; the cluster's are those of every topic",
            )
    elif name != CLUSTER_DEFAULT and context.image.broker(int(name)) is None:
        raise RequestError("BROKER_ID_NOT_REGISTERED", f"broker {name} is not registered")


def _resource_text(resource: ResourceChange) -> str:
    return f"{resource.resource_type}/{ref_text(resource.resource_name)}"


def _by_name(context: Context, resource: ResourceChange) -> ResourceChange:
    """Replace a topic's id by its name, if the topic exists."""
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
    raise RequestError("INVALID_REQUEST", "only a topic has an id")


def _name(resource: ResourceChange) -> str:
    assert isinstance(resource.resource_name, str), "ids were replaced by names"
    return resource.resource_name
