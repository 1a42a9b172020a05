"""`metalog.json`: the identity of a log directory. Written once, and once more with another format
version if the directory becomes a node's folder."""

from enum import StrEnum
from pathlib import Path

import msgspec

from metadata_log.files.fs import ByteStore, Fs, UrlPath
from metadata_log.files.json_file import read_json, write_json
from metadata_log.files.names import MANIFEST
from records.errors import CorruptLogError, RequestError

FORMAT_VERSION = 1

NODE_FORMAT_VERSION = 2
"""Format version of a node's folder, which is a copy of a shared log. Only the number differs from
version 1: it makes releases that do not know shared logs refuse to write to the folder."""

REMEDY = "restore it from a backup, or write it by hand: docs/log_format.md shows one"
"""What to do about a damaged manifest."""


class Kind(StrEnum):
    """Source of a log's offsets, epochs and times: the log itself (own) or a Kafka cluster
    (mirror).
    """

    OWN = "own"
    MIRROR = "mirror"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of a log, as stored in `metalog.json`."""

    format_version: int = FORMAT_VERSION
    cluster_id: str
    kind: Kind


def write_manifest(fs: Fs, directory: Path, manifest: Manifest) -> None:
    """Atomically write the manifest of a new log."""
    write_json(fs, directory / MANIFEST, manifest)


def read_manifest(fs: ByteStore, directory: Path) -> Manifest:
    """Read the manifest of a log.

    Raises:
        RequestError: the directory is not a log, or was written by a newer release.
        CorruptLogError: the manifest is damaged.
    """
    path = directory / MANIFEST
    try:
        manifest = read_json(fs, path, Manifest, REMEDY)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RequestError(
            "LOG_NOT_FOUND",
            f"{directory} is not a log: {_what_it_is(fs, directory)}",
        ) from error
    if manifest.format_version < 1:
        raise CorruptLogError(
            f"{path} byte 0: format_version {manifest.format_version} was never used; restore the "
            "file from a backup"
        )
    if manifest.format_version > NODE_FORMAT_VERSION:
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"{path} names log format {manifest.format_version}, but this release reads only up "
            f"to {NODE_FORMAT_VERSION}; use a newer release",
        )
    return manifest


def _what_it_is(fs: ByteStore, directory: Path) -> str:
    """Return a description of a directory without a manifest, with advice, for an error message."""
    from metadata_log.kraft_format.names import (
        PARTITION_DIRECTORY,
        checkpoint_id,
        segment_base_offset,
    )

    try:
        names = fs.list(directory)
    except (FileNotFoundError, NotADirectoryError):
        names = []
    if PARTITION_DIRECTORY in names or any(
        segment_base_offset(name) is not None or checkpoint_id(name) is not None for name in names
    ):
        return f"it is a folder of Kafka; import it with `metalog import kraft {directory} LOG`"
    if isinstance(directory, UrlPath):
        return f"it has no {MANIFEST}; put one there with `metalog archive` or `backup`"
    if fs.exists(directory.parent / f"{directory.name}.next" / MANIFEST):
        return "its import stopped while it began a part; run its import again, which completes it"
    return f"it has no {MANIFEST}; make one with `metalog init`, `demo` or `import kraft`"
