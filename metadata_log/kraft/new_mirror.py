"""Makes a mirror without records, which starts at offset 0 or from a snapshot of a quorum."""

from pathlib import Path

from metadata_log.format.checkpoint import CheckpointRecord
from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.contested_keys import ContestedKeys
from metadata_log.writer.mirror import MirrorBuilder


def begin_mirror(log: Path, cluster_id: str, base: KraftCheckpoint | None = None) -> None:
    """Make a mirror without records, which an `ObservedMirror` continues.

    Args:
        base: The quorum's snapshot that the log starts from; None: it starts at offset 0.

    Raises:
        RequestError: `log` exists already.
        CorruptLogError: the snapshot is damaged.
    """
    with MirrorBuilder(log, cluster_id) as mirror:
        if base is not None:
            write_base(mirror, base)
        mirror.finish(confirmed_end=0 if base is None else base.end_offset)


def write_base(mirror: MirrorBuilder, base: KraftCheckpoint) -> None:
    """Write a quorum's snapshot as the base of a new mirror.

    Raises:
        CorruptLogError: the snapshot is damaged.
    """
    base.verify()
    contested = ContestedKeys()
    mirror.write_base(
        (
            CheckpointRecord(row.payload, row.record_version, row.extra)
            for rows in base.rows()
            for row in map(contested.checked, rows)
        ),
        end_offset=base.end_offset,
        leader_epoch=base.leader_epoch,
        timestamp=base.timestamp,
    )
