"""Partitions of a loaded snapshot are made when they are read, and equal those of a full replay."""

import random
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import URL

from records.base import Uuid
from records.errors import CorruptLogError
from replay.expressions.bisect import find_flips
from replay.expressions.expression import Expression
from replay.image.digest import image_digest
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.image.topics import Topic, TopicEntry
from replay.incidents.health import partition_kinds
from replay.loader import Replayer, load_image
from replay.snapshot import layers
from replay.snapshot.file import SnapshotFile
from replay.snapshot.parts import Parts, chunks_of_image
from replay.snapshot.shared_values import SharedValues
from replay.snapshot.store import SnapshotStore
from replay.snapshot.stored_topic import LoadedTopic, StoredTopic, loaded_topics
from replay.snapshot_lifecycle import create_snapshot
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import image_of, partition, topic, uid
from tests.replay.oracles import batches, decoded_logs, final_images, needs_real_logs
from tests.replay.snapshot.conftest import CLUSTER
from tests.replay.snapshot.test_tail import Log


@pytest.fixture
def file(url: URL) -> SnapshotFile:
    """The file to which the fixture `store` writes."""
    return SnapshotFile(Path(str(url.database)), CLUSTER)


@pytest.fixture(params=[False, True], ids=["whole", "layered"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write small snapshots whole, or as layers."""
    if request.param:
        monkeypatch.setattr(layers, "LAYERED_SIZE_MIN_BYTES", 0)
        monkeypatch.setattr(layers, "OVERLAY_SHARE_MAX", 1_000)


def _log_with_snapshots(store: SnapshotStore, rng: random.Random) -> Log:
    log = Log(random_history(rng, 60))
    for at in sorted(rng.sample(range(log.end_offset), 8)):
        create_snapshot(log, store, at)
    return log


def _unread(image: MetadataImage) -> int:
    """Return the number of topics whose partitions were not made, or were not kept."""
    entries = image._topics._entries.values()
    return sum(isinstance(each, LoadedTopic) and each._made is None for each in entries)


_CONDITIONS = (
    "p.leader == -1",
    "p.leader in p.isr && size(p.replicas) > 1",
    "p.isr != p.replicas",
    "p.leader_epoch + p.partition_epoch > 3",
    "p.mode == 0",
    "p.partition_id == 0",
    "p.isr.exists(r, r == p.leader)",
    "topics.exists(t, t.name.size() == p.partition_id)",
    "size(topics) > p.leader",
    "100 / p.leader == 100",
    "true",
)


@pytest.mark.parametrize("macro", ["exists", "all", "exists_one", "filter", "map"])
def test_conditions_of_unread_partitions(macro: str) -> None:
    log = Log(random_history(random.Random(macro), 120))
    at = log.end_offset // 2
    image = load_image(log, at)
    for condition in _CONDITIONS:
        expression = Expression(f"partitions.{macro}(p, {condition})")
        evaluator, loaded = expression.incremental(), _as_loaded(image)
        assert evaluator.start(loaded) == expression.evaluate(image), condition
        found = find_flips(log, expression, loaded, log.end_offset)
        assert found == find_flips(log, expression, image, log.end_offset), condition


def test_only_topics_with_a_partition_that_meets_a_condition_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    make = LoadedTopic.make

    def noted(loaded: LoadedTopic) -> TopicEntry:
        made.append(loaded.topic.name)
        return make(loaded)

    monkeypatch.setattr(LoadedTopic, "make", noted)
    image = image_of(topic("a"), partition("a", 0, leader=2), topic("b"), partition("b", 0))
    evaluator = Expression("partitions.exists(p, p.leader == -1)").incremental()
    assert evaluator.start(_as_loaded(image)) is False
    assert made == []
    evaluator = Expression("partitions.exists(p, p.leader == 2)").incremental()
    assert evaluator.start(_as_loaded(image)) is True
    assert made == ["a"]


def _as_loaded(image: MetadataImage) -> MetadataImage:
    """Return an image as it is loaded from a snapshot."""
    parts = Parts()
    for name, _, chunk in chunks_of_image(image):
        parts.decode(name, chunk.plain)
    return parts.image(image.provenance)


def _are_equal(loaded: MetadataImage, expected: MetadataImage) -> None:
    """Compare all that can be read of the topics, with those not yet made and those that are."""
    topics = list(expected.topics())
    assert {each.topic_id for each in loaded.topics()} == {each.topic_id for each in topics}
    assert loaded.topic_count == expected.topic_count
    assert loaded.partition_count == expected.partition_count
    unread = _unread(loaded)
    assert image_digest(loaded) == image_digest(expected)
    assert loaded == expected and expected == loaded
    for each in topics:
        _have_equal_degraded(loaded, expected, each.topic_id)
    assert _unread(loaded) == unread
    for each in topics:
        topic_id = each.topic_id
        assert loaded.topic(topic_id) == each
        assert loaded.topic_by_full_name(expected.full_name(each)) == each
        assert loaded.topic_version(topic_id) == expected.topic_version(topic_id)
        for found in expected.partitions(topic_id):
            id_ = found.partition_id
            assert loaded.partition(topic_id, id_) == found
            for offset in ("partition_version", "partition_created"):
                assert getattr(loaded, offset)(topic_id, id_) == getattr(expected, offset)(
                    topic_id, id_
                )
        assert loaded.partitions(topic_id) == expected.partitions(topic_id)
    assert loaded.topic(uid("no such topic")) is None
    assert loaded.partition(uid("no such topic"), 0) is None
    assert _unread(loaded) == 0
    assert loaded == expected and image_digest(loaded) == image_digest(expected)


def _have_equal_degraded(loaded: MetadataImage, expected: MetadataImage, topic_id: Uuid) -> None:
    """Compare the partitions that may be in an outage; whole ones may be among them."""
    partitions = tuple(expected.partitions(topic_id))
    for min_isr in range(5):
        degraded = [each for each in partitions if partition_kinds(each, min_isr)]
        for image in (loaded, expected):
            made = image.degraded_partitions(topic_id, min_isr)
            found = sorted(made, key=lambda each: each.partition_id)
            assert [each for each in found if partition_kinds(each, min_isr)] == degraded
            assert len(set(found)) == len(found) and set(found) <= set(partitions)


def test_only_degraded_partitions_of_a_snapshot_are_made_to_look_for_outages() -> None:
    image = image_of(
        topic("a"),
        *(partition("a", 0), partition("a", 1, isr=(1,)), partition("a", 2, leader=-1)),
        partition("a", 3, isr=(3, 2, 1), leader=2),
        topic("b"),
    )
    loaded = _as_loaded(image)
    for min_isr in (0, 2, 3):
        found = loaded.degraded_partitions(uid("a"), min_isr)
        assert [each.partition_id for each in found] == [1, 2]
    assert len(list(loaded.degraded_partitions(uid("a"), 4))) == 4
    assert list(loaded.degraded_partitions(uid("b"), 0)) == []
    assert _unread(loaded) == 2


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("seed", range(3))
def test_what_is_read_is_what_the_snapshot_holds(
    store: SnapshotStore, file: SnapshotFile, seed: int
) -> None:
    log = _log_with_snapshots(store, random.Random(seed))
    for info in store.newest_first():
        loaded = file.load_newest(info.end_offset - 1)
        assert loaded is not None and loaded.provenance.next_offset == info.end_offset
        _are_equal(loaded, load_image(log, info.end_offset - 1))
        assert load_image(log, start=file.load_newest(info.end_offset - 1)) == load_image(log)


@needs_real_logs[0]
@needs_real_logs[1]
@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("final_image", final_images(), ids=str)
def test_snapshots_of_a_real_log_hold_its_images(
    store: SnapshotStore, file: SnapshotFile, final_image: Path
) -> None:
    log = list(batches(decoded_logs(final_image.parent / "__cluster_metadata-0")))
    points = {len(log) // 3, len(log) // 2, len(log) - 1}
    replayer, read = Replayer(), 0
    for number, batch in enumerate(log):
        replayer.replay(batch)
        if number not in points:
            continue
        image = replayer.image()
        store.create(image)
        loaded = file.load_newest()
        assert loaded is not None
        read += _unread(loaded)
        _are_equal(loaded, image)
    assert read or not replayer.image().topic_count


def test_partitions_are_kept_from_when_they_are_read(
    store: SnapshotStore, file: SnapshotFile
) -> None:
    log = _log_with_snapshots(store, random.Random(11))
    loaded = file.load_newest()
    assert loaded is not None
    topics = [each for each in loaded.topics() if loaded._topics._entries[each.topic_id].topic]
    count = len(topics)
    assert count == loaded.topic_count == _unread(loaded) > 1
    assert sum(len(each.partitions) for each in loaded.topic_entries()) == loaded.partition_count
    assert _unread(loaded) == count
    first = loaded.partitions(topics[0].topic_id)
    assert _unread(loaded) == count - 1
    assert loaded.partitions(topics[0].topic_id) is first
    assert load_image(log, start=loaded) == load_image(log)


_EXPRESSIONS = (
    "size(topics) > {topics}",
    "size(partitions) > {partitions}",
    "partitions.exists(p, p.partition_epoch > 3)",
    "size(topics.filter(t, size(t.partitions) > 1)) > 2",
    "brokers.exists(b, b.fenced)",
    "has(cluster.producer_ids)",
    "size(notes) > 0",
    "size(configs) >= 0",
)


@pytest.mark.parametrize("seed", range(6))
def test_halving_finds_the_flip_of_what_flips_once(
    store: SnapshotStore, file: SnapshotFile, seed: int
) -> None:
    log = _log_with_snapshots(store, random.Random(seed))
    middle, timeline = load_image(log, log.end_offset // 2), Timeline(log, file)
    counts = {"topics": middle.topic_count, "partitions": middle.partition_count}
    compared = 0
    for text in _EXPRESSIONS:
        expression = Expression(text.format(**counts))
        expected = timeline.flips(expression, 0, log.end_offset)
        if len(expected.found) > 1:
            continue
        found = timeline.only_flip(expression, 0, log.end_offset)
        assert msgspec.structs.replace(found, assumed=None) == expected, text
        compared += 1
    assert compared >= 3


def _foreign(columns: list[object], name: str = "orders", count: int = 1) -> StoredTopic:
    body = msgspec.msgpack.encode([columns])
    return StoredTopic(Topic(uid(name), name), partition_count=count, body=body)


_KNOWN: list[object] = [1, [1], b"\0", [], {}, {}, [0], [0]]


def test_a_topic_of_another_release_is_an_error_that_names_it() -> None:
    foreign = _foreign([1, [1], b"\0\0", [], {}, {0: "no leader"}, [0], [0]], count=2)
    # Only the larger one of a chunk is decoded when it is loaded.
    known = _foreign([1, [1], bytes(100), *_KNOWN[3:]], "known", 100)
    loaded, _ = loaded_topics(msgspec.msgpack.encode([foreign, known]), SharedValues())
    assert loaded.topic == foreign.topic and loaded.partition_count == 2
    for _ in range(2):
        with pytest.raises(CorruptLogError, match="topic 'orders' of a snapshot was written by"):
            loaded.partitions  # noqa: B018
        with pytest.raises(CorruptLogError, match="topic 'orders' of a snapshot was written by"):
            loaded.placement()


def _plain(*names: str, leader: int = 1) -> bytes:
    records = [[topic(name), partition(name, 0, leader=leader)] for name in names]
    entries = [next(image_of(*each).topic_entries()) for each in records]
    return msgspec.msgpack.encode([StoredTopic.of(each) for each in entries])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (0, 0),
        (0, 2),
        (1, ["broker 1"]),
        (2, b"\1"),
        (3, [0, 1]),
        (6, [0, 1]),
        (8, b"id"),
        (9, b"\1"),
    ],
    ids=["zero", "factor", "type", "index", "ids", "length", "id", "directory"],
)
def test_a_chunk_of_another_release_is_refused_when_it_is_loaded(
    column: int, value: object
) -> None:
    columns = [*_KNOWN, bytes(16), b""]
    loaded_topics(msgspec.msgpack.encode([_foreign(columns)]), SharedValues())
    columns[column] = value
    with pytest.raises((msgspec.DecodeError, ValueError, LookupError)):
        loaded_topics(msgspec.msgpack.encode([_foreign(columns)]), SharedValues())


def test_a_topic_with_another_number_of_partitions_than_it_says_is_refused() -> None:
    with pytest.raises(ValueError, match="1 partitions, expected 2"):
        loaded_topics(msgspec.msgpack.encode([_foreign(_KNOWN, count=2)]), SharedValues())


def test_a_read_topic_keeps_its_partitions_and_drops_its_octets() -> None:
    for each in loaded_topics(_plain("a", "b"), SharedValues()):
        assert each._stored is not None
        before = each.placement()
        kept = each.partitions
        made = each.make()
        assert each._stored is None
        assert each.partitions is kept and made.partitions is kept
        assert each.passing().partitions is kept and each.placement() == before


def test_topics_are_compared_by_their_octets_or_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    images, made = [], list[str]()
    for leader, name in enumerate(("old", "new"), start=1):
        parts = Parts()
        parts.decode("topics", _plain("same", name))
        parts.decode("topics", _plain("changed", leader=leader))
        images.append(parts.image(Provenance()))
    make = LoadedTopic.make

    def noting(self: LoadedTopic) -> TopicEntry:
        made.append(self.topic.name)
        return make(self)

    monkeypatch.setattr(LoadedTopic, "make", noting)
    before, after = images[0].topic_differences(images[1])
    assert {each.topic.name for each in before} == {"old", "changed"}
    assert {each.topic.name for each in after} == {"new", "changed"}
    assert sorted(made) == ["changed", "changed", "new", "old"]
