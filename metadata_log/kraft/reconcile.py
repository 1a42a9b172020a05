"""Comparison of a mirror with its source: where to continue reading, and where to cut the mirror
first.

Two Kafka logs of a cluster are equal up to an offset if they have the same leader epoch there. So
as long as nothing was replaced, checking the mirror's last batch is enough. If it differs, batches
are compared from the confirmed end on, until their epochs differ.

An equal epoch proves nothing if a cluster was set up again with the id of an earlier one. So times
are compared, too, and CRCs where the mirror has the whole batch.

Source: KIP-595 (diverging epochs).
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from metadata_log.format.batch import Batch
from metadata_log.kraft.damage import corrupt
from metadata_log.kraft.directory import KraftDirectory
from metadata_log.kraft_format.batch import BatchHeader, LogPosition, PlacedHeader
from metadata_log.reader.log_reader import LogReader
from metadata_log.reader.position import source_crc
from records.control import NoOpRunRecord
from records.errors import RequestError
from records.text import time_text


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """How to bring a mirror up to date with its source.

    The mirror is cut at `end_offset`, unless it ends there already; `last_timestamp` is the append
    time of the batch before that offset. Then the source is read from the batch after `position`,
    or from its start if `position` is None. `source_end` is set if there is nothing to read: the
    source ends inside the mirror, and the two are equal up to that end.
    """

    end_offset: int
    last_timestamp: int = 0
    position: LogPosition | None = None
    source_end: int | None = None


def reconcile(
    source: KraftDirectory, mirror: LogReader, *, may_replace_all: bool = False
) -> Continuation:
    """Compare a source with its mirror.

    Args:
        may_replace_all: Allow a source that has no batch in common with the mirror.

    Raises:
        RequestError: the source is not the log that was imported, or no longer has the next
            records; names offsets and epochs.
        CorruptLogError: source or mirror is damaged.
        UnavailableError: Kafka removed a file meanwhile.
    """
    end, start = mirror.end_offset, source.start_offset
    if end < start:
        raise _gap(source, mirror, end)
    if end == start:
        if not _continues(source, mirror):
            raise _gap(source, mirror, mirror.confirmed_end)
        return Continuation(end_offset=end)
    last = _last_below(source, end)
    if last is not None and last.header.end_offset == end:
        batch = _batch_at(mirror, end - 1)
        if batch is None or is_same_batch(source.path, last.header, batch):
            return Continuation(end_offset=end, position=last.position)
    return _parting(source, mirror, may_replace_all=may_replace_all)


def confirmed_by(source: KraftDirectory, mirror: LogReader) -> int:
    """Return the end of the mirror's part that the source's checkpoints prove to be committed.

    Raises:
        CorruptLogError: a checkpoint is damaged, or of another history.
        UnavailableError: Kafka removed a checkpoint meanwhile.
    """
    for checkpoint in reversed(source.checkpoints):
        end = checkpoint.end_offset
        if end <= mirror.confirmed_end:
            break
        if end > mirror.end_offset:
            continue
        checkpoint.verify()
        batch = _batch_at(mirror, end - 1)
        if batch is not None and batch.leader_epoch != checkpoint.leader_epoch:
            what = f"its last offset has epoch {batch.leader_epoch} in {mirror.directory}"
            raise corrupt(checkpoint.path, 0, what)
        return end
    return mirror.confirmed_end


def _parting(source: KraftDirectory, mirror: LogReader, *, may_replace_all: bool) -> Continuation:
    """Compare source and mirror batch by batch, from the confirmed end on."""
    first = max(mirror.confirmed_end - 1, mirror.start_offset, source.start_offset)
    batches = mirror.batches(first) if first < mirror.end_offset else iter(())
    batch: Batch | None = None
    before = _last_below(source, first)
    for placed in _headers(source, first):
        header = placed.header
        if header.base_offset >= mirror.end_offset:
            break
        last_offset = min(header.end_offset, mirror.end_offset) - 1
        while batch is None or batch.end_offset <= last_offset:
            batch = next(batches)
        if not is_same_batch(source.path, header, batch):
            found = _cut(source, mirror, before, placed, batch)
            if before is None and not may_replace_all:
                raise _nothing_in_common(source, mirror, placed.header, batch)
            return found
        before = placed
    if before is not None and before.header.end_offset <= first:
        _check_is_behind(source, mirror, before.header)
    return Continuation(
        end_offset=mirror.end_offset,
        source_end=source.start_offset if before is None else before.header.end_offset,
    )


def _check_is_behind(source: KraftDirectory, mirror: LogReader, last: BatchHeader) -> None:
    """Check that a source which ends in the mirror's confirmed part equals the mirror up to there.

    Only the source's last batch is compared: logs with the same last batch are equal before it.

    Raises:
        RequestError: the source is another log.
    """
    batch = _batch_at(mirror, last.end_offset - 1)
    if batch is not None and not is_same_batch(source.path, last, batch):
        raise _another_log(source, mirror, last, batch)


def _cut(
    source: KraftDirectory,
    mirror: LogReader,
    before: PlacedHeader | None,
    other: PlacedHeader,
    batch: Batch,
) -> Continuation:
    """Return the continuation that cuts the mirror before the first batch that differs."""
    end = other.header.base_offset
    if end < mirror.confirmed_end:
        raise _another_log(source, mirror, other.header, batch)
    if before is None and end > max(mirror.confirmed_end, 0) and end == source.start_offset:
        raise _gap(source, mirror, mirror.confirmed_end)
    return Continuation(
        end_offset=end,
        last_timestamp=0 if before is None else before.header.base_timestamp,
        position=None if before is None else before.position,
    )


def _nothing_in_common(
    source: KraftDirectory, mirror: LogReader, header: BatchHeader, batch: Batch
) -> RequestError:
    return RequestError(
        "INCONSISTENT_CLUSTER_ID",
        f"{source.path} has no batch in common with {mirror.directory}: at offset "
        f"{header.base_offset} it has leader epoch {header.leader_epoch}, the mirror has epoch "
        f"{batch.leader_epoch}. Kafka replaces only the end of a log, so this is another log, or "
        "the cluster lost its metadata; import it into a new LOG, or copy the mirror (`metalog "
        f"backup`) and repeat with --replace-all, which removes offsets {header.base_offset} to "
        f"{mirror.end_offset - 1} of it",
    )


def _another_log(
    source: KraftDirectory, mirror: LogReader, header: BatchHeader, batch: Batch
) -> RequestError:
    return RequestError(
        "INCONSISTENT_CLUSTER_ID",
        f"{source.path} is not the log that {mirror.directory} was imported from: at offset "
        f"{header.end_offset - 1} it has leader epoch {header.leader_epoch}, the mirror has epoch "
        f"{batch.leader_epoch}, and offsets below {mirror.confirmed_end} are committed, so they "
        "never change; name the directory of another node, or import this one into a new LOG",
    )


def is_same_batch(source: Path | str, header: BatchHeader, batch: Batch) -> bool:
    """True if a batch of the source is the mirror's batch, or is part of the mirror's NoOp run.

    Args:
        source: The source's directory or address, for errors.

    Raises:
        RequestError: the batches differ although their epochs are the same.
    """
    if header.leader_epoch != batch.leader_epoch:
        return False
    last = batch.rows[-1].payload
    if isinstance(last, NoOpRunRecord):
        is_inside = batch.base_offset <= header.base_offset and header.end_offset <= (
            batch.end_offset
        )
        is_same = is_inside and batch.timestamp <= header.base_timestamp <= last.last_timestamp
        found = f"NoOps from {time_text(batch.timestamp)} to {time_text(last.last_timestamp)}"
    else:
        mine = batch.base_offset, batch.end_offset, batch.timestamp
        is_same = mine == (header.base_offset, header.end_offset, header.base_timestamp)
        is_same = is_same and source_crc(batch) in (None, header.crc)
        found = f"offsets {batch.base_offset} to {batch.end_offset - 1} of " + (
            time_text(batch.timestamp)
        )
    if not is_same:
        raise RequestError(
            "INCONSISTENT_CLUSTER_ID",
            f"{source} is not the log that was imported: in leader epoch "
            f"{header.leader_epoch} it has a batch of offsets {header.base_offset} to "
            f"{header.end_offset - 1} of {time_text(header.base_timestamp)}, the mirror {found}: "
            "the cluster was set up anew with the same id; import it into a new LOG",
        )
    return True


def _continues(source: KraftDirectory, mirror: LogReader) -> bool:
    """True if it is certain that a source which starts at the mirror's end continues the mirror."""
    end = mirror.end_offset
    if end <= mirror.confirmed_end:
        return True
    batch = _batch_at(mirror, end - 1)
    if batch is None:
        return True
    known = {c.leader_epoch for c in source.checkpoints if c.end_offset == end}
    first = next(_headers(source, end), None)
    if first is not None:
        known.add(first.header.leader_epoch)
    return batch.leader_epoch in known


def _gap(source: KraftDirectory, mirror: LogReader, first: int) -> RequestError:
    start = source.start_offset
    return RequestError(
        "OFFSET_OUT_OF_RANGE",
        f"{source.path} starts at offset {start}: Kafka removed offsets {first} to {start - 1} "
        f"before they were read. {mirror.directory} stays as it is, good below offset {first}; "
        "import into a new LOG, which starts from the checkpoint, or name the directory of another "
        "node that still has them",
    )


def _batch_at(mirror: LogReader, offset: int) -> Batch | None:
    """Return the mirror's batch that contains an offset; None if the mirror lacks the offset."""
    if not mirror.start_offset <= offset < mirror.end_offset:
        return None
    return next(mirror.batches(offset, offset + 1))


def _headers(source: KraftDirectory, offset: int) -> Iterator[PlacedHeader]:
    """Yield the headers of the source's batches, from the batch that contains an offset on."""
    return (placed for placed in source.headers(offset) if placed.header.end_offset > offset)


def _last_below(source: KraftDirectory, offset: int) -> PlacedHeader | None:
    """Return the header of the source's last batch that begins below an offset, or None."""
    last = None
    for placed in source.headers(offset - 1):
        if placed.header.base_offset >= offset:
            break
        last = placed
    return last
