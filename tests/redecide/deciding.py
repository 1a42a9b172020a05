"""Takes each decision of a log again, on the image before it, from what the log holds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from api.commands import BROKER_COMMANDS, COMMANDS, Command, find_command
from api.transactions import NAME as TRANSACTION
from api.transactions import Transact, transact
from controller.asked import ACTIVATE, BoundDecision, asked_of, request_of, settings_of
from controller.authorization.caller import Caller
from controller.controller import bootstrap
from controller.decisions.context import Context, Settings
from controller.decisions.levels import record_version
from controller.decisions.sessions import Sessions
from controller.latest import Latest, State
from controller.observed import recorded
from controller.raw_append import AppendRecords, AppendRows, append_records
from controller.result import ControllerResult
from controller.timers import TIMERS
from metadata_log.batch import Batch
from metadata_log.limits import BATCH_RECORDS_MAX
from metadata_log.log_reader import LogReader
from records.base import Record
from records.envelope import Asked, Envelope, Origin
from records.errors import MetadataLogError, RequestError
from replay.image.metadata import MetadataImage
from replay.timeline import Timeline

APPEND = "records append"
BOOTSTRAP = "bootstrap"

_TIMERS = {timer.name: timer.decide for timer in TIMERS}


class Redecided(msgspec.Struct, frozen=True, kw_only=True):
    """One decision of a log, taken again.

    `command` is None where the log does not say what was asked. `problem` is why it could not be
    taken again; `difference` what came out otherwise, None when nothing did.
    """

    offset: int
    command: str | None
    problem: str | None = None
    difference: str | None = None


def redecide(reader: LogReader) -> Iterator[Redecided]:
    """Take all decisions of a log again, in their order; none gets an answer from the log.

    Raises:
        CorruptLogError: the log is damaged.
    """
    start = reader.history_start
    image = Timeline.of(reader).image(start - 1) if start else MetadataImage.EMPTY
    latest = Latest(State.of(image), start)
    settings: Settings | None = None
    for batches in _decisions(reader.batches(start)):
        asked = batches[0].rows[0].asked
        if asked is not None and asked.command == ACTIVATE:
            settings = settings_of(asked, reader.cluster_id)
        elif asked is None:
            yield Redecided(offset=batches[0].base_offset, command=None)
        else:
            yield _redecided(asked, batches, latest, settings)
        for batch in batches:
            latest.apply(batch)


def _decisions(batches: Iterable[Batch]) -> Iterator[list[Batch]]:
    """Group the batches of one decision: all but the last one are full."""
    group: list[Batch] = []
    for batch in batches:
        if group and not _goes_on(group[-1], batch):
            yield group
            group = []
        group.append(batch)
    if group:
        yield group


def _goes_on(before: Batch, batch: Batch) -> bool:
    first, row = before.rows[0], batch.rows[0]
    return (
        len(before.rows) == BATCH_RECORDS_MAX
        and row.asked is None
        and _anonymous(first.origin) == _anonymous(row.origin)
    )


def _anonymous(origin: Origin | None) -> Origin | None:
    return origin and replace(origin, request_id=None, request_hash=None)


def _redecided(
    asked: Asked, batches: Sequence[Batch], latest: Latest, settings: Settings | None
) -> Redecided:
    rows = [row for batch in batches for row in batch.rows]
    found = Redecided(offset=rows[0].offset, command=asked.command)
    if settings is None:
        return replace(found, problem="no settings were kept")
    if latest.state.image.provenance.pending_transaction is not None:
        return replace(found, problem="it stands in a transaction of several decisions")
    try:
        bound = _bound(asked, rows)
    except RequestError as error:
        return replace(found, problem=str(error))
    context = _context(asked, rows, latest, settings)
    try:
        result = bound(context)
    except (MetadataLogError, AssertionError, LookupError) as error:
        return replace(found, difference=f"{type(error).__name__}: {error}")
    return replace(found, difference=_difference(asked, bound, result, context, rows))


def _context(asked: Asked, rows: Sequence[Envelope], latest: Latest, settings: Settings) -> Context:
    """Return what the decision read; the last row's batch carries the request's id."""
    origin = rows[-1].origin
    context = Context(
        image=latest.state.image,
        index=latest.state.index,
        sessions=Sessions(timeout_ms=settings.session_timeout_ms),
        settings=settings,
        rng=Random(),
        now_ms=rows[0].timestamp,
        next_offset=rows[0].offset,
        origin=origin,
        caller=Caller(principal=(origin and origin.principal) or ""),
    )
    return recorded(context, asked)


def _bound(asked: Asked, rows: Sequence[Envelope]) -> BoundDecision[Any]:
    """Return the decision that was taken, bound to its request.

    Raises:
        RequestError: the request was not kept, or the name is not known.
    """
    if asked.command in _TIMERS:
        return BoundDecision(asked.command, _TIMERS[asked.command])
    if asked.command == BOOTSTRAP:
        levels = request_of(asked, dict[str, int], _payloads(rows))
        return BoundDecision(BOOTSTRAP, bootstrap, levels)
    command = _find(rows, {**COMMANDS, **BROKER_COMMANDS}.get)(asked.command)
    request = request_of(asked, command.request, _payloads(rows))
    guard, decide = command.guard, command.decide
    return BoundDecision(
        asked.command,
        lambda context, request: guard.decide(decide, context, request),
        request,
        command.response,
    )


def _find(
    rows: Sequence[Envelope], find: Callable[[str], Command | None]
) -> Callable[[str], Command]:
    """Return what finds a command; records to append are those of the batch."""

    def found(name: str) -> Command:
        command = find(name)
        if command is None:
            raise RequestError("INVALID_REQUEST", f"there is no command {name!r}")
        if name == APPEND:
            return replace(command, decide=_append(rows))
        if name == TRANSACTION:
            return replace(command, decide=_transact(_find(rows, find_command)))
        return command

    return found


def _append(rows: Sequence[Envelope]) -> Callable[..., ControllerResult[Any]]:
    def decide(context: Context, request: AppendRows) -> ControllerResult[Any]:
        start = context.next_offset - rows[0].offset
        # A step of a transaction says how many are its own; else it is the whole batch.
        end = start + request.count if request.count else len(rows)
        return append_records(
            context,
            AppendRecords(
                records=_payloads(rows[start:end]),
                expected_end_offset=request.expected_end_offset,
                expected_versions=request.expected_versions,
            ),
        )

    return decide


def _transact(find: Callable[[str], Command]) -> Callable[..., ControllerResult[Any]]:
    def decide(context: Context, request: Transact) -> ControllerResult[Any]:
        return transact(context, request, find)

    return decide


def _difference(
    asked: Asked,
    bound: BoundDecision[Any],
    result: ControllerResult[Any],
    context: Context,
    rows: Sequence[Envelope],
) -> str | None:
    """Return the first record that differs, or a response that does; None when nothing does."""
    again = [(record_version(r, context.metadata_version), r) for r in result.records]
    stored = [(row.record_version, row.payload) for row in rows]
    for index, (new, old) in enumerate(zip(again, stored, strict=False)):
        if new != old:
            return f"record {index}: {new}, the log has {old}"
    if len(again) != len(stored):
        return f"{len(again)} records, the log has {len(stored)}"
    kept = asked_of(bound, result, context.origin, seed=asked.seed, seen={})
    if asked.response not in (None, kept.response):
        return f"response {kept.response!r}, the log has {asked.response!r}"
    return None


def _payloads(rows: Sequence[Envelope]) -> tuple[Record, ...]:
    return tuple([row.payload for row in rows])
