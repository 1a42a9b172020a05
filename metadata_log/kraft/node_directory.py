"""A node's folder as Kafka keeps it: the node's identity, its last vote, and its metadata log.

Read only, without a lock, so the node may be running.
"""

from pathlib import Path

import msgspec

from metadata_log.kraft.directory import KraftDirectory, find_log, no_log
from metadata_log.kraft.meta_properties import MetaProperties, read_meta_properties
from metadata_log.kraft.quorum_state import QuorumState, read_quorum_state
from metadata_log.kraft_format.names import META_PROPERTIES, PARTITION_DIRECTORY, QUORUM_STATE
from records.errors import CorruptLogError


class NodeDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a node's folder.

    Attributes:
        path: The folder as the caller gave it: the log directory's root, or the partition in it.
        partition: The partition's folder, `__cluster_metadata-0`.
        quorum_state: Content of `quorum-state`; None if the file is missing or unreadable.
        bad_state: Why `quorum-state` is unreadable; None if it is readable or missing.
        log: The metadata log; None if the folder was formatted, but has no segment and no
            checkpoint.
    """

    path: Path
    partition: Path
    meta: MetaProperties
    quorum_state: QuorumState | None
    bad_state: str | None
    log: KraftDirectory | None


def read_node_directory(path: Path) -> NodeDirectory:
    """Read the small files of a node's folder, and list its log.

    Raises:
        RequestError: LOG_NOT_FOUND, the path is not the folder of a Kafka node.
    """
    log = find_log(path)
    partition = log.path if log else _partition_of(path)
    meta = read_meta_properties(partition.absolute().parent / META_PROPERTIES)
    quorum_state, bad_state = _state(partition / QUORUM_STATE)
    if log is None and quorum_state is None and bad_state is None and meta == MetaProperties():
        raise no_log(path)
    return NodeDirectory(
        path=path,
        partition=partition,
        meta=meta,
        quorum_state=quorum_state,
        bad_state=bad_state,
        log=log,
    )


def _state(path: Path) -> tuple[QuorumState | None, str | None]:
    try:
        return read_quorum_state(path), None
    except CorruptLogError as error:
        return None, str(error)


def _partition_of(path: Path) -> Path:
    return path if path.absolute().name == PARTITION_DIRECTORY else path / PARTITION_DIRECTORY
