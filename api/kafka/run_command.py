"""Errors of RunCommand, which Kafka does not have: conversion to responses and back."""

from api.kafka.errors import MAYBE_DONE, code_of
from api.kafka.messages.topics import RunCommandResponse
from controller.decisions.versions import VersionMismatchError
from records.errors import MetadataLogError, Outcome, RequestError, UnavailableError

_TRY_AGAIN = frozenset({"NOT_CONTROLLER", "REQUEST_TIMED_OUT"})
"""Errors of a service that is overloaded, has a full disk, or has lost its log."""


def refused(error: RequestError) -> RunCommandResponse:
    """Return the response to a refused command, with the error's outcome."""
    versions = error.texts() if isinstance(error, VersionMismatchError) else ("", "", "")
    version_object, expected_version, current_version = versions
    return RunCommandResponse(
        error_code=code_of(error.code),
        error_name=error.code,
        error_message=str(error),
        outcome=error.outcome.value,
        done_to=-1 if error.done_to is None else error.done_to,
        version_object=version_object,
        expected_version=expected_version,
        current_version=current_version,
    )


def error_of(response: RunCommandResponse) -> MetadataLogError:
    """Return the error of a response to a refused command, with its outcome."""
    name = response.error_name or "UNKNOWN_SERVER_ERROR"
    message = response.error_message or name
    outcome, done_to = _outcome(response, name)
    if name in _TRY_AGAIN:
        return UnavailableError(message, outcome=outcome, done_to=done_to)
    if response.version_object:
        mismatch = VersionMismatchError.from_texts(
            response.version_object, response.expected_version, response.current_version, message
        )
        return mismatch.with_outcome(outcome, done_to=done_to)
    return RequestError(name, message, outcome=outcome, done_to=done_to)


def _outcome(response: RunCommandResponse, name: str) -> tuple[Outcome, int | None]:
    match response.outcome:
        case Outcome.NOTHING:
            return Outcome.NOTHING, None
        case Outcome.PARTIAL | Outcome.DONE if response.done_to >= 0:
            return Outcome(response.outcome), response.done_to
        case "" if name not in MAYBE_DONE:  # an older service, which sends no outcomes
            return Outcome.NOTHING, None
    return Outcome.UNKNOWN, None
