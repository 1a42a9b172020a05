"""History and blame read only the blocks that matter, with the same answers as for all blocks."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.format.batch import Batch
from metadata_log.format.needles import Needles
from metadata_log.reader.log_reader import LogReader
from records.avro import codec
from records.base import Record
from records.brokers import FenceBrokerRecord
from records.configs import ConfigRecord
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from records.errors import CorruptLogError, RequestError
from records.partitions import ClearElrRecord
from records.text import uuid_text
from records.topics import (
    MoveTopicRecord,
    NamespaceRecord,
    RemoveNamespaceRecord,
    RemoveTopicRecord,
)
from replay.image.configs import BROKER, TOPIC
from replay.image.fields import copied
from replay.image.metadata import MetadataImage
from replay.image.notes import Note
from replay.image.records import image_records
from replay.loader import BatchSource, images, load_image
from replay.time_travel.history import blame, history
from replay.time_travel.kinds import KINDS
from replay.time_travel.labels import escaped
from replay.time_travel.objects import parse_object
from replay.time_travel.skim import SkimmableSource, notes_until
from tests.histories import random_history
from tests.own_logs import write_history
from tests.real_logs import REAL_LOGS
from tests.replay import oracles
from tests.replay.builders import (
    Base,
    BytesOf,
    FakeLog,
    batches,
    broker,
    change,
    namespace,
    partition,
    topic,
    uid,
)
from tests.samples import drawn


def _encoded(batch: Batch) -> bytes:
    return codec.encode_rows(batch.rows)


@dataclass(frozen=True)
class SkimmedLog(FakeLog):
    """A log in memory whose batches are searched like those on disk."""

    decoded: list[int] = field(default_factory=list)
    encoded: BytesOf = field(default_factory=lambda: BytesOf(_encoded), repr=False, compare=False)

    def skim(
        self, needles: Needles, to_offset: int | None = None, *, from_offset: int | None = None
    ) -> Iterator[Batch]:
        """Yield only the batches that contain a needle."""
        for batch in self.batches(from_offset, to_offset):
            if needles.found_in(self.encoded(batch), len(batch.rows)):
                self.decoded.append(batch.base_offset)
                yield batch


# Kinds whose objects are independent of topics.
ALONE = (
    *("broker", "controller", "namespace", "feature", "acl", "quota", "scram", "token", "note"),
    "cluster",
)


def answers(log: BatchSource, name: str, at: int) -> tuple[object, object]:
    """Return the results of history and blame, or their errors."""
    found: list[object] = []
    for ask in (
        lambda: list(history(log, parse_object(name), at + 1)),
        lambda: blame(log, parse_object(name), at),
    ):
        try:
            found.append(ask())
        except RequestError as error:
            found.append((error.code, str(error)))
    return found[0], found[1]


def names_in(log: BatchSource) -> list[str]:
    """Return the names of all objects that a log ever had; topics by name and by id."""
    found: dict[str, None] = {}
    for _, image in images(log, log.history_start, log.end_offset):
        for kind in map(KINDS.__getitem__, ALONE):
            for key, _ in kind.objects(image):
                found[f"{kind.name}:{kind.label(image, key)}"] = None
        for resource, _ in image.configs():
            found[f"config:{KINDS['config'].label(image, resource)}"] = None
        for key, _ in KINDS["deletion"].objects(image):
            found[f"deletion:{KINDS['deletion'].label(image, key)}"] = None
            deleted = image.topic(key[0])
            if deleted is not None:
                found[f"deletion:{escaped(image.full_name(deleted))}/{key[1]}/{key[2]}"] = None
        for each in image.topics():
            count = len(image.partitions(each.topic_id))
            for label in (escaped(image.full_name(each)), f"@{uuid_text(each.topic_id)}"):
                found[f"topic:{label}"] = None
                found[f"config:topic/{label}"] = None
                for number in range(count + 1):
                    found[f"partition:{label}/{number}"] = None
                    found[f"removal:{label}/{number}"] = None
    return list(found)


def test_blocks_with_longer_names_are_not_decoded() -> None:
    history = batches(
        (namespace("team"),),
        (namespace("team-2"),),
        (_config(TOPIC, "team-2:all-orders", "1"), topic("all-orders", namespace="team-2")),
        (_config(TOPIC, "team:orders", "1"), topic("orders", namespace="team")),
        (_config(TOPIC, "old-orders", "1"), topic("old-orders"), partition("old-orders", 0)),
        (MoveTopicRecord(topic_id=uid("orders"), namespace_id=None, name="last"),),
        (_config(TOPIC, "at-last", "1"), topic("at-last")),
        (_config(TOPIC, "last", "1"),),
    )
    log = SkimmedLog(history)
    about_topic = {history[number].base_offset for number in (0, 3, 5)}
    assert answers(log, "topic:team:orders", 4) == answers(FakeLog(history), "topic:team:orders", 4)
    assert set(log.decoded) <= about_topic
    last = log.end_offset - 1
    for name in ("topic:last", "config:topic/last"):
        assert answers(log, name, last) == answers(FakeLog(history), name, last)
    assert set(log.decoded) == {*about_topic, last}


def test_removal_of_a_namespace_that_is_found_late_is_not_skipped() -> None:
    again = NamespaceRecord(namespace_id=uid("again"), name="other")
    history = batches(
        (topic("t"), namespace("other")),
        (MoveTopicRecord(topic_id=uid("t"), namespace_id=uid("other"), name="orders"),),
        (RemoveTopicRecord(topic_id=uid("t")),),
        (RemoveNamespaceRecord(namespace_id=uid("other")),),
        (topic("orders"), again),
        (MoveTopicRecord(topic_id=uid("orders"), namespace_id=uid("again"), name="last"),),
    )
    log = SkimmedLog(history)
    found = answers(log, "topic:orders", log.end_offset - 1)
    assert found == answers(FakeLog(history), "topic:orders", log.end_offset - 1)


@drawn(25, 10)
@given(st.integers(0, 2**32), st.integers(1, 60), st.booleans())
def test_skimming_answers_as_reading_all(seed: int, count: int, cut: bool) -> None:
    rng = random.Random(seed)
    log = random_history(rng, count)
    base = None
    if cut:
        log, base = _cut(log, rng.randrange(len(log)))
    plain, skimmed = FakeLog(log, base), SkimmedLog(log, base)
    names = names_in(plain)
    for name in rng.sample(names, min(len(names), 6)):
        at = rng.randrange(plain.history_start - 1, plain.end_offset)
        for point in (at, plain.end_offset - 1):
            assert answers(skimmed, name, point) == answers(plain, name, point), (name, point)


@drawn(10, 5)
@given(st.integers(0, 2**32), st.booleans())
def test_notes_are_found_in_the_blocks_that_hold_them(seed: int, cut: bool) -> None:
    rng = random.Random(seed)
    log = random_history(rng, 60)
    base = None
    if cut:
        log, base = _cut(log, rng.randrange(len(log)))
    skimmed = SkimmedLog(log, base)
    at = rng.randrange(skimmed.history_start - 1, skimmed.end_offset)
    found = {copied(note, Note) for note in notes_until(skimmed, at + 1)}
    assert found == set(load_image(FakeLog(log, base), at).notes())


def test_few_blocks_are_decoded_for_the_notes() -> None:
    decoded = 0
    for seed in range(20):
        log = SkimmedLog(random_history(random.Random(seed), 60))
        list(notes_until(log, log.end_offset))
        decoded += len(log.decoded)
    assert decoded <= 20 * 60 / 3


def _cut(log: list[Batch], at: int) -> tuple[list[Batch], Base | None]:
    """Cut a history before a batch, unless a transaction is open there."""
    image: MetadataImage = load_image(FakeLog(log[:at]))
    if image.provenance.pending_transaction is not None or not at:
        return log, None
    records = tuple(record for record, _ in image_records(image))
    return log[at:], Base(log[at].base_offset, records)


def test_only_blocks_that_hold_the_topic_are_decoded() -> None:
    log = SkimmedLog(
        batches(
            *([topic(f"other-{n}"), partition(f"other-{n}", 0)] for n in range(20)),
            [topic("orders"), partition("orders", 0)],
            *([change(f"other-{n}", 0, leader=2)] for n in range(20)),
            [change("orders", 0, leader=3)],
            *([change(f"other-{n}", 0, leader=2)] for n in range(20)),
        )
    )
    events = list(history(log, parse_object("partition:orders/0")))
    assert [event.row.offset for event in events] == [41, 62]
    # A few others may hold the bytes of a needle by chance.
    assert {40, 62} <= set(log.decoded) and len(log.decoded) < 10


def test_only_blocks_that_hold_the_broker_are_decoded() -> None:
    log = SkimmedLog(
        batches(
            [broker(7, fenced=False), broker(8, fenced=False)],
            *([topic(f"orders-{n}"), partition(f"orders-{n}", 0)] for n in range(20)),
            [FenceBrokerRecord(id=8, epoch=10)],
            *([change(f"orders-{n}", 0, leader=2)] for n in range(20)),
            [FenceBrokerRecord(id=7, epoch=10)],
        )
    )
    events = list(history(log, parse_object("broker:7")))
    assert [event.row.offset for event in events] == [0, 63]
    assert {0, 63} <= set(log.decoded) and len(log.decoded) < 10


def _config(resource_type: int, name: str, value: str) -> ConfigRecord:
    return ConfigRecord(
        resource_type=resource_type, resource_name=name, name="retention.ms", value=value
    )


@pytest.mark.parametrize(
    ("name", "resource_type"), [("config:topic/orders", TOPIC), ("config:broker/orders", BROKER)]
)
def test_only_blocks_that_hold_the_config_are_decoded(name: str, resource_type: int) -> None:
    log = SkimmedLog(
        batches(
            *([topic(f"other-{n}"), partition(f"other-{n}", 0)] for n in range(20)),
            [topic("orders")],
            [_config(resource_type, "orders", "1")],
            *([_config(resource_type, f"other-{n}", "2")] for n in range(20)),
            [_config(resource_type, "orders", "3")],
        )
    )
    events = list(history(log, parse_object(name)))
    assert [event.row.offset for event in events] == [41, 62]
    assert {41, 62} <= set(log.decoded) and len(log.decoded) < 10


def test_configs_of_earlier_names_are_found() -> None:
    """A topic keeps the configs that were set under an earlier name, or before it existed."""
    log = batches(
        [namespace("n")],
        [_config(TOPIC, "first", "1")],
        [topic("first")],
        [MoveTopicRecord(topic_id=uid("first"), namespace_id=uid("n"), name="second")],
        [topic("first", topic_id="another")],
        [_config(TOPIC, "first", "2")],
        [MoveTopicRecord(topic_id=uid("first"), namespace_id=None, name="third")],
    )
    for name in ("first", "n:second", "third", f"@{uuid_text(uid('first'))}"):
        for at in range(7):
            wanted = f"config:topic/{name}"
            assert answers(SkimmedLog(log), wanted, at) == answers(FakeLog(log), wanted, at)


@pytest.mark.parametrize("name", ["broker:x", "broker:1_0", "broker:" + "9" * 30, "controller:-1"])
def test_a_broker_that_cannot_be_is_refused_as_when_all_is_read(name: str) -> None:
    log = batches([broker(7)], [topic("orders")])
    assert answers(SkimmedLog(log), name, 1) == answers(FakeLog(log), name, 1)


async def test_a_skim_stops_at_its_end(tmp_path: Path) -> None:
    directory = await write_history(tmp_path / "log", 1, 60, batches_an_epoch=30)
    with LogReader.open(directory) as reader:
        segment = reader.segment_paths[0]
        middle = list(reader.batches())[10].end_offset
    content = bytearray(segment.read_bytes())
    content[-40] ^= 1
    segment.write_bytes(content)
    with LogReader.open(directory) as reader:
        assert list(reader.skim(Needles(), middle)) == []
        with pytest.raises(CorruptLogError):
            list(reader.skim(Needles()))


MOVED = MoveTopicRecord(topic_id=uid("orders"), namespace_id=uid("org"), name="moved")
SECOND = topic("orders", topic_id="second")
BEGIN, END, ABORT = (
    BeginTransactionRecord(name=None),
    EndTransactionRecord(),
    AbortTransactionRecord(reason=None),
)
ELR = change("orders", 0, eligible_leader_replicas=(1,), last_known_elr=(2,))


@pytest.mark.parametrize(
    "groups",
    [
        # Named by nothing but what reaches it.
        ([ELR], [ClearElrRecord(topic_name="")]),
        ([ELR], [ClearElrRecord(topic_name="orders")]),
        ([BEGIN], [change("orders", 0, leader=2)], [topic("x")], [END]),
        ([topic("x"), BEGIN], [change("orders", 0, leader=2)], [topic("y")], [ABORT, topic("z")]),
        ([BEGIN], [topic("x")], [ABORT], [change("orders", 0, leader=2)]),
        # Another life, another name, another namespace.
        ([RemoveTopicRecord(topic_id=uid("orders"))], [SECOND], [topic("x")]),
        ([namespace("org")], [topic("x")], [MOVED], [SECOND], [change("orders", 0, leader=2)]),
        (
            [namespace("org")],
            [topic("x"), partition("x", 0)],
            [change("x", 0, leader=2)],
            [RemoveTopicRecord(topic_id=uid("orders"))],
            [MoveTopicRecord(topic_id=uid("x"), namespace_id=None, name="orders")],
            [change("x", 0, leader=3)],
        ),
    ],
)
@pytest.mark.parametrize("with_base", [False, True])
def test_what_reaches_a_topic_without_its_id_is_found(
    groups: tuple[list[Record], ...], with_base: bool
) -> None:
    first = (topic("orders"), partition("orders", 0))
    if with_base:
        log, base = batches(*groups, base_offset=10), Base(10, first)
    else:
        log, base = batches(first, *groups), None
    plain, skimmed = FakeLog(log, base), SkimmedLog(log, base)
    for name in names_in(plain):
        for at in range(plain.history_start - 1, plain.end_offset):
            assert answers(skimmed, name, at) == answers(plain, name, at), (name, at)


@pytest.mark.parametrize("seed", range(3))
async def test_a_log_on_disk_is_skimmed_with_the_same_answers(tmp_path: Path, seed: int) -> None:
    directory = await write_history(tmp_path / "log", seed, 120, batches_an_epoch=30)
    with LogReader.open(directory) as reader:
        assert isinstance(reader, SkimmableSource)
        plain = FakeLog(list(reader.batches()))
        names = names_in(plain)
        for name in random.Random(seed).sample(names, 12):
            for at in (reader.end_offset // 2, reader.end_offset - 1):
                assert answers(reader, name, at) == answers(plain, name, at), (name, at)


async def test_damage_is_reported_as_when_all_is_read(tmp_path: Path) -> None:
    directory = await write_history(tmp_path / "log", 1, 120, batches_an_epoch=30)
    with LogReader.open(directory) as reader:
        segment = reader.segment_paths[1]
        name = names_in(FakeLog(list(reader.batches())))[0]
    content = bytearray(segment.read_bytes())
    for position in range(len(content) // 2, len(content), len(content) // 20):
        damaged = bytearray(content)
        damaged[position] ^= 1
        segment.write_bytes(damaged)
        with LogReader.open(directory) as reader:
            messages = set()
            for source in (reader, _Plain(reader)):
                with pytest.raises(CorruptLogError) as found:
                    list(history(source, parse_object(name)))
                messages.add(str(found.value))
            assert len(messages) == 1


@pytest.mark.real_logs
@pytest.mark.skipif(not REAL_LOGS.is_dir(), reason=f"no real Kafka logs at {REAL_LOGS}")
@pytest.mark.parametrize("final_image", oracles.final_images()[:6], ids=lambda path: path.parts[-2])
def test_a_real_log_is_skimmed_with_the_same_answers(final_image: Path) -> None:
    paths = oracles.decoded_logs(final_image.parent / "__cluster_metadata-0")
    log = list(oracles.batches(paths))
    plain, skimmed = FakeLog(log), SkimmedLog(log)
    image = load_image(plain)
    rng = random.Random(1)
    topics = sorted(image.topics(), key=lambda each: each.name)
    for each in rng.sample(topics, min(2, len(topics))):
        for label in (escaped(each.name), f"@{uuid_text(each.topic_id)}"):
            for name in (f"topic:{label}", f"partition:{label}/0"):
                at = plain.end_offset - 1
                assert answers(skimmed, name, at) == answers(plain, name, at), name
    assert len(skimmed.decoded) < 16 * len(log)


class _Plain:
    """A log that cannot be skimmed."""

    def __init__(self, reader: LogReader) -> None:
        self.start_offset, self.history_start = reader.start_offset, reader.history_start
        self.base, self.end_offset, self.batches = reader.base, reader.end_offset, reader.batches
        self.position = reader.position
