"""Commands over HTTP: one handler for all, and one that appends records given as JSON lines."""

import hashlib
import io
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from api.documents.changes import Change
from api.documents.errors import Error
from api.http.problems import problem_of_refusal
from api.http.questions import LINES, path_of
from api.http.request import Call, Reply, call_of, one_offset, reply_with
from api.large_work import beside
from api.requests.command import Command
from api.requests.commands import COMMANDS, find_command, named
from api.requests.json_errors import json_error
from api.requests.json_requests import json_value, request_class, request_from_json
from api.requests.record_lines import LineBatch, line_batches
from api.requests.transactions import NAME as TRANSACTION
from controller.asked.repeated_requests import check_request_id
from controller.decisions.outcome import Refusal
from controller.results.answer import Answer as Done
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.limits import BATCH_RECORDS_MAX
from records.command_names import LOGGED_NAMES
from records.errors import RequestError
from replay.about import About

Answer = Callable[[bytes], Awaitable[Reply]]
"""Takes the body of a request, and returns the reply."""

APPEND = "records append"
"""The command whose body is JSON lines."""

_APPEND_GUARD = find_command(APPEND).guard

ROUTES = {
    path_of(name): find_command(name) for name in (*COMMANDS, *LOGGED_NAMES) if name != APPEND
}
"""The commands by path; a command with two names has two."""

_REFUSAL = "refusal"
"""Name of an item's `error` field in earlier releases."""

HEADERS = ("as", "reason")
"""Parameters of every command."""

