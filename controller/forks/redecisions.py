"""Makes each decision of a log again, on the image before it, to verify its records."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from controller.asked.asked import ACTIVATE, BoundDecision, asked_of, settings_of
from controller.asked.kept_answers import decode_answer
from controller.decisions.context.context import Context, Settings
from controller.decisions.levels import record_version
from controller.forks.commands import Commands
from controller.forks.recorded import recorded_decisions
from controller.forks.requests import bound_again, past_context
from controller.pipeline.latest import Latest, State
from controller.results.result import ControllerResult
from metadata_log.format.batch import Batch
from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.envelope import Asked, Envelope
from records.errors import MetadataLogError, RequestError
from replay.image.metadata import MetadataImage
from replay.timeline import Timeline


class Redecided(msgspec.Struct, frozen=True, kw_only=True):
    """One decision of a log, made again.

    `command` is None if the log does not have the request. `problem` is the reason why the decision
    could not be made again. `difference` is the first difference between the new result and the
    log; None if both are equal.
    """

    offset: int
    command: str | None
    problem: str | None = None
    difference: str | None = None


def redecide(reader: LogReader, commands: Commands) -> Iterator[Redecided]:
    """Make all decisions of a log again, in order; each starts from the logged state before it.

    Raises:
        CorruptLogError: the log is damaged.
    """
    start = reader.history_start
    image = Timeline.of(reader).image(start - 1) if start else MetadataImage.EMPTY
    latest = Latest(State.of(image), start)
    settings: Settings | None = None
    for batches in recorded_decisions(reader.batches(start)):
        asked = batches[0].rows[0].asked
        if asked is not None and asked.command == ACTIVATE:
            settings = settings_of(asked, reader.cluster_id)
        elif asked is None:
            yield Redecided(offset=batches[0].base_offset, command=None)
        else:
            yield _redecided(asked, batches, latest, settings, commands)
        for batch in batches:
            latest.apply(batch)


def _redecided(
    asked: Asked,
    batches: Sequence[Batch],
    latest: Latest,
    settings: Settings | None,
    commands: Commands,
) -> Redecided:
    rows = [row for batch in batches for row in batch.rows]
    found = Redecided(offset=rows[0].offset, command=asked.command)
    if settings is None:
        return replace(found, problem="no settings were kept")
    if latest.state.image.provenance.pending_transaction is not None:
        return replace(found, problem="it stands in a transaction of several decisions")
    try:
        bound = bound_again(asked, rows, commands)
    except RequestError as error:
        return replace(found, problem=str(error))
    context = past_context(rows, latest.state, settings, asked)
    try:
        result = bound(context)
    except MetadataLogError as error:
        return replace(found, difference=f"{type(error).__name__}: {error}")
    return replace(found, difference=_difference(asked, bound, result, context, rows))


def _difference(
    asked: Asked,
    bound: BoundDecision[Any],
    result: ControllerResult[Any],
    context: Context,
    rows: Sequence[Envelope],
) -> str | None:
    """Return a text for the first record, or the response, that differs; None if all are equal."""
    found = different_record(result.records, context, rows)
    if found is not None:
        return found
    if asked.response is None:
        return None
    response, _ = decode_answer(asked.response)
    anew = asked_of(bound, result, context.origin, seed=asked.seed, seen={}).response
    if response != anew:
        return f"response {anew!r}, the log has {response!r}"
    return None


def different_record(
    records: Sequence[Record], context: Context, rows: Sequence[Envelope]
) -> str | None:
    """Return a text for the first record or layout version that differs from the log, or None."""
    again = [(record_version(record, context.metadata_version), record) for record in records]
    stored = [(row.record_version, row.payload) for row in rows]
    for index, (new, old) in enumerate(zip(again, stored, strict=False)):
        if new != old:
            return f"record {index}: {new}, the log has {old}"
    if len(again) != len(stored):
        return f"{len(again)} records, the log has {len(stored)}"
    return None
