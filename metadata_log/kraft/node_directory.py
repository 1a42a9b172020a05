"""A node's folder as Kafka keeps it: who the node is, whom it voted for, and its metadata log.

Read only, without a lock, so the node may be running.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from metadata_log.kraft.directory import KraftDirectory, find_log, no_log
from metadata_log.kraft.epoch_starts import read_epoch_starts
from metadata_log.kraft.meta_properties import MetaProperties, read_meta_properties
from metadata_log.kraft.names import (
    LEADER_EPOCHS,
    META_PROPERTIES,
    PARTITION_DIRECTORY,
    QUORUM_STATE,
)
from metadata_log.kraft.quorum_state import QuorumState, read_quorum_state


class NodeDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """What a node's folder says.

    Attributes:
        path: The folder as it was named: the log directory's root, or the partition in it.
        partition: The partition's folder, `__cluster_metadata-0`.
        epoch_starts: First offset by leader epoch; empty without that file.
        log: None if the folder was formatted, but holds no segment and no checkpoint.
    """

    path: Path
    partition: Path
    meta: MetaProperties
    quorum_state: QuorumState | None
    epoch_starts: Mapping[int, int]
    log: KraftDirectory | None


def read_node_directory(path: Path) -> NodeDirectory:
    """Read the small files of a node's folder, and list its log.

    Raises:
        RequestError: LOG_NOT_FOUND, it is no folder of a Kafka node.
        CorruptLogError: a file is not what Kafka writes.
    """
    log = find_log(path)
    partition = log.path if log else _partition_of(path)
    meta = read_meta_properties(partition.absolute().parent / META_PROPERTIES)
    quorum_state = read_quorum_state(partition / QUORUM_STATE)
    if log is None and quorum_state is None and meta == MetaProperties():
        raise no_log(path)
    return NodeDirectory(
        path=path,
        partition=partition,
        meta=meta,
        quorum_state=quorum_state,
        epoch_starts=read_epoch_starts(partition / LEADER_EPOCHS),
        log=log,
    )


def _partition_of(path: Path) -> Path:
    return path if path.absolute().name == PARTITION_DIRECTORY else path / PARTITION_DIRECTORY
