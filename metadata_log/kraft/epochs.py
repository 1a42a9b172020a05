"""Check of how the leader epoch changes from batch to batch.

A batch's CRC does not cover the epoch. The epoch is checked by other rules: epochs only grow; each
has one LeaderChangeMessage, at its beginning; and the files beside the segments must agree, if they
exist: `leader-epoch-checkpoint` on the start of each epoch, a checkpoint's name on the epoch of its
last offset.

Kafka 3.3 could write an epoch's first data before its LeaderChangeMessage, although the message was
created earlier. So a batch that begins an epoch without a LeaderChangeMessage is held back until
the message follows, and passes if the batch's time is not before the message's time. The batch
passes immediately if `leader-epoch-checkpoint` has that start for the epoch.

Two kinds of flipped bits go undetected, both only without `leader-epoch-checkpoint`:

- in the epoch of a LeaderChangeMessage that is alone in its epoch, to a value that is still between
  the epochs around it (if no batch follows it, to any higher value);
- in the epoch of the last batch before a LeaderChangeMessage, to exactly the new epoch, if the new
  leader's clock is behind that of the old one.

Source: KIP-595.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from metadata_log.kraft.damage import corrupt
from metadata_log.kraft.epoch_starts import EpochStarts
from metadata_log.kraft_format.batch import KraftBatch, LogPosition
from metadata_log.kraft_format.names import LEADER_EPOCHS, segment_name
from records.control import LeaderChangeMessage, UnknownRecord
from records.errors import CorruptLogError

Placed: TypeAlias = tuple[LogPosition, KraftBatch]

_LEADER_CHANGE = 2
_NO_EPOCH = -1
_BEYOND = (1 << 63, _NO_EPOCH)

# The message and the data before it are written together; this limit is far above that.
_HELD_BATCHES_MAX = 10


class EpochGuard:
    """Checks the epochs of a log's batches, in order."""

    def __init__(self, directory: Path, checkpoint_ids: Iterable[tuple[int, int]]) -> None:
        """Load leader epochs from `leader-epoch-checkpoint` and the checkpoints' names.

        Args:
            directory: The directory of the segments.
            checkpoint_ids: End offset and epoch of each checkpoint, ascending.

        Raises:
            CorruptLogError: `leader-epoch-checkpoint` does not have the form that Kafka writes.
        """
        self._directory = directory
        self._starts = EpochStarts(directory / LEADER_EPOCHS)
        # A sentinel beyond all offsets, so that there is always a next one.
        self._checkpoint_ids = deque([*checkpoint_ids, _BEYOND])
        # Epoch of the last batch; whether its LeaderChangeMessage was seen or is no longer
        # expected; and whether its batches may pass. Invariant: an announced epoch may pass.
        self._epoch = _NO_EPOCH
        self._is_announced = False
        self._may_pass = False

    def resume(self, leader_epoch: int) -> None:
        """Continue after a batch of this epoch that was checked earlier."""
        self._epoch = leader_epoch
        self._may_pass = True

    def pass_on(self, batches: Iterable[Placed]) -> Iterator[Placed]:
        """Yield each batch as soon as its epoch is known to be right.

        Raises:
            CorruptLogError: an epoch is wrong; names the place of the batch.
        """
        held: list[Placed] = []
        for placed in batches:
            if self._is_usual(placed[1]):
                yield placed
                continue
            self._check_turn(placed, held)
            self._check_checkpoints(placed)
            held.append(placed)
            if self._may_pass:
                yield from held
                held.clear()
            elif len(held) > _HELD_BATCHES_MAX:
                break
        if held:
            raise self._unannounced(held[0])

    def _is_usual(self, batch: KraftBatch) -> bool:
        """True if the batch just continues the current epoch and needs no further check."""
        return (
            self._may_pass
            and batch.leader_epoch == self._epoch
            and not batch.is_control
            and batch.end_offset < self._checkpoint_ids[0][0]
        )

    def _check_turn(self, placed: Placed, held: list[Placed]) -> None:
        """Check a batch that may begin an epoch, or contain an epoch's LeaderChangeMessage.

        Args:
            held: The batches held back until the epoch's LeaderChangeMessage follows.
        """
        batch = placed[1]
        announces = _announces_leader(batch)
        if batch.leader_epoch == self._epoch:
            if announces and self._is_announced:
                raise self._wrong(placed, f"a second LeaderChangeMessage in epoch {self._epoch}")
            if announces and any(earlier.timestamp < batch.timestamp for _, earlier in held):
                raise self._unannounced(held[0])
            self._is_announced |= announces
            self._may_pass |= announces
            return
        if held:
            raise self._unannounced(held[0])
        # A log whose head was removed may start in the middle of an epoch.
        is_cleaned_head = self._epoch == _NO_EPOCH and batch.base_offset > 0
        is_listed = self._starts.agrees(batch.leader_epoch, batch.base_offset)
        if is_listed is False and not is_cleaned_head:
            what = f"epoch {batch.leader_epoch} begins here, which {LEADER_EPOCHS} denies"
            raise self._wrong(placed, what)
        self._epoch = batch.leader_epoch
        self._is_announced = announces or is_cleaned_head
        self._may_pass = self._is_announced or is_listed is True

    def _check_checkpoints(self, placed: Placed) -> None:
        batch = placed[1]
        while self._checkpoint_ids[0][0] <= batch.end_offset:
            end_offset, epoch = self._checkpoint_ids.popleft()
            if batch.base_offset < end_offset and epoch != batch.leader_epoch:
                what = f"epoch {batch.leader_epoch}, where checkpoint {end_offset} says {epoch}"
                raise self._wrong(placed, what)

    def _unannounced(self, placed: Placed) -> CorruptLogError:
        epoch = placed[1].leader_epoch
        return self._wrong(placed, f"epoch {epoch} begins here, without a LeaderChangeMessage")

    def _wrong(self, placed: Placed, what: str) -> CorruptLogError:
        position, batch = placed
        path = self._directory / segment_name(position.segment_base_offset)
        return corrupt(path, position.byte, what, batch.base_offset)


def _announces_leader(batch: KraftBatch) -> bool:
    first = batch.rows[0].payload
    if isinstance(first, UnknownRecord):
        return first.control_key is not None and first.api_key == _LEADER_CHANGE
    return isinstance(first, LeaderChangeMessage)
