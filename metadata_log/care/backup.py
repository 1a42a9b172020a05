"""A copy of a log up to one mark, made beside its writer, and carried on by the next run.

The copy is a log directory. Its commit mark is put after the bytes that it speaks of, so that a
run that was cut short leaves the copy where the last one had brought it. Sealed segments never
change; the last one is put again, longer, and begins with the bytes it had.
"""

from pathlib import Path

import msgspec

from metadata_log.care.committed import (
    CommittedSegment,
    committed_segments,
    highest_epoch,
)
from metadata_log.care.copying import CheckedRead, Progress, file_size, no_progress
from metadata_log.care.store import Store, put_checked
from metadata_log.commit_mark import MARK_SIZE, CommitMark
from metadata_log.fs import Fs, read_whole
from metadata_log.log_reader import LogReader
from metadata_log.manifest import Kind
from metadata_log.names import (
    COMMIT_MARK,
    LOCK,
    MANIFEST,
    claim_name,
    claimed_epoch,
    index_name,
    segment_name,
)
from records.errors import CorruptLogError, RequestError

BACKUP_NOTE = "backup.json"
"""Says that a directory is a copy kept by `backup` or `archive`; put before anything else."""


class BackupNote(msgspec.Struct, frozen=True, kw_only=True):
    """What a copy is of."""

    format_version: int = 1
    cluster_id: str


class CopyResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a copy holds now, and what this run put there. Ends are exclusive."""

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
    until: CommitMark | None = None,
    progress: Progress = no_progress,
) -> CopyResult:
    """Copy a log up to the mark that `reader` found, or carry an earlier copy on to it.

    Every new block is checked before it is copied, every file is read back afterwards.

    Args:
        until: An earlier end of the same log, at the end of a segment.
        progress: Told the bytes that were copied.

    Raises:
        RequestError: something else is at the place, or the copy there is not of this history.
        CorruptLogError: the log is damaged; the copy was not touched.
        UnavailableError: another run writes to the place, or the log's start moved up meanwhile.
    """
    lock = None
    names = store.names()
    _check_place(store, names, reader)
    before = LogReader.open(store.directory, fs=store.fs) if MANIFEST in names else None
    mark = until or reader.mark
    segments = [
        segment
        for segment in committed_segments(fs, reader)
        if segment.base_offset <= mark.segment_offset
    ]
    if before is not None:
        check_same_history(store.fs, before, segments, reader, mark.end_offset)
    first = before.end_offset if before else reader.start_offset
    for _ in reader.batches(first, mark.end_offset):
        pass
    try:
        lock = store.prepare()
        return _carry_on(_Run(fs, reader, store, progress), before, segments, mark)
    finally:
        if lock is not None:
            lock.release()


def bytes_to_copy(fs: Fs, reader: LogReader, store: Store) -> int:
    """Return about how many bytes a run will copy, for a progress bar."""
    names = store.names()
    start = 0
    if MANIFEST in names and COMMIT_MARK in names:
        start = LogReader.open(store.directory, fs=store.fs).mark.segment_offset
    segments = committed_segments(fs, reader)
    return sum(segment.size for segment in segments if segment.base_offset >= start)


class _Run:
    """One run: what it copies, and what it has put so far."""

    def __init__(self, fs: Fs, reader: LogReader, store: Store, progress: Progress) -> None:
        self.fs = fs
        self.reader = reader
        self.store = store
        self.files: list[str] = []
        self.size_bytes = 0
        self._progress = progress

    def put_file(self, path: Path, size: int | None = None) -> None:
        size = file_size(self.fs, path) if size is None else size
        put_checked(self.store, path.name, self.fs, path, size, self._progress)
        self._count(path.name, size)

    def put_bytes(self, name: str, data: bytes) -> None:
        self.store.put(name, [data])
        self._count(name, len(data))

    def _count(self, name: str, size: int) -> None:
        self.files.append(name)
        self.size_bytes += size


def _carry_on(
    run: _Run, before: LogReader | None, segments: list[CommittedSegment], mark: CommitMark
) -> CopyResult:
    reader = run.reader
    if before is None:
        note = BackupNote(cluster_id=reader.cluster_id)
        run.put_bytes(BACKUP_NOTE, msgspec.json.encode(note) + b"\n")
        if reader.base is not None:
            run.put_file(reader.base.path)
    for segment in segments:
        if before is None or _is_new(segment, before):
            run.put_file(segment.path, _size_until(segment, mark))
    # The index of the last segment may still grow; without one it is only read from its start.
    _put_indexes(run, segments[:-1])
    _put_claim(run, mark)
    if before is None or before.mark.end_offset != mark.end_offset or before.mark != mark:
        run.put_bytes(COMMIT_MARK, mark_file(mark))
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
    """Return a commit mark's file that says the same in both slots, like that of a closed log."""
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
        name = index_name(segment.base_offset)
        if name in present - there:
            run.put_file(run.reader.directory / name)


