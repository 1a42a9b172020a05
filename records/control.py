"""Records about the log itself: leadership, transactions, checkpoints, NoOps, notes."""

from records.base import ZERO_UUID, Record, Uuid


class LeaderChangeVoter(Record, frozen=True, kw_only=True):
    """A voter of the quorum."""

    voter_id: int
    voter_directory_id: Uuid = ZERO_UUID


class LeaderChangeMessage(Record, frozen=True, kw_only=True):
    """First record of a leader epoch: the leader, all voters, and the voters that elected the
    leader.

    Attributes:
        version: Version of this message's layout.
        leader_id: Node id of the new leader.
        voters: All voters of the quorum.
        granting_voters: Voters that voted for the leader.
    """

    version: int
    leader_id: int
    voters: tuple[LeaderChangeVoter, ...]
    granting_voters: tuple[LeaderChangeVoter, ...]


class SnapshotHeaderRecord(Record, frozen=True, kw_only=True):
    """First record of a checkpoint.

    Attributes:
        version: Version of this message's layout.
        last_contained_log_timestamp: Append time of the last batch the checkpoint contains, ms
            since 1970.
    """

    version: int
    last_contained_log_timestamp: int


class SnapshotFooterRecord(Record, frozen=True, kw_only=True):
    """Last record of a checkpoint; without it the checkpoint is incomplete.

    Attributes:
        version: Version of this message's layout.
    """

    version: int


class KRaftVersionRecord(Record, frozen=True, kw_only=True):
    """The version of the quorum's own protocol.

    Attributes:
        version: Version of this message's layout.
        kraft_version: The finalized kraft.version.
    """

    version: int
    kraft_version: int


class VoterEndpoint(Record, frozen=True, kw_only=True):
    """One listener of a voter."""

    name: str
    host: str
    port: int


class KRaftVersionFeature(Record, frozen=True, kw_only=True):
    """The range of kraft.version that a voter supports.

    Attributes:
        min_supported_version: Lowest supported level, inclusive.
        max_supported_version: Highest supported level, inclusive.
    """

    min_supported_version: int
    max_supported_version: int


class QuorumVoter(Record, frozen=True, kw_only=True):
    """A voter with its endpoints."""

    voter_id: int
    voter_directory_id: Uuid
    endpoints: tuple[VoterEndpoint, ...]
    kraft_version_feature: KRaftVersionFeature


class VotersRecord(Record, frozen=True, kw_only=True):
    """The set of voters of the quorum.

    Attributes:
        version: Version of this message's layout.
        voters: All voters.
    """

    version: int
    voters: tuple[QuorumVoter, ...]


class BeginTransactionRecord(Record, frozen=True, kw_only=True):
    """A transaction began: the records after this one stay invisible until it ends.

    Attributes:
        name: Name of the transaction, for people; null when it has none.
    """

    name: str | None = None


class EndTransactionRecord(Record, frozen=True, kw_only=True):
    """The open transaction was committed; its records become visible.

    Attributes:
        placeholder: Always 0; a record needs a field.
    """

    placeholder: int = 0


class AbortTransactionRecord(Record, frozen=True, kw_only=True):
    """The open transaction was aborted; its records have no effect.

    Attributes:
        reason: Why the transaction was aborted; null when no reason was given.
    """

    reason: str | None = None


class NoOpRecord(Record, frozen=True, kw_only=True):
    """A record without effect, written by an idle leader to show that it is alive.

    Attributes:
        placeholder: Always 0; a record needs a field.
    """

    placeholder: int = 0


class NoOpRunRecord(Record, frozen=True, kw_only=True):
    """A run of imported batches that contained only NoOps, stored as one record at the run's first
    offset; the next offset is offset + count.

    Attributes:
        count: Number of offsets that the run covers.
        batch_count: Number of imported batches in the run.
        last_timestamp: Append time of the run's last batch, ms since 1970; times within a run never
            go back.
    """

    count: int
    batch_count: int
    last_timestamp: int


class NoteRecord(Record, frozen=True, kw_only=True):
    """A remark that an operator pinned to an offset.

    Attributes:
        at_offset: The offset the note is about.
        author: Who wrote it.
        text: What it says.
    """

    at_offset: int
    author: str
    text: str


class UnknownRecord(Record, frozen=True, kw_only=True):
    """A record of a type or version that this release does not know, with its original bytes.

    Attributes:
        api_key: Kafka's key of the record type; for a control record its control type; -1 when it
            could not be read.
        record_version: Version of the record's layout; -1 when it could not be read.
        value: The whole value as read: the record with its frame.
        control_key: The key of a control record; null for others.
    """

    api_key: int
    record_version: int
    value: bytes
    control_key: bytes | None = None
