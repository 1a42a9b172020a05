"""The records of a gap in a recording, read from a node's directory that still has them."""

from collections.abc import Iterator
from typing import NamedTuple

from metadata_log.format.parts import Gap
from metadata_log.kraft.contested_keys import ContestedKeys
from metadata_log.kraft.directory import KraftDirectory
from metadata_log.kraft.importer import UNKNOWN_CLUSTER_ID
from metadata_log.kraft.reconcile import reconcile
from metadata_log.kraft_format.batch import KraftBatch, LogPosition
from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError


class GapSource(NamedTuple):
    """A directory that continues the part before a gap.

    Attributes:
        begin: Offset up to which the part before the gap is kept; the directory has the records
            from this offset on.
        position: The batch before `begin` in the directory; None if the directory starts at
            `begin`.
    """

    directory: KraftDirectory
    before: LogReader
    gap: Gap
    begin: int
    position: LogPosition | None

    def batches(self) -> Iterator[KraftBatch]:
        """Yield the batches from `begin` to the end of the gap.

        Raises:
            RequestError: the directory ends before the gap does, or has other batches.
            CorruptLogError: the directory is damaged.
        """
        contested, end = ContestedKeys.after(self.before), self.begin
        for batch in self.directory.scan(self.position).batches():
            if batch.base_offset >= self.gap.to_offset:
                break
            yield contested.checked_batch(batch)
            end = batch.end_offset
        if end < self.gap.to_offset:
            raise RequestError(
                "OFFSET_OUT_OF_RANGE",
                f"{self.directory.path} ends at offset {end - 1}, and the gap at "
                f"{self.gap.to_offset - 1}; name a node that has all records of the gap",
            )
        if end > self.gap.to_offset:
            raise RequestError(
                "INCONSISTENT_CLUSTER_ID",
                f"{self.directory.path} is another log: a batch in it goes on past offset "
                f"{self.gap.to_offset}, where the part after the gap begins; name a node of the "
                "recorded cluster",
            )


def gap_source(directory: KraftDirectory, before: LogReader, gap: Gap) -> GapSource:
    """Compare a directory with the part before a gap, and return where the directory continues it.

    Raises:
        RequestError: the directory is of another cluster or history, lacks the first records of the
            gap, or ends before the gap.
        CorruptLogError: the directory or the part is damaged.
        UnavailableError: Kafka removed a file meanwhile.
    """
    cluster_id = directory.cluster_id or UNKNOWN_CLUSTER_ID
    if cluster_id != before.cluster_id:
        raise RequestError(
            "INCONSISTENT_CLUSTER_ID",
            f"{directory.path} is of cluster {cluster_id!r}, but the recording is of "
            f"{before.cluster_id!r}; name a node of that cluster",
        )
    found = reconcile(directory, before)
    if found.source_end is not None:
        raise RequestError(
            "OFFSET_OUT_OF_RANGE",
            f"{directory.path} ends at offset {found.source_end - 1}, before the gap, which begins "
            f"at {gap.from_offset}; name a node that has all records of the gap",
        )
    return GapSource(directory, before, gap, found.end_offset, found.position)