def _put_claim(run: _Run, mark: CommitMark) -> None:
    """Let a writer that opens the copy claim an epoch above all that are in it."""
    if run.reader.kind is not Kind.OWN:
        return
    name = claim_name(max(highest_epoch(run.fs, run.reader), mark.leader_epoch))
    there = run.store.names()
    if name not in there:
        run.put_bytes(name, b"")
    for other in there:
        if claimed_epoch(other) is not None and other != name:
            run.store.delete(other)


def _check_place(store: Store, names: list[str], reader: LogReader) -> None:
    if store.directory == reader.directory:
        raise RequestError("INVALID_REQUEST", f"{store.directory} is the log itself")
    if BACKUP_NOTE not in names:
        # A run that was stopped at its first file leaves a part of the note.
        if set(names) - {LOCK, f"{BACKUP_NOTE}.part"}:
            raise RequestError(
                "LOG_EXISTS",
                f"{store.directory} holds something else than a backup; name a new place",
            )
        return
    path = store.directory / BACKUP_NOTE
    try:
        note = msgspec.json.decode(read_whole(store.fs, path), type=BackupNote)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptLogError(f"{path} byte 0: {error}; make a backup at a new place") from error
    if note.cluster_id != reader.cluster_id:
        raise RequestError(
            "INCONSISTENT_CLUSTER_ID",
            f"{store.directory} is a backup of cluster {note.cluster_id!r}, the log is of "
            f"{reader.cluster_id!r}; name a new place",
        )


def check_same_history(
    fs: Fs, copy: LogReader, segments: list[CommittedSegment], reader: LogReader, end_offset: int
) -> None:
    """Check that a copy holds a beginning of a log, byte for byte at its end.

    Each block carries the CRC of the one before, so equal ends mean equal histories.

    Raises:
        RequestError: it does not; the message says where they part.
    """
    mark = copy.mark
    if mark.end_offset > end_offset:
        raise _other_history(copy, f"it ends at offset {mark.end_offset}, the log at {end_offset}")
    if mark.end_offset < segments[0].base_offset:
        raise _other_history(
            copy,
            f"it ends at offset {mark.end_offset}, the log has been cut since and starts at "
            f"{segments[0].base_offset}",
        )
    same = [segment for segment in segments if segment.base_offset == mark.segment_offset]
    if same and mark.segment_offset != mark.end_offset:
        path = copy.directory / segment_name(mark.segment_offset)
        size = mark.position
        found = CheckedRead(fs, path, size).checksum()
        if same[0].size < size or found != CheckedRead(same[0].fs, same[0].path, size).checksum():
            raise _other_history(copy, f"{path.name} differs below byte {size}")
        return
    following = [segment for segment in segments if segment.base_offset == mark.end_offset]
    if following and following[0].header.previous_crc32c != mark.last_crc32c:
        raise _other_history(copy, f"the record before offset {mark.end_offset} differs")
    if not following:
        raise _other_history(copy, f"the log has no segment that goes on at {mark.end_offset}")


def _other_history(copy: LogReader, why: str) -> RequestError:
    return RequestError(
        "DIVERGED",
        f"{copy.directory} is not an earlier state of this log: {why}; look with "
        "`metalog compare`, and name a new place",
    )
