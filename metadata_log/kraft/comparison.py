"""Comparison of several logs of one cluster: which is ahead, which are behind, where they diverge.

Logs are ordered as in a vote: by the epoch of their last batch, then by their end offset. Logs that
do not diverge from each other form a branch; its head is the first log in that order.

Source: KIP-595.
"""

import itertools
from collections.abc import Mapping, Sequence

import msgspec

from metadata_log.kraft.batch_index import BatchIndex
from metadata_log.kraft.common_part import CommonPart, common_part


class Branch(msgspec.Struct, frozen=True):
    """The head of a branch, and the offset at which the branch begins.

    The first branch has the log that is ahead as its head; it begins at the lowest offset at which
    another log differs from this log, or has ended. The head of each further branch diverges from
    the heads of all earlier branches; the branch begins at the first offset of its head that
    differs from all of them.
    """

    head: int
    start_offset: int


class Comparison:
    """Result of comparing logs; each log is identified by its index among the compared logs.

    Attributes:
        ahead: The log that would win a vote.
        common_end: Offset below which all logs are equal; None if some have no offset in common.
        parting: The first offset at which two logs differ; None if no two logs diverge.
        branches: The branches; the first is that of the log ahead.
    """

    def __init__(self, logs: Sequence[BatchIndex]) -> None:
        """Compare one or more logs of one cluster."""
        self._logs = logs
        pairs = itertools.combinations(range(len(logs)), 2)
        parts = {(i, j): common_part(logs[i], logs[j]) for i, j in pairs}
        found = [part for part in parts.values() if part is not None]
        self._ends = _ends(logs, parts)
        self._parted = {pair for pair, part in parts.items() if part is not None and part.is_parted}
        order = sorted(range(len(logs)), key=lambda i: (-logs[i].last_epoch, -logs[i].end_offset))
        self.ahead = order[0]
        self.common_end = min(self._ends.values()) if len(found) == len(parts) else None
        self.parting = min((part.end_offset for part in found if part.is_parted), default=None)
        self.branches = self._branches(order)

    def behind(self, log: int) -> int:
        """Return how many offsets `log` lacks, compared with the log ahead."""
        return max(0, self._logs[self.ahead].end_offset - self._ends[self.ahead, log])

    def holders(self, log: int, offset: int) -> list[int]:
        """Return the logs that are equal to `log` at an offset, including `log`."""
        return [i for i in range(len(self._logs)) if self._ends[log, i] > offset]

    def _branches(self, order: Sequence[int]) -> list[Branch]:
        first, *others = order
        branches = [Branch(first, min(self._ends[first, i] for i in order))]
        for log in others:
            heads = [branch.head for branch in branches]
            if all((min(log, head), max(log, head)) in self._parted for head in heads):
                branches.append(Branch(log, max(self._ends[head, log] for head in heads)))
        return branches


def _ends(
    logs: Sequence[BatchIndex], parts: Mapping[tuple[int, int], CommonPart | None]
) -> dict[tuple[int, int], int]:
    """Return for each pair of logs the offset below which they are equal.

    Logs that do not overlap count as equal.
    """
    ends = {(i, i): log.end_offset for i, log in enumerate(logs)}
    for (i, j), part in parts.items():
        end = min(logs[i].end_offset, logs[j].end_offset) if part is None else part.end_offset
        ends[i, j] = ends[j, i] = end
    return ends
