"""Kafka's error codes by name.

Source: Errors of Kafka 4.0.
"""

from collections.abc import Awaitable, Iterable
from typing import TypeVar

from controller.decisions.outcome import Refusal
from records.errors import (
    FencedError,
    MetadataLogError,
    Outcome,
    RequestError,
    UnavailableError,
)

NONE = 0
UNKNOWN_SERVER_ERROR = -1

CODES = {
    "UNKNOWN_SERVER_ERROR": -1,
    "NONE": 0,
    "OFFSET_OUT_OF_RANGE": 1,
    "CORRUPT_MESSAGE": 2,
    "UNKNOWN_TOPIC_OR_PARTITION": 3,
    "LEADER_NOT_AVAILABLE": 5,
    "NOT_LEADER_OR_FOLLOWER": 6,
    "REQUEST_TIMED_OUT": 7,
    "BROKER_NOT_AVAILABLE": 8,
    "REPLICA_NOT_AVAILABLE": 9,
    "MESSAGE_TOO_LARGE": 10,
    "STALE_CONTROLLER_EPOCH": 11,
    "COORDINATOR_LOAD_IN_PROGRESS": 14,
    "COORDINATOR_NOT_AVAILABLE": 15,
    "INVALID_TOPIC_EXCEPTION": 17,
    "NOT_ENOUGH_REPLICAS": 19,
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": 20,
    "INVALID_REQUIRED_ACKS": 21,
    "INVALID_GROUP_ID": 24,
    "TOPIC_AUTHORIZATION_FAILED": 29,
    "GROUP_AUTHORIZATION_FAILED": 30,
    "CLUSTER_AUTHORIZATION_FAILED": 31,
    "INVALID_TIMESTAMP": 32,
    "UNSUPPORTED_SASL_MECHANISM": 33,
    "ILLEGAL_SASL_STATE": 34,
    "UNSUPPORTED_VERSION": 35,
    "TOPIC_ALREADY_EXISTS": 36,
    "INVALID_PARTITIONS": 37,
    "INVALID_REPLICATION_FACTOR": 38,
    "INVALID_REPLICA_ASSIGNMENT": 39,
    "INVALID_CONFIG": 40,
    "NOT_CONTROLLER": 41,
    "INVALID_REQUEST": 42,
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": 43,
    "POLICY_VIOLATION": 44,
    "OUT_OF_ORDER_SEQUENCE_NUMBER": 45,
    "DUPLICATE_SEQUENCE_NUMBER": 46,
    "INVALID_PRODUCER_EPOCH": 47,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": 53,
    "SECURITY_DISABLED": 54,
    "KAFKA_STORAGE_ERROR": 56,
    "LOG_DIR_NOT_FOUND": 57,
    "SASL_AUTHENTICATION_FAILED": 58,
    "REASSIGNMENT_IN_PROGRESS": 60,
    "DELEGATION_TOKEN_AUTH_DISABLED": 61,
    "DELEGATION_TOKEN_NOT_FOUND": 62,
    "DELEGATION_TOKEN_OWNER_MISMATCH": 63,
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": 64,
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": 65,
    "DELEGATION_TOKEN_EXPIRED": 66,
    "INVALID_PRINCIPAL_TYPE": 67,
    "GROUP_ID_NOT_FOUND": 69,
    "FETCH_SESSION_ID_NOT_FOUND": 70,
    "TOPIC_DELETION_DISABLED": 73,
    "FENCED_LEADER_EPOCH": 74,
    "UNKNOWN_LEADER_EPOCH": 75,
    "UNSUPPORTED_COMPRESSION_TYPE": 76,
    "STALE_BROKER_EPOCH": 77,
    "OFFSET_NOT_AVAILABLE": 78,
    "PREFERRED_LEADER_NOT_AVAILABLE": 80,
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": 83,
    "ELECTION_NOT_NEEDED": 84,
    "NO_REASSIGNMENT_IN_PROGRESS": 85,
    "INVALID_RECORD": 87,
    "THROTTLING_QUOTA_EXCEEDED": 89,
    "RESOURCE_NOT_FOUND": 91,
    "DUPLICATE_RESOURCE": 92,
    "UNACCEPTABLE_CREDENTIAL": 93,
    "INVALID_UPDATE_VERSION": 95,
    "FEATURE_UPDATE_FAILED": 96,
    "SNAPSHOT_NOT_FOUND": 98,
    "POSITION_OUT_OF_RANGE": 99,
    "UNKNOWN_TOPIC_ID": 100,
    "DUPLICATE_BROKER_REGISTRATION": 101,
    "BROKER_ID_NOT_REGISTERED": 102,
    "INCONSISTENT_TOPIC_ID": 103,
    "INCONSISTENT_CLUSTER_ID": 104,
    "INELIGIBLE_REPLICA": 107,
    "NEW_LEADER_ELECTED": 108,
    "MISMATCHED_ENDPOINT_TYPE": 114,
    "UNSUPPORTED_ENDPOINT_TYPE": 115,
    "INVALID_REGISTRATION": 119,
    "INVALID_REGULAR_EXPRESSION": 128,
}

