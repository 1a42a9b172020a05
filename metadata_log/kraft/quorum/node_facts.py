"""The facts about one Kafka directory, as it is read. Nothing is locked or written."""

import fcntl
import os
import struct
import sys
from pathlib import Path

from metadata_log.kraft.node_directory import read_node_directory
from metadata_log.kraft.quorum.facts import Election, NodeFacts
from metadata_log.kraft.quorum.log_facts import LogFacts
from metadata_log.kraft_format.names import LOCK
from records.errors import UnavailableError

# struct flock of Linux: type, whence, start, length, pid.
_FLOCK = struct.Struct("@hhqqi4x")


def read_facts(path: Path) -> NodeFacts:
    """Read everything that the rule for a lost quorum needs from a node's directory.

    Damage is not raised: it is one of the facts.

    Raises:
        RequestError: LOG_NOT_FOUND, the path is not a directory of a Kafka node.
    """
    node = read_node_directory(path)
    before = _sizes(node.partition)
    try:
        log = LogFacts() if node.log is None else LogFacts.read(node.log)
    except UnavailableError:
        log = LogFacts()
        before = {}
    is_in_use = _is_locked(node.partition.parent / LOCK) or before != _sizes(node.partition)
    state = node.quorum_state
    return NodeFacts(
        name=str(path),
        cluster_id=node.meta.cluster_id,
        node_id=node.meta.node_id,
        directory_id=node.meta.directory_id,
        election=None
        if state is None
        else Election(
            leader_epoch=state.leader_epoch, leader_id=state.leader_id, voted_id=state.voted_id
        ),
        bad_state=node.bad_state,
        state_voters=() if state is None else state.voter_ids,
        is_in_use=is_in_use,
        end=log.end,
        batches=log.batches,
        checkpoints=tuple(log.checkpoints),
        voter_sets=tuple(log.voter_sets),
        leader_voters=log.leader_voters,
        damage=log.damage,
        torn_bytes=log.torn_bytes,
        is_tail_damaged=log.is_tail_damaged,
        inconsistent=log.inconsistent,
        unknown_records=log.unknown_records,
        first_unknown=log.first_unknown,
        transaction_start=log.transaction_start,
        broken_checkpoints=tuple(log.broken),
    )


def _sizes(partition: Path) -> dict[str, int]:
    if not partition.is_dir():
        return {}
    return {entry.name: entry.stat().st_size for entry in os.scandir(partition)}


def _is_locked(path: Path) -> bool:
    """True if another process on this machine has a lock on the file.

    This is known only on Linux; on other systems the result is False.
    """
    if sys.platform != "linux":
        return False
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, *_ = _FLOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, asked))
    finally:
        os.close(file)
    return bool(kind != fcntl.F_UNLCK)
