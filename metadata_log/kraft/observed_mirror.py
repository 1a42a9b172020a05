"""A mirror that is written from a quorum's leader, over the network.

The leader says which offsets are committed (its high watermark), so the mirror is confirmed up to
there. Later batches are its tail: the leader may still withdraw them, and they are cut off then.

Batches are gathered before they are written (gathered_batches.py), unless someone follows the
mirror and waits for them (files/followed.py). A leader's high watermark trails its newest batches
by an instant. So these batches wait until they are below the high watermark, but no longer than the
time for which batches are gathered: writing each batch unconfirmed, and again to confirm it, would
double the bytes. Below the high watermark, runs of NoOps become one record; in
the tail, every batch keeps its own place, so that the tail can be cut off at any batch.

Source: KIP-595 (high watermark, diverging epochs).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from metadata_log.files.followed import Followers
from metadata_log.format.batch import Batch
from metadata_log.kraft.contested_keys import ContestedKeys
from metadata_log.kraft.continued_mirror import ContinuedMirror
from metadata_log.kraft.fetched_batches import NO_EPOCH, fetched_batches
from metadata_log.kraft.frozen import committed_history_changed
from metadata_log.kraft.gathered_batches import Gathering
from metadata_log.kraft.noop_runs import is_noop
from metadata_log.kraft_format.batch import KraftBatch
from metadata_log.limits import OBSERVE_GATHER_MS, PENDING_BYTES_MAX, RECORD_GATHER_MS
from records.control import NoOpRunRecord
from records.envelope import Envelope
from records.errors import RequestError, UnavailableError


class _Place(NamedTuple):
    """Offsets [base_offset, end_offset) of a batch, or of a run of NoOps, and its epoch."""

    base_offset: int
    end_offset: int
    leader_epoch: int
    is_run: bool


class ObservedMirror(ContinuedMirror):
    """Writes to a mirror the batches in a leader's Fetch responses.

    `source_end` (the end of a source that is behind the mirror) stays None: a leader's log never
    ends before its high watermark.

    Attributes:
        high_watermark: The highest high watermark that a leader named, exclusive; 0 if none did.
        leader_epoch: Epoch of the last batch taken; 0 if there is none.
    """

    def __init__(
        self,
        log: Path,
        *,
        collapse_noops: bool = True,
        taken: Callable[[Sequence[Envelope]], None] = lambda rows: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open a mirror to continue it.

        Args:
            taken: Called with the rows of each batch that was taken.
            clock: Returns seconds.

        Raises the errors of `ContinuedMirror`.
        """
        super().__init__(log)
        self._clock = clock
        self._followers = Followers(log, clock)
        self._collapse_noops = collapse_noops
        self._taken = taken
        # Batches that are not written yet, in order.
        self._pending: list[KraftBatch] = []
        # When each of them was taken, in seconds.
        self._since: list[float] = []
        self.high_watermark = self.confirmed_end
        self.leader_epoch = 0
        # True if the tail may have records other than NoOps, which somebody may wait for.
        self._awaits_confirmation = self.confirmed_end < self.end_offset
        self._load_end()

    @property
    def cluster_id(self) -> str:
        return self._mirror.cluster_id

    @property
    def is_usable(self) -> bool:
        """False after an error that needs the mirror to be opened again."""
        return self._mirror.is_usable

    @property
    def fetch_offset(self) -> int:
        """The offset to ask for next: the end of the mirror and of the pending batches."""
        return self._pending[-1].end_offset if self._pending else self.end_offset

    def last_batch(self) -> Batch | None:
        """Return the mirror's last batch; None if it may differ from the leader's batch.

        A batch at the start of the history may have lost records below a snapshot's end.
        """
        with self._reader() as reader:
            if reader.end_offset <= reader.history_start:
                return None
            batch = next(reader.batches(reader.end_offset - 1))
            return batch if batch.base_offset > reader.history_start else None

    def take(self, records: bytes, high_watermark: int, source: str) -> None:
        """Take the response to a Fetch of `fetch_offset`; a later `write` writes its batches.

        Args:
            records: The batches in the response.
            high_watermark: The leader's high watermark; negative if it is not known yet.
            source: The node that answered, for errors.

        Raises:
            CorruptLogError: the bytes are not the next batches; the batches before the damaged one
                were taken.
        """
        # A new leader knows less than the one before it; what was committed stays committed.
        self.high_watermark = max(self.high_watermark, high_watermark)
        found = fetched_batches(
            records,
            fetch_offset=self.fetch_offset,
            leader_epoch=self.leader_epoch if self.fetch_offset else NO_EPOCH,
            source=source,
        )
        for batch in map(self._contested.checked_batch, found):
            self._pending.append(batch)
            self._since.append(self._clock())
            self.leader_epoch = batch.leader_epoch
            self._taken(batch.rows)

    @property
    def is_due(self) -> bool:
        """True if there is something to write or to confirm that has waited long enough."""
        if sum(each.size for each in self._pending) >= PENDING_BYTES_MAX:
            return True
        is_confirmable = self._confirmable_end > self.confirmed_end
        if is_confirmable and (self._awaits_confirmation or not self._pending):
            return True
        if not self._pending:
            return False
        return self._has_waited(self._since[0]) or self._is_awaited()

    def _has_waited(self, since: float) -> bool:
        gather_ms = RECORD_GATHER_MS if self._has_only_noops else OBSERVE_GATHER_MS
        return (self._clock() - since) * 1_000 >= gather_ms

    @property
    def _has_only_noops(self) -> bool:
        return self._collapse_noops and all(map(is_noop, self._pending))

    def _is_awaited(self) -> bool:
        """True if a follower waits for a pending batch that is committed."""
        is_committed = self._pending[0].end_offset <= self.high_watermark
        return is_committed and not self._has_only_noops and self._followers.are_there()

    def write_due(self) -> None:
        """Write, commit and confirm the pending batches below the high watermark, and those above
        it that have waited long enough; raises as `write`.
        """
        count = len(self._pending)
        if sum(each.size for each in self._pending) < PENDING_BYTES_MAX:
            while count and not self._is_writable(count - 1):
                count -= 1
        self._write(count)

    def _is_writable(self, index: int) -> bool:
        is_below = self._pending[index].end_offset <= self.high_watermark
        return is_below or self._has_waited(self._since[index])

    def write(self) -> None:
        """Write and commit all pending batches, and confirm them up to the high watermark.

        Raises:
            UnavailableError: the disk is full; the pending batches were not written.
            FencedError: another process took the mirror over.
        """
        self._write(len(self._pending))

    def _write_rest(self) -> None:
        if self.is_usable:
            self.write()

    def _write(self, count: int) -> None:
        pending, self._pending = self._pending[:count], self._pending[count:]
        del self._since[:count]
        before = self.end_offset
        gathering = Gathering(self._append, collapse_noops=self._collapse_noops)
        try:
            for batch in pending:
                if batch.end_offset <= self.high_watermark:
                    gathering.add(batch)
                else:
                    gathering.add_alone(batch)
            gathering.flush()
            self._mirror.commit(self._confirmable_end)
            self._awaits_confirmation = any(
                not is_noop(batch) for batch in pending if batch.end_offset > self.high_watermark
            ) or (self._awaits_confirmation and self.confirmed_end < before)
        except UnavailableError:
            # Later ones do not follow what the mirror has now.
            self._pending, self._since = [], []
            self._load_end()
            raise

    def diverge(self, leader_epoch: int, end_offset: int, source: str) -> None:
        """Cut off the batches that the leader's log, which diverges from the mirror, does not have.

        Args:
            leader_epoch: The highest epoch in the leader's log that is not above the epoch of the
                batch before `fetch_offset`.
            end_offset: The end of that epoch in the leader's log, exclusive.
            source: The node that answered, for errors.

        Raises:
            CommittedHistoryChangedError: the logs diverge below the confirmed end; the mirror is
                now frozen.
            RequestError: the logs diverge inside a run of NoOps, whose batches' times are not kept.
            UnavailableError, FencedError: as `write`; open the mirror again.
        """
        self.write()
        end, places = self.end_offset, list(self._places())
        later = [p.base_offset for p in places if p.leader_epoch > leader_epoch]
        target = min([end_offset, end, *later])
        cut_through = [p for p in places if p.base_offset < target < p.end_offset]
        if cut_through and cut_through[0].is_run and target >= self.confirmed_end:
            raise _inside_run(self._mirror.directory, cut_through[0], target)
        target = cut_through[0].base_offset if cut_through else target
        if target < self.confirmed_end:
            raise committed_history_changed(
                self._mirror.directory,
                source=source,
                leader_epoch=leader_epoch,
                end_offset=end_offset,
                confirmed_end=self.confirmed_end,
            )
        if target == end:
            raise _no_parting(self._mirror.directory, source, leader_epoch, end_offset)
        first = next(p for p in places if p.base_offset == target)
        self._cut(target, 0, first.leader_epoch)
        self._load_end()

    @property
    def _confirmable_end(self) -> int:
        return min(self.high_watermark, self.end_offset)

    def _places(self) -> Iterator[_Place]:
        """Yield the places of the last confirmed batch and of the tail."""
        with self._reader() as reader:
            if reader.base is not None:
                base = reader.base
                yield _Place(base.end_offset, base.end_offset, base.leader_epoch, False)
            first = max(self.confirmed_end - 1, reader.start_offset)
            for batch in reader.batches(first) if first < reader.end_offset else ():
                is_run = isinstance(batch.rows[-1].payload, NoOpRunRecord)
                yield _Place(batch.base_offset, batch.end_offset, batch.leader_epoch, is_run)

    def _load_end(self) -> None:
        """Read from the mirror's end what the next batch depends on: epoch and metadata.version."""
        with self._reader() as reader:
            self._contested = ContestedKeys.after(reader)
        self.leader_epoch = max([place.leader_epoch for place in self._places()], default=0)


def _inside_run(log: Path, run: _Place, target: int) -> RequestError:
    return RequestError(
        "INCONSISTENT_CLUSTER_ID",
        f"{log}: the quorum replaced the log from offset {target} on, which is inside a run of "
        f"NoOps ({run.base_offset} to {run.end_offset - 1}) that is kept as one record; bring the "
        "mirror up to date from a node's directory with `metalog import kraft` first",
    )


def _no_parting(log: Path, source: str, leader_epoch: int, end_offset: int) -> RequestError:
    return RequestError(
        "INCONSISTENT_CLUSTER_ID",
        f"{source} says that its log differs from {log} after epoch {leader_epoch}, which ends at "
        f"offset {end_offset} there; but the mirror has no later records that could be cut off. "
        "The node has another log; import it into a new LOG",
    )
