"""Refusals of admin requests: Kafka's code, and the name that KIP-4 gave the same error.

Scripts written against either name find it: the code in `RequestError.code`, the KIP's name at
the start of the message.
"""

from records.errors import RequestError


def topic_already_exists(full_name: str) -> RequestError:
    """The name is taken."""
    return RequestError("TOPIC_ALREADY_EXISTS", f"TopicAlreadyExists: {full_name!r} exists")


def invalid_topic_name(reason: str) -> RequestError:
    """The name of a topic breaks a rule."""
    return RequestError("INVALID_TOPIC_EXCEPTION", f"InvalidArgumentTopicName: {reason}")


def invalid_namespace(reason: str) -> RequestError:
    """A namespace does not exist, or its name breaks a rule (KIP-37 has no code of its own)."""
    return RequestError("INVALID_TOPIC_EXCEPTION", f"InvalidNamespace: {reason}")


def invalid_partitions(reason: str) -> RequestError:
    """A number of partitions that cannot be."""
    return RequestError("INVALID_PARTITIONS", f"InvalidArgumentPartitions: {reason}")


def decrease_not_allowed(reason: str) -> RequestError:
    """Fewer partitions than there are."""
    return RequestError("INVALID_PARTITIONS", f"DecreasePartitionsNotAllowed: {reason}")


def invalid_replication_factor(reason: str) -> RequestError:
    """A number of replicas that cannot be."""
    return RequestError("INVALID_REPLICATION_FACTOR", f"InvalidArgumentReplicationFactor: {reason}")


def invalid_assignment(reason: str) -> RequestError:
    """Replicas named by hand that cannot be."""
    return RequestError("INVALID_REPLICA_ASSIGNMENT", f"InvalidArgumentReplicaAssignment: {reason}")


def invalid_config(reason: str) -> RequestError:
    """An unknown config, or a value that it cannot take."""
    return RequestError("INVALID_CONFIG", f"InvalidArgumentTopicConfig: {reason}")


def reassignment_in_progress(reason: str) -> RequestError:
    """The partitions of the topic are on the move."""
    return RequestError("REASSIGNMENT_IN_PROGRESS", f"ReassignPartitionsInProgress: {reason}")


def no_reassignment_in_progress(reason: str) -> RequestError:
    """There is nothing to call off."""
    return RequestError("NO_REASSIGNMENT_IN_PROGRESS", f"NoReassignmentInProgress: {reason}")


def multiple_instructions(reason: str) -> RequestError:
    """A topic may be changed in one way a request."""
    return RequestError("INVALID_REQUEST", f"MultipleInstructionsForOneTopic: {reason}")


def named_twice(what: str) -> RequestError:
    """One request holds two instructions for the same thing."""
    return RequestError(
        "INVALID_REQUEST", f"MultipleTopicInstructionsInOneBatch: {what} is named more than once"
    )


def unknown_topic(name: str) -> RequestError:
    """No topic of that name."""
    return RequestError("UNKNOWN_TOPIC_OR_PARTITION", f"there is no topic {name!r}")


def unknown_topic_id(text: str) -> RequestError:
    """No topic of that id."""
    return RequestError("UNKNOWN_TOPIC_ID", f"there is no topic of id {text}")
