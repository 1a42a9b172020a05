"""Partitions in columns: whatever their values are, they come back, in octets that never change."""

import base64
import json
from pathlib import Path
from random import Random

import msgspec
import pytest

from records.base import Uuid
from replay.image.partition_list import CHUNK_SIZE, partition_list
from replay.image.partitions import READ_ONLY, Partition
from replay.image.topics import Topic, TopicEntry
from replay.image.versions import merged_offsets
from replay.snapshot.columns import NO_COLUMNS, PartitionColumns, is_plain
from replay.snapshot.parts import Parts
from replay.snapshot.stored_topic import StoredTopic

_TOPIC = Topic(topic_id=Uuid(bytes(range(16))), name="t", namespace_id=None)
_WRITTEN = json.loads((Path(__file__).parent / "format_3.json").read_text())["columns"]


def _partition(id_: int, replicas: tuple[int, ...], **fields: object) -> Partition:
    values = {
        "topic_id": _TOPIC.topic_id,
        "partition_id": id_,
        "replicas": replicas,
        "isr": replicas,
        "removing_replicas": (),
        "adding_replicas": (),
        "leader": replicas[0] if replicas else -1,
        "leader_recovery_state": 0,
        "leader_epoch": 0,
        "partition_epoch": 0,
    }
    return Partition(**(values | fields))  # type: ignore[arg-type]


def _directory(number: int) -> Uuid:
    return Uuid(number.to_bytes(16))


# Every column has values that no other rule would give.
_EXAMPLE = (
    _partition(0, (3, 1, 2), leader_epoch=7, partition_epoch=70_000),
    _partition(2, (2, 300), isr=(300,), leader=300, directories=(_directory(5), _directory(6))),
    _partition(4, (1,), isr=(), leader=-1, partition_epoch=2, directories=(_directory(5),)),
    _partition(5, (1, 2), mode=READ_ONLY),
    _partition(6, (1, 2), isr=(2, 1), directories=(_directory(7), _directory(7))),
)
_ENTRY = TopicEntry(_TOPIC, _EXAMPLE, 90, merged_offsets(b"", {0: 80, 6: 90}, {0: 80, 6: 85}))


def _loaded(plain: bytes) -> object:
    parts = Parts()
    parts.decode("topics", plain)
    (loaded,) = parts.objects["topics"]
    return loaded


def test_columns_are_written_and_read_as_they_always_were() -> None:
    assert sum(map(is_plain, _EXAMPLE)) == len(_EXAMPLE) - 1
    plain = msgspec.msgpack.encode([StoredTopic.of(_ENTRY)])
    assert base64.b64encode(plain).decode() == _WRITTEN
    assert _loaded(base64.b64decode(_WRITTEN)) == _ENTRY


def test_usual_partitions_take_few_octets() -> None:
    usual = tuple([_partition(each, (1 + each % 50, 60, 70)) for each in range(100)])
    columns = PartitionColumns.of(usual)
    assert columns == PartitionColumns(
        tuple([each.replicas for each in usual]), leader_epochs=(0,), partition_epochs=(0,)
    )
    assert len(msgspec.msgpack.encode(columns)) < 5 * len(usual)
    assert PartitionColumns.of(()) is NO_COLUMNS


@pytest.mark.parametrize("ids", [(-1, 1), (-2, 0, 2), (1,), (0, 2), (0, 1)])
def test_ids_come_back_even_if_no_controller_would_choose_them(ids: tuple[int, ...]) -> None:
    columns = PartitionColumns.of([_partition(each, (1,)) for each in ids])
    assert tuple(columns.partition_ids) == ids


def _random_partition(id_: int, random: Random) -> Partition:
    replicas = tuple(random.sample(range(5), random.randint(0, 3)))
    fields: dict[str, object] = {}
    for name, values in (
        ("isr", [replicas[:1], replicas[::-1], ()]),
        ("leader", [-1, 4]),
        ("leader_recovery_state", [1]),
        ("leader_epoch", [3]),
        ("partition_epoch", [4, 2**31 - 1]),
        ("directories", [tuple([_directory(random.randrange(4)) for _ in replicas])]),
        ("adding_replicas", [replicas[:1]]),
        ("removing_replicas", [replicas[1:]]),
        ("eligible_leader_replicas", [replicas[1:]]),
        ("last_known_elr", [replicas[:1]]),
        ("mode", [1, -1]),
    ):
        if random.random() < 0.1:
            fields[name] = random.choice(values)
    return _partition(id_, replicas, **fields)


@pytest.mark.parametrize("seed", range(300))
def test_a_stored_topic_gives_its_entry_back(seed: int) -> None:
    random = Random(seed)
    highest = random.choice((1, 5, 20, 3 * CHUNK_SIZE))
    lowest = random.choice((0, 0, -2))
    chosen = set(random.sample(range(lowest, highest), random.randint(0, highest)))
    ids = sorted(random.choice((chosen, set(range(highest)))))
    offsets = merged_offsets(b"", dict.fromkeys(ids, 8), dict.fromkeys(ids, 7)) if ids else b""
    partitions = partition_list([_random_partition(each, random) for each in ids])
    entry = TopicEntry(_TOPIC, partitions, random.choice((-1, 9)), offsets)
    stored = StoredTopic.of(entry)
    assert stored.partition_ids == ids
    assert stored.partition_count == len(ids)
    loaded = _loaded(msgspec.msgpack.encode([stored]))
    assert loaded == entry and entry == loaded
    if ids:
        changed = msgspec.structs.replace(entry, offsets=merged_offsets(offsets, {ids[0]: 10}, {}))
        assert loaded != changed and changed != loaded
