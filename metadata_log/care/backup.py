"""Backup: copies a log up to a commit mark while the log is being written; later runs continue the
copy.

The copy is a log directory. Its commit mark is written after the bytes it covers, so an interrupted
run leaves the copy as it was after the previous run. Sealed segments never change; the last segment
is copied again in its longer form, which begins with the same bytes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from metadata_log.care.same_history import check_same_history
from metadata_log.files.fs import Fs, read_start
from metadata_log.files.json_file import read_json
from metadata_log.files.names import (
    BACKUP_NOTE,
    COMMIT_MARK,
    LOCK,
    MANIFEST,
    MIRROR_FILES,
    claim_name,
    claimed_epoch,
    derived_names,
    segment_name,
    segment_offsets,
)
from metadata_log.format.commit_mark import MARK_SIZE, CommitMark
from metadata_log.format.manifest import Kind
from metadata_log.reader.committed import (
    CommittedSegment,
    committed_segments,
    highest_epoch,
)
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.checked_read import Progress, file_size, no_progress
from metadata_log.stores.store import Store, put_checked
from records.errors import RequestError, UnavailableError


class BackupNote(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a copy's note file, which identifies the log that was copied."""

    format_version: int = 1
    cluster_id: str


class CopyResult(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a copy after a run, and the files that the run added.

    End offsets are exclusive.
    """

    start_offset: int
    end_offset: int
    previous_end_offset: int | None
    files: tuple[str, ...]
    size_bytes: int


def back_up(
    fs: Fs,
    reader: LogReader,
    store: Store,
    *,
    progress: Progress = no_progress,
) -> CopyResult:
    """Copy a log up to the reader's commit mark, or continue an earlier copy up to this mark.

    Every new block is checked before it is copied, and every copied file is read back afterwards.
    Segments that are missing or shortened in the copy are copied again.

    Args:
        progress: Called with the number of bytes copied since the last call.

    Raises:
        RequestError: the store contains other files, or a copy of another history.
        CorruptLogError: the log is damaged; the copy was not touched.
        UnavailableError: another run writes to the store, or the log's start moved up meanwhile.
    """
    with writing(store, reader):
        return copy_until(fs, reader, store, reader.mark, progress=progress)


@contextmanager
def writing(store: Store, reader: LogReader) -> Iterator[None]:
    """Lock the store of a copy, and check that it is empty or has a copy of the same log.

    Raises:
        RequestError: the store contains other files, or a copy of another log.
        UnavailableError: another run writes to the store.
    """
    _check_place(store, reader)
    lock = store.prepare()
    try:
        # Another run may have started a copy there before the lock was taken.
        _check_place(store, reader)
        yield
    finally:
        if lock is not None:
            lock.release()


def copy_until(
    fs: Fs,
    reader: LogReader,
    store: Store,
    mark: CommitMark,
    *,
    progress: Progress = no_progress,
) -> CopyResult:
    """Copy a log up to `mark` as `back_up` does; to be called inside `with writing(...)`.

    Args:
        mark: The mark of `reader`, or a mark that the log had at the end of a segment.

    Raises:
        As `back_up`.
    """
    run = _Run(fs, reader, store, progress)
    before = _copy_before(run)
    committed = committed_segments(fs, reader)
    if before is not None:
        check_same_history(store.fs, before, committed, mark.end_offset)
    segments = [segment for segment in committed if segment.base_offset <= mark.segment_offset]
    lost = [] if before is None else _lost_segments(run, before, segments)
    first = before.end_offset if before else reader.start_offset
    for _ in reader.batches(min([first, *lost]), mark.end_offset):
        pass
    return _carry_on(run, before, segments, lost, mark)


def bytes_to_copy(fs: Fs, reader: LogReader, store: Store) -> int:
    """Return roughly how many bytes a run will copy, for a progress bar."""
    names = store.names()
    start = 0
    if MANIFEST in names and COMMIT_MARK in names:
        start = LogReader.open(store.directory, fs=store.fs).mark.segment_offset
    segments = committed_segments(fs, reader)
    return sum(segment.size for segment in segments if segment.base_offset >= start)


class _Run:
    """State of one copy run: its source and destination, and the files and bytes copied so far."""

    def __init__(self, fs: Fs, reader: LogReader, store: Store, progress: Progress) -> None:
        self.fs = fs
        self.reader = reader
        self.store = store
        self.files: list[str] = []
        self.size_bytes = 0
        self._progress = progress

    def put_file(self, path: Path, size: int | None = None) -> None:
        try:
            size = file_size(self.fs, path) if size is None else size
            put_checked(self.store, path.name, self.fs, path, size, self._progress)
        except FileNotFoundError as error:
            if self.fs.exists(path):
                raise
            raise UnavailableError(
                f"{path} vanished while it was being copied: the log's start moved up; run again"
            ) from error
        self._count(path.name, size)

    def put_bytes(self, name: str, data: bytes) -> None:
        self.store.put(name, [data])
        self._count(name, len(data))

    def _count(self, name: str, size: int) -> None:
        self.files.append(name)
        self.size_bytes += size


def _put_mirror_files(run: _Run) -> None:
    """Copy the small files of a mirror, unless the copy already has them with the same content."""
    for name in MIRROR_FILES:
        path = run.reader.directory / name
        try:
            content = read_start(run.fs, path, file_size(run.fs, path))
        except FileNotFoundError:
            continue
        if name in run.store.names():
            there = run.store.directory / name
            if read_start(run.store.fs, there, file_size(run.store.fs, there)) == content:
                continue
        run.put_bytes(name, content)


def _copy_before(run: _Run) -> LogReader | None:
    """Open the copy left by earlier runs; return None if no earlier run was completed."""
    names = run.store.names()
    if COMMIT_MARK in names and MANIFEST not in names:
        # The manifest is written last; only it is missing.
        run.put_file(run.reader.directory / MANIFEST)
    elif MANIFEST not in names:
        _drop_below_start(run, names)
        return None
    return LogReader.open(run.store.directory, fs=run.store.fs)


def _drop_below_start(run: _Run, names: list[str]) -> None:
    """Remove segments that an interrupted run copied and that lie below the log's current start.

    The new copy will begin at the log's start; with the old segments it would have a gap.
    """
    for base in segment_offsets(names):
        if base < run.reader.start_offset:
            run.store.delete(segment_name(base))
            for name in derived_names(base):
                if name in names:
                    run.store.delete(name)


def _lost_segments(run: _Run, before: LogReader, segments: list[CommittedSegment]) -> list[int]:
    """Return the base offsets of segments whose file in the copy is missing or has another size."""
    names = set(run.store.names())
    had = [
        segment
        for segment in segments
        if before.start_offset <= segment.base_offset < before.mark.segment_offset
    ]
    return [
        segment.base_offset
        for segment in had
        if segment.path.name not in names
        or file_size(run.store.fs, run.store.directory / segment.path.name) != segment.size
    ]


def _carry_on(
    run: _Run,
    before: LogReader | None,
    segments: list[CommittedSegment],
    lost: list[int],
    mark: CommitMark,
) -> CopyResult:
    reader = run.reader
    if before is None:
        note = BackupNote(cluster_id=reader.cluster_id)
        run.put_bytes(BACKUP_NOTE, msgspec.json.encode(note) + b"\n")
        if reader.base is not None:
            run.put_file(reader.base.path)
    for segment in segments:
        if before is None or _is_new(segment, before) or segment.base_offset in lost:
            run.put_file(segment.path, _size_until(segment, mark))
    # The index of the last segment may still grow; a segment without one is read from its start.
    _put_indexes(run, segments[:-1])
    _put_claim(run, mark)
    if before is None or before.mark.end_offset != mark.end_offset or before.mark != mark:
        run.put_bytes(COMMIT_MARK, mark_file(mark))
    _put_mirror_files(run)
    if before is None:
        run.put_file(reader.directory / MANIFEST)
    return CopyResult(
        start_offset=before.start_offset if before else reader.start_offset,
        end_offset=mark.end_offset,
        previous_end_offset=before.end_offset if before else None,
        files=tuple(run.files),
        size_bytes=run.size_bytes,
    )


def mark_file(mark: CommitMark) -> bytes:
    """Return the bytes of a commit mark file with this mark in both slots, as in a closed log."""
    content = bytearray(MARK_SIZE)
    for sequence in (mark.sequence - 1, mark.sequence):
        same = msgspec.structs.replace(mark, sequence=sequence)
        slot = same.encode()
        content[same.slot_position : same.slot_position + len(slot)] = slot
    return bytes(content)


def _is_new(segment: CommittedSegment, before: LogReader) -> bool:
    if segment.base_offset != before.mark.segment_offset:
        return segment.base_offset > before.mark.segment_offset
    return segment.size != before.mark.position or segment.base_offset == before.end_offset


def _size_until(segment: CommittedSegment, mark: CommitMark) -> int:
    return mark.position if segment.base_offset == mark.segment_offset else segment.size


def _put_indexes(run: _Run, segments: list[CommittedSegment]) -> None:
    present, there = set(run.fs.list(run.reader.directory)), set(run.store.names())
    for segment in segments:
        for name in derived_names(segment.base_offset):
            if name in present - there:
                run.put_file(run.reader.directory / name)


def _put_claim(run: _Run, mark: CommitMark) -> None:
    """Write a claim of the highest epoch, so that the copy's next writer claims a higher one."""
    if run.reader.kind is not Kind.OWN:
        return
    name = claim_name(max(highest_epoch(run.fs, run.reader), mark.leader_epoch))
    there = run.store.names()
    if name not in there:
        run.put_bytes(name, b"")
    for other in there:
        if claimed_epoch(other) is not None and other != name:
            run.store.delete(other)


def _check_place(store: Store, reader: LogReader) -> None:
    names = store.names()
    if store.directory == reader.directory:
        raise RequestError(
            "INVALID_REQUEST", f"{store.directory} is the log itself; name another place"
        )
    if BACKUP_NOTE not in names:
        # A run that stopped at its first file leaves a partial note.
        if set(names) - {LOCK, f"{BACKUP_NOTE}.part"}:
            raise RequestError(
                "LOG_EXISTS",
                f"{store.directory} holds other files than a backup's; name a new place",
            )
        return
    path = store.directory / BACKUP_NOTE
    note = read_json(store.fs, path, BackupNote, "make a backup at a new place")
    if note.cluster_id != reader.cluster_id:
        raise RequestError(
            "INCONSISTENT_CLUSTER_ID",
            f"{store.directory} is a backup of cluster {note.cluster_id!r}, but the log is of "
            f"cluster {reader.cluster_id!r}; name a new place",
        )
