"""Begins the next part of a recording, after a gap (format/parts.py describes the files).

    1. `prepare_part`   build the new mirror, with its list of parts, atomically as LOG.next
    2. `take_up_part`   rename LOG to LOG.part-N, the folder that the list names
    3.                  rename LOG.next to LOG

A recorder that is killed between the steps leaves one of these states; `take_up_part` completes it:

    LOG         LOG.next
    a mirror    none       nothing to do; the next `prepare_part` removes an incomplete one
    a mirror    complete   step 2, unless LOG has grown since: then LOG.next is removed
    none        complete   step 3
    none        none       nothing was recorded
"""

import errno
import shutil
import time
from pathlib import Path

import msgspec

from metadata_log.files.fs import Fs, OsFs
from metadata_log.files.lock import lock_directory
from metadata_log.files.names import MANIFEST, PARTS
from metadata_log.format.parts import EarlierPart, Gap, Parts, earlier_parts, parts_json
from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.frozen import check_not_frozen
from metadata_log.kraft.new_mirror import write_base
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.mirror import MirrorBuilder
from records.errors import RequestError


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """How a gap was found; fields as in `Gap`."""

    source: str
    log_start_offset: int
    leader_epoch: int


def prepare_part(
    log: Path,
    base: KraftCheckpoint,
    found: Found,
    *,
    fs: Fs | None = None,
    now_ms: int | None = None,
) -> EarlierPart:
    """Make the mirror that follows a gap, beside `log`, which is not changed.

    Args:
        base: The quorum's snapshot that the new mirror starts from.
        now_ms: The time, ms since 1970; None: that of this machine's clock.

    Returns:
        The folder that `log` will become as an earlier part, and the gap after it.

    Raises:
        RequestError: `log` is no mirror; or the snapshot does not continue the history of `log`.
        CorruptLogError: the snapshot is damaged.
        UnavailableError: another process writes `log`, or the disk is full.
    """
    fs, log = fs or OsFs(), log.resolve()
    with LogReader.open(log, fs=fs):
        pass  # there is a log to be locked
    lock = lock_directory(fs, log)
    try:
        return _prepare_part(fs, log, base, found, now_ms)
    finally:
        lock.release()


def _prepare_part(
    fs: Fs, log: Path, base: KraftCheckpoint, found: Found, now_ms: int | None
) -> EarlierPart:
    with LogReader.open(log, fs=fs) as reader:
        cluster_id, earlier = reader.cluster_id, earlier_parts(fs, log)
        epoch, time_ms = _last_confirmed(reader)
        end = reader.confirmed_end
    if base.end_offset <= end or base.leader_epoch < epoch:
        raise RequestError(
            "INCONSISTENT_CLUSTER_ID",
            f"{found.source} has a snapshot at offset {base.end_offset} of leader epoch "
            f"{base.leader_epoch}, but {log} is confirmed up to offset {end} of epoch {epoch}: the "
            "node has another log; import it into a new LOG",
        )
    gap = Gap(
        from_offset=end,
        from_epoch=epoch,
        from_time=time_ms,
        to_offset=base.end_offset,
        to_epoch=base.leader_epoch,
        to_time=base.timestamp,
        found_time=time.time_ns() // 1_000_000 if now_ms is None else now_ms,
        source=found.source,
        log_start_offset=found.log_start_offset,
        leader_epoch=found.leader_epoch,
    )
    following = _next(log)
    _remove(fs, following)
    last = EarlierPart(folder=_free_name(fs, log, len(earlier) + 1), gap=gap)
    with MirrorBuilder(following, cluster_id, fs=fs) as mirror:
        write_base(mirror, base)
        mirror.write_file(PARTS, parts_json(Parts(earlier=(*earlier, last))))
        mirror.finish(confirmed_end=base.end_offset)
    return last


def take_up_part(log: Path, fs: Fs | None = None) -> EarlierPart | None:
    """Put a prepared part in place: it becomes `log`, and the old `log` an earlier part.

    Returns:
        The folder of the old `log`, and the gap after it; None if no part was prepared, or if `log`
        has grown since.

    Raises:
        UnavailableError: another process writes `log`.
        CommittedHistoryChangedError: `log` is frozen.
        RequestError: `log` cannot be renamed, because it is a mount point.
    """
    fs, log = fs or OsFs(), log.resolve()
    following = _next(log)
    if not fs.exists(following / MANIFEST):
        return None
    last = earlier_parts(fs, following)[-1]
    if fs.exists(log / MANIFEST):
        lock = lock_directory(fs, log)
        try:
            check_not_frozen(log, fs)
            with LogReader.open(log, fs=fs) as reader:
                has_grown = reader.confirmed_end != last.gap.from_offset
            if has_grown:
                _remove(fs, following)
                return None
            _rename(fs, log, log.with_name(last.folder))
        finally:
            lock.release()
    _rename(fs, following, log)
    return last


def _next(log: Path) -> Path:
    return log.with_name(f"{log.name}.next")


def _last_confirmed(reader: LogReader) -> tuple[int, int | None]:
    """Return the leader epoch, and the time in ms since 1970, of the last confirmed record."""
    last = reader.confirmed_end - 1
    if last >= reader.history_start:
        batch = next(reader.batches(last, last + 1))
        return batch.leader_epoch, batch.times_at(last)[1]
    return (reader.base.leader_epoch, reader.base.timestamp) if reader.base else (0, None)


def _remove(fs: Fs, following: Path) -> None:
    """Remove a prepared part, its manifest first: without this file, it counts as no part."""
    if fs.exists(following / MANIFEST):
        fs.unlink(following / MANIFEST)
        fs.sync_directory(following)
    shutil.rmtree(following, ignore_errors=True)


def _free_name(fs: Fs, log: Path, number: int) -> str:
    while fs.exists(log.with_name(f"{log.name}.part-{number}")):
        number += 1
    return f"{log.name}.part-{number}"


def _rename(fs: Fs, source: Path, target: Path) -> None:
    try:
        fs.rename(source, target)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV):
            raise
        raise RequestError(
            "INVALID_REQUEST",
            f"{source} cannot be renamed to {target}, because it is a mount point; record into a "
            "folder inside of it",
        ) from error
    fs.sync_directory(target.parent)
