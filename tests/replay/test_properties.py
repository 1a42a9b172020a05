"""Every prefix of every history gives the same image, however it is split into batches."""

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_log.format.batch import Batch
from records import configs, partitions, topics
from records.envelope import Envelope
from replay.image.delta import MetadataDelta
from replay.image.digest import PART_ROWS, image_digest
from replay.image.metadata import MetadataImage
from replay.image.records import image_records, kept_of
from replay.loader import Replayer, images, load_image
from tests.histories import random_history
from tests.replay.builders import FakeLog, image_after

seeds = st.integers(0, 2**32)
few = settings(max_examples=25, deadline=None)


def _stepped(history: Sequence[Batch]) -> dict[int, MetadataImage]:
    """Return the image at each offset, computed one offset at a time."""
    found: dict[int, MetadataImage] = {}
    image = MetadataImage.EMPTY
    for batch in history:
        for offset in range(batch.base_offset, batch.end_offset):
            # From the last image only: inside a transaction the batches are read again.
            replayer = Replayer(image)
            start = replayer.next_offset
            for again in history:
                if again.end_offset > start and again.base_offset <= offset:
                    replayer.replay(again, up_to=offset)
            image = found[offset] = replayer.image()
    return found


@few
@given(seeds, st.integers(1, 40))
def test_every_prefix_in_any_batching_gives_the_same_image(seed: int, count: int) -> None:
    rng = random.Random(seed)
    log = FakeLog(random_history(rng, count))
    stepped = _stepped(log.log)
    for batch, image in images(log, 0, log.end_offset):
        assert image == stepped[batch.end_offset - 1]
    for offset in [-1, *rng.sample(sorted(stepped), min(20, len(stepped)))]:
        at_once = load_image(log, offset)
        assert at_once == stepped.get(offset, MetadataImage.EMPTY)
        assert image_digest(at_once) == image_digest(load_image(log, offset, start=at_once))


@few
@given(seeds, st.integers(1, 60))
def test_replay_in_stretches_gives_the_same_image_as_at_once(seed: int, count: int) -> None:
    rng = random.Random(seed)
    log = FakeLog(random_history(rng, count))
    image = MetadataImage.EMPTY
    for at in sorted(rng.choices(range(log.end_offset), k=10)):
        image = load_image(log, at, start=image)
    assert load_image(log, start=image) == load_image(log)


@few
@given(seeds, st.integers(1, 60))
def test_records_of_an_image_recreate_it(seed: int, count: int) -> None:
    image = image_after(random_history(random.Random(seed), count))
    delta = MetadataDelta(MetadataImage.EMPTY)
    for offset, (record, version) in enumerate(image_records(image)):
        delta.restore(
            Envelope(
                offset=offset,
                leader_epoch=0,
                timestamp=0,
                batch_offset=0,
                record_version=version,
                kept=kept_of(image, record),
                payload=record,
            )
        )
    recreated = delta.apply(image.provenance)
    assert recreated == image
    assert image_digest(recreated) == image_digest(image)
    assert list(image_records(recreated)) == list(image_records(image))


@few
@given(seeds, st.integers(1, 60))
def test_counts_and_lookups_agree_with_what_is_there(seed: int, count: int) -> None:
    image = image_after(random_history(random.Random(seed), count))
    found = list(image.topics())
    assert image.topic_count == len(found)
    assert image.partition_count == sum(len(image.partitions(t.topic_id)) for t in found)
    for topic in found:
        assert image.topic_by_name(topic.name, topic.namespace_id) == topic
        assert image.topic_by_full_name(image.full_name(topic)) == topic
        assert topic in list(image.topics_in(topic.namespace_id))
        ids = [partition.partition_id for partition in image.partitions(topic.topic_id)]
        assert ids == sorted(set(ids))