EXPECTED_END = "expected_end_offset"
"""Parameter of an append: where the log must end before the first record."""


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a command, one for each item.

    `response` has the same results in the form of earlier releases.
    """

    results: list[dict[str, Any]]
    response: Any


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """Position of the appended records; offsets are inclusive, `timestamp` is ms since 1970."""

    records: int
    first_offset: int
    last_offset: int
    leader_epoch: int
    timestamp: int


def change(scope: Mapping[str, Any]) -> Answer:
    """Return a function that runs the command at the request's path and replies once it is
    committed.

    Raises (here, and from the answer):
        RequestError: the request cannot be parsed, or is refused as a whole.
        UnavailableError, FencedError: as `Service.run`.
    """
    command = ROUTES[scope["path"]]
    call = call_of(scope)
    _check_parameters(call, HEADERS)
    command.guard.check_caller(call.service.access(call.acting_caller()))
    return partial(_changed, command, call)


async def _changed(command: Command, call: Call, body: bytes) -> Reply:
    cls = request_class(command.name)
    wanted = await beside(len(body), lambda: request_from_json(_json(body), cls))
    argument = named(wanted)[1] if cls is not command.request else wanted
    caller = call.acting_caller()
    origin = caller.origin(command.name, reason=call.reason, trace_parent=call.trace_parent)
    origin = msgspec.structs.replace(origin, request_id=call.request_id)
    done = await call.service.run(
        command.name,
        argument,
        caller=caller,
        origin=origin,
        expected_versions=call.expected_versions,
        trace=call.trace,
    )
    return await beside(len(body), lambda: _reply_of(command, call, wanted, done))


def _reply_of(command: Command, call: Call, wanted: Any, done: Done[Any]) -> Reply:
    response = json_value(done.response, find_command(command.name).response)
    refused = _refused(done.response)
    if refused is not None:
        return reply_with(problem_of_refusal(refused, _items_refused(response)))
    change_ = Change(
        committed_at=done.end_offset - 1 if done.wrote else None,
        validated_only=getattr(wanted, "validate_only", False),
        versions=done.versions,
    )
    changed = Changed(results=results_of(command, response), response=response)
    return _reply(_about(call, done), change_, changed)


def results_of(command: Command, response: Any) -> list[dict[str, Any]]:
    """Return the results of a command from its response as JSON.

    An item has the fields of its response and, as on the command line, an `error` instead of a
    refusal. A command without items has one result, or none if it answers nothing.
    """
    if response is None:
        return []
    if command.name == TRANSACTION:
        response = response["steps"]
    return [_with_error(item) for item in (response if isinstance(response, list) else [response])]


def _with_error(item: dict[str, Any]) -> dict[str, Any]:
    return {name: of for name, of in item.items() if name != _REFUSAL} | {"error": _error_of(item)}


def _items_refused(response: Any) -> list[dict[str, Any]]:
    """Return the results of the items of a request in which all items were refused."""
    items = response if isinstance(response, list) else [response]
    return [item | {"error": _error_of(item)} for item in items]


def _error_of(item: dict[str, Any]) -> Error | None:
    refusal = item.get(_REFUSAL)
    return refusal and Error.of_refusal(Refusal(**refusal))


def append(scope: Mapping[str, Any]) -> Answer:
    """Return a function that appends records, given as JSON lines, as one batch.

    Raises (here, and from the answer):
        RequestError: a line cannot be read, or the batch is refused.
        UnavailableError, FencedError: as `Appends.append`.
    """
    call = call_of(scope)
    _check_parameters(call, (*HEADERS, EXPECTED_END))
    _APPEND_GUARD.check_caller(call.service.access(call.acting_caller()))
    return partial(_appended, call)


async def _appended(call: Call, body: bytes) -> Reply:
    lines = await beside(len(body), lambda: _lines(body))
    caller = call.acting_caller()
    origin = caller.origin("append", reason=call.reason, trace_parent=call.trace_parent)
    if call.request_id is not None:
        check_request_id(call.request_id)
        origin = msgspec.structs.replace(
            origin, request_id=call.request_id, request_hash=hashlib.sha256(body).digest()
        )
    result = await call.service.append(
        NewBatch(records=lines.records, payloads=lines.payloads, origin=origin),
        caller=caller,
        expected_end_offset=one_offset(call.values, EXPECTED_END),
        expected_versions=call.expected_versions,
    )
    if call.trace is not None:
        call.trace.committed(result.end_offset)
    return Reply(msgspec.json.encode(_position(result)))


def _json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(
            "INVALID_REQUEST", f"the body is not JSON: {json_error(body, error)}"
        ) from error


def _lines(body: bytes) -> LineBatch:
    batches = line_batches(io.BytesIO(body), size=BATCH_RECORDS_MAX)
    first = next(batches, None)
    if first is None:
        raise RequestError("INVALID_REQUEST", f"there are no records; send them as {LINES}")
    if next(batches, None) is not None:
        raise RequestError(
            "MESSAGE_TOO_LARGE",
            f"a request is one batch, of at most {BATCH_RECORDS_MAX} records; send several "
            "requests",
        )
    return first


def _check_parameters(call: Call, known: tuple[str, ...]) -> None:
    unknown = sorted(call.values.keys() - set(known))
    if unknown:
        raise RequestError(
            "INVALID_REQUEST",
            f"parameter {unknown[0]}: there is no such parameter; there are {', '.join(known)}",
        )


def _refused(response: Any) -> Refusal | None:
    """Return the first refusal if every item was refused, else None."""
    items = response if isinstance(response, tuple) else (response,)
    refusals = [getattr(item, "refusal", None) for item in items]
    found: Refusal | None = refusals[0] if refusals and all(refusals) else None
    return found


def _about(call: Call, answer: Done[Any]) -> About:
    return About(
        as_of=answer.end_offset - 1,
        history_start=call.service.answers.history_start,
        log_end=answer.end_offset,
        not_understood=call.service.image.provenance.not_understood,
    )


def _position(result: AppendResult) -> Appended:
    return Appended(
        records=result.end_offset - result.base_offset,
        first_offset=result.base_offset,
        last_offset=result.end_offset - 1,
        leader_epoch=result.leader_epoch,
        timestamp=result.timestamp,
    )


def _reply(*parts: msgspec.Struct) -> Reply:
    fields: dict[str, Any] = {}
    for part in parts:
        fields |= msgspec.to_builtins(part)
    return Reply(msgspec.json.encode(fields))
