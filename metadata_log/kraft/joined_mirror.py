"""Joins two parts of a recording and the records of the gap between them into a new mirror."""

from collections.abc import Callable
from pathlib import Path

from metadata_log.files.names import KRAFT_TABLES, PARTS
from metadata_log.format.checkpoint import CheckpointRecord
from metadata_log.format.parts import EarlierPart, Parts, parts_json
from metadata_log.kraft.gap_source import GapSource
from metadata_log.kraft.gathered_batches import Gathering
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.mirror import MirrorBuilder


def join_parts(
    source: GapSource,
    after: LogReader,
    earlier: tuple[EarlierPart, ...],
    target: Path,
    *,
    collapse_noops: bool,
    progress: Callable[[int], None],
) -> None:
    """Write the part before a gap, the gap's records and the part after it as a mirror at `target`.

    Args:
        after: The newest part, which begins at the end of the gap.
        earlier: The parts before the part before the gap.
        progress: Called with the end offset of what was written.

    Raises:
        RequestError: `target` exists; or as `GapSource.batches`.
        CorruptLogError: a part or the directory is damaged.
        UnavailableError: the disk is full.
    """
    before = source.before
    with MirrorBuilder(target, before.cluster_id) as mirror:
        if before.base is not None:
            mirror.write_base(
                (
                    CheckpointRecord(row.payload, row.record_version, row.extra)
                    for rows in before.base.rows()
                    for row in rows
                ),
                end_offset=before.base.end_offset,
                leader_epoch=before.base.leader_epoch,
                timestamp=before.base.timestamp,
            )
        _copy(before, source.begin, mirror, progress)
        gathering = Gathering(mirror.append, collapse_noops=collapse_noops)
        for batch in source.batches():
            gathering.add(batch)
            progress(batch.end_offset)
        gathering.flush()
        _copy(after, after.end_offset, mirror, progress)
        if earlier:
            mirror.write_file(PARTS, parts_json(Parts(earlier=earlier)))
        tables = after.directory / KRAFT_TABLES
        if after.tables:
            mirror.write_file(KRAFT_TABLES, tables.read_bytes())
        mirror.finish(confirmed_end=after.confirmed_end)


def _copy(
    part: LogReader, end_offset: int, mirror: MirrorBuilder, progress: Callable[[int], None]
) -> None:
    """Append a part's batches below an offset, in the same blocks as in the part."""
    for _, block in part.placed_blocks(part.start_offset):
        batches = [batch for batch in block.batches if batch.base_offset < end_offset]
        if not batches:
            return
        rows = [row for batch in batches for row in batch.rows]
        mirror.append(rows, batches[-1].end_offset)
        progress(batches[-1].end_offset)
