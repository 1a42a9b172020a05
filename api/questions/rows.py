"""Questions about the records of a log: those in a range, and new ones as they are appended."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from api.questions.envelope_json import asked_json, origin_json
from api.questions.past import Past
from api.questions.question import Computed, Question
from metadata_log.limits import MIB
from metadata_log.reader.log_reader import LogReader
from records import registry
from records.control import UnknownRecord
from records.envelope import Asked, Envelope
from records.errors import CorruptLogError, RequestError
from records.json import fields_json, to_json
from records.secrets import redact_record
from records.topics import MoveTopicRecord
from replay.time_travel.objects import parse_object

if TYPE_CHECKING:
    from records.kafka.tables import Tables
    from replay.time_travel.object_events import Event

TAIL_BYTES = MIB
"""An answer to `FollowRows` ends with the batch that reaches this size."""


class RowByTable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record unknown to this release, decoded by a mirror's table; `error`: why that failed.

    A mirror's tables are message files of Kafka that describe such records. For a record type that
    this release knows, `fields` has only the unknown tagged fields, by path.
    """

    type: str
    fields: dict[str, Any] | None = None
    error: str | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A record with its place, in the shape of `dump --json`: `data` has its fields.

    `by_table`: the record, or tagged fields of it, if this release does not know them but the
    mirror's tables describe them.
    """

    offset: int
    leader_epoch: int
    timestamp: int
    batch_offset: int
    record_version: int
    origin: dict[str, Any] | None
    type: str
    data: dict[str, Any]
    extra: dict[str, Any] | UnsetType = UNSET
    asked: dict[str, Any] | UnsetType = UNSET
    by_table: RowByTable | UnsetType = UNSET


class ShowRows(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for records from a point on: all, only some types, or only those that changed an object.

    `asked`: with the first record of each decision, also return the stored request.
    """

    first: str = "start"
    types: tuple[str, ...] = ()
    object: str | None = None
    asked: bool = False
    show_secrets: bool = False


def check_types(names: Iterable[str]) -> None:
    """Check that these record types exist.

    Raises:
        RequestError: INVALID_REQUEST, a type does not exist.
    """
    for name in names:
        if name not in registry.BY_NAME:
            raise RequestError("INVALID_REQUEST", f"{name!r} is not a record type")


def rows_shown(past: Past, at: int, request: ShowRows) -> Computed:
    """Return records up to an offset.

    Raises:
        RequestError: the object did not exist in the range, or there is no such record type.
    """
    check_types(request.types)
    first = past.first_offset(request.first, at)
    items = (
        row_json(
            row,
            show_secrets=request.show_secrets,
            show_asked=request.asked,
            reader=past.reader,
        )
        for row in _rows(past, first, at, request.object)
        if not request.types or type(row.payload).__name__ in request.types
    )
    return Computed(items=items, about=lambda: past.about(at))


def _rows(past: Past, first: int, last: int, object_: str | None) -> Iterator[Envelope]:
    if object_ is not None:
        events = past.timeline.history(parse_object(object_), last + 1, from_offset=first)
        yield from (event.row for event in events if not (past.by_name and _moves_away(event)))
        return
    yield from _range(past, first, last + 1)


def _moves_away(event: "Event") -> bool:
    """True if the event is a topic's move away from its name; the record has the new name."""
    return event.removed and isinstance(event.row.payload, MoveTopicRecord)


def _range(past: Past, first: int, end: int) -> Iterable[Envelope]:
    for batch in past.reader.batches(first, end):
        yield from (row for row in batch.rows if first <= row.offset < end)


