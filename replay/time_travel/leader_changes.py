"""Records with which a controller's term begins, found without reading the rest of a log."""

from collections.abc import Iterator

from metadata_log.format.batch import Batch
from metadata_log.format.needles import Needles
from records.control import LeaderChangeMessage
from replay.loader import BatchSource
from replay.time_travel.skim import SkimmableSource


def leader_changes(source: BatchSource, end_offset: int) -> Iterator[Batch]:
    """Return batches below an offset, at least those with a LeaderChangeMessage.

    Raises:
        CorruptLogError: the log is damaged.
    """
    if not isinstance(source, SkimmableSource):
        return iter(source.batches(None, end_offset))
    needles = Needles()
    needles.add_type(LeaderChangeMessage)
    return source.skim(needles, end_offset)


def leader_before(source: BatchSource, offset: int) -> int | None:
    """Return the controller that is active before an offset; None if the log does not name it.

    Raises:
        CorruptLogError: the log is damaged.
    """
    leader = None
    for batch in leader_changes(source, offset):
        for row in batch.rows:
            if isinstance(row.payload, LeaderChangeMessage) and row.offset < offset:
                leader = row.payload.leader_id
    return leader
