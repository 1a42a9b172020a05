"""Removes the end of a node's folder that its shared log has lost, so that the node can follow."""

from pathlib import Path

from metadata_log.files.fs import Fs
from metadata_log.format.commit_mark import read_mark
from metadata_log.format.manifest import Kind
from metadata_log.format.tail import EMPTY_TAIL, Tail
from metadata_log.reader.committed import CommittedSegment, committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.recovery.copy_recovery import remove_after
from metadata_log.writer.cut import cut_at
from metadata_log.writer.node_writer import NodeWriter
from metadata_log.writer.owned_log import take_over
from records.errors import UnknownHistoryError


def cut_node_folder(fs: Fs, directory: Path, end_offset: int) -> None:
    """Remove all records of a folder from an offset on; a block must end there.

    An interrupted cut can be repeated: the next writer opens the folder with its intact blocks, of
    which some may still be after the offset.

    Raises:
        UnknownHistoryError: the folder does not reach back to the offset.
        UnavailableError: another process has the folder, or the disk is full.
        CorruptLogError: the folder is damaged before the offset.
    """
    owned = take_over(fs, directory, Kind.OWN, is_copy=True)
    try:
        owned.writer.close()
        with LogReader.open(directory, fs=fs) as reader:
            if end_offset < reader.history_start:
                raise UnknownHistoryError(
                    f"{directory} cannot be cut back to offset {end_offset}: the folder begins at "
                    f"{reader.history_start}"
                )
            tail = _tail(committed_segments(fs, reader), end_offset)
        remove_after(fs, directory, tail, owned.claim)
        writer = NodeWriter(fs, directory, owned.cluster_id, tail, owned.claim)
        writer.take_over(read_mark(fs, directory))
        if not tail.position:
            writer.start_segment(tail.leader_epoch)  # as in a new log
        writer.close()
    finally:
        owned.lock.release()


def _tail(segments: list[CommittedSegment], end_offset: int) -> Tail:
    """Return the end of a folder that is cut at the end of a block."""
    before = [segment for segment in segments if segment.base_offset < end_offset]
    if not before:
        return EMPTY_TAIL
    cut = cut_at(before[-1], end_offset)
    assert cut.end_offset == end_offset, "a block ends there"
    return Tail(
        end_offset=end_offset,
        leader_epoch=cut.leader_epoch,
        segment_offset=cut.segment.base_offset,
        position=cut.position,
        previous_length=cut.segment.header.previous_length,
        last_crc32c=cut.last_crc32c,
        max_timestamp=cut.max_timestamp,
    )