class FollowRows(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the next records from a point on; the point "" is the log's end.

    If the point is an offset and there are no records yet, a service waits for up to `wait_ms`.
    """

    first: str = ""
    types: tuple[str, ...] = ()
    asked: bool = False
    show_secrets: bool = False
    wait_ms: int = 0


class RowsFollowed(msgspec.Struct, frozen=True, kw_only=True):
    """Some records, and the offset from which to request the next records."""

    rows: tuple[Row, ...]
    next_offset: int


def rows_followed(past: Past, at: int, request: FollowRows) -> Computed:
    """Return about 1 MiB of records in whole batches, up to an offset.

    Raises:
        RequestError: there is no such record type.
    """
    check_types(request.types)
    first = first_followed(past, request.first)
    found: list[Row] = []
    size, next_offset = 0, first
    for row in _range(past, first, at + 1):
        if size >= TAIL_BYTES and row.offset == row.batch_offset:
            break
        next_offset = row.offset + 1
        if not request.types or type(row.payload).__name__ in request.types:
            shown = row_json(
                row,
                show_secrets=request.show_secrets,
                show_asked=request.asked,
                reader=past.reader,
            )
            found.append(shown)
            size += len(msgspec.msgpack.encode(shown))
    answer = RowsFollowed(rows=tuple(found), next_offset=next_offset)
    return Computed(answer=answer, about=lambda: past.about(at))


_DIGITS_MAX = 19
"""Digits of a 64-bit integer; `int` refuses thousands of digits."""


def is_offset(text: str) -> bool:
    """True if the text is an offset in ASCII digits; `str.isdigit` also accepts other digits."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX


def first_followed(past: Past, point: str) -> int:
    """Return the offset at which to start following; the record there may not exist yet.

    Args:
        point: An offset or time; "" is the end of the log.
    """
    if not point:
        return past.reader.end_offset
    if is_offset(point):
        return int(point)
    return max(past.range_start(point), past.reader.start_offset)


def row_json(
    row: Envelope,
    *,
    show_secrets: bool,
    show_asked: bool = False,
    reader: LogReader | None = None,
) -> Row:
    """Return a row in the shape of `dump --json`.

    Args:
        reader: A log whose tables also decode records that this release does not know.
    """
    asked = row.asked if show_asked else None
    if asked is not None and not show_secrets:
        asked = _without_seed_of_token(asked)
    return Row(
        offset=row.offset,
        leader_epoch=row.leader_epoch,
        timestamp=row.timestamp,
        batch_offset=row.batch_offset,
        record_version=row.record_version,
        origin=origin_json(row.origin),
        type=type(row.payload).__name__,
        data=_fields(row, show_secrets=show_secrets),
        extra=UNSET if row.extra is None or not show_secrets else fields_json(row.extra),
        asked=UNSET if asked is None else asked_json(asked),
        by_table=UNSET if reader is None else _by_table(row, reader),
    )


def _by_table(row: Envelope, reader: LogReader) -> RowByTable | UnsetType:
    record = row.payload
    if not isinstance(record, UnknownRecord):
        return _tags_by_table(row, reader.tables)
    name = reader.tables.name(record)
    if name is None:
        return UNSET
    try:
        named = reader.tables.decoded(record)
    except CorruptLogError as error:
        return RowByTable(type=name, error=f"the table does not fit: {error}")
    assert named is not None
    return RowByTable(type=name, fields=named.fields)


def _tags_by_table(row: Envelope, tables: "Tables") -> RowByTable | UnsetType:
    unknown = () if row.extra is None else row.extra.unknown_tags
    record = type(row.payload)
    try:
        found = [tables.tag(record, row.record_version, each) for each in unknown]
    except CorruptLogError as error:
        return RowByTable(type=record.__name__, error=f"the table does not fit: {error}")
    named = [each for each in found if each is not None]
    if not named:
        return UNSET
    return RowByTable(type=record.__name__, fields={each.path: each.value for each in named})


def _without_seed_of_token(asked: Asked) -> Asked:
    """Return a logged request, without its random seed if the seed would reveal a token id."""
    return replace(asked, seed=None) if asked.command in _DRAW_TOKENS else asked


def _fields(row: Envelope, *, show_secrets: bool) -> dict[str, Any]:
    fields = to_json(row.payload)
    return fields if show_secrets else redact_record(type(row.payload).__name__, fields)


_DRAW_TOKENS = ("tokens create", "transaction")

DUMP = Question(name="dump", request=ShowRows, item=Row, tell=rows_shown)
TAIL = Question(name="tail", request=FollowRows, answer=RowsFollowed, tell=rows_followed)
