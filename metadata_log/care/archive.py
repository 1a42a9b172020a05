"""The archive: a backup of the sealed segments, with a checked list of its files.

An archive ends with the last sealed segment, and any reader can open it. `archive.json` lists each
file with its size and CRC as read back after copying. `retain` drops only segments that are in this
list and still unchanged in the archive.
"""

import contextlib
from pathlib import Path

import msgspec

from metadata_log.care.backup import CopyResult, copy_until, writing
from metadata_log.files.fs import Fs
from metadata_log.files.json_file import indented_json, read_json
from metadata_log.files.names import COMMIT_MARK, MANIFEST
from metadata_log.format.commit_mark import CommitMark
from metadata_log.reader.committed import CommittedSegment, committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.checked_read import CheckedRead, Progress, file_size, no_progress
from metadata_log.stores.store import DirectoryStore, Store, open_store
from records.errors import CorruptLogError, RequestError

ARCHIVE_LIST = "archive.json"
"""Name of the file, in an archive, that lists the archive's files."""

ARCHIVES_NOTE = "archives.json"
"""Name of the file, in a log, that lists the places of the log's archives."""

_REMEDY = "remove the file and run `metalog archive` again"


class ArchivedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of an archive, with its size in bytes and its CRC-32C as read back after copying."""

    name: str
    size: int
    crc32c: int


class ArchiveList(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `archive.json`; `end_offset` is exclusive."""

    format_version: int = 1
    cluster_id: str
    end_offset: int
    files: tuple[ArchivedFile, ...]


def archive(
    fs: Fs, reader: LogReader, store: Store, place: str, *, progress: Progress = no_progress
) -> CopyResult | None:
    """Copy the sealed segments of a log, and the base checkpoint they need, to an archive.

    A later call adds the segments that were sealed since the previous call. After an interrupted
    call it also copies the files that are missing.

    Args:
        place: The store's path or URL; recorded in the log for `retain`.

    Returns:
        None if no segment is sealed yet.

    Raises:
        As `back_up`.
    """
    segments = committed_segments(fs, reader)
    sealed = segments[:-1]
    if not sealed:
        return None
    with writing(store, reader):
        mark = _mark_there(store, segments[-1].base_offset)
        mark = mark or _mark_after(sealed[-1], segments[-1], reader.mark)
        result = copy_until(fs, reader, store, mark, progress=progress)
        _list_files(store, reader, sealed, mark)
    _note_archive(fs, reader.directory, place)
    return result


def _mark_there(store: Store, end_offset: int) -> CommitMark | None:
    """Return the archive's commit mark; None if the mark does not end at `end_offset`.

    A mark that ends at this offset shows that no segment was sealed since the previous run.

    Raises:
        CorruptLogError: the archive has lost its commit mark and manifest.
    """
    names = store.names()
    if MANIFEST in names:
        mark = LogReader.open(store.directory, fs=store.fs).mark
        return mark if mark.end_offset == end_offset else None
    if ARCHIVE_LIST in names and COMMIT_MARK not in names:
        raise CorruptLogError(
            f"{store.directory / COMMIT_MARK} byte 0: the archive has lost this file and "
            f"{MANIFEST}; rebuild the archive with `metalog repair {store.directory} COPY`, or "
            "name a new place"
        )
    return None


def read_archive_list(store: Store) -> ArchiveList | None:
    """Read an archive's list of files; return None if it has no list yet.

    Raises:
        CorruptLogError: the list is damaged.
    """
    path = store.directory / ARCHIVE_LIST
    try:
        return read_json(store.fs, path, ArchiveList, _REMEDY)
    except FileNotFoundError:
        return None


def archive_places(fs: Fs, directory: Path) -> list[str]:
    """Return the paths and URLs of a log's archives.

    Raises:
        CorruptLogError: `archives.json` in the log is damaged.
    """
    path = directory / ARCHIVES_NOTE
    try:
        return read_json(fs, path, list[str], _REMEDY)
    except FileNotFoundError:
        return []


