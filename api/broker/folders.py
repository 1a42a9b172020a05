"""Names of partitions' folders: `topic1_0`, and below a namespace `org/apache/kafka/topic1_0`.

A folder of a partition has an underscore in its name, which a namespace's part never has.
"""

import re
from pathlib import PurePosixPath

from replay.image.metadata import NAMESPACE_SEPARATOR

DELETING = "deleting"
"""Folder of a log directory in which stale partitions wait; no namespace may be called so."""

MOVING = "_moving"
"""Folder in which partitions wait whose topic gets a name that another one still has."""

_PARTITION_FOLDER = re.compile(r"(?P<topic>.+)_(?P<partition>0|[1-9][0-9]*)", re.ASCII)


def partition_folder(full_name: str, partition: int) -> PurePosixPath:
    """Return a partition's folder within a log directory."""
    *tiers, name = full_name.split(NAMESPACE_SEPARATOR)
    return PurePosixPath(*tiers, f"{name}_{partition}")


def partition_of(folder: PurePosixPath) -> tuple[str, int] | None:
    """Return the full topic name and partition of a folder; None when it is no partition's."""
    match = _PARTITION_FOLDER.fullmatch(folder.name)
    if match is None:
        return None
    name = NAMESPACE_SEPARATOR.join((*folder.parent.parts, match["topic"]))
    return name, int(match["partition"])
