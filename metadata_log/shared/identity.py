"""Identity of a shared log, and of the node that a folder belongs to."""

from pathlib import Path

import msgspec
from msgspec.structs import replace

from metadata_log.files.fs import ByteStore, Fs
from metadata_log.files.json_file import read_json, write_json
from metadata_log.files.names import NODE_FILE
from metadata_log.format.manifest import (
    NODE_FORMAT_VERSION,
    read_manifest,
    write_manifest,
)
from records.errors import RequestError


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A shared log: its cluster, and random hexadecimal digits that no other shared log has."""

    cluster_id: str
    log_id: str


class NodeFolder(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `node.json`: the shared log that a folder is a copy of, and the folder's node.

    `shared` is the URL of the store, without a password; empty if it is not known.
    """

    log_id: str
    node_id: int
    shared: str = ""


def node_of(fs: ByteStore, directory: Path) -> NodeFolder | None:
    """Return the node that a folder belongs to; None for a log that is not shared.

    Raises:
        CorruptLogError: the file is damaged.
    """
    path = directory / NODE_FILE
    if not fs.exists(path):
        return None
    return read_json(fs, path, NodeFolder, "write it by hand: docs/high_availability.md shows one")


def check_not_shared(fs: ByteStore, directory: Path) -> None:
    """Refuse to write to a node's folder without its shared log: the two would diverge.

    Raises:
        RequestError: NOT_CONTROLLER, the folder belongs to a node.
        CorruptLogError: as `node_of`.
    """
    node = node_of(fs, directory)
    if node is not None:
        raise RequestError(
            "NOT_CONTROLLER",
            f"{directory} is the folder of node {node.node_id} of a shared log; only `metalog "
            f"serve {directory} --shared URL --node {node.node_id}` writes to it",
        )


def join(fs: Fs, directory: Path, identity: Identity, node_id: int, shared: str = "") -> None:
    """Mark a folder as the folder of a node, or check that it already has the same mark.

    Args:
        shared: The URL of the store, without a password.

    Raises:
        RequestError: INVALID_REQUEST, the folder belongs to another node or shared log.
        CorruptLogError: as `node_of`.
    """
    wanted = NodeFolder(log_id=identity.log_id, node_id=node_id, shared=shared)
    found = node_of(fs, directory)
    if found is None:
        _refuse_to_older_releases(fs, directory)
        _write(fs, directory, wanted)
    elif found.log_id != wanted.log_id:
        raise RequestError(
            "INVALID_REQUEST",
            f"{directory} is the folder of a node of another shared log ({found.log_id}, this is "
            f"{wanted.log_id}); name a new directory",
        )
    elif found.node_id != node_id:
        raise RequestError(
            "INVALID_REQUEST",
            f"{directory} is the folder of node {found.node_id}, not of node {node_id}: each node "
            "has a folder of its own",
        )
    elif found != wanted:
        _write(fs, directory, wanted)


def _write(fs: Fs, directory: Path, node: NodeFolder) -> None:
    write_json(fs, directory / NODE_FILE, node)


def _refuse_to_older_releases(fs: Fs, directory: Path) -> None:
    manifest = read_manifest(fs, directory)
    write_manifest(fs, directory, replace(manifest, format_version=NODE_FORMAT_VERSION))