NAMES = {code: name for name, code in CODES.items()}

MAYBE_DONE = frozenset({"NOT_CONTROLLER", "REQUEST_TIMED_OUT", "UNKNOWN_SERVER_ERROR"})
"""Errors that leave open whether the request was carried out."""

T = TypeVar("T")


def code_of(name: str) -> int:
    """Return the code of an error name; UNKNOWN_SERVER_ERROR's code for names that Kafka lacks."""
    return CODES.get(name, UNKNOWN_SERVER_ERROR)


def code_for(error: MetadataLogError) -> int:
    """Return the error code to send for an exception."""
    match error:
        case RequestError():
            return code_of(error.code)
        case FencedError():
            return CODES["NOT_CONTROLLER"]
        case UnavailableError():
            return CODES["REQUEST_TIMED_OUT"]
    return UNKNOWN_SERVER_ERROR


def refusal_code(refusal: Refusal | None) -> int:
    """Return the error code of an item's refusal; NONE if the item was not refused."""
    return NONE if refusal is None else code_of(refusal.code)


def throttle_ms(refusals: Iterable[Refusal | None]) -> int:
    """Return the time in ms after which to retry requests that exceeded a quota; 0 if none did."""
    return max((refusal.retry_ms for refusal in refusals if refusal is not None), default=0)


def refusal_message(refusal: Refusal | None) -> str | None:
    """Return the message of an item's refusal; None if the item was not refused."""
    return None if refusal is None else refusal.message


def refusal_of(code: int, message: str | None) -> Refusal | None:
    """Return the refusal of an item from its error code and message; None if it was not refused."""
    return None if code == NONE else Refusal(name_of(code), message or name_of(code))


def name_of(code: int) -> str:
    """Return the name of an error code."""
    return NAMES.get(code, f"ERROR_{code}")


def check(code: int, message: str | None) -> None:
    """Raise a RequestError if a response's error code is not NONE.

    Raises:
        RequestError: the code is not NONE. The error has the code's name, and an outcome derived
            from the code, which may be less precise than the original one.
    """
    if code != NONE:
        name = name_of(code)
        outcome = Outcome.UNKNOWN if name in MAYBE_DONE else Outcome.NOTHING
        text = message or f"the request was refused with {name}"
        raise RequestError(name, text, outcome=outcome)


async def with_codes(answer: Awaitable[T]) -> T:
    """Await an answer; convert errors to RequestError with a Kafka code."""
    try:
        return await answer
    except RequestError:
        raise
    except MetadataLogError as error:
        raise RequestError(
            name_of(code_for(error)), str(error), outcome=error.outcome, done_to=error.done_to
        ) from error
