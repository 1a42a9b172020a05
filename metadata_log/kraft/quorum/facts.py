"""What one Kafka directory shows that matters after a lost quorum. Plain data."""

import msgspec

from metadata_log.kraft.batch_index import BatchIndex
from metadata_log.kraft.names import checkpoint_id

NO_BATCHES = BatchIndex(0)


class LogEnd(msgspec.Struct, frozen=True, order=True):
    """How far a log reaches. Ordered as Kafka orders logs for a vote: by epoch, then by offset."""

    leader_epoch: int
    end_offset: int

    def __str__(self) -> str:
        return f"epoch {self.leader_epoch}, end offset {self.end_offset}"


class Voter(msgspec.Struct, frozen=True, order=True):
    """A voter; `directory_id` is None in a static quorum, where only the id counts."""

    voter_id: int
    directory_id: str | None = None


class VoterSet(msgspec.Struct, frozen=True, kw_only=True):
    """Voters of the quorum, and the offset of the record that names them.

    If a checkpoint names them, `offset` is the last that it contains; -1 if they
    are not in the log.
    """

    voters: frozenset[Voter]
    offset: int = -1

    @property
    def majority(self) -> int:
        """How many voters make a majority."""
        return len(self.voters) // 2 + 1


class Election(msgspec.Struct, frozen=True, kw_only=True):
    """What `quorum-state` says about the newest epoch that a node took part in."""

    leader_epoch: int
    leader_id: int | None = None
    voted_id: int | None = None


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """A bad batch with data after it.

    Attributes:
        offset: Everything below it in the file is intact.
        text: File, byte, what was expected and found.
        is_covered: True if the newest checkpoint lies above it, and all after that can be read.
        behind: How far whole batches after the damage reach; None if none was found.
    """

    offset: int
    text: str
    is_covered: bool = False
    behind: LogEnd | None = None


class CheckpointId(msgspec.Struct, frozen=True, order=True):
    """A whole checkpoint: the effect of all offsets below `end_offset`."""

    end_offset: int
    leader_epoch: int


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What one directory shows.

    Attributes:
        name: The directory as the caller named it.
        directory_id: The disk's id from `meta.properties`; None before Kafka 3.7.
        end: How far the log reaches, by its last whole batch or its newest checkpoint; None if
            there is no record.
        batches: The batches of the log, the oldest first.
        checkpoints: The whole ones, ascending.
        voter_sets: What VotersRecords name, in order. Empty in a static quorum.
        leader_voters: What the last LeaderChangeMessage names; of a static quorum.
        election: From `quorum-state`; None without that file.
        bad_state: Why `quorum-state` is unreadable; None if it is not.
        state_voters: The voters in `quorum-state`, version 0.
        damage: None if all batches are whole.
        torn_bytes: Size of an incomplete last batch.
        is_tail_damaged: True if that batch was written whole and damaged later.
        inconsistent: Why Kafka refuses to start from it; None if it does not.
        unknown_records: How many records this release does not know, with `first_unknown`.
        transaction_start: Offset of the BeginTransactionRecord of a transaction that is open at
            the end.
        is_in_use: True if a process holds its lock, or it changed while it was read.
        broken_checkpoints: Names of checkpoints that are incomplete or damaged.
    """

    name: str
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None = None
    end: LogEnd | None = None
    batches: BatchIndex = NO_BATCHES
    checkpoints: tuple[CheckpointId, ...] = ()
    voter_sets: tuple[VoterSet, ...] = ()
    leader_voters: VoterSet | None = None
    election: Election | None = None
    bad_state: str | None = None
    state_voters: tuple[int, ...] = ()
    damage: Damage | None = None
    torn_bytes: int = 0
    is_tail_damaged: bool = False
    unknown_records: int = 0
    first_unknown: int | None = None
    inconsistent: str | None = None
    transaction_start: int | None = None
    is_in_use: bool = False
    broken_checkpoints: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True if all that this node ever confirmed can be read from the directory."""
        is_readable = self.damage is None or self.damage.is_covered
        if self.end is None or not self.end.end_offset or not is_readable or self.is_tail_damaged:
            return False
        # Kafka gives a checkpoint its name when it is whole, so the node once had all below it.
        broken = (checkpoint_id(name) for name in self.broken_checkpoints)
        return all(each is None or each[0] <= self.end.end_offset for each in broken)

    @property
    def can_start(self) -> bool:
        """True if Kafka keeps all of it when it starts from the directory."""
        return self.is_whole and self.damage is None and self.inconsistent is None

    @property
    def epochs_seen(self) -> int:
        """The highest epoch that the directory names; -1 if it names none."""
        in_log = -1 if self.end is None else self.end.leader_epoch
        in_checkpoints = (checkpoint.leader_epoch for checkpoint in self.checkpoints)
        voted = -1 if self.election is None else self.election.leader_epoch
        return max(in_log, voted, *in_checkpoints, -1)

    def is_voter_of(self, voters: VoterSet) -> bool:
        """True if the directory is that of a voter: of the same node and, if known, disk."""
        return any(
            voter.voter_id == self.node_id and voter.directory_id in (None, self.directory_id)
            for voter in voters.voters
        )
