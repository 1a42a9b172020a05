"""Identity of a damaged log: its manifest, or one derived from other files, and its base
checkpoint.
"""

from pathlib import Path

from metadata_log.files.fs import ByteStore
from metadata_log.files.names import (
    MANIFEST,
    checkpoint_id,
    checkpoint_name,
    claimed_epoch,
    segment_name,
    segment_offsets,
)
from metadata_log.format.base import check_checkpoint
from metadata_log.format.checkpoint import Checkpoint, open_checkpoint
from metadata_log.format.manifest import Kind, Manifest, read_manifest
from metadata_log.format.segment_file import SegmentFile
from records.errors import CorruptLogError, RequestError


def claims(names: list[str]) -> list[int]:
    """Return the epochs that writers have claimed, from the names of the claim files."""
    return [epoch for name in names if (epoch := claimed_epoch(name)) is not None]


def find_manifest(
    fs: ByteStore, directory: Path, names: list[str], first_base: int
) -> tuple[Manifest, str | None]:
    """Return the manifest and None; or, if it is damaged or missing, a derived one and a message.

    The derived manifest comes from the first segment's header and the claims.

    Raises:
        RequestError: the log is of a newer format.
        CorruptLogError: the first header is damaged, too.
    """
    try:
        return read_manifest(fs, directory), None
    except CorruptLogError as error:
        why = str(error.__cause__ or error)
    except RequestError as error:
        if error.code != "LOG_NOT_FOUND":
            raise
        why = "missing"
    path = directory / segment_name(first_base)
    with SegmentFile.opened(fs, path) as segment:
        has_records = segment.file.size() > segment.first_position
    # A writer of an own log claims its epoch before it writes; a mirror claims none.
    kind = Kind.OWN if claims(names) or not has_records else Kind.MIRROR
    manifest = Manifest(cluster_id=segment.header.cluster_id, kind=kind)
    return manifest, f"{MANIFEST} byte 0: {why}; the claims say that the log is {kind}"


def find_base(
    fs: ByteStore, directory: Path, cluster_id: str, names: list[str], start: int
) -> tuple[Checkpoint | None, list[str]]:
    """Find the oldest intact checkpoint for the segments from `start` on.

    Returns:
        The checkpoint, None if the segments need none; and a message for each checkpoint that was
        rejected, with its name and the reason.

    Raises:
        CorruptLogError: a checkpoint is needed, and none is intact and of this log.
    """
    segments = [base for base in segment_offsets(names) if base >= start]
    candidates = sorted(
        identity
        for name in names
        if (identity := checkpoint_id(name)) is not None and identity[0] >= start
    )
    if start == 0:
        candidates = [identity for identity in candidates if identity[0] == 0]
    left_out: list[str] = []
    for identity in candidates:
        path = directory / checkpoint_name(*identity)
        try:
            checkpoint = open_checkpoint(fs, path)
            check_checkpoint(fs, checkpoint, cluster_id, segments)
            return checkpoint, left_out
        except CorruptLogError as error:
            left_out.append(f"{path.name}: left out, {error}")
    if start > 0 or candidates:
        raise CorruptLogError(
            f"{directory}: the segments start at offset {start} and no whole checkpoint holds the "
            "state before it; restore the checkpoint from a backup or archive first"
        )
    return None, left_out
