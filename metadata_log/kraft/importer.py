"""Import of Kafka's metadata log into a new mirror, without loss."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from metadata_log.format.checkpoint import CheckpointRecord
from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.contested_keys import ContestedKeys
from metadata_log.kraft.directory import KraftDirectory
from metadata_log.kraft.gathered_batches import Gathering
from metadata_log.kraft.sole_voter import SoleVoter
from metadata_log.writer.mirror import MirrorBuilder
from records.base import Record
from records.control import UnknownRecord

# Cluster id of a mirror whose source does not name its cluster.
UNKNOWN_CLUSTER_ID = "unknown"


class Replaced(msgspec.Struct, frozen=True, kw_only=True):
    """Offsets of a mirror that Kafka has replaced, inclusive, and the leader epoch of the first."""

    first_offset: int
    last_offset: int
    leader_epoch: int


class ImportResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an import; records are counted as in the source, NoOps included.

    `last_offset` is inclusive; it is `first_offset` - 1 if there were no records.
    `committed_end_offset` is the exclusive end of the records that are known to be committed: by a
    directory's newest complete checkpoint, because the quorum had a single voter, or, over the
    network, by the high watermark; 0 if none is known. Kafka may still replace later offsets.
    `replaced` are the offsets that an existing mirror lost, because Kafka had replaced them.
    `source_end` is the end of the source if the source is behind the mirror, else None.
    """

    records: int
    first_offset: int
    last_offset: int
    committed_end_offset: int
    trailing_bytes: int
    unknown_records: int
    by_type: dict[str, int]
    replaced: Replaced | None = None
    source_end: int | None = None


def import_directory(
    source: KraftDirectory,
    log: Path,
    *,
    collapse_noops: bool = True,
    progress: Callable[[int], None] | None = None,
) -> ImportResult:
    """Import a whole directory as a new mirror at `log`; on failure nothing is left there.

    Args:
        collapse_noops: Store each run of batches that contain only NoOps as one record.
        progress: Called with the number of segment bytes read so far.

    Raises:
        CorruptLogError: the source is damaged; names file and byte.
        RequestError: `log` exists already.
    """
    for checkpoint in source.checkpoints:
        checkpoint.verify()
    by_type: defaultdict[type[Record], int] = defaultdict(int)
    cluster_id = source.cluster_id or UNKNOWN_CLUSTER_ID
    first_offset: int | None = None
    with MirrorBuilder(log, cluster_id) as mirror:
        end_offset = 0
        contested, sole = ContestedKeys(), SoleVoter()
        base = source.base_checkpoint
        if base is not None:
            mirror.write_base(
                _records(base, contested, sole),
                end_offset=base.end_offset,
                leader_epoch=base.leader_epoch,
                timestamp=base.timestamp,
            )
            end_offset = base.end_offset
        gathering = Gathering(mirror.append, collapse_noops=collapse_noops)
        bytes_read = 0
        starts = {segment.base_offset for segment in source.segments}
        for batch in source.batches():
            if first_offset is None:
                first_offset = batch.base_offset
            elif not collapse_noops and batch.base_offset in starts:
                gathering.flush()
                mirror.start_segment(batch.leader_epoch)  # an export begins one there, too
            if base is not None and batch.base_offset == base.end_offset:
                gathering.flush()  # no run of NoOps reaches over the start of the history
            end_offset = batch.end_offset
            batch = contested.checked_batch(batch)
            sole.add(batch.rows, end_offset)
            for row in batch.rows:
                by_type[type(row.payload)] += 1
            gathering.add(batch)
            bytes_read += batch.size
            if progress is not None:
                progress(bytes_read)
        gathering.flush()
        committed = max(source.committed_end_offset, sole.confirmed_end)
        mirror.finish(confirmed_end=min(committed, end_offset))
    return import_result(
        by_type,
        first_offset=end_offset if first_offset is None else first_offset,
        end_offset=end_offset,
        committed_end_offset=committed,
        trailing_bytes=source.trailing_bytes,
    )


def import_result(
    by_type: Mapping[type[Record], int],
    *,
    first_offset: int,
    end_offset: int,
    committed_end_offset: int,
    trailing_bytes: int,
    replaced: Replaced | None = None,
    source_end: int | None = None,
) -> ImportResult:
    """Return the result of an import, with the number of records of each type."""
    return ImportResult(
        records=sum(by_type.values()),
        first_offset=first_offset,
        last_offset=end_offset - 1,
        committed_end_offset=committed_end_offset,
        trailing_bytes=trailing_bytes,
        unknown_records=by_type.get(UnknownRecord, 0),
        by_type={
            cls.__name__: count
            for cls, count in sorted(by_type.items(), key=lambda item: -item[1])
            if count
        },
        replaced=replaced,
        source_end=source_end,
    )


def _records(
    checkpoint: KraftCheckpoint, contested: ContestedKeys, sole: SoleVoter
) -> Iterator[CheckpointRecord]:
    for rows in checkpoint.rows():
        for row in map(contested.checked, rows):
            sole.see(row.payload)
            yield CheckpointRecord(row.payload, row.record_version, row.extra)
