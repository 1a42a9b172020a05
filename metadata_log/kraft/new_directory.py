"""Builds a Kafka node directory under a temporary name, and renames it when complete."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metadata_log.files.fs import OsFs
from metadata_log.kraft.importer import UNKNOWN_CLUSTER_ID
from metadata_log.kraft.synced_file import write_synced
from metadata_log.kraft_format.names import META_PROPERTIES, PARTITION_DIRECTORY
from records.errors import RequestError


@contextmanager
def new_directory(
    target: Path, cluster_id: str, *, node_id: int | None = None, directory_id: str | None = None
) -> Iterator[Path]:
    """Yield the partition's folder of a new node directory; when the body ends, rename it to
    `target`.

    Without `node_id` the operator must add `node.id` to `meta.properties`: Kafka does not start
    without it.

    Raises:
        RequestError: `target` exists.
    """
    if os.path.lexists(target):
        raise RequestError("INVALID_REQUEST", f"{target} exists already; name a new directory")
    target = target.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.exporting-{os.getpid()}")
    partition = unfinished / PARTITION_DIRECTORY
    partition.mkdir(parents=True)
    try:
        if cluster_id != UNKNOWN_CLUSTER_ID:
            lines = ["#", f"cluster.id={_escaped(cluster_id)}"]
            lines += [] if directory_id is None else [f"directory.id={directory_id}"]
            lines += [] if node_id is None else [f"node.id={node_id}"]
            text = "\n".join([*lines, "version=1", ""])
            write_synced(unfinished / META_PROPERTIES, [text.encode("latin-1")])
        yield partition
        OsFs().sync_directory(partition)
        OsFs().sync_directory(unfinished)
        unfinished.rename(target)
        OsFs().sync_directory(target.parent)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def write_new_file(target: Path, content: bytes) -> None:
    """Create a file with the given content, and sync it.

    Raises:
        RequestError: `target` exists.
    """
    target.absolute().parent.mkdir(parents=True, exist_ok=True)
    try:
        write_synced(target, [content])
    except FileExistsError:
        raise RequestError("INVALID_REQUEST", f"{target} exists already; name a new file") from None
    OsFs().sync_directory(target.absolute().parent)


def _escaped(value: str) -> str:
    """Escape the characters of a value that Java's property files require to be escaped."""
    return "".join(f"\\{each}" if each in "=:#!\\" else each for each in value)
