"""Creation of a new log."""

import contextlib
from pathlib import Path

from metadata_log.file_publish import SoleOwner
from metadata_log.fs import Fs, OsFs
from metadata_log.log_writer import LogWriter, create_mark
from metadata_log.manifest import Kind, Manifest, write_manifest
from metadata_log.tail import EMPTY_TAIL
from records.errors import RequestError


def create_log(directory: Path, cluster_id: str, *, fs: Fs | None = None) -> None:
    """Create an empty log that assigns its own offsets, epochs and times (not a mirror).

    Raises:
        RequestError: the directory exists and is not empty.
    """
    fs = fs or OsFs()
    with contextlib.suppress(FileExistsError):
        fs.make_directory(directory)
    if fs.list(directory):
        raise RequestError("LOG_EXISTS", f"{directory} is not empty; name a new directory")
    create_mark(fs, directory)
    writer = LogWriter(fs, directory, cluster_id, EMPTY_TAIL, SoleOwner())
    try:
        writer.start_segment(leader_epoch=0)
    except BaseException:
        writer.abandon()
        raise
    writer.close()
    # The manifest comes last: without it the directory is not a log yet.
    write_manifest(fs, directory, Manifest(cluster_id=cluster_id, kind=Kind.OWN))
    fs.sync_directory(directory.parent)
