"""Records about the log itself: leadership, transactions, checkpoints, NoOps, notes."""

from records.base import ZERO_UUID, Record, Uuid


class LeaderChangeVoter(Record, frozen=True, kw_only=True):
    """A voter of the quorum."""

    voter_id: int
    voter_directory_id: Uuid = ZERO_UUID


class LeaderChangeMessage(Record, frozen=True, kw_only=True):
    """First record of a leader epoch: the leader, all voters, and the voters that elected the
    leader.
    """

    version: int
    leader_id: int
    voters: tuple[LeaderChangeVoter, ...]
    granting_voters: tuple[LeaderChangeVoter, ...]


class SnapshotHeaderRecord(Record, frozen=True, kw_only=True):
    """First record of a checkpoint."""

    version: int
    last_contained_log_timestamp: int


class SnapshotFooterRecord(Record, frozen=True, kw_only=True):
    """Last record of a checkpoint; without it the checkpoint is incomplete."""

    version: int


class KRaftVersionRecord(Record, frozen=True, kw_only=True):
    """The version of the quorum's own protocol."""

    version: int
    kraft_version: int


class VoterEndpoint(Record, frozen=True, kw_only=True):
    """One listener of a voter."""

    name: str
    host: str
    port: int


class KRaftVersionFeature(Record, frozen=True, kw_only=True):
    """The range of kraft.version that a voter supports."""

    min_supported_version: int
    max_supported_version: int


class QuorumVoter(Record, frozen=True, kw_only=True):
    """A voter with its endpoints."""

    voter_id: int
    voter_directory_id: Uuid
    endpoints: tuple[VoterEndpoint, ...]
    kraft_version_feature: KRaftVersionFeature


class VotersRecord(Record, frozen=True, kw_only=True):
    """The set of voters of the quorum."""

    version: int
    voters: tuple[QuorumVoter, ...]


class BeginTransactionRecord(Record, frozen=True, kw_only=True):
    """A transaction began: the records after this one stay invisible until it ends."""

    name: str | None = None


class EndTransactionRecord(Record, frozen=True, kw_only=True):
    """The open transaction was committed; its records become visible."""

    placeholder: int = 0


class AbortTransactionRecord(Record, frozen=True, kw_only=True):
    """The open transaction was aborted; its records have no effect."""

    reason: str | None = None


class NoOpRecord(Record, frozen=True, kw_only=True):
    """A record without effect, written by an idle leader to show that it is alive."""

    placeholder: int = 0


class NoOpRunRecord(Record, frozen=True, kw_only=True):
    """A run of imported batches that contained only NoOps, stored as one record at the run's first
    offset; the next offset is offset + count.
    """

    count: int
    batch_count: int
    last_timestamp: int


class NoteRecord(Record, frozen=True, kw_only=True):
    """A remark that an operator pinned to an offset."""

    at_offset: int
    author: str
    text: str


class UnknownRecord(Record, frozen=True, kw_only=True):
    """A record of a type or version that this release does not know, with its original bytes."""

    api_key: int
    record_version: int
    value: bytes
    control_key: bytes | None = None
