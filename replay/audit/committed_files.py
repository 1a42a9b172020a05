"""The files of a log that an audit reads: those covered by the commit mark."""

import dataclasses
from collections import deque
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from metadata_log.files.fs import ByteStore
from metadata_log.format.parts import earlier_parts
from metadata_log.reader.committed import committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.checked_read import CheckedRead, file_size
from records.errors import CorruptLogError
from replay.audit.log_files import LogFiles

Fetching = Callable[[Path, int], None]
"""Called before a file is copied from an object store, with its path and its size in bytes."""


def committed_files(reader: LogReader) -> LogFiles:
    """Return the committed files of a log, as of the time the reader was opened.

    A segment can contain more than is committed: the last segment while it is being written, or an
    earlier segment if a fenced writer continued to write. Only such segments need a copy.

    Raises:
        CorruptLogError: a segment is missing or shorter than its committed size, its header is
            damaged, or its schema is of no known release.
    """
    # Reads each header: Spark decodes with any schema that a header holds.
    segments = committed_segments(reader.fs, reader)
    sizes = {segment.path: file_size(reader.fs, segment.path) for segment in segments}
    for segment in segments:
        if sizes[segment.path] < segment.size:
            # Only its blocks show whether it was shortened, or a segment after it is missing.
            deque(reader.placed_blocks(segment.base_offset), maxlen=0)
            raise CorruptLogError(
                f"{segment.path} byte {sizes[segment.path]}: the file ends here, but "
                f"{segment.size} bytes are committed: the file was shortened; `metalog verify "
                f"{reader.directory}` says what is intact"
            )
    directory = reader.local_directory
    return LogFiles(
        segments=tuple(sizes),
        cut={s.path: s.size for s in segments if sizes[s.path] > s.size},
        base=reader.base.path if reader.base else None,
        base_end_offset=reader.base.end_offset if reader.base else 0,
        history_start=reader.history_start,
        end_offset=reader.end_offset,
        latest_before={
            each.base_offset: each.header.max_timestamp
            for each in segments
            if each.header.max_timestamp is not None
        },
        times_ascend=reader.kind == "own",
        folder=None if directory is None else directory.resolve(),
        earlier=() if directory is None else earlier_parts(reader.fs, directory),
    )


def readable_files(reader: LogReader, scratch: Path | None, fetching: Fetching) -> LogFiles:
    """Return the committed files of a log in a form that Spark can read, even while it is written.

    A file in an object store is copied when the first frame that needs the file is created.

    Args:
        scratch: An empty folder for copies, which lives as long as the frames read from it; on a
            cluster every node must see it. None: no copies are made; files that Spark's own
            reader cannot open are read by byte ranges in Spark's workers.
        fetching: Called before a file is copied from an object store.

    Raises:
        CorruptLogError: as for `committed_files`.
    """
    files = committed_files(reader)
    is_local = reader.local_directory is not None
    if scratch is None:
        return _by_ranges(reader, files, files.cut if is_local else files.committed)
    if is_local:
        return files.frozen(scratch)
    fetched = _FetchedFiles(reader.fs, files.cut, scratch, fetching)
    return dataclasses.replace(files, segments=files.committed, cut={}, local=fetched.path_of)


def _by_ranges(reader: LogReader, files: LogFiles, ranged: Collection[Path]) -> LogFiles:
    """Return `files`, changed so that Spark's workers read some of them by byte ranges.

    They read the files in `ranged` this way, and also a base that is in a bucket.
    """
    base = () if files.base is None or reader.local_directory is not None else (files.base,)
    sizes = {
        path: files.cut.get(path) or file_size(reader.fs, path)
        for path in (*files.committed, *base)
        if path in ranged or path in base
    }
    return dataclasses.replace(files, segments=files.committed, cut={}, by_ranges=sizes)


class _FetchedFiles:
    """Local copies of files in an object store; each is made when it is first requested."""

    def __init__(
        self, fs: ByteStore, cut: Mapping[Path, int], scratch: Path, fetching: Fetching
    ) -> None:
        self._fs = fs
        self._cut = cut
        self._scratch = scratch
        self._fetching = fetching

    def path_of(self, path: Path) -> Path:
        """Return the local copy of a file; fetch it if necessary.

        Raises:
            UnavailableError: the store does not answer, or the file was replaced.
        """
        target = self._scratch / path.name
        if not target.exists():
            size = self._cut.get(path) or file_size(self._fs, path)
            self._fetching(path, size)
            part = target.with_name(f".{path.name}.part")
            with part.open("wb") as copy:
                copy.writelines(CheckedRead(self._fs, path, size))
            part.rename(target)
        return target
