"""Inspection of a whole log directory: every file, every byte up to the commit mark.

Takes no lock and changes nothing. It continues after damage where it can, and lists all damage
found.
"""

from itertools import zip_longest
from pathlib import Path

from metadata_log.care.archive import ARCHIVE_LIST, ARCHIVES_NOTE
from metadata_log.care.failing_disk import FailingDisk, Unreadable
from metadata_log.care.findings import Finding, Inspection
from metadata_log.care.retention import RETAIN_LOCK
from metadata_log.care.segment_inspection import REPAIR, SegmentInspector
from metadata_log.files.followed import FOLLOWED
from metadata_log.files.fs import ByteStore, missing_as_unavailable, read_start
from metadata_log.files.names import (
    BACKUP_NOTE,
    COMMIT_MARK,
    LOCK,
    MANIFEST,
    MIRROR_FILES,
    NODE_FILE,
    checkpoint_id,
    claimed_epoch,
    derived_names,
    segment_name,
    segment_offset,
    segment_offsets,
)
from metadata_log.format.base import check_checkpoint
from metadata_log.format.checkpoint import open_checkpoint
from metadata_log.format.commit_mark import (
    MARK_SIZE,
    SLOT_SIZE,
    SLOT_SPACING,
    CommitMark,
    decode_slot,
    read_mark,
)
from metadata_log.format.manifest import REMEDY, Kind, Manifest, read_manifest
from metadata_log.recovery.proof import look_past
from metadata_log.stores.checked_read import Progress, no_progress
from records.errors import CorruptLogError

_KNOWN = {
    *(MANIFEST, COMMIT_MARK, LOCK, ARCHIVE_LIST, ARCHIVES_NOTE, BACKUP_NOTE, RETAIN_LOCK),
    *(FOLLOWED, NODE_FILE),
    *MIRROR_FILES,
}
_LEFTOVER_SUFFIX = ".part"
# How often the inspection starts over because the mark moved.
_TRIES = 3


def inspect_log(fs: ByteStore, directory: Path, *, progress: Progress = no_progress) -> Inspection:
    """Inspect everything in a log directory up to its commit mark; the log may be live.

    Args:
        progress: Called with the number of bytes examined since the last call.

    Raises:
        RequestError: the directory is not a log.
        UnavailableError: the log's start moved up meanwhile.
    """
    disk = FailingDisk(fs)
    found = _inspect(disk, directory, progress)
    found.damage += [_unreadable(lost, directory) for lost in disk.unreadable]
    return found


def _unreadable(lost: Unreadable, directory: Path) -> Finding:
    return Finding(
        file=lost.file,
        byte=lost.byte,
        end_byte=lost.end_byte,
        what=f"the disk cannot read these bytes: {lost.why}",
        remedy=f"bring the log to another disk: {REPAIR.replace('LOG', str(directory))}",
    )


def _inspect(fs: ByteStore, directory: Path, progress: Progress) -> Inspection:
    found = Inspection()
    manifest = _manifest(fs, directory, found)
    # Read the mark before the names: what it refers to existed before it was written.
    mark = read_slots(fs, directory, found)
    with missing_as_unavailable(directory):
        mark = mark and _proven_end(fs, directory, mark, found)
        names = fs.list(directory)
        _segments(fs, directory, names, found, manifest, mark, progress)
        _checkpoints(fs, directory, names, found, manifest)
    if manifest is not None and manifest.kind is Kind.OWN and mark is not None:
        _claims(names, found, mark)
    _leftovers(names, found)
    found.end_offset = mark.end_offset if mark else None
    return found


def _proven_end(fs: ByteStore, directory: Path, mark: CommitMark, found: Inspection) -> CommitMark:
    """Return the commit mark, advanced to the end that later blocks prove to have been
    acknowledged.

    Damage below that end is added to `found`.
    """
    if not fs.exists(directory / segment_name(mark.segment_offset)):
        return mark
    for _ in range(_TRIES):
        try:
            return look_past(fs, directory, mark).proven
        except CorruptLogError as error:
            damage = error
        # A live writer may be in the middle of a block; then its mark moves.
        newer = read_mark(fs, directory)
        if newer.sequence == mark.sequence:
            break
        mark = newer
    finding = Finding(
        file=segment_name(mark.segment_offset),
        byte=mark.position,
        from_offset=mark.end_offset,
        what=f"past the commit mark, below what later blocks prove: {damage}",
        remedy=REPAIR.replace("LOG", str(directory)),
    )
    found.damage.append(finding)
    return mark


def bytes_to_inspect(fs: ByteStore, directory: Path) -> int:
    """Return roughly how many bytes will be examined, for a progress bar."""
    total = 0
    for base in segment_offsets(fs.list(directory)):
        file = fs.open(directory / segment_name(base))
        total += file.size()
        file.close()
    return total


def read_slots(fs: ByteStore, directory: Path, found: Inspection) -> CommitMark | None:
    """Return the newest valid commit mark, and report invalid slots."""
    slots = _slots(fs, directory)
    if any(mark is None for _, mark in slots):
        # A writer may be in the middle of writing this slot.
        slots = _slots(fs, directory)
    marks = [mark for _, mark in slots if mark is not None]
    for index, (data, mark) in enumerate(slots):
        if mark is None:
            remedy = (
                "open the log with a writer once: the writer continues at the end that blocks prove"
                if marks
                else f"rebuild a copy with `metalog repair {directory} COPY`"
            )
            what = "the commit mark in this slot is not whole" if data else "the slot is missing"
            found.damage.append(
                Finding(file=COMMIT_MARK, byte=index * SLOT_SPACING, what=what, remedy=remedy)
            )
    return max(marks, key=lambda mark: mark.sequence, default=None)


