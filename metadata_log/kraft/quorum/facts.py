"""Facts about one Kafka directory that matter after a lost quorum. Plain data."""

import msgspec

from metadata_log.kraft.batch_index import BatchIndex
from metadata_log.kraft_format.names import checkpoint_id

NO_BATCHES = BatchIndex(0)


class LogEnd(msgspec.Struct, frozen=True, order=True):
    """The end of a log. Ordered as Kafka orders logs for a vote: by epoch, then by offset."""

    leader_epoch: int
    end_offset: int

    def __str__(self) -> str:
        return f"epoch {self.leader_epoch}, end offset {self.end_offset}"


class Voter(msgspec.Struct, frozen=True, order=True):
    """A voter; `directory_id` is None in a static quorum, where only the id counts."""

    voter_id: int
    directory_id: str | None = None


class VoterSet(msgspec.Struct, frozen=True, kw_only=True):
    """Voters of the quorum, and the offset of the record that lists them.

    If the record is in a checkpoint, `offset` is the last offset that the checkpoint contains; -1
    if the voters are not in the log.
    """

    voters: frozenset[Voter]
    offset: int = -1

    @property
    def majority(self) -> int:
        """Number of voters that make a majority."""
        return len(self.voters) // 2 + 1


class Election(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `quorum-state`: the newest epoch that a node took part in, and its vote and
    leader.
    """

    leader_epoch: int
    leader_id: int | None = None
    voted_id: int | None = None


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """A bad batch with data after it.

    Attributes:
        offset: Offset below which everything in the file is intact.
        text: File, byte, expected and found values.
        is_covered: True if the newest checkpoint ends after the damage, and all offsets from that
            end on can be read.
        behind: The end of the complete batches after the damage; None if none was found.
    """

    offset: int
    text: str
    is_covered: bool = False
    behind: LogEnd | None = None


class CheckpointId(msgspec.Struct, frozen=True, order=True):
    """End offset (exclusive) and last epoch of an intact checkpoint."""

    end_offset: int
    leader_epoch: int


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about one directory.

    Attributes:
        name: The directory as the caller gave it.
        directory_id: The disk's id from `meta.properties`; None before Kafka 3.7.
        end: End of the log, by its last complete batch or its newest checkpoint; None if there is
            no record.
        batches: The batches of the log, the oldest first.
        checkpoints: The intact checkpoints, ascending.
        voter_sets: The voters in each VotersRecord, in order. Empty in a static quorum.
        leader_voters: The voters in the last LeaderChangeMessage; used for a static quorum.
        election: Epoch, vote and leader from `quorum-state`; None if there is no such file.
        bad_state: Why `quorum-state` is unreadable; None if it is readable or missing.
        state_voters: The voters in `quorum-state`, version 0.
        damage: The first bad batch with data after it; None if there is none.
        torn_bytes: Size of an incomplete last batch.
        is_tail_damaged: True if that last batch was once complete and was damaged later.
        inconsistent: Why Kafka refuses to start from the directory; None if it does not refuse.
        unknown_records: Number of records this release does not know.
        first_unknown: Offset of the first of these records; None if there is none.
        transaction_start: Offset of the BeginTransactionRecord of a transaction that is open at the
            end.
        is_in_use: True if a process has locked the directory, or it changed while it was read.
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
        """True if everything that this node ever confirmed can be read from the directory."""
        is_readable = self.damage is None or self.damage.is_covered
        if self.end is None or not self.end.end_offset or not is_readable or self.is_tail_damaged:
            return False
        # Kafka gives a checkpoint its name when it is whole, so the node once had all below it.
        broken = (checkpoint_id(name) for name in self.broken_checkpoints)
        return all(each is None or each[0] <= self.end.end_offset for each in broken)

    @property
    def can_start(self) -> bool:
        """True if Kafka, when it starts from the directory, keeps everything the node ever
        confirmed.
        """
        return self.is_whole and self.damage is None and self.inconsistent is None

    @property
    def epochs_seen(self) -> int:
        """The highest epoch in the directory's log, checkpoints and `quorum-state`; -1 if there is
        none.
        """
        in_log = -1 if self.end is None else self.end.leader_epoch
        in_checkpoints = (checkpoint.leader_epoch for checkpoint in self.checkpoints)
        voted = -1 if self.election is None else self.election.leader_epoch
        return max(in_log, voted, *in_checkpoints, -1)

    def is_voter_of(self, voters: VoterSet) -> bool:
        """True if the directory belongs to one of the voters: same node id and, if known, same
        disk.
        """
        return any(
            voter.voter_id == self.node_id and voter.directory_id in (None, self.directory_id)
            for voter in voters.voters
        )
