"""Errors of admin requests: Kafka's code, and the name of the same error in KIP-4.

Scripts may check either: the code is in `RequestError.code`, the KIP's name at the start of the
message.
"""

from records.errors import RequestError, UnavailableError
from replay.image.configs import TOPIC


def topic_already_exists(full_name: str) -> RequestError:
    """Return the error for a topic name that is already used."""
    return RequestError("TOPIC_ALREADY_EXISTS", f"TopicAlreadyExists: {full_name!r} exists")


def invalid_topic_name(reason: str) -> RequestError:
    """Return the error for a topic name that breaks a rule."""
    return RequestError("INVALID_TOPIC_EXCEPTION", f"InvalidArgumentTopicName: {reason}")


def invalid_namespace(reason: str) -> RequestError:
    """Return the error for a namespace that does not exist, or has an invalid name.

    KIP-37 has no error code for it.
    """
    return RequestError("INVALID_TOPIC_EXCEPTION", f"InvalidNamespace: {reason}")


def unknown_namespace(name: str) -> RequestError:
    """Return the error for a namespace that does not exist."""
    return invalid_namespace(
        f"there is no namespace {name!r}; `metalog namespaces list` lists them"
    )


def invalid_partitions(reason: str) -> RequestError:
    """Return the error for an invalid number of partitions."""
    return RequestError("INVALID_PARTITIONS", f"InvalidArgumentPartitions: {reason}")


def decrease_not_allowed(reason: str) -> RequestError:
    """Return the error for a decrease of the number of partitions."""
    return RequestError("INVALID_PARTITIONS", f"DecreasePartitionsNotAllowed: {reason}")


def invalid_replication_factor(reason: str) -> RequestError:
    """Return the error for an invalid replication factor."""
    return RequestError("INVALID_REPLICATION_FACTOR", f"InvalidArgumentReplicationFactor: {reason}")


def invalid_assignment(reason: str) -> RequestError:
    """Return the error for an invalid manual assignment."""
    return RequestError("INVALID_REPLICA_ASSIGNMENT", f"InvalidArgumentReplicaAssignment: {reason}")


def invalid_config(resource_type: int, reason: str) -> RequestError:
    """Return the error for a config that does not exist, or has an invalid value."""
    of_topic = "InvalidArgumentTopicConfig: " if resource_type == TOPIC else ""
    return RequestError("INVALID_CONFIG", f"{of_topic}{reason}")


def reassignment_in_progress(reason: str) -> RequestError:
    """Return the error for a topic whose partitions are being moved or removed."""
    return RequestError("REASSIGNMENT_IN_PROGRESS", f"ReassignPartitionsInProgress: {reason}")


def no_reassignment_in_progress(reason: str) -> RequestError:
    """Return the error for cancelling a reassignment that does not exist."""
    return RequestError("NO_REASSIGNMENT_IN_PROGRESS", f"NoReassignmentInProgress: {reason}")


def multiple_instructions(reason: str) -> RequestError:
    """Return the error for a request that changes a topic in more than one way."""
    return RequestError("INVALID_REQUEST", f"MultipleInstructionsForOneTopic: {reason}")


def named_twice(what: str) -> RequestError:
    """Return the error for a request that contains an object twice."""
    return RequestError(
        "INVALID_REQUEST", f"MultipleTopicInstructionsInOneBatch: {what} is named more than once"
    )


def unknown_topic(name: str) -> RequestError:
    """Return the error for a topic name that does not exist."""
    return RequestError("UNKNOWN_TOPIC_OR_PARTITION", f"there is no topic {name!r}")


def unknown_topic_id(text: str) -> RequestError:
    """Return the error for a topic id that does not exist."""
    return RequestError("UNKNOWN_TOPIC_ID", f"there is no topic of id {text}")


def overloaded() -> UnavailableError:
    """Return the error for a request when the log's queue is full."""
    return UnavailableError("too many requests wait for the log; try again")


def not_active() -> RequestError:
    """Return the error for a request that only an active controller can handle."""
    return RequestError("NOT_CONTROLLER", "this controller is not active")


def cannot_be_repeated() -> RequestError:
    """Return the error for a request id inside a transaction.

    The log recognises a batch by its id even if the transaction around it is aborted.
    """
    return RequestError(
        "INVALID_REQUEST",
        "a request in a transaction cannot have a request id: the transaction may be aborted",
    )


def lost_transaction(name: str) -> RequestError:
    """Return the error for a step of a transaction that is over."""
    return RequestError(
        "NOT_CONTROLLER", f"{name} is over: one of its batches failed, or the transaction has ended"
    )
