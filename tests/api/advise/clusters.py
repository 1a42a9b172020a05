"""Small clusters after a lost quorum: directories of nodes as Kafka leaves them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from metadata_log.kraft_format.names import LOCK, META_PROPERTIES, QUORUM_STATE
from records.base import Record, Uuid
from records.configs import FeatureLevelRecord
from records.control import (
    BeginTransactionRecord,
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    QuorumVoter,
    VoterEndpoint,
    VotersRecord,
)
from records.text import uuid_text
from records.topics import TopicRecord
from tests.metadata_log.kraft.logs import LogFiles, batch, checkpoint

CLUSTER = "q1Sh-9_ISia_zwGINzRvyQ"
VOTERS = (1, 2, 3)


def directory_id(node_id: int) -> str:
    """Return the id of a node's log directory."""
    return uuid_text(Uuid(bytes([node_id]) * 16))


def topic(name: str) -> TopicRecord:
    """Return a topic record whose id is derived from its name."""
    return TopicRecord(name=name, topic_id=Uuid(name.encode().ljust(16, b"\0")))


def leader_change(leader_id: int, voters: Iterable[int]) -> LeaderChangeMessage:
    ids = tuple(LeaderChangeVoter(voter_id=each) for each in voters)
    return LeaderChangeMessage(version=0, leader_id=leader_id, voters=ids, granting_voters=ids)


def voters_record(*voter_ids: int) -> VotersRecord:
    """Return a record of voters with the directory ids that `directory_id` gives."""
    feature = KRaftVersionFeature(min_supported_version=0, max_supported_version=1)
    voters = [
        QuorumVoter(
            voter_id=each,
            voter_directory_id=Uuid(bytes([each]) * 16),
            endpoints=(VoterEndpoint(name="CONTROLLER", host=f"old{each}.example", port=9093),),
            kraft_version_feature=feature,
        )
        for each in voter_ids
    ]
    return VotersRecord(version=0, voters=tuple(voters))


class History:
    """A leader's log: batches, each with its base offset and epoch."""

    def __init__(self, voters: Sequence[int] = VOTERS, *, dynamic: bool = False) -> None:
        self.voters = voters
        self.batches: list[bytes] = []
        self.starts: list[int] = []
        self.end = 0
        self._epoch = 0
        self._dynamic = dynamic

    def epoch(self, epoch: int, leader: int = 1) -> "History":
        """Begin a new leader epoch."""
        self._epoch = epoch
        start: list[Record] = [leader_change(leader, self.voters)]
        if self._dynamic and not self.batches:
            start += [KRaftVersionRecord(version=0, kraft_version=1), voters_record(*self.voters)]
        self.add(*start)
        if len(self.batches) == 1:
            self.add(FeatureLevelRecord(name="metadata.version", feature_level=21))
        return self

    def add(self, *records: Record) -> "History":
        """Append one batch."""
        self.starts.append(self.end)
        self.batches.append(batch(self.end, self._epoch, *records))
        self.end += len(records)
        return self

    def topics(self, *names: str) -> "History":
        """Append one batch for each topic."""
        for name in names:
            self.add(topic(name))
        return self

    def transaction(self, *names: str) -> "History":
        """Begin a transaction and leave it open."""
        return self.add(BeginTransactionRecord(name="t")).topics(*names)

    def fork(self) -> "History":
        """Return a copy, to which other records can be appended."""
        other = History(self.voters, dynamic=self._dynamic)
        other.batches, other.starts = list(self.batches), list(self.starts)
        other.end, other._epoch = self.end, self._epoch
        return other

    def until(self, end: int) -> list[bytes]:
        """Return the batches below an offset."""
        return [data for start, data in zip(self.starts, self.batches, strict=True) if start < end]

    def bytes_from(self, start: int) -> list[bytes]:
        """Return the batches from an offset to the end."""
        return [data for at, data in zip(self.starts, self.batches, strict=True) if at >= start]


class Cluster:
    """Writes the directories below a folder; each is named `nN`, brokers `bN`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def node(
        self,
        name: str,
        history: History | None,
        *,
        end: int | None = None,
        start: int = 0,
        cluster_id: str | None = CLUSTER,
        node_id: int | None = None,
        disk: str | None = "",
        state: tuple[int, int, int] | None = None,
        state_voters: Sequence[int] = (),
        checkpoints: Sequence[tuple[int, int]] = (),
        control: Sequence[Record] = (),
        tail: bytes = b"",
        raw: bytes | None = None,
    ) -> Path:
        """Write one directory.

        Args:
            end: End offset of the directory's log; None for the end of the history.
            start: Base offset of the directory's first segment.
            disk: The directory id; "" for the default id of the node, None for no id.
            state: Epoch, leader and vote in `quorum-state`.
            checkpoints: End offset and epoch of each checkpoint.
            tail: Bytes after the last complete batch.
            raw: The whole content of the segment, instead of the history's batches.
        """
        files = LogFiles(self.root / name)
        node_id = int(name[1:]) if node_id is None else node_id
        disk = directory_id(node_id) if disk == "" else disk
        if cluster_id is not None:
            lines = ["#", f"cluster.id={cluster_id}", f"node.id={node_id}", "version=1"]
            lines += [f"directory.id={disk}"] if disk else []
            (files.directory / META_PROPERTIES).write_text("\n".join(lines) + "\n")
        (files.directory / LOCK).touch()
        if history is not None:
            kept = history.until(history.end if end is None else end)
            content = kept[len(history.until(start)) :] if start else kept
            files.segment(start, *content, tail) if raw is None else files.segment(start, raw)
        for end_offset, epoch in checkpoints:
            content = _checkpoint(epoch, control)
            files.checkpoint(end_offset, epoch, content)
        if state is not None:
            (files.partition / QUORUM_STATE).write_text(_state(*state, state_voters))
        return files.directory


def _checkpoint(epoch: int, control: Sequence[Record]) -> list[bytes]:
    level = FeatureLevelRecord(name="metadata.version", feature_level=21)
    if not control:
        return checkpoint(epoch, level)
    from records.control import SnapshotFooterRecord, SnapshotHeaderRecord

    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=1)
    count = 1 + len(control)
    footer = SnapshotFooterRecord(version=0)
    return [
        batch(0, epoch, header, *control),
        batch(count, epoch, level),
        batch(count + 1, epoch, footer),
    ]


def _state(epoch: int, leader: int, voted: int, voters: Sequence[int]) -> str:
    state: dict[str, object] = {"clusterId": "", "leaderId": leader, "leaderEpoch": epoch}
    state |= {"votedId": voted, "appliedOffset": 0, "data_version": 0}
    state["currentVoters"] = [{"voterId": each} for each in voters]
    return json.dumps(state)


def flipped(history: History, at: int) -> bytes:
    """Return the log with one bit flipped in the batch at an offset."""
    index = history.starts.index(at)
    spoilt = list(history.batches)
    data = bytearray(spoilt[index])
    data[-2] ^= 1
    spoilt[index] = bytes(data)
    return b"".join(spoilt)
