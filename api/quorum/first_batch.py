"""The first batch of a log that was never cleaned, from a leader that does not serve offset 0.

From Kafka 3.6 on, a leader that has a snapshot answers a Fetch of offset 0 with that snapshot, even
if the leader's log still starts at 0. The leader does serve offset 1, and it sends whole batches.
So the answer is one of these:

| the batch | a mirror starts |
|---|---|
| from offset 0, because the first one has several records | at offset 0, with this batch |
| from offset 1, with data | at offset 1, with an empty state |
| from offset 1, with control records: another epoch begins | from a snapshot |

The state is empty, because offset 0 is the LeaderChangeMessage with which an epoch begins. The
epoch of offset 0 is that of offset 1, unless another epoch begins at offset 1: then it is unknown.

Source: KAFKA-15078; `validateOffsetAndEpoch` of Kafka 3.7 to 4.3.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from api.quorum.answers import Answer, Fetched
from api.quorum.observer import Observer
from api.quorum.requests import Position
from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.checkpoint_writer import write_checkpoint
from metadata_log.kraft_format.batch import HEADER_SIZE, BatchHeader, crc_of, parse_header
from metadata_log.kraft_format.names import checkpoint_name
from records.errors import CorruptLogError

DAMAGED_MAX = 5
"""Damaged answers in a row after which the log counts as damaged."""


async def first_batch(observer: Observer) -> BatchHeader | None:
    """Return the batch with which a mirror of a log from offset 0 starts; None: no such batch.

    Raises:
        UnavailableError, RequestError: as `Observer.fetch`.
        CorruptLogError: the leader sends damaged batches.
    """
    # The epoch of the leader, because that of offset 0 may be below the oldest snapshot's.
    first = await sent_batch(observer, Position(1, observer.leaders.epoch))
    if first is None or (first.base_offset == 1 and first.is_control):
        return None
    return first if first.base_offset <= 1 else None


@contextmanager
def base_before(first: BatchHeader) -> Iterator[KraftCheckpoint | None]:
    """Yield the empty base before a batch at offset 1; None if the batch is at offset 0."""
    if first.base_offset == 0:
        yield None
        return
    with TemporaryDirectory(prefix="metalog-") as folder:
        path = Path(folder) / checkpoint_name(first.base_offset, first.leader_epoch)
        # The time of offset 0 is not known; it is at most this.
        epoch, timestamp = first.leader_epoch, first.base_timestamp
        write_checkpoint(path, (), leader_epoch=epoch, timestamp=timestamp)
        yield KraftCheckpoint(path)


async def sent_batch(observer: Observer, position: Position) -> BatchHeader | None:
    """Return the header of the batch at a position; None if the leader sends no records.

    Raises:
        UnavailableError, RequestError: as `Observer.fetch`.
        CorruptLogError: the leader sends damaged batches, again and again.
    """
    for _ in range(DAMAGED_MAX):
        answer = await observer.fetch(position, max_wait_ms=0)
        if not isinstance(answer, Fetched) or not answer.records:
            return None
        if _is_whole(answer.records):
            return parse_header(answer.records)
    raise CorruptLogError(
        f"{observer.node} sent a damaged batch for offset {position.offset}, {DAMAGED_MAX} times "
        "in a row"
    )


def begins_after(answer: Answer, offset: int) -> bool:
    """True if an answer's records begin after an offset."""
    if not isinstance(answer, Fetched) or not _is_whole(answer.records):
        return False
    return parse_header(answer.records).base_offset > offset


def _is_whole(records: bytes) -> bool:
    """True if the first batch of a response is complete and undamaged."""
    if len(records) < HEADER_SIZE:
        return False
    header = parse_header(records)
    return header.size <= len(records) and crc_of(records[: header.size]) == header.crc
