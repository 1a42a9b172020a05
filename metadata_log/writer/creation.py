"""Creation of a new log."""

import contextlib
import re
from pathlib import Path

from metadata_log.files.file_publish import SoleOwner
from metadata_log.files.fs import Fs, OsFs
from metadata_log.format.manifest import Kind, Manifest, write_manifest
from metadata_log.format.tail import EMPTY_TAIL
from metadata_log.writer.log_writer import LogWriter, create_mark
from records.errors import RequestError

# Kafka makes ids of 22 characters of base64url; people choose readable ones, too.
_CLUSTER_ID = re.compile(r"[A-Za-z0-9._-]{1,255}")


def create_log(directory: Path | str, cluster_id: str, *, fs: Fs | None = None) -> None:
    """Create an empty log that assigns its own offsets, epochs and times (not a mirror).

    Args:
        cluster_id: 1 to 255 letters, digits, `.`, `_` or `-`.

    Raises:
        RequestError: as `create_log_of`; or INVALID_REQUEST, the cluster id has another form.
    """
    if not _CLUSTER_ID.fullmatch(cluster_id):
        raise RequestError(
            "INVALID_REQUEST",
            f"{cluster_id[:40]!r} is no cluster id: use 1 to 255 letters, digits, '.', '_' or '-'",
        )
    create_log_of(fs or OsFs(), Path(directory), cluster_id)


def create_log_of(fs: Fs, directory: Path, cluster_id: str) -> None:
    """Create an empty log of a cluster that exists, whatever the form of its id.

    Raises:
        RequestError: LOG_EXISTS, the directory exists and is not empty.
    """
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