class _PlainState:
    """A second, naive implementation of docs/replay.md for four parts, with plain dicts."""

    def __init__(self) -> None:
        self.features: dict[str, int] = {}
        self.namespaces: dict[bytes, str] = {}
        self.topics: dict[bytes, tuple[str, bytes | None]] = {}
        self.configs: dict[tuple[int, str, str], str] = {}
        self.epochs: dict[tuple[bytes, int], tuple[int, int]] = {}

    def full_name(self, topic_id: bytes) -> str:
        name, namespace_id = self.topics[topic_id]
        return name if namespace_id is None else f"{self.namespaces[namespace_id]}:{name}"

    def replay(self, record: Any) -> None:
        match record:
            case configs.FeatureLevelRecord(name=name, feature_level=0):
                self.features.pop(name, None)
            case configs.FeatureLevelRecord(name=name, feature_level=level):
                self.features[name] = level
            case configs.ConfigRecord():
                self.configs.pop((record.resource_type, record.resource_name, record.name), None)
                if record.value is not None:
                    key = (record.resource_type, record.resource_name, record.name)
                    self.configs[key] = record.value
            case topics.NamespaceRecord():
                self.namespaces[record.namespace_id] = record.name
            case topics.RemoveNamespaceRecord():
                del self.namespaces[record.namespace_id]
            case topics.TopicRecord():
                self.topics[record.topic_id] = (record.name, record.namespace_id)
            case topics.MoveTopicRecord():
                old = self.full_name(record.topic_id)
                self.topics[record.topic_id] = (record.name, record.namespace_id)
                self._rename_configs(old, self.full_name(record.topic_id))
            case topics.RemoveTopicRecord():
                self._rename_configs(self.full_name(record.topic_id), None)
                del self.topics[record.topic_id]
                self.epochs = {k: v for k, v in self.epochs.items() if k[0] != record.topic_id}
            case partitions.PartitionRecord():
                self.epochs[record.topic_id, record.partition_id] = (
                    record.leader_epoch,
                    record.partition_epoch,
                )
            case partitions.PartitionChangeRecord():
                leader_epoch, partition_epoch = self.epochs[record.topic_id, record.partition_id]
                self.epochs[record.topic_id, record.partition_id] = (
                    leader_epoch + (record.leader != -2),
                    partition_epoch + 1,
                )
            case partitions.RemovePartitionsRecord():
                for partition_id in record.partition_ids:
                    del self.epochs[record.topic_id, partition_id]

    def _rename_configs(self, old: str, new: str | None) -> None:
        for key in [key for key in self.configs if key[:2] == (2, old)]:
            value = self.configs.pop(key)
            if new is not None:
                self.configs[2, new, key[2]] = value


def _committed(history: Sequence[Batch]) -> list[Any]:
    """Return the records that took effect, in order."""
    committed: list[Any] = []
    open_transaction: list[Any] | None = None
    for record in (row.payload for batch in history for row in batch.rows):
        match type(record).__name__:
            case "BeginTransactionRecord":
                open_transaction = []
            case "EndTransactionRecord":
                assert open_transaction is not None
                committed += open_transaction
                open_transaction = None
            case "AbortTransactionRecord":
                open_transaction = None
            case _:
                (committed if open_transaction is None else open_transaction).append(record)
    return committed


@few
@given(seeds, st.integers(1, 80))
def test_image_agrees_with_a_naive_reading_of_the_rules(seed: int, count: int) -> None:
    history = random_history(random.Random(seed), count)
    image, plain = image_after(history), _PlainState()
    for record in _committed(history):
        plain.replay(record)
    assert image.features() == plain.features
    assert {n.namespace_id: n.name for n in image.namespaces()} == plain.namespaces
    assert {t.topic_id: (t.name, t.namespace_id) for t in image.topics()} == plain.topics
    assert {
        (*resource, name): value
        for resource, values in image.configs()
        for name, value in values.items()
    } == plain.configs
    assert {
        (p.topic_id, p.partition_id): (p.leader_epoch, p.partition_epoch)
        for t in image.topics()
        for p in image.partitions(t.topic_id)
    } == plain.epochs


def test_histories_fill_every_part_of_the_image() -> None:
    filled: set[str] = set()
    for _, image in images(
        log := FakeLog(random_history(random.Random(1), 600)), 0, log.end_offset
    ):
        filled |= {part for part, rows in PART_ROWS.items() if any(True for _ in rows(image))}
    assert filled == set(PART_ROWS)
