"""Errors of admin requests: Kafka's code, and the name of the same error in KIP-4.

Scripts that expect either name find it: the code in `RequestError.code`, the KIP's name at the
start of the message.
"""

from records.errors import RequestError
from replay.image.configs import TOPIC


def topic_already_exists(full_name: str) -> RequestError:
    """The topic's name is taken."""
    return RequestError("TOPIC_ALREADY_EXISTS", f"TopicAlreadyExists: {full_name!r} exists")


def invalid_topic_name(reason: str) -> RequestError:
    """The topic's name breaks a rule."""
    return RequestError("INVALID_TOPIC_EXCEPTION", f"InvalidArgumentTopicName: {reason}")


def invalid_namespace(reason: str) -> RequestError:
    """A namespace does not exist, or its name breaks a rule (KIP-37 has no code of its own)."""
    return RequestError("INVALID_TOPIC_EXCEPTION", f"InvalidNamespace: {reason}")


def invalid_partitions(reason: str) -> RequestError:
    """The number of partitions is invalid."""
    return RequestError("INVALID_PARTITIONS", f"InvalidArgumentPartitions: {reason}")


def decrease_not_allowed(reason: str) -> RequestError:
    """The number of partitions may not be reduced."""
    return RequestError("INVALID_PARTITIONS", f"DecreasePartitionsNotAllowed: {reason}")


def invalid_replication_factor(reason: str) -> RequestError:
    """The replication factor is invalid."""
    return RequestError("INVALID_REPLICATION_FACTOR", f"InvalidArgumentReplicationFactor: {reason}")


def invalid_assignment(reason: str) -> RequestError:
    """The manual assignment is invalid."""
    return RequestError("INVALID_REPLICA_ASSIGNMENT", f"InvalidArgumentReplicaAssignment: {reason}")


def invalid_config(resource_type: int, reason: str) -> RequestError:
    """The config does not exist, or the value is invalid."""
    of_topic = "InvalidArgumentTopicConfig: " if resource_type == TOPIC else ""
    return RequestError("INVALID_CONFIG", f"{of_topic}{reason}")


def reassignment_in_progress(reason: str) -> RequestError:
    """Partitions of the topic are being moved or removed."""
    return RequestError("REASSIGNMENT_IN_PROGRESS", f"ReassignPartitionsInProgress: {reason}")


def no_reassignment_in_progress(reason: str) -> RequestError:
    """There is nothing to cancel."""
    return RequestError("NO_REASSIGNMENT_IN_PROGRESS", f"NoReassignmentInProgress: {reason}")


def multiple_instructions(reason: str) -> RequestError:
    """A request may change a topic in one way only."""
    return RequestError("INVALID_REQUEST", f"MultipleInstructionsForOneTopic: {reason}")


def named_twice(what: str) -> RequestError:
    """The request names an object twice."""
    return RequestError(
        "INVALID_REQUEST", f"MultipleTopicInstructionsInOneBatch: {what} is named more than once"
    )


def unknown_topic(name: str) -> RequestError:
    """There is no topic with this name."""
    return RequestError("UNKNOWN_TOPIC_OR_PARTITION", f"there is no topic {name!r}")


def unknown_topic_id(text: str) -> RequestError:
    """There is no topic with this id."""
    return RequestError("UNKNOWN_TOPIC_ID", f"there is no topic of id {text}")
