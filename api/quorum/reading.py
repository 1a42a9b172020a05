"""Brings a mirror up to date with a quorum: from its leader's answers to the mirror's files."""

import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from api.kafka.messages.records_io import SnapshotId
from api.quorum.answers import Diverged, Fetched, SnapshotGone, SnapshotNeeded
from api.quorum.first_batch import DAMAGED_MAX, base_before, begins_after, first_batch, sent_batch
from api.quorum.observer import Observer
from api.quorum.oldest_snapshot import oldest_snapshot
from api.quorum.requests import MAX_WAIT_MS, Position
from metadata_log.files.names import MANIFEST
from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.new_mirror import begin_mirror
from metadata_log.kraft.next_part import Found, prepare_part
from metadata_log.kraft.observed_mirror import ObservedMirror
from metadata_log.kraft.reconcile import is_same_batch
from metadata_log.kraft_format.names import checkpoint_name
from metadata_log.reader.log_reader import LogReader
from records.errors import CorruptLogError, RequestError, UnavailableError

Progress = Callable[[int, int], None]
"""Called with the bytes of a snapshot that were read, and the snapshot's size."""

_SNAPSHOTS_MAX = 5
"""How many snapshots may vanish while they are read."""


class BehindLogStartError(RequestError):
    """The leader removed the records that follow the mirror's end.

    Attributes:
        log_start_offset: Where the leader's log starts.
    """

    def __init__(self, mirror: ObservedMirror, answer: SnapshotNeeded, node: str) -> None:
        super().__init__(
            "OFFSET_OUT_OF_RANGE",
            f"{node} no longer has offset {mirror.confirmed_end}: its log starts at "
            f"{answer.log_start_offset}, with a snapshot at {answer.snapshot.end_offset}",
        )
        self.log_start_offset = answer.log_start_offset


async def begin(observer: Observer, log: Path, cluster_id: str, progress: Progress) -> None:
    """Make a new mirror, unless there is one, with all records that the leader still has.

    The mirror starts at offset 0 or 1, or from the leader's oldest snapshot; from the latest one if
    the oldest is removed meanwhile.

    Raises:
        RequestError: `log` exists and is no log; or as `Observer.fetch`.
        UnavailableError: no leader answers, or its snapshots vanish faster than they are read.
        CorruptLogError: the snapshot is damaged.
    """
    if (log / MANIFEST).exists():
        return
    async with _first_base(observer, progress) as (base, _):
        begin_mirror(log, cluster_id, base)


async def begin_next_part(observer: Observer, log: Path, progress: Progress) -> bool:
    """Prepare the part of a recording that follows a gap; `take_up_part` completes it.

    The part starts from the leader's oldest snapshot.

    Returns:
        False if there is a new leader, which still has the records after the mirror's end.

    Raises:
        MetadataLogError: as `begin`; RequestError also if the snapshot does not continue the
            mirror's history.
    """
    with LogReader.open(log) as reader:
        confirmed_end = reader.confirmed_end
    async with _first_base(observer, progress) as (base, log_start_offset):
        if base is None or log_start_offset < confirmed_end:
            return False
        found = Found(
            source=observer.node,
            log_start_offset=log_start_offset,
            leader_epoch=observer.leaders.epoch,
        )
        prepare_part(log, base, found)
    return True


@asynccontextmanager
async def _first_base(
    observer: Observer, progress: Progress
) -> AsyncIterator[tuple[KraftCheckpoint | None, int]]:
    """Yield the snapshot at the start of the leader's log, and that log's start offset.

    The snapshot is None if the leader serves its log from offset 0, and empty if from offset 1.
    """
    for _ in range(_SNAPSHOTS_MAX):
        answer = await observer.fetch(Position(), max_wait_ms=0)
        if not isinstance(answer, SnapshotNeeded):
            yield None, 0
            return
        if not answer.log_start_offset and (first := await first_batch(observer)):
            with base_before(first) as base:
                yield base, 0
            return
        for snapshot in (await oldest_snapshot(observer, answer), answer.snapshot):
            with tempfile.TemporaryDirectory(prefix="metalog-") as folder:
                path = Path(folder) / checkpoint_name(snapshot.end_offset, snapshot.epoch)
                if await download(observer, snapshot, path, progress):
                    yield KraftCheckpoint(path), answer.log_start_offset
                    return
    raise UnavailableError(
        f"{observer.node} removed {_SNAPSHOTS_MAX} snapshots while they were read; try again"
    )


