"""Parses records as JSON lines, in the form that `dump --json` prints, into batches."""

import contextlib
import functools
import typing
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import IO, Any

import msgspec

from api.requests.json_errors import json_error
from metadata_log.limits import BATCH_SIZE_BYTES_MAX
from records import control, registry
from records.avro import reference
from records.avro.codec import encoders_of
from records.avro.layout import NEWEST
from records.base import Record
from records.errors import RequestError
from records.json import from_json
from records.secrets import REDACTED

EXAMPLE = '{"type": "NoteRecord", "data": {"at_offset": 0, "author": "ann", "text": "seen"}}\n'

# JSON is larger than the batch it becomes, so a longer line cannot be one.
LINE_SIZE_BYTES_MAX = 4 * BATCH_SIZE_BYTES_MAX

_BY_THE_LOG_ITSELF = (
    control.LeaderChangeMessage,
    control.SnapshotHeaderRecord,
    control.SnapshotFooterRecord,
    control.NoOpRunRecord,
    control.KRaftVersionRecord,
    control.VotersRecord,
    control.UnknownRecord,
)
"""Types of records that only the log itself writes, and unknown records."""

_BRACKETS = (
    control.BeginTransactionRecord,
    control.EndTransactionRecord,
    control.AbortTransactionRecord,
)

_ENCODING_ERRORS = (AttributeError, LookupError, OverflowError, TypeError, ValueError)
"""Exceptions that encoders raise for a value that does not fit."""


class LineBatch(msgspec.Struct, frozen=True):
    """Records of one batch, each with its line number; `payloads` as in `NewBatch`."""

    records: tuple[Record, ...]
    lines: tuple[int, ...]
    payloads: tuple[bytes, ...]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """A parsed line. Offset, epoch and time are ignored: the log assigns new ones."""

    type: str
    data: dict[str, Any]
    record_version: int | None = None
    batch_offset: int | None = None
    offset: int | None = None
    leader_epoch: int | None = None
    timestamp: int | None = None
    origin: Any = None
    extra: Any = None
    asked: Any = None


class _BatchOffset(msgspec.Struct):
    batch_offset: int | None = None


class _Parsed(msgspec.Struct, frozen=True):
    record: Record
    payload: bytes
    line: int
    batch_offset: int | None


def line_batches(
    source: IO[bytes],
    *,
    size: int | None,
    skip: frozenset[str] = frozenset(),
    progress: Callable[[int], None] = lambda size_bytes: None,
) -> Iterator[LineBatch]:
    """Parse lines into batches, one batch in memory at a time; empty lines are ignored.

    Args:
        size: Records per batch; None: the same batches as in the log that `dump` printed.
        skip: Names of record types to leave out.
        progress: Called with the number of bytes read.

    Raises:
        RequestError: INVALID_RECORD; the message gives the line. The batch that contains the line
            is not yielded.
    """
    waiting: list[_Parsed] = []
    for parsed in _parsed(source, skip, progress):
        is_full = len(waiting) == size
        if size is None:
            is_full = bool(waiting) and waiting[-1].batch_offset != parsed.batch_offset
        if is_full:
            yield _batch(waiting)
            waiting = []
        waiting.append(parsed)
    if waiting:
        yield _batch(waiting)


def batch_count_max(lines: Iterable[bytes], size: int | None) -> int:
    """Return an upper bound of the number of batches; lines are not checked, and `skip` is ignored.

    Args:
        size: Records per batch; None: the batches in the log that `dump` printed.
    """
    if size is not None:
        return -(-sum(1 for _ in lines) // size)
    return sum(1 for _ in groupby(map(_batch_offset, lines)))


def _batch_offset(text: bytes) -> int | None:
    try:
        return msgspec.json.decode(text, type=_BatchOffset).batch_offset
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None  # refused later, when it is parsed


def _batch(parsed: list[_Parsed]) -> LineBatch:
    return LineBatch(
        tuple([each.record for each in parsed]),
        tuple([each.line for each in parsed]),
        tuple([each.payload for each in parsed]),
    )


def _parsed(
    source: IO[bytes], skip: frozenset[str], progress: Callable[[int], None]
) -> Iterator[_Parsed]:
    number = size_bytes = 0
    while text := source.readline(LINE_SIZE_BYTES_MAX):
        number += 1
        size_bytes += len(text)
        progress(size_bytes)
        if not text.strip():
            continue
        try:
            line = _decoded(text)
            if line.type not in skip:
                yield _parse(line, number)
        except ValueError as error:
            raise invalid(number, str(error)) from error
        except RecursionError as error:
            raise invalid(number, "the JSON is nested too deeply") from error


def invalid(line: int, what: str) -> RequestError:
    """Return the error for a line that cannot be appended."""
    return RequestError("INVALID_RECORD", f"line {line}: {what}")


def _decoded(text: bytes) -> _Line:
    if len(text) == LINE_SIZE_BYTES_MAX:
        raise ValueError(f"the line has more than {LINE_SIZE_BYTES_MAX} bytes")
    try:
        return msgspec.json.decode(text, type=_Line)
    except msgspec.DecodeError as error:
        raise ValueError(
            f'{json_error(text, error)}; a line is {{"type": "TopicRecord", "data": {{...}}}}, as '
            "`metalog dump --json` prints it"
        ) from error


def _parse(line: _Line, number: int) -> _Parsed:
    if _holds_redacted(line.data):
        raise ValueError(
            f"{line.type} holds {REDACTED!r} instead of a secret; dump the log with --show-secrets"
        )
    record = _record(line)
    if isinstance(record, _BY_THE_LOG_ITSELF):
        raise ValueError(
            f"{line.type} is written by a log itself; leave it out with --skip {line.type}"
        )
    if isinstance(record, _BRACKETS):
        raise ValueError(
            f"{line.type} is written by the service; leave out the markers of a completed "
            f"transaction with --skip {line.type}, and remove all lines of an aborted one"
        )
    newest = registry.newest_version(type(record))
    version = newest if line.record_version is None else line.record_version
    if not 0 <= version <= newest:
        raise ValueError(f"{line.type} has versions 0 to {newest}, not {version}")
    return _Parsed(record, _payload(record), number, line.batch_offset)


def _record(line: _Line) -> Record:
    """Return the record of a line; the message of an error gives the field."""
    cls = registry.BY_NAME.get(line.type)
    if cls is not None and line.data.keys() <= _scalar_fields(cls):
        # In one step, without the names of fields for errors.
        with contextlib.suppress(msgspec.ValidationError):
            return msgspec.convert(line.data, cls)
    return from_json(line.type, line.data)


_SCALARS = (bool, int, float, str, type(None))


@functools.cache
def _scalar_fields(cls: type[Record]) -> frozenset[str]:
    """Return the fields of a record type whose values need no conversion from JSON."""
    return frozenset(
        [
            name
            for name, hint in typing.get_type_hints(cls).items()
            if all(each in _SCALARS for each in typing.get_args(hint) or (hint,))
        ]
    )


def _payload(record: Record) -> bytes:
    """Return a record in the form in which the log stores it.

    Raises:
        ValueError: a value does not fit its schema; the message gives the field.
    """
    try:
        return encoders_of(NEWEST.field_count)[type(record)](record)
    except _ENCODING_ERRORS:
        # Ten times slower, but it finds the field.
        reference.check_record(record)
        raise


def _holds_redacted(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_redacted(item) for item in value.values())
    if isinstance(value, list):
        return any(_holds_redacted(item) for item in value)
    return bool(value == REDACTED)
