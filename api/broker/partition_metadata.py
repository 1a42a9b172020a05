"""`partition.metadata`: a file that identifies the partition in its folder.

The file moves with the folder between log directories. The creation offset does not exist in Kafka:
it distinguishes incarnations of a partition that was deleted and created again with the same id.

Source: KIP-516 (partition metadata file).
"""

from pathlib import Path

import msgspec

from api.broker.key_values import read_key_values, write_key_values
from records.base import Uuid
from records.errors import CorruptLogError
from records.text import parse_uuid, uuid_text

FILE_NAME = "partition.metadata"
SCHEMA_VERSION = 1


class PartitionMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a `partition.metadata` file. `create_offset` is None if it is unknown."""

    topic_id: Uuid
    name: str
    partition: int
    create_offset: int | None = None


def read_partition_metadata(folder: Path) -> PartitionMetadata | None:
    """Return the metadata of a folder; None if the folder has no metadata file.

    Raises:
        CorruptLogError: the file cannot be read; the message gives its path and the error.
    """
    path = folder / FILE_NAME
    try:
        values = read_key_values(path)
    except FileNotFoundError:
        return None
    try:
        version = int(values["schema_version"])
        if version != SCHEMA_VERSION:
            raise CorruptLogError(
                f"{path} has schema_version {version}, but this release reads only {SCHEMA_VERSION}"
            )
        created = values.get("create_offset")
        return PartitionMetadata(
            topic_id=parse_uuid(values["id"]),
            name=values["name"],
            partition=int(values["partition"]),
            create_offset=None if created is None else int(created),
        )
    except KeyError as error:
        raise CorruptLogError(f"{path}: there is no {error.args[0]}") from error
    except ValueError as error:
        raise CorruptLogError(f"{path}: {error}") from error


def write_partition_metadata(folder: Path, metadata: PartitionMetadata) -> None:
    """Write or replace the metadata file of a folder."""
    values: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "id": uuid_text(metadata.topic_id),
        "name": metadata.name,
        "partition": metadata.partition,
    }
    if metadata.create_offset is not None:
        values["create_offset"] = metadata.create_offset
    write_key_values(folder / FILE_NAME, values)
