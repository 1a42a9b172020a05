"""Errors as problem details (RFC 9457): the error's code name, its outcome, and a status."""

import math
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from api.http.known_log import KnownLog, StillReadingError
from api.http.limits import RETRY_AFTER_S
from controller.decisions.outcome import Refusal
from controller.decisions.versions import VersionMismatchError, version_text
from records.errors import (
    ContradictionError,
    CorruptLogError,
    MetadataLogError,
    RequestError,
)

MEDIA_TYPE = "application/problem+json"

BAD_REQUEST = 400

STATUSES = {
    "AUTHENTICATION_FAILED": 401,
    # Whose right it is.
    "CLUSTER_AUTHORIZATION_FAILED": 403,
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": 403,
    "DELEGATION_TOKEN_OWNER_MISMATCH": 403,
    "GROUP_AUTHORIZATION_FAILED": 403,
    "TOPIC_AUTHORIZATION_FAILED": 403,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": 403,
    # What is not there.
    "BROKER_ID_NOT_REGISTERED": 404,
    "DELEGATION_TOKEN_NOT_FOUND": 404,
    "NO_REASSIGNMENT_IN_PROGRESS": 404,
    "OFFSET_OUT_OF_RANGE": 404,
    "RESOURCE_NOT_FOUND": 404,
    "SNAPSHOT_NOT_FOUND": 404,
    "UNKNOWN_HISTORY": 404,
    "UNKNOWN_TOPIC_ID": 404,
    "UNKNOWN_TOPIC_OR_PARTITION": 404,
    "RESOURCE_GONE": 410,
    # What the state of the cluster forbids.
    "DELEGATION_TOKEN_EXPIRED": 409,
    "DUPLICATE_REQUEST": 409,
    "DUPLICATE_RESOURCE": 409,
    "ELECTION_NOT_NEEDED": 409,
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": 409,
    "PREFERRED_LEADER_NOT_AVAILABLE": 409,
    "REASSIGNMENT_IN_PROGRESS": 409,
    "STALE_BROKER_EPOCH": 409,
    "TOPIC_ALREADY_EXISTS": 409,
    "INVALID_UPDATE_VERSION": 412,
    "MESSAGE_TOO_LARGE": 413,
    "POLICY_VIOLATION": 422,
    # What time may change.
    "COORDINATOR_LOAD_IN_PROGRESS": 503,
    "NOT_CONTROLLER": 503,
    "OFFSET_NOT_AVAILABLE": 503,
    "REQUEST_TIMED_OUT": 503,
    "THROTTLING_QUOTA_EXCEEDED": 429,
}
"""HTTP status by error code; all other codes have 400."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why a request was refused, and the outcome of the requested change.

    Attributes:
        title: The error's code in words.
        code: Kafka's name of the error, or this project's.
        outcome: A `records.errors.Outcome`.
        done_to: The offset of the last committed record, for a partial outcome.
        retry_ms: When to retry, in ms; left out if waiting does not help.
        current: The actual version of an object that does not have the expected version.
        known: What is known of a log that is still being read.
        results: The results of all items, if each was refused; they also have the field `refusal`
            of earlier releases.
    """

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    outcome: str = "nothing"
    done_to: int | None = None
    retry_ms: int | UnsetType = UNSET
    current: str | UnsetType = UNSET
    known: KnownLog | UnsetType = UNSET
    results: Any = UNSET


def problem_of(error: MetadataLogError) -> Problem:
    """Return the problem that reports an error."""
    code = code_of(error)
    return Problem(
        title=_words(code),
        status=_status(error),
        detail=str(error),
        code=code,
        outcome=error.outcome.value,
        done_to=error.done_to,
        retry_ms=error.retry_ms or UNSET,
        current=version_text(error.current) if isinstance(error, VersionMismatchError) else UNSET,
        known=error.known if isinstance(error, StillReadingError) else UNSET,
    )


def problem_of_refusal(refusal: Refusal, results: Any) -> Problem:
    """Return the problem for a request whose items were all refused."""
    return Problem(
        title=_words(refusal.code),
        status=STATUSES.get(refusal.code, BAD_REQUEST),
        detail=refusal.message,
        code=refusal.code,
        retry_ms=refusal.retry_ms or UNSET,
        results=results,
    )


def problem(status: int, code: str, detail: str) -> Problem:
    """Return a problem found by the HTTP layer itself."""
    return Problem(title=_words(code), status=status, detail=detail, code=code)


def mistake() -> Problem:
    """Return the problem that reports an internal error, which is a bug of the service."""
    return problem(500, "UNKNOWN_SERVER_ERROR", "the service made a mistake; its log says which")


def headers_of(found: Problem) -> dict[str, str]:
    """Return the headers that a problem requires."""
    if isinstance(found.retry_ms, int):
        return {"Retry-After": str(math.ceil(found.retry_ms / 1_000))}
    return {"Retry-After": str(RETRY_AFTER_S)} if found.status in (429, 503) else {}


def code_of(error: MetadataLogError) -> str:
    """Return the code name of an error."""
    if isinstance(error, RequestError):
        return error.code
    if isinstance(error, ContradictionError):
        return "CONTRADICTION"
    return "CORRUPT" if isinstance(error, CorruptLogError) else "UNAVAILABLE"


def _status(error: MetadataLogError) -> int:
    if isinstance(error, RequestError):
        return STATUSES.get(error.code, BAD_REQUEST)
    return 500 if isinstance(error, ContradictionError | CorruptLogError) else 503


def _words(code: str) -> str:
    return code.replace("_", " ").capitalize()