def _slots(fs: ByteStore, directory: Path) -> list[tuple[bytes, CommitMark | None]]:
    try:
        content = read_start(fs, directory / COMMIT_MARK, MARK_SIZE)
    except FileNotFoundError:
        content = b""
    slots = [content[at : at + SLOT_SIZE] for at in (0, SLOT_SPACING)]
    return [(slot, decode_slot(slot)) for slot in slots]


def _manifest(fs: ByteStore, directory: Path, found: Inspection) -> Manifest | None:
    try:
        return read_manifest(fs, directory)
    except CorruptLogError as error:
        found.damage.append(
            Finding(
                file=MANIFEST,
                byte=0,
                what=str(error.__cause__ or error),
                remedy=REMEDY,
            )
        )
        return None


def _segments(
    fs: ByteStore,
    directory: Path,
    names: list[str],
    found: Inspection,
    manifest: Manifest | None,
    mark: CommitMark | None,
    progress: Progress,
) -> None:
    bases = segment_offsets(names)
    if mark is not None:
        for base in bases:
            if base > mark.segment_offset:
                what = "a segment past the commit mark: being begun, or left by a writer"
                found.add_note(
                    what, "nothing to do: the next writer decides", file=segment_name(base)
                )
        bases = [base for base in bases if base <= mark.segment_offset]
        if mark.segment_offset not in bases:
            found.damage.append(
                Finding(
                    file=segment_name(mark.segment_offset),
                    byte=0,
                    from_offset=mark.segment_offset,
                    what="the commit mark points into this segment, which is missing",
                    remedy=REPAIR.replace("LOG", str(directory)),
                )
            )
    inspector = SegmentInspector(
        fs,
        directory,
        found,
        cluster_id=manifest.cluster_id if manifest else None,
        kind=manifest.kind if manifest else None,
        mark=mark,
        progress=progress,
    )
    for base, following in zip_longest(bases, bases[1:]):
        inspector.inspect(base, following)


def _checkpoints(
    fs: ByteStore, directory: Path, names: list[str], found: Inspection, manifest: Manifest | None
) -> None:
    bases = segment_offsets(names)
    start = bases[0] if bases else 0
    ends = sorted(identity[0] for name in names if (identity := checkpoint_id(name)))
    ends = [end for end in ends if end >= start]
    found.history_start = ends[0] if ends and start > 0 else start
    for name in names:
        if checkpoint_id(name) is not None:
            _checkpoint(fs, directory / name, bases, found, manifest)
    if start > 0 and not ends:
        found.damage.append(
            Finding(
                file=segment_name(start),
                byte=0,
                from_offset=start,
                what=f"the segments start at offset {start} and there is no base checkpoint",
                remedy="restore the checkpoint from a backup or archive",
            )
        )


def _checkpoint(
    fs: ByteStore, path: Path, bases: list[int], found: Inspection, manifest: Manifest | None
) -> None:
    try:
        checkpoint = open_checkpoint(fs, path)
        found.size_bytes += checkpoint.size
        # Below the first segment nothing remains that could prove a checkpoint, or need it.
        if manifest is None or not bases or checkpoint.end_offset < bases[0]:
            return
        if not check_checkpoint(fs, checkpoint, manifest.cluster_id, bases):
            what = (
                "made by an early release, which did not record the checkpoint's history; cluster "
                "id, offset and epoch fit"
            )
            found.add_note(what, "nothing to do", file=path.name)
    except CorruptLogError as error:
        found.damage.append(
            Finding(
                file=path.name,
                byte=0,
                what=str(error),
                remedy="restore the file from a backup or archive",
            )
        )


def _claims(names: list[str], found: Inspection, mark: CommitMark) -> None:
    if NODE_FILE in names:
        return  # a node's epochs come from blocks; it claims none
    claims = [epoch for name in names if (epoch := claimed_epoch(name)) is not None]
    if mark.leader_epoch > max(claims, default=0):
        what = f"no claim of epoch {mark.leader_epoch}, which the commit mark names"
        found.add_note(
            what, "nothing to do: the mark counts as well", file=f"epoch-{mark.leader_epoch}"
        )


def _leftovers(names: list[str], found: Inspection) -> None:
    bases = set(segment_offsets(names))
    indexes = {name for base in bases for name in derived_names(base)}
    for name in names:
        if name.endswith(_LEFTOVER_SUFFIX):
            what = "left by a run that was cut short, or being written"
            found.add_note(what, "remove it when nothing is running", file=name)
        elif not _belongs(name, indexes):
            found.add_note("not a file of the log", "nothing to do", file=name)


def _belongs(name: str, indexes: set[str]) -> bool:
    return (
        name in _KNOWN
        or name in indexes
        or name.startswith(("snapshots.db", "history.db"))
        or segment_offset(name) is not None
        or checkpoint_id(name) is not None
        or claimed_epoch(name) is not None
    )