def check_archived(fs: Fs, directory: Path, segments: list[CommittedSegment]) -> None:
    """Check that each segment is intact in one of the log's archives, by reading it back.

    To be called before segments are dropped from the log: afterwards, a damaged file of the archive
    could not be replaced any more.

    Raises:
        RequestError: no archive has an intact copy of a segment; names the segment and the command
            to run.
    """
    stores = [open_store(place, fs) for place in archive_places(fs, directory)]
    lists = [(store, read_archive_list(store)) for store in stores]
    for segment in segments:
        crc32c = CheckedRead(fs, segment.path, segment.size).checksum()
        file = ArchivedFile(name=segment.path.name, size=segment.size, crc32c=crc32c)
        holders = [store for store, known in lists if known is not None and file in known.files]
        if not any(_is_whole(store, file) for store in holders):
            raise _not_archived(directory, segment, holders)


def _is_whole(store: Store, file: ArchivedFile) -> bool:
    """True if the archive still has the file with the listed size and CRC."""
    path = store.directory / file.name
    with contextlib.suppress(FileNotFoundError):
        if file_size(store.fs, path) == file.size:
            return CheckedRead(store.fs, path, file.size).checksum() == file.crc32c
    return False


def _not_archived(directory: Path, segment: CommittedSegment, holders: list[Store]) -> RequestError:
    if not holders:
        return RequestError(
            "NOT_ARCHIVED",
            f"{segment.path} is in no archive of this log; run `metalog archive {directory} DEST` "
            "first, or add --without-archive",
        )
    path = holders[0].directory / segment.path.name
    return RequestError(
        "NOT_ARCHIVED",
        f"the archived {path} is missing or has changed; remove that file and run `metalog "
        f"archive {directory} DEST` again, or name a new DEST",
    )


def _mark_after(
    last: CommittedSegment, following: CommittedSegment, mark: CommitMark
) -> CommitMark:
    """Return a commit mark that the log could have had just after the segment `last` was sealed."""
    epoch = last.header.leader_epoch
    with last.scan() as scan:
        for block in scan.blocks():
            epoch = block.leader_epoch
    return CommitMark(
        sequence=mark.sequence,
        leader_epoch=epoch,
        end_offset=following.base_offset,
        segment_offset=last.base_offset,
        position=last.size,
        confirmed_end=min(mark.confirmed_end, following.base_offset),
        last_crc32c=following.header.previous_crc32c,
        max_timestamp=following.header.max_timestamp or 0,
    )


def _list_files(
    store: Store, reader: LogReader, sealed: list[CommittedSegment], mark: CommitMark
) -> None:
    """Write the archive's list of files: its old entries, and the files copied in this run."""
    before = read_archive_list(store)
    files = {file.name: file for file in before.files} if before else {}
    base = [] if reader.base is None else [reader.base.path.name]
    there = set(store.names())
    for name in [*base, *(segment.path.name for segment in sealed)]:
        if name not in files and name in there:
            path = store.directory / name
            size = file_size(store.fs, path)
            crc32c = CheckedRead(store.fs, path, size).checksum()
            files[name] = ArchivedFile(name=name, size=size, crc32c=crc32c)
    content = ArchiveList(
        cluster_id=reader.cluster_id,
        end_offset=mark.end_offset,
        files=tuple(files[name] for name in sorted(files)),
    )
    if content != before:
        store.put(ARCHIVE_LIST, [indented_json(content)])


def _note_archive(fs: Fs, directory: Path, place: str) -> None:
    """Record the archive's path or URL in the log."""
    place = place if "://" in place else str(Path(place).absolute())
    known = archive_places(fs, directory)
    if place not in known:
        DirectoryStore(fs, directory).put(ARCHIVES_NOTE, [indented_json([*known, place])])
