"""Partitions in columns: whatever their values are, they come back, in octets that never change."""

import base64
import json
from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path
from random import Random

import msgspec
import pytest

from records.base import Uuid
from replay.image.partition_list import CHUNK_SIZE, partition_list
from replay.image.partitions import READ_ONLY, Partition
from replay.image.placement import placement_of
from replay.image.topics import Topic, TopicEntry
from replay.image.versions import merged_offsets
from replay.snapshot.columns import NO_COLUMNS, PartitionColumns, in_columns
from replay.snapshot.shared_values import SharedValues
from replay.snapshot.stored_topic import LoadedTopic, StoredTopic, loaded_topics

_TOPIC = Topic(topic_id=Uuid(bytes(range(16))), name="t", namespace_id=None)
_WRITTEN = json.loads((Path(__file__).parent / "format_5.json").read_text())["columns"]


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
    _partition(0, (3, 1), leader_epoch=7, directories=(_directory(5), _directory(6))),
    _partition(2, (2, 300), isr=(300,), leader=300, directories=(_directory(5), _directory(6))),
    _partition(4, (1, 2), isr=(), leader=-1, directories=(_directory(7), _directory(5))),
    _partition(5, (1, 2), mode=READ_ONLY),
    _partition(6, (1, 2), isr=(2, 1), directories=(_directory(7), _directory(7))),
    _partition(7, (1, 2, 3), directories=(_directory(7), _directory(7), _directory(7))),
    _partition(8, (1, 2), partition_epoch=70_000),
)
_ENTRY = TopicEntry(_TOPIC, _EXAMPLE, 90, merged_offsets(b"", {0: 80, 6: 90}, {0: 80, 6: 85}))


_partition_id = attrgetter("partition_id")


def _loaded(plain: bytes) -> LoadedTopic:
    (loaded,) = loaded_topics(plain, SharedValues())
    return loaded


def test_columns_are_written_and_read_as_they_always_were() -> None:
    plain, others = in_columns(_EXAMPLE)
    assert [each.partition_id for each in plain] == [0, 2, 4, 6]
    assert [each.partition_id for each in others] == [5, 7, 8]
    written = msgspec.msgpack.encode([StoredTopic.of(_ENTRY)])
    assert base64.b64encode(written).decode() == _WRITTEN
    assert _loaded(base64.b64decode(_WRITTEN)) == _ENTRY


def test_usual_partitions_take_few_octets() -> None:
    usual = tuple([_partition(each, (1 + each % 50, 60, 70)) for each in range(100)])
    columns = PartitionColumns.of(usual)
    assert columns == PartitionColumns(
        factor=3,
        brokers=columns.brokers,
        replicas=columns.replicas,
        leader_epochs=(0,),
        partition_epochs=(0,),
    )
    assert len(msgspec.msgpack.encode(columns)) < 4 * len(usual)
    assert PartitionColumns.of(()) is NO_COLUMNS


def test_the_directories_of_brokers_with_one_each_take_no_octets_of_their_own() -> None:
    brokers = [(1 + each % 5, 7, 8) for each in range(100)]
    columns = PartitionColumns.of(
        [
            _partition(at, each, directories=tuple([_directory(broker) for broker in each]))
            for at, each in enumerate(brokers)
        ]
    )
    assert columns.directories == b"" and len(columns.directory_ids) == 16 * 7


@pytest.mark.parametrize("ids", [(-1, 1), (-2, 0, 2), (1,), (0, 2), (0, 1)])
def test_ids_come_back_even_if_no_controller_would_choose_them(ids: tuple[int, ...]) -> None:
    columns = PartitionColumns.of([_partition(each, (1,)) for each in ids])
    made = columns.partitions(_TOPIC.topic_id, SharedValues())
    assert tuple([each.partition_id for each in made]) == ids


@pytest.mark.parametrize("brokers", [256, 257])
def test_more_brokers_than_an_octet_can_number(brokers: int) -> None:
    partitions = tuple([_partition(each, (each, each + 1)) for each in range(brokers - 1)])
    entry = TopicEntry(_TOPIC, partition_list(partitions))
    loaded = _loaded(msgspec.msgpack.encode([StoredTopic.of(entry)]))
    _has_placement_of(loaded, partitions)
    assert loaded == entry


def _has_placement_of(loaded: LoadedTopic, partitions: Iterable[Partition]) -> None:
    found, expected = loaded.placement(), placement_of(partitions)
    rest = placement_of(sorted(found.others, key=_partition_id))
    assert Counter(found.held) + Counter(rest.held) == expected.held
    assert sorted([*found.leaders, *rest.leaders]) == sorted(expected.leaders)
    assert rest.others == expected.others
    stored_whole = in_columns(tuple(partitions))[1]
    assert all(each in stored_whole for each in found.others if each not in rest.others)


def _has_values_of(loaded: LoadedTopic, partitions: Iterable[Partition], random: Random) -> None:
    fields = random.sample(_IN_COLUMNS, random.randint(1, len(_IN_COLUMNS)))
    expected = {tuple([getattr(each, field) for field in fields]) for each in partitions}
    assert loaded.values(fields) == expected
    assert loaded.values([*fields, "directories"]) is None


_IN_COLUMNS = ("replicas", "isr", "leader", "leader_epoch", "partition_epoch")


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
    assert stored.partition_count == len(ids)
    loaded = _loaded(msgspec.msgpack.encode([stored]))
    assert loaded.partition_count == len(ids)
    _has_placement_of(loaded, partitions)
    _has_values_of(loaded, partitions, random)
    assert loaded == entry and entry == loaded
    if ids:
        changed = msgspec.structs.replace(entry, offsets=merged_offsets(offsets, {ids[0]: 10}, {}))
        assert loaded != changed and changed != loaded