async def download(
    observer: Observer, snapshot: SnapshotId, path: Path, progress: Progress
) -> bool:
    """Read a snapshot into a file; return False if the leader no longer has it.

    Each node's snapshots have the same records in a different order, so after a change of leader a
    snapshot is read again from its start.

    Raises:
        UnavailableError: the leader sends bytes other than the requested ones; or as
            `Observer.fetch`.
    """
    with path.open("wb") as file:
        leader_epoch = observer.leaders.epoch
        while True:
            byte = file.tell()
            chunk = await observer.fetch_chunk(snapshot, byte)
            if isinstance(chunk, SnapshotGone):
                return False
            if byte and observer.leaders.epoch != leader_epoch:
                file.seek(0)
                file.truncate()
                continue
            leader_epoch = observer.leaders.epoch
            if chunk.position != byte or not 0 < len(chunk.data) <= chunk.size - byte:
                raise UnavailableError(
                    f"{observer.node} was asked for byte {byte} of a snapshot and sent "
                    f"{len(chunk.data)} bytes from {chunk.position} on; try again"
                )
            file.write(chunk.data)
            progress(file.tell(), chunk.size)
            if file.tell() >= chunk.size:
                return True


class Reading:
    """Reads a quorum into a mirror, answer by answer.

    Attributes:
        goal: The first high watermark that a leader named, exclusive; None before that.
        is_caught_up: True if the mirror has all records that were committed when reading began.
    """

    def __init__(self, observer: Observer, mirror: ObservedMirror) -> None:
        """Prepare to read the records that follow the mirror's end."""
        self._observer = observer
        self._mirror = mirror
        self._damaged = 0
        self._has_answer = False
        self.goal: int | None = None
        self.is_caught_up = False

    async def step(self, *, max_wait_ms: int = MAX_WAIT_MS) -> None:
        """Take one answer of the leader; write the mirror's files if a write is due.

        Raises:
            BehindLogStartError: the leader no longer has the next records.
            RequestError: a retry would not help.
            CommittedHistoryChangedError: the quorum no longer has records that it had committed;
                the mirror is frozen.
            CorruptLogError: the leader sends damaged batches, again and again.
            UnavailableError: no leader answers, or the disk is full.
            FencedError: another process took the mirror over.
        """
        mirror = self._mirror
        if not self._has_answer:
            await self._check_same()
        known = mirror.high_watermark if self._has_answer else None
        position = Position(mirror.fetch_offset, mirror.leader_epoch, known)
        answer = await self._observer.fetch(position, max_wait_ms=max_wait_ms)
        if isinstance(answer, SnapshotNeeded):
            mirror.write()
            start, confirmed_end = answer.log_start_offset, mirror.confirmed_end
            if start <= confirmed_end < mirror.end_offset:
                # The leader no longer knows the tail's epoch, so it cannot tell whether the tail
                # was withdrawn: it is read again.
                mirror.diverge(mirror.leader_epoch, confirmed_end, self._observer.node)
                return
            if start < max(confirmed_end, 1):
                # The leader has the record, but its oldest snapshot is of a later epoch than the
                # one before it. What is confirmed is committed, so no epoch has to be compared.
                # The batch of offset 0 is only sent to a reader that asks for offset 1.
                later = msgspec.structs.replace(
                    position,
                    offset=max(position.offset, 1),
                    last_epoch=self._observer.leaders.epoch,
                )
                found = await self._observer.fetch(later, max_wait_ms=max_wait_ms)
                # A mirror that was begun at offset 0 and has nothing yet is behind, if offset 0 is
                # in a batch of its own, which is no longer sent.
                if not begins_after(found, mirror.fetch_offset):
                    answer = found
        self._has_answer = True
        match answer:
            case Fetched():
                self._take(answer)
            case Diverged(leader_epoch, end_offset):
                mirror.diverge(leader_epoch, end_offset, self._observer.node)
            case SnapshotNeeded():
                mirror.write()
                raise BehindLogStartError(mirror, answer, self._observer.node)
        if mirror.is_due:
            mirror.write_due()

    async def _check_same(self) -> None:
        """Compare the mirror's last batch with the leader's.

        Leaders compare only epochs. A cluster that was set up again with the same id repeats these.
        """
        batch = self._mirror.last_batch()
        if batch is None:
            return
        position = Position(batch.end_offset - 1, batch.leader_epoch)
        found = await sent_batch(self._observer, position)
        if found is not None:  # otherwise the next answer says what became of it
            is_same_batch(self._observer.node, found, batch)

    def _take(self, answer: Fetched) -> None:
        mirror = self._mirror
        if self.goal is None and answer.high_watermark >= 0:
            self.goal = answer.high_watermark
        offset, node = mirror.fetch_offset, self._observer.node
        try:
            mirror.take(answer.records, answer.high_watermark, node)
            if answer.records and mirror.fetch_offset == offset:
                raise CorruptLogError(
                    f"{node} sent {len(answer.records)} bytes for offset {offset}, and no whole "
                    "batch from there on"
                )
        except CorruptLogError:
            self._damaged += 1
            if self._damaged >= DAMAGED_MAX:
                raise
            return
        self._damaged = 0
        has_reached = self.goal is not None and mirror.fetch_offset >= self.goal
        self.is_caught_up = not answer.records or has_reached
