"""What Kafka does with a controller's directory at start, implemented apart from `advise`.

Source: KafkaMetadataLog.apply, LogLoader, QuorumState, KRaftControlRecordStateMachine of Kafka 3.9.
"""

import base64
import json
import re
import struct
from pathlib import Path

import msgspec

HEADER = struct.Struct(">qiibIhiqqqhii")


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a controller after its start, before any election.

    Attributes:
        log_end, log_epoch: End offset and last epoch of its log, as it sends them in a vote.
        voters: Node ids; directory_ids by node in a dynamic quorum.
        epoch: Epoch in `quorum-state`; the next election uses a higher one.
    """

    cluster_id: str
    node_id: int
    directory_id: str | None
    log_end: int
    log_epoch: int
    voters: dict[int, str | None]
    epoch: int

    @property
    def elected_epoch(self) -> int | None:
        """The epoch in which the controller elects itself; None if it needs the votes of others."""
        is_sole = list(self.voters) == [self.node_id]
        is_disk = self.voters.get(self.node_id) in (None, self.directory_id)
        return max(self.epoch, self.log_epoch) + 1 if is_sole and is_disk else None


def start(directory: Path, configured_voters: tuple[int, ...] = ()) -> Started:
    """Start a controller; AssertionError where Kafka would refuse.

    Args:
        configured_voters: `controller.quorum.voters`; empty for a dynamic quorum.
    """
    lines = (directory / "meta.properties").read_text("latin-1").splitlines()
    meta = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert meta["version"] == "1"
    partition = directory / "__cluster_metadata-0"
    batches = _log(partition)
    checkpoints = _checkpoints(partition)
    log_start = batches[0][0] if batches else 0
    newest = max(checkpoints, default=None)
    if log_start > 0:
        assert newest is not None and newest[0] >= log_start, "Inconsistent snapshot state"
    log_end = batches[-1][1] if batches else 0
    if newest is not None and newest[0] > log_end:
        batches, log_end = [], newest[0]
    log_epoch = batches[-1][2] if batches else newest[1] if newest else 0
    state = json.loads((partition / "quorum-state").read_text())
    assert (state["leaderId"], state["votedId"]) == (-1, -1)
    voters = _voters(partition, newest, state, configured_voters, bool(batches))
    return Started(
        cluster_id=re.sub(r"\\(.)", r"\1", meta["cluster.id"]),
        node_id=int(meta["node.id"]),
        directory_id=meta.get("directory.id"),
        log_end=log_end,
        log_epoch=log_epoch,
        voters=voters,
        epoch=state["leaderEpoch"],
    )


def _log(partition: Path) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    for path in sorted(partition.glob("*.log")):
        content, at = path.read_bytes(), 0
        assert int(path.stem) == (found[-1][1] if found else int(path.stem))
        while at < len(content):
            base, length, epoch, *_, delta, _t, _m, _p, _e, _s, _c = HEADER.unpack_from(content, at)
            assert at + 12 + length <= len(content), "a torn batch was copied"
            assert base == (found[-1][1] if found else int(path.stem))
            found.append((base, base + delta + 1, epoch))
            at += 12 + length
    return found


def _checkpoints(partition: Path) -> list[tuple[int, int]]:
    names = (path.stem.split("-") for path in partition.glob("*.checkpoint"))
    return [(int(end), int(epoch)) for end, epoch in names]


def _voters(
    partition: Path,
    newest: tuple[int, int] | None,
    state: dict[str, object],
    configured: tuple[int, ...],
    has_log: bool,
) -> dict[int, str | None]:
    if configured:
        assert state["data_version"] == 0
        listed = state["currentVoters"]
        assert isinstance(listed, list)
        assert {each["voterId"] for each in listed} == set(configured), "Configured voter set"
        return dict.fromkeys(configured)
    assert state["data_version"] == 1
    assert newest is not None
    assert not has_log, "old segments would bring the old voters back"
    return _voters_in(partition / f"{newest[0]:020d}-{newest[1]:010d}.checkpoint")


def _voters_in(checkpoint: Path) -> dict[int, str | None]:
    """Find the VotersRecord among the control records of the first batch."""
    content = checkpoint.read_bytes()
    (_, length, _, _, _, attributes, *_, count) = HEADER.unpack_from(content)
    assert attributes & 0x20
    at = HEADER.size
    found: dict[int, str | None] = {}
    for _ in range(count):
        size, at = _zigzag(content, at)
        end = at + size
        _, at = _zigzag(content, at + 1)
        _, at = _zigzag(content, at)
        key_size, at = _zigzag(content, at)
        (kind,) = struct.unpack_from(">h", content, at + 2)
        value_size, value = _zigzag(content, at + key_size)
        if kind == 6:
            voter_count = content[value + 2] - 1
            at = value + 3
            assert voter_count == 1, "one voter is expected"
            (voter_id,) = struct.unpack_from(">i", content, at)
            directory_id = base64.urlsafe_b64encode(content[at + 4 : at + 20]).decode()[:22]
            found[voter_id] = directory_id
        assert value + value_size <= end
        at = end
    assert at == 12 + length
    return found


def _zigzag(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 128:
            return (value >> 1) ^ -(value & 1), at
