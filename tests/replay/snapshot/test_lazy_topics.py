"""Images whose topics are decoded when they are read are equal to the snapshot; halving uses
them.
"""

import random
from pathlib import Path
from typing import cast

import msgspec
import pytest
from sqlalchemy import URL

from replay.expressions.expression import Expression
from replay.image.metadata import MetadataImage
from replay.loader import load_image
from replay.snapshot import layers, lazy_topics
from replay.snapshot.file import SnapshotFile
from replay.snapshot.lazy_topics import LazyTopics, array_length
from replay.snapshot.store import SnapshotStore
from replay.snapshot_lifecycle import create_snapshot
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import uid
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


def _read(file: SnapshotFile, end_offset: int) -> MetadataImage:
    image = file.read_newest(end_offset - 1, accept=lambda info: info.end_offset == end_offset)
    assert image is not None
    return image


def _lazy(image: MetadataImage) -> LazyTopics:
    topics = cast(object, image._topics)
    assert isinstance(topics, LazyTopics)
    return topics


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("seed", range(3))
def test_what_is_read_is_what_the_snapshot_holds(
    store: SnapshotStore, file: SnapshotFile, seed: int
) -> None:
    log = _log_with_snapshots(store, random.Random(seed))
    for info in store.newest_first():
        expected = store.load(info.end_offset)
        image = _read(file, info.end_offset)
        topics = list(expected.topics())
        assert {each.topic_id for each in image.topics()} == {each.topic_id for each in topics}
        assert image.topic_count == expected.topic_count
        assert image.partition_count == expected.partition_count
        for each in topics:
            assert image.topic(each.topic_id) == each
            assert image.topic_by_full_name(expected.full_name(each)) == each
            assert image.partitions(each.topic_id) == expected.partitions(each.topic_id)
        assert image.topic(uid("no such topic")) is None
        assert image.partition(uid("no such topic"), 0) is None
        assert _lazy(image).whole == expected._topics
        assert load_image(log, start=_read(file, info.end_offset)) == load_image(log)


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


def test_partitions_of_another_release_are_passed_over(
    store: SnapshotStore, file: SnapshotFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _log_with_snapshots(store, random.Random(7))
    expression = Expression("partitions.exists(p, p.partition_epoch > 100000)")
    expected = Timeline(log).only_flip(expression, 0, log.end_offset)
    other_release = msgspec.msgpack.Decoder(tuple[bool, ...])
    monkeypatch.setattr(lazy_topics, "_partitions_decoder", other_release)
    assert Timeline(log, file).only_flip(expression, 0, log.end_offset) == expected


@pytest.mark.parametrize("length", [0, 1, 15, 16, 300, 65_535, 65_536])
def test_the_length_of_an_array_is_read_from_its_head(length: int) -> None:
    assert array_length(msgspec.Raw(msgspec.msgpack.encode([None] * length))) == length


@pytest.mark.parametrize("value", [{}, "text", 7, None])
def test_what_is_no_array_has_no_length(value: object) -> None:
    with pytest.raises(msgspec.DecodeError):
        array_length(msgspec.Raw(msgspec.msgpack.encode(value)))
