"""Names of the objects in a request, for errors that explain why an object is absent."""

from typing import Any

from api.questions.states import WalkStates
from controller.decisions.lookup import TopicRef, ref_text
from controller.descriptions.brokers import DescribeBroker
from controller.descriptions.configs import DescribeConfigs, ExplainConfigs
from controller.descriptions.namespaces import ListNamespaces
from controller.descriptions.partitions import DescribePartitions
from controller.descriptions.progress import ListRemovals
from controller.descriptions.topics import ListTopics
from replay.image.configs import BROKER, BROKER_LOGGER, NAMESPACE, RESOURCE_NAMES, TOPIC
from replay.time_travel.labels import escaped

ABSENT = frozenset(
    {
        *("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "BROKER_ID_NOT_REGISTERED"),
        # KIP-37 has no other code for a namespace.
        "INVALID_TOPIC_EXCEPTION",
    }
)
"""Error codes for objects that do not exist at the point."""

REASONS = frozenset({"RESOURCE_NOT_FOUND", "RESOURCE_GONE", "UNKNOWN_HISTORY"})
"""Error codes that the history gives as the reason why an object does not exist."""


def topic_object(ref: TopicRef) -> str:
    """Return a topic's object name, as used in the log's history."""
    return f"topic:{escaped(ref_text(ref))}"


def partition_object(ref: TopicRef, partition_id: int) -> str:
    """Return a partition's object name, as used in the log's history."""
    return f"partition:{escaped(ref_text(ref))}/{partition_id}"


def resource_object(type_: int, name: TopicRef) -> str:
    """Return the object name of a config resource, as used in the log's history."""
    if type_ == TOPIC:
        return topic_object(name)
    label = escaped(str(name))
    if type_ == NAMESPACE:
        return f"namespace:{label}"
    if type_ in (BROKER, BROKER_LOGGER):
        return f"broker:{label}"
    return f"config:{RESOURCE_NAMES[type_]}/{label}"


def asked_object(request: Any) -> str | None:
    """Return the name of the one object that a request is about; None if there is none."""
    match request:
        case DescribeBroker(broker_id=broker_id):
            return f"broker:{broker_id}"
        case DescribeConfigs() | ExplainConfigs() if request.resource_type in RESOURCE_NAMES:
            return resource_object(request.resource_type, request.resource_name)
        case DescribePartitions(topic=topic, partition_id=partition_id) if topic is not None:
            pass
        case ListNamespaces(below=name) | ListTopics(namespace=name):
            return f"namespace:{escaped(name)}" if name else None
        case WalkStates(topic=topic, partition_id=partition_id) if topic is not None:
            pass
        case ListRemovals(topic=topic) if topic is not None:
            partition_id = None
        case _:
            return None
    return topic_object(topic) if partition_id is None else partition_object(topic, partition_id)
