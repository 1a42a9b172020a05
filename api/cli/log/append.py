"""Appends the batches of a file, one after the other."""

import itertools
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager

import msgspec

from api.cli.log.append_target import AppendTarget
from api.cli.log.file_request import FileRequest, last_known
from api.requests.record_lines import LineBatch
from controller.decisions.versions import ExpectedVersion
from metadata_log.format.batch import AppendResult, NewBatch
from records.envelope import Origin
from records.errors import MetadataLogError, Outcome, RequestError

# Start of a service's error about one record of a batch.
_RECORD = re.compile(r"record (\d+) of \d+: ")


class Appended(msgspec.Struct, kw_only=True):
    """The result of a run of `append`. Offsets are inclusive, None if nothing was appended.

    Attributes:
        already_records: Number of the file's records that an earlier run appended.
        already_batches: Number of the file's batches that an earlier run appended.
        already_to: Offset of the last record that an earlier run appended; None if there was none.
    """

    records: int = 0
    batches: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    last_line: int | None = None
    already_records: int = 0
    already_batches: int = 0
    already_to: int | None = None

    @property
    def done_to(self) -> int | None:
        """Offset of the file's last record that is in the log."""
        return self.already_to if self.last_offset is None else self.last_offset

    def skip(self, batch: LineBatch, already_to: int) -> None:
        """Count a batch that an earlier run appended."""
        self.already_records += len(batch.records)
        self.already_batches += 1
        self.already_to = already_to
        self.last_line = batch.lines[-1]

    def add(self, batch: LineBatch, result: AppendResult) -> None:
        """Count a batch that this run appended."""
        self.records += len(batch.records)
        self.batches += 1
        if self.first_offset is None:
            self.first_offset = result.base_offset
        self.last_offset = result.end_offset - 1
        self.last_line = batch.lines[-1]


async def append_batches(
    open_target: Callable[[], AbstractAsyncContextManager[AppendTarget]],
    batches: Iterable[LineBatch],
    request: FileRequest,
    origin: Origin,
    *,
    expected_end_offset: int | None = None,
    expected_versions: tuple[ExpectedVersion, ...] = (),
) -> Appended:
    """Append the batches that are not in the log yet, in order, until one is refused.

    The target is opened only after the first batch was read successfully.

    Args:
        expected_end_offset: The log's end before the first batch.
        expected_versions: Versions that objects must have before the first batch.

    Raises:
        MetadataLogError: the message says what was appended and how to continue; the outcome is
            partial if some batches were appended.
    """
    rest = iter(batches)
    first = list(itertools.islice(rest, 1))
    done = Appended()
    if not first:
        return done
    async with open_target() as target:
        known = await last_known(target, request, origin)
        if known is not None:
            expected_end_offset, expected_versions = None, ()  # only for the first batch
        ordinals = itertools.count()
        try:
            for ordinal, batch in zip(ordinals, itertools.chain(first, rest), strict=False):
                if known is not None and ordinal <= known[0]:
                    done.skip(batch, known[1].end_offset - 1)
                    continue
                new = NewBatch(
                    records=batch.records,
                    payloads=batch.payloads,
                    origin=request.origin(origin, ordinal),
                )
                try:
                    result = await target.append(
                        new,
                        expected_end_offset=expected_end_offset,
                        expected_versions=expected_versions,
                    )
                except MetadataLogError as error:
                    raise _of_lines(error, batch) from error
                done.add(batch, result)
                expected_end_offset, expected_versions = None, ()
        except MetadataLogError as error:
            raise _with_account(error, done) from error
    return done


def _of_lines(error: MetadataLogError, batch: LineBatch) -> MetadataLogError:
    """Return the error with the batch's range of lines added to the message."""
    text = str(error)
    record = _RECORD.match(text)
    if record is not None:
        where, text = f"line {batch.lines[int(record[1]) - 1]}", text[record.end() :]
    else:
        first, last = batch.lines[0], batch.lines[-1]
        where = f"line {first}" if first == last else f"lines {first} to {last}"
    return error.with_outcome(error.outcome, f"{where}: {text}", done_to=error.done_to)


def _with_account(error: MetadataLogError, done: Appended) -> MetadataLogError:
    """Return the error with a longer message: what was appended so far, and how to continue."""
    outcome = error.outcome
    if outcome is Outcome.NOTHING and done.done_to is not None:
        outcome = Outcome.PARTIAL
    done_to = done.done_to if outcome is Outcome.PARTIAL else None
    parts = (str(error), *_stands(error, done), _next_step(error, done))
    return error.with_outcome(outcome, "; ".join(parts), done_to=done_to)


def _stands(error: MetadataLogError, done: Appended) -> list[str]:
    if done.done_to is not None:
        records = done.records + done.already_records
        return [
            f"the {records} records before, lines up to {done.last_line}, are committed up to "
            f"offset {done.done_to}"
        ]
    is_stated = error.outcome is Outcome.UNKNOWN or "nothing was written" in str(error)
    return [] if is_stated else ["nothing was written"]


def _next_step(error: MetadataLogError, done: Appended) -> str:
    again = "run the same command again: what is committed is not appended twice"
    if error.outcome is Outcome.UNKNOWN:
        return (
            again if "the outcome is unknown" in str(error) else f"the outcome is unknown; {again}"
        )
    if not isinstance(error, RequestError):
        return again
    if error.code == "INVALID_UPDATE_VERSION":
        return "the file is not at fault: look at what changed, and expect that"
    if done.last_line is None:
        return "mend the file"
    return f"mend what follows line {done.last_line}, and append only that"
