"""Folder names of partitions: `topic1_0`, and in a namespace `org/apache/kafka/topic1_0`.

The folder name of a partition contains an underscore; the folder names of a namespace's parts never
do.
"""

import re
from pathlib import PurePosixPath

from replay.image.metadata import NAMESPACE_SEPARATOR

DELETING = "deleting"
"""Folder for stale partitions in a log directory; reserved, so no namespace can have this name."""

MOVING = "_moving"
"""Folder for partitions of a topic whose new name is still taken by another topic."""

_PARTITION_FOLDER = re.compile(r"(?P<topic>.+)_(?P<partition>0|[1-9][0-9]*)", re.ASCII)


def partition_folder(full_name: str, partition: int) -> PurePosixPath:
    """Return the path of a partition's folder, relative to its log directory."""
    *tiers, name = full_name.split(NAMESPACE_SEPARATOR)
    return PurePosixPath(*tiers, f"{name}_{partition}")


def partition_of(folder: PurePosixPath) -> tuple[str, int] | None:
    """Return a folder's full topic name and partition; None if it is not a partition's folder."""
    match = _PARTITION_FOLDER.fullmatch(folder.name)
    if match is None:
        return None
    name = NAMESPACE_SEPARATOR.join((*folder.parent.parts, match["topic"]))
    return name, int(match["partition"])
