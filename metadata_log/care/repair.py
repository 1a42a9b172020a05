"""Repair: copies the provably intact part of a damaged log, up to the first damage.

Nothing after the first damage is copied: records after a gap would replay to a state that the
cluster never had. The source is not touched. Derived files are rebuilt: headers (from their
neighbours), the commit mark (from the blocks), indexes, a lost manifest.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from metadata_log.care.failing_disk import FailingDisk, Unreadable
from metadata_log.care.findings import Lost
from metadata_log.care.new_log import NewLog
from metadata_log.care.salvage import Salvage
from metadata_log.files.fs import Fs
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.checked_read import Progress, no_progress


class RepairResult(msgspec.Struct, frozen=True, kw_only=True):
    """Offsets and bytes that a repair kept and lost. Ends are exclusive.

    `proven_end` is the highest end offset that the mark or any intact block proves to have been
    acknowledged; if it is above `end_offset`, the offsets between are lost. `unreadable` lists the
    bytes that the disk of the damaged log could not read.
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
        """Number of acknowledged offsets that are lost."""
        return max(self.proven_end - self.end_offset, 0)

    @property
    def is_complete(self) -> bool:
        """True if every acknowledged record is in the copy.

        If the commit mark was lost, any lost bytes may have been acknowledged; the result is then
        False.
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
    """Copy the intact part of a log to a new log at `target`.

    Args:
        check: Raises an error if the copy cannot be used; then nothing appears at `target`.
        progress: Called with the number of bytes examined since the last call.

    Raises:
        RequestError: the directory is not a log, or `target` exists.
        CorruptLogError: nothing can be kept: the base checkpoint or the first header is lost.
    """
    disk = FailingDisk(fs)
    salvage = Salvage(disk, directory, progress)
    bases = salvage.bases
    salvage.read_identity(bases[0])
    with NewLog(target, copy_fs or fs) as copy:
        salvage.copy_base(copy, bases[0])
        for base in bases:
            salvage.take(copy, base)
        salvage.copy_mirror_files(copy)
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
