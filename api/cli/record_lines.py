"""Records as JSON lines, in the shape that `dump --json` prints, read into batches."""

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import msgspec

from metadata_log.batch import Batch
from metadata_log.limits import BATCH_SIZE_BYTES_MAX
from records import control, registry
from records.avro import reference
from records.base import Record
from records.envelope import Envelope
from records.errors import RequestError
from records.json import from_json
from records.secrets import REDACTED

# JSON takes more room than the batch it becomes; a line beyond this cannot be one.
_LINE_SIZE_BYTES_MAX = 4 * BATCH_SIZE_BYTES_MAX

_BY_THE_LOG_ITSELF = (
    control.LeaderChangeMessage,
    control.SnapshotHeaderRecord,
    control.SnapshotFooterRecord,
    control.NoOpRunRecord,
)
"""Records that say where they stand: a log writes them, nobody else does."""


class LineBatch(msgspec.Struct, frozen=True):
    """Records of one batch, each with its layout version and the line it stands in."""

    records: tuple[Record, ...]
    versions: tuple[int, ...]
    lines: tuple[int, ...]

    def at(self, base_offset: int, leader_epoch: int) -> Batch:
        """Return the batch as it would stand in a log."""
        return Batch.of(
            [
                Envelope(
                    offset=base_offset + index,
                    leader_epoch=leader_epoch,
                    timestamp=0,
                    batch_offset=base_offset,
                    record_version=version,
                    payload=record,
                )
                for index, (record, version) in enumerate(
                    zip(self.records, self.versions, strict=True)
                )
            ]
        )


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """A line. What else `dump` prints is allowed, and left aside: the log gives its own."""

    type: str
    data: dict[str, Any]
    record_version: int | None = None
    batch_offset: int | None = None
    offset: int | None = None
    leader_epoch: int | None = None
    timestamp: int | None = None
    origin: Any = None
    extra: Any = None


class _Parsed(msgspec.Struct, frozen=True):
    record: Record
    version: int
    line: int
    batch_offset: int | None


def line_batches(
    source: BinaryIO,
    *,
    size: int | None,
    skip: frozenset[str] = frozenset(),
    progress: Callable[[int], None] = lambda size_bytes: None,
) -> Iterator[LineBatch]:
    """Read lines into batches, one batch in memory at a time; empty lines are nothing.

    Args:
        size: Records a batch; None: what `dump` printed as one batch is one again.
        skip: Names of record types that are left out.
        progress: Called with the number of bytes read.

    Raises:
        RequestError: INVALID_RECORD, names the line. No batch that it belongs to was yielded.
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


def _batch(parsed: list[_Parsed]) -> LineBatch:
    return LineBatch(
        tuple([each.record for each in parsed]),
        tuple([each.version for each in parsed]),
        tuple([each.line for each in parsed]),
    )


def _parsed(
    source: BinaryIO, skip: frozenset[str], progress: Callable[[int], None]
) -> Iterator[_Parsed]:
    number = size_bytes = 0
    while text := source.readline(_LINE_SIZE_BYTES_MAX):
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


def invalid(line: int, what: str) -> RequestError:
    """Say which line cannot be appended, and why."""
    return RequestError("INVALID_RECORD", f"line {line}: {what}")


def _decoded(text: bytes) -> _Line:
    if len(text) == _LINE_SIZE_BYTES_MAX:
        raise ValueError(f"more than {_LINE_SIZE_BYTES_MAX} bytes in one line")
    try:
        return msgspec.json.decode(text, type=_Line)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise ValueError(
            f'{error}; a line is {{"type": "TopicRecord", "data": {{...}}}}, as `metalog dump '
            "--json` prints it"
        ) from error


def _parse(line: _Line, number: int) -> _Parsed:
    if _holds_redacted(line.data):
        raise ValueError(
            f"{line.type} holds {REDACTED!r} instead of a secret; dump it with --show-secrets"
        )
    record = from_json(line.type, line.data)
    if isinstance(record, _BY_THE_LOG_ITSELF):
        raise ValueError(
            f"a {line.type} is written by a log itself; leave it out with --skip {line.type}"
        )
    newest = registry.newest_version(type(record))
    version = newest if line.record_version is None else line.record_version
    if not isinstance(record, control.UnknownRecord) and not 0 <= version <= newest:
        raise ValueError(f"{line.type} has versions 0 to {newest}, not {version}")
    reference.check_record(record)
    return _Parsed(record, version, number, line.batch_offset)


def _holds_redacted(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_redacted(item) for item in value.values())
    if isinstance(value, list):
        return any(_holds_redacted(item) for item in value)
    return bool(value == REDACTED)
