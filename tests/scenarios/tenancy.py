"""Verbs of scenarios for namespaces and subscriptions: one function per verb.

Names are full names; `-` is the default namespace.
"""

from collections.abc import Callable
from typing import Any

from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ResourceChange,
    alter_configs,
)
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    DeleteNamespace,
    MoveTopics,
    create_namespace,
    delete_namespace,
    move_topics,
)
from controller.decisions.topics.subscriptions import (
    DeleteSubscription,
    RegisterSubscription,
    delete_subscription,
    register_subscription,
)
from controller.decisions.topics.topics import CreateTopics, NewTopic, create_topics
from replay.image.configs import NAMESPACE
from tests.controller.cluster import Cluster


def _create(cluster: Cluster, name: str, *words: str) -> Any:
    """The word `rehearsed` makes it a dry run."""
    request = CreateNamespace(name, validate_only="rehearsed" in words)
    return cluster.do(create_namespace, request)


def _delete(cluster: Cluster, name: str, *words: str) -> Any:
    """Words: `recursive`; `rehearsed` for a dry run."""
    request = DeleteNamespace(
        name=_namespace(name),
        recursive="recursive" in words,
        validate_only="rehearsed" in words,
    )
    return cluster.do(delete_namespace, request)


def _move(cluster: Cluster, source: str, target: str, *words: str, topic: str | None = None) -> Any:
    request = MoveTopics(
        from_namespace=_namespace(source),
        to_namespace=_namespace(target),
        topic=topic,
        validate_only="rehearsed" in words,
    )
    return cluster.do(move_topics, request)


def _create_in(cluster: Cluster, namespace: str, *names: str, partitions: str = "1") -> Any:
    """Create topics in a namespace, all in one request."""
    topics = [
        NewTopic(
            name=name,
            namespace=_namespace(namespace),
            partitions=int(partitions),
            replication_factor=1,
        )
        for name in names
    ]
    return cluster.do(create_topics, CreateTopics(topics=tuple(topics)))


def _configure(cluster: Cluster, namespace: str, **values: str) -> Any:
    change = ResourceChange(
        resource_type=NAMESPACE,
        resource_name=namespace,
        changes=tuple([ConfigChange(key, value) for key, value in values.items()]),
    )
    return cluster.do(alter_configs, AlterConfigs(resources=(change,)))


def _subscribe(cluster: Cluster, group: str, pattern: str) -> Any:
    request = RegisterSubscription(group=group, pattern=pattern)
    return cluster.do(register_subscription, request)


def _unsubscribe(cluster: Cluster, group: str) -> Any:
    return cluster.do(delete_subscription, DeleteSubscription(group=group))


def _namespace(text: str) -> str:
    return "" if text == "-" else text


VERBS: dict[str, Callable[..., Any]] = {
    "create-namespace": _create,
    "delete-namespace": _delete,
    "move-topics": _move,
    "create-in": _create_in,
    "configure-namespace": _configure,
    "subscribe": _subscribe,
    "unsubscribe": _unsubscribe,
}
