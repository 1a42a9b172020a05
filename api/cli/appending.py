"""Raw records into an own log, each batch checked against the state that it will change."""

import itertools
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from api.cli.record_lines import LineBatch, invalid
from metadata_log.batch import NewBatch
from metadata_log.log import MetadataLog
from metadata_log.log_reader import LogReader
from records.control import AbortTransactionRecord
from records.envelope import Origin
from records.errors import CorruptLogError, RequestError
from replay.loader import Replayer, load_image

# How replay begins what it says of a record.
_OFFSET = re.compile(r"offset (\d+): ")


class Appended(msgspec.Struct, kw_only=True):
    """What was written. Offsets are inclusive, None when nothing was.

    `pending_transaction` is the offset of a Begin without an end: until then nothing of it is
    visible, and the next writer aborts it.
    """

    records: int = 0
    batches: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    last_line: int | None = None
    pending_transaction: int | None = None


async def append_batches(directory: Path, batches: Iterable[LineBatch], origin: Origin) -> Appended:
    """Append batches one after the other; each is replayed before it is written.

    The log is taken over only when the first batch is known to be readable.

    Raises:
        RequestError: INVALID_RECORD, a line is no record or contradicts the state before it;
            nothing of its batch was written, and the message says what of those before was.
        UnavailableError: another process writes the log.
    """
    rest = iter(batches)
    first = list(itertools.islice(rest, 1))
    if not first:
        return Appended()
    log = await MetadataLog.open(directory)
    done = Appended()
    try:
        replayer = await _take_over(log, directory)
        for batch in itertools.chain(first, rest):
            await _append(log, replayer, batch, origin, done)
        done.pending_transaction = replayer.image().provenance.pending_transaction
    except RequestError as error:
        raise RequestError(error.code, f"{error}; {_so_far(done)}") from error
    finally:
        await log.close()
    return done


async def _take_over(log: MetadataLog, directory: Path) -> Replayer:
    """Return the state at the log's end; what a writer that is gone left open is aborted."""
    with LogReader.open(directory) as reader:
        image = load_image(reader)
    if image.provenance.pending_transaction is not None:
        abort = AbortTransactionRecord(reason="the writer that began it is gone")
        await log.append(NewBatch(records=(abort,)))
    return Replayer(image, next_offset=log.end_offset)


async def _append(
    log: MetadataLog, replayer: Replayer, batch: LineBatch, origin: Origin, done: Appended
) -> None:
    base = log.end_offset
    try:
        replayer.replay(batch.at(base, log.leader_epoch))
    except CorruptLogError as error:
        raise _contradiction(batch, base, str(error)) from error
    new = NewBatch(records=batch.records, record_versions=batch.versions, origin=origin)
    result = await log.append(new, expected_end_offset=base)
    done.records += len(batch.records)
    done.batches += 1
    done.first_offset = result.base_offset if done.first_offset is None else done.first_offset
    done.last_offset = result.end_offset - 1
    done.last_line = batch.lines[-1]


def _contradiction(batch: LineBatch, base_offset: int, what: str) -> RequestError:
    found = _OFFSET.match(what)
    offset = int(found[1]) if found else base_offset
    if offset < base_offset:
        # Of a transaction: its records are checked when it ends.
        return invalid(batch.lines[0], f"ends a transaction that cannot be: {what}")
    line = batch.lines[offset - base_offset]
    return invalid(
        line, f"contradicts the state before it: {what.removeprefix(found[0] if found else '')}"
    )


def _so_far(done: Appended) -> str:
    if done.last_line is None:
        return "nothing was written"
    return (
        f"lines up to {done.last_line} were written, offsets {done.first_offset} to "
        f"{done.last_offset}"
    )
