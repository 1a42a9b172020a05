"""The offset at which two logs diverge, and whether they can belong to one history.

An epoch has one leader, and a follower's log is a copy of the leader's. So no epoch can appear in
both logs after the offset at which they diverge.
"""

from metadata_log.kraft.batch_index import BatchIndex
from metadata_log.kraft.common_part import common_part


def common_end(one: BatchIndex, other: BatchIndex) -> int:
    """Return the offset below which two logs are equal in the range that both have."""
    part = common_part(one, other)
    return min(one.end_offset, other.end_offset) if part is None else part.end_offset


def clash(one: BatchIndex, other: BatchIndex) -> int | None:
    """Return the offset at which two logs have different records of one epoch; None if there is
    none.
    """
    part = common_part(one, other)
    if part is None or not part.is_parted or not one.bases or not other.bases:
        return None
    starts, others = (_epoch_starts(each, part.end_offset) for each in (one, other))
    in_both = starts.keys() & others.keys()
    return max(starts[min(in_both)], others[min(in_both)]) if in_both else None


def _epoch_starts(index: BatchIndex, offset: int) -> dict[int, int]:
    """Return the start offset of each epoch, by epoch, among the batches from an offset on."""
    first = max(0, index.position(offset))
    starts: dict[int, int] = {}
    for base_offset, epoch in zip(index.bases[first:], index.epochs[first:], strict=True):
        starts.setdefault(epoch, max(base_offset, offset))
    return starts
