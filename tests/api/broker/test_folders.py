"""Folders of partitions, and the file in them that identifies the partition."""

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.broker.folders import partition_folder, partition_of
from api.broker.partition_metadata import (
    PartitionMetadata,
    read_partition_metadata,
    write_partition_metadata,
)
from records.base import Uuid
from records.errors import CorruptLogError

TOPIC_ID = Uuid(bytes(range(16)))

_TIER = st.text("abcXYZ019.-", min_size=1, max_size=8).filter(lambda t: t not in (".", ".."))
_NAME = st.text("abcXYZ019.-_", min_size=1, max_size=12)


def test_folders_mirror_namespaces() -> None:
    assert str(partition_folder("topic1", 0)) == "topic1_0"
    assert str(partition_folder("org:apache:kafka:topic1", 12)) == "org/apache/kafka/topic1_12"


@given(tiers=st.lists(_TIER, max_size=3), name=_NAME, partition=st.integers(0, 1 << 31))
def test_folder_tells_its_partition(tiers: list[str], name: str, partition: int) -> None:
    full_name = ":".join([*tiers, name])
    assert partition_of(partition_folder(full_name, partition)) == (full_name, partition)


@pytest.mark.parametrize(
    "name", ["org", "deleting", "meta.properties", "a_", "_1x", "a_01", "a_-1"]
)
def test_other_folders_are_no_partitions(name: str) -> None:
    assert partition_of(PurePosixPath(name)) is None


def test_file_is_read_by_people_and_programs(tmp_path: Path) -> None:
    metadata = PartitionMetadata(
        topic_id=TOPIC_ID, name="org:apache:orders.v1", partition=3, create_offset=42
    )
    write_partition_metadata(tmp_path, metadata)
    assert (tmp_path / "partition.metadata").read_text() == (
        "schema_version: 1\n"
        "id: AAECAwQFBgcICQoLDA0ODw\n"
        "name: org:apache:orders.v1\n"
        "partition: 3\n"
        "create_offset: 42\n"
    )
    assert read_partition_metadata(tmp_path) == metadata


def test_folder_without_the_file_says_nothing(tmp_path: Path) -> None:
    assert read_partition_metadata(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nonsense\n", "line 1: 'nonsense' is not `key: value`"),
        ("schema_version: 9\n", "schema_version 9, but this release reads only 1"),
        ("schema_version: 1\nname: a\npartition: 0\n", "there is no id"),
        ("schema_version: 1\nid: x\nname: a\npartition: 0\n", "'x' is not an id"),
    ],
)
def test_damaged_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "partition.metadata").write_text(text)
    with pytest.raises(CorruptLogError, match=problem) as caught:
        read_partition_metadata(tmp_path)
    assert str(tmp_path) in str(caught.value)
