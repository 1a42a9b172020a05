"""A copy of a damaged log that holds all that is provably intact, in order, up to the first damage.

Nothing after the first damage is taken: records after a hole would replay to a state that the
cluster never had. The source is not touched. What can be derived is made anew: a header (it follows
from its neighbours), the commit mark (from the blocks), indexes, a lost manifest.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from metadata_log.care.copying import Progress, no_progress
from metadata_log.care.failing_disk import FailingDisk, Unreadable
from metadata_log.care.intact import Lost
from metadata_log.care.new_log import NewLog
from metadata_log.care.salvage import Salvage
from metadata_log.fs import Fs
from metadata_log.log_reader import LogReader


class RepairResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a repair kept and lost; ends are exclusive.

    `proven_end` is the highest end that the mark or any intact block proves to have been
    acknowledged: when it is above `end_offset`, the offsets between are lost. `unreadable` is what
    the disk of the damaged log did not give.
    """

    history_start: int
    end_offset: int
    proven_end: int
    rebuilt: tuple[str, ...]
    lost: tuple[Lost, ...]
    unreadable: tuple[Unreadable, ...]
    mark_was_lost: bool

    @property
    def lost_offsets(self) -> int:
        """How many offsets that were acknowledged are lost."""
        return max(self.proven_end - self.end_offset, 0)

    @property
    def is_complete(self) -> bool:
        """Whether every record that was acknowledged is in the copy.

        Without a mark, bytes at the end that do not read well may have been acknowledged.
        """
        return self.lost_offsets == 0 and not (self.mark_was_lost and self.lost)


def repair(
    fs: Fs,
    directory: Path,
    target: Path,
    *,
    copy_fs: Fs | None = None,
    check: Callable[[LogReader], object],
    progress: Progress = no_progress,
) -> RepairResult:
    """Write a copy of what is intact; it appears at `target` when it is whole.

    Args:
        check: Raises when the copy cannot be used; then nothing appears.
        progress: Told the bytes that were looked at.

    Raises:
        RequestError: the directory is no log, or `target` exists.
        CorruptLogError: nothing can be kept: the base checkpoint is lost, or the first header.
    """
    disk = FailingDisk(fs)
    salvage = Salvage(disk, directory, progress)
    bases = salvage.bases
    salvage.read_identity(bases[0])
    with NewLog(target, copy_fs or fs) as copy:
        salvage.copy_base(copy, bases[0])
        for base in bases:
            salvage.take(copy, base)
        mark = salvage.new_mark()
        copy.publish(salvage.manifest, mark, salvage.highest_epoch(), check)
    return RepairResult(
        history_start=max(bases[0], salvage.base_end),
        end_offset=mark.end_offset,
        proven_end=salvage.proven_end,
        rebuilt=tuple(salvage.rebuilt),
        lost=tuple(salvage.lost),
        unreadable=tuple(disk.unreadable),
        mark_was_lost=salvage.mark_is_lost,
    )
