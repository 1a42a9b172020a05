"""Files of a seed's directory, as Kafka expects them at start.

The log is copied byte for byte, up to its last complete batch. The small files are new:
`quorum-state` has the highest epoch that was seen anywhere, so that the next leader's epoch is
higher still; without it, nodes that have seen a higher epoch could not follow that leader.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from metadata_log.kraft.batch_index import BatchIndex
from metadata_log.kraft.directory import KraftDirectory
from metadata_log.kraft.quorum.facts import NodeFacts
from metadata_log.kraft.synced_file import write_synced
from metadata_log.kraft.torn_tail import is_whole_batch
from metadata_log.kraft_format.batch import HEADER_SIZE, parse_header
from metadata_log.kraft_format.names import (
    LEADER_EPOCHS,
    QUORUM_STATE,
    checkpoint_id,
    segment_name,
)
from records.errors import UnavailableError

PARTITION_METADATA = "partition.metadata"
_METADATA_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
_COPY_BYTES = 1024 * 1024


def copy_log(log: KraftDirectory, facts: NodeFacts, target: Path) -> None:
    """Copy intact checkpoints, and segments up to the last complete batch.

    If the log is damaged below its newest checkpoint, only the batches from that checkpoint on are
    copied.

    Raises:
        UnavailableError: the source changed since its facts were read.
    """
    assert facts.end is not None
    whole = {(each.end_offset, each.leader_epoch) for each in facts.checkpoints}
    start = facts.checkpoints[-1].end_offset if facts.damage else 0
    for checkpoint in log.checkpoints:
        if checkpoint_id(checkpoint.path.name) in whole and checkpoint.end_offset >= start:
            shutil.copyfile(checkpoint.path, target / checkpoint.path.name)
    if not len(facts.batches):
        return  # The newest checkpoint replaces the batches: Kafka would empty the log.
    last = log.all_segments[-1] if log.all_segments else None
    for segment in log.all_segments:
        size = segment.path.stat().st_size - (facts.torn_bytes if segment == last else 0)
        if facts.damage is None or segment.base_offset > start:
            write_synced(target / segment.path.name, _bytes(segment.path, 0, size))
        elif (first := _position(segment.path, start)) is not None:
            write_synced(target / segment_name(start), _bytes(segment.path, first, size))


def _bytes(path: Path, start: int, end: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while start < end:
            piece = file.read(min(_COPY_BYTES, end - start))
            if not piece:
                raise UnavailableError(f"{path} became shorter; stop its node and run again")
            start += len(piece)
            yield piece


def _position(path: Path, base_offset: int) -> int | None:
    """Return the start byte of the batch at an offset in a segment; None if it is not there."""
    content = path.read_bytes()
    needle = base_offset.to_bytes(8, "big")
    found = content.find(needle)
    while found >= 0:
        if len(content) - found >= HEADER_SIZE and is_whole_batch(
            content, found, parse_header(content, found)
        ):
            return found
        found = content.find(needle, found + 1)
    return None


def write_quorum_state(
    partition: Path, *, leader_epoch: int, voter_id: int, is_dynamic: bool
) -> None:
    """Write `quorum-state` without a leader or a vote."""
    if is_dynamic:
        content = {
            "leaderId": -1,
            "leaderEpoch": leader_epoch,
            "votedId": -1,
            "votedDirectoryId": "A" * 22,
            "data_version": 1,
        }
    else:
        content = {
            "clusterId": "",
            "leaderId": -1,
            "leaderEpoch": leader_epoch,
            "votedId": -1,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter_id}],
            "data_version": 0,
        }
    text = json.dumps(content, separators=(",", ":"))
    write_synced(partition / QUORUM_STATE, [text.encode()])


def write_leader_epochs(partition: Path, batches: BatchIndex) -> None:
    """Write `leader-epoch-checkpoint` and `partition.metadata`."""
    starts: dict[int, int] = {}
    for base_offset, epoch in zip(batches.bases, batches.epochs, strict=True):
        starts.setdefault(epoch, base_offset)
    lines = ["0", str(len(starts)), *(f"{epoch} {start}" for epoch, start in starts.items()), ""]
    write_synced(partition / LEADER_EPOCHS, ["\n".join(lines).encode()])
    text = f"version: 0\ntopic_id: {_METADATA_TOPIC_ID}"
    write_synced(partition / PARTITION_METADATA, [text.encode()])
