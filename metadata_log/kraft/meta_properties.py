"""`meta.properties`: the cluster, node and disk that a log directory belongs to."""

from pathlib import Path

import msgspec

# The file has a few lines; Kafka writes nothing after that.
_SIZE_BYTES_MAX = 64 * 1024


class MetaProperties(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `meta.properties`; missing values are None.

    The node's id is `node.id` in the file, or `broker.id` in version 0.
    """

    version: int | None = None
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: str | None = None


def read_meta_properties(path: Path) -> MetaProperties:
    """Read `meta.properties`; if the file does not exist, all values are None."""
    try:
        # Java's encoding of property files; every byte is a character in it.
        with path.open("rb") as file:
            text = file.read(_SIZE_BYTES_MAX).decode("latin-1")
    except FileNotFoundError:
        return MetaProperties()
    pairs = (line.partition("=")[::2] for line in text.splitlines() if not line.startswith("#"))
    # Java's property files escape some characters, of which '=' may be in an id.
    values = {key.strip(): value.strip().replace("\\", "") for key, value in pairs}
    return MetaProperties(
        version=_number(values.get("version")),
        cluster_id=values.get("cluster.id"),
        node_id=_number(values.get("node.id", values.get("broker.id"))),
        directory_id=values.get("directory.id"),
    )


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
