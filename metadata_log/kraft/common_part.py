"""The part in which two logs of one cluster are equal, and the offset at which they diverge."""

import msgspec

from metadata_log.kraft.batch_index import BatchIndex, IndexedBatch

# So many batches are compared at once, as long as they are equal.
_STRIDE = 4_096


class CommonPart(msgspec.Struct, frozen=True):
    """The offsets [start_offset, end_offset) at which both logs have equal batches and epochs.

    `is_parted` is True if both logs have a batch at `end_offset` and these differ; otherwise at
    least one log ends there.
    """

    start_offset: int
    end_offset: int
    is_parted: bool


def common_part(a: BatchIndex, b: BatchIndex) -> CommonPart | None:
    """Compare two logs; return None if they have no offset in common.

    A log that is only a checkpoint is compared by the epoch of the checkpoint's last offset. Runs
    of NoOps that a mirror stores as one record are compared by offset and epoch.
    """
    start, end = max(a.start_offset, b.start_offset), min(a.end_offset, b.end_offset)
    if start >= end:
        return _at_checkpoint(a, b) or _at_checkpoint(b, a)
    parted_at = _first_difference(a, b, start, end)
    return CommonPart(start, end if parted_at is None else parted_at, parted_at is not None)


def _at_checkpoint(bare: BatchIndex, other: BatchIndex) -> CommonPart | None:
    """Compare a log that is only a checkpoint with another log, by the checkpoint's last epoch.

    Returns:
        None if `bare` has batches, or if `other` does not have the checkpoint's last offset.
    """
    end = bare.end_offset
    if len(bare):
        return None
    if not end:
        return CommonPart(0, 0, is_parted=False)
    epoch = other.last_epoch if other.end_offset == end else other.epoch_at(end - 1)
    if epoch is None or epoch < 0:
        return None
    if epoch != bare.last_epoch:
        return CommonPart(end - 1, end - 1, is_parted=True)
    return CommonPart(end, end, is_parted=False)


def _first_difference(a: BatchIndex, b: BatchIndex, start: int, end: int) -> int | None:
    i, j = a.position(start), b.position(start)
    while min(len(a) - i, len(b) - j) > _STRIDE and _is_equal_stride(a, i, b, j):
        i, j = i + _STRIDE, j + _STRIDE
    offset = max(start, a.bases[i])
    while offset < end:
        x, y = a[i], b[j]
        if not _agree(x, y):
            return offset
        offset = min(x.end_offset, y.end_offset)
        i += x.end_offset == offset
        j += y.end_offset == offset
    return None


def _is_equal_stride(a: BatchIndex, i: int, b: BatchIndex, j: int) -> bool:
    columns = ((a.bases, b.bases), (a.epochs, b.epochs), (a.crcs, b.crcs))
    return all(x[i : i + _STRIDE] == y[j : j + _STRIDE] for x, y in columns)


def _agree(x: IndexedBatch, y: IndexedBatch) -> bool:
    if x.is_run or y.is_run:
        return x.is_noop and y.is_noop and x.leader_epoch == y.leader_epoch
    return x == y
