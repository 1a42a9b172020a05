"""The contract of a snapshot store on every database, and of the readers of its snapshots."""

from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec
import pytest
from sqlalchemy import URL, Engine, Update, func, select, update

from records.configs import ConfigRecord
from records.errors import RequestError
from replay.image.digest import image_digest
from replay.image.metadata import MetadataImage
from replay.image.topics import Topic, TopicEntry
from replay.loader import Replayer
from replay.snapshot import chunks, parts, schema
from replay.snapshot.database import open_database, writing
from replay.snapshot.file import SnapshotFile
from replay.snapshot.info import SnapshotInfo
from replay.snapshot.ports import Snapshots
from replay.snapshot.store import SnapshotStore
from replay.snapshot.tables import snapshot, snapshot_chunk, snapshot_manifest
from tests.replay.builders import (
    batch,
    batches,
    change,
    image_after,
    image_of,
    partition,
    topic,
    uid,
)
from tests.replay.snapshot.conftest import CLUSTER, ON_BOTH, FixedClock
from tests.replay.snapshot.images import cluster_of

ONE, TWO, THREE = (cluster_of(range(count)) for count in (1, 2, 3))


pytestmark = ON_BOTH


@pytest.fixture
def url(snapshots_url: URL) -> URL:
    """A database without snapshots, of each kind."""
    return snapshots_url


@pytest.fixture
def engine(url: URL) -> Iterator[Engine]:
    """A database with the schema of this release."""
    engine = open_database(url, create=True)
    schema.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def store(engine: Engine) -> SnapshotStore:
    """An empty store."""
    return SnapshotStore(engine, CLUSTER, FixedClock())


@pytest.fixture(params=["store", "file"])
def snapshots(request: pytest.FixtureRequest, store: SnapshotStore, url: URL) -> Snapshots:
    """The snapshots of `store`, read with each of its readers."""
    if request.param == "store":
        return store
    if url.get_backend_name() != "sqlite":
        pytest.skip("only a SQLite file is read without SQLAlchemy")
    return SnapshotFile(Path(str(url.database)), CLUSTER)


def _chunk_count(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.scalars(select(func.count()).select_from(snapshot_chunk)).one()


def _orphans(engine: Engine) -> int:
    used = select(snapshot_manifest.c.chunk_hash)
    query = select(func.count()).where(snapshot_chunk.c.hash.not_in(used))
    with engine.connect() as connection:
        return connection.scalars(query).one()


def test_loaded_image_is_the_one_that_was_stored(store: SnapshotStore) -> None:
    store.create(TWO)
    assert store.load(8) == TWO


def test_empty_image_is_stored_and_loaded(store: SnapshotStore) -> None:
    assert store.create(MetadataImage.EMPTY).end_offset == 0
    assert store.load(0) == MetadataImage.EMPTY


def test_info_says_what_the_image_is(store: SnapshotStore) -> None:
    info = store.create(TWO, confirmed=False)
    assert info == store.info(8)
    assert (info.cluster_id, info.end_offset, info.leader_epoch) == (CLUSTER, 8, 1)
    assert (info.timestamp_ms, info.created_at_ms) == (4_000, FixedClock().now_ms())
    assert info.digest == image_digest(TWO)
    assert (info.confirmed, info.mid_batch) == (False, False)


def test_snapshots_are_listed_from_the_oldest(store: SnapshotStore, snapshots: Snapshots) -> None:
    three, one, two = (store.create(image) for image in (THREE, ONE, TWO))
    assert store.list() == (one, two, three)
    assert tuple(snapshots.newest_first()) == (three, two, one)


def test_unknown_snapshot_is_not_found(store: SnapshotStore) -> None:
    for ask in (store.info, store.load, store.verify):
        with pytest.raises(RequestError, match="no snapshot at end offset 7") as refused:
            ask(7)
        assert refused.value.code == "SNAPSHOT_NOT_FOUND"


def test_same_snapshot_is_made_once(store: SnapshotStore, engine: Engine) -> None:
    first = store.create(TWO)
    with engine.connect() as connection:
        before = connection.scalars(select(snapshot.c.id)).all()
    assert store.create(TWO) == first
    with engine.connect() as connection:
        assert connection.scalars(select(snapshot.c.id)).all() == before


def test_provisional_snapshot_becomes_confirmed_and_stays_so(store: SnapshotStore) -> None:
    assert not store.create(TWO, confirmed=False).confirmed
    assert store.create(TWO, confirmed=True).confirmed
    assert store.create(TWO, confirmed=False).confirmed
    assert [info.confirmed for info in store.list()] == [True]


def test_snapshot_of_another_tail_replaces_the_one_at_its_offset(store: SnapshotStore) -> None:
    store.create(cluster_of([0, 7]), confirmed=False)
    store.create(TWO)
    assert [info.digest for info in store.list()] == [image_digest(TWO)]
    assert store.load(8) == TWO


def test_newest_snapshot_at_or_below_an_offset_is_found(
    store: SnapshotStore, snapshots: Snapshots
) -> None:
    assert snapshots.load_newest() is None
    for image in (ONE, TWO, THREE):
        store.create(image)
    assert snapshots.load_newest() == THREE
    # `at` is inclusive: the image of offset 7 ends at 8.
    found = {at: snapshots.load_newest(at) for at in (2, 3, 6, 7, 10, 11, 99)}
    assert found == {2: None, 3: ONE, 6: ONE, 7: TWO, 10: TWO, 11: THREE, 99: THREE}


def test_newest_snapshot_is_one_that_the_caller_accepts(
    store: SnapshotStore, snapshots: Snapshots
) -> None:
    store.create(ONE)
    store.create(TWO, confirmed=False)
    assert snapshots.load_newest(accept=lambda info: info.confirmed) == ONE
    assert snapshots.load_newest(accept=lambda info: False) is None


def test_snapshot_that_was_replaced_meanwhile_is_not_taken(
    store: SnapshotStore, snapshots: Snapshots
) -> None:
    store.create(TWO)

    def accept(info: SnapshotInfo) -> bool:
        store.create(cluster_of([0, 7]))  # as another process may, before the load
        return info.digest == image_digest(TWO)

    assert snapshots.load_newest(accept=accept) is None


def test_unchanged_chunks_are_stored_once(
    store: SnapshotStore, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_SIZE_BYTES_MAX", 32 * 1024)
    log = batches(*([topic(f"topic-{number}")] for number in range(2_001)))
    store.create(image_after(log[:-1]))
    first = _chunk_count(engine)
    assert first > 4
    store.create(image_after(log))
    # The chunk with the new topic, which may have been split in two.
    assert first < _chunk_count(engine) <= first + 2


def test_clusters_do_not_see_each_other(store: SnapshotStore, engine: Engine) -> None:
    other = SnapshotStore(engine, "other-cluster")
    store.create(TWO)
    assert (other.list(), other.newest_first(), other.load_newest()) == ((), (), None)
    other.create(TWO)
    assert other.prune(0) == 1
    assert store.load(8) == TWO


def test_prune_keeps_the_newest_and_the_chunks_they_share(
    store: SnapshotStore, engine: Engine
) -> None:
    for image in (ONE, TWO, THREE):
        store.create(image)
    assert store.prune(2) == 1
    assert [info.end_offset for info in store.list()] == [8, 12]
    assert (store.load(8), store.load(12)) == (TWO, THREE)
    assert _orphans(engine) == 0


def test_prune_of_rotated_ones_leaves_the_others(store: SnapshotStore) -> None:
    store.create(ONE, rotated=True)
    store.create(TWO)
    store.create(THREE, rotated=True)
    assert store.prune(1, rotated_only=True) == 1
    assert [(info.end_offset, info.rotated) for info in store.list()] == [(8, False), (12, True)]


def test_rotated_snapshot_that_is_made_for_good_as_well_stays(store: SnapshotStore) -> None:
    assert store.create(TWO, rotated=True).rotated
    assert not store.create(TWO).rotated
    assert not store.create(TWO, rotated=True).rotated
    assert store.prune(0, rotated_only=True) == 0


def test_prune_of_all_leaves_nothing(store: SnapshotStore, engine: Engine) -> None:
    store.create(TWO)
    assert store.prune(0) == 1
    assert (store.list(), _chunk_count(engine)) == ((), 0)


def test_prune_of_too_few_deletes_nothing(store: SnapshotStore) -> None:
    store.create(TWO)
    assert store.prune(1) == 0
    with pytest.raises(RequestError, match="-1"):
        store.prune(-1)
    assert len(store.list()) == 1


@pytest.mark.parametrize(
    "statement",
    [update(snapshot).values(format=99), update(snapshot_chunk).values(encoding="arrow+lz4")],
    ids=["format", "encoding"],
)
def test_snapshot_of_another_release_is_passed_over(
    store: SnapshotStore, engine: Engine, statement: Update
) -> None:
    store.create(TWO)
    with writing(engine) as connection:
        connection.execute(statement)
    with pytest.raises(RequestError, match="another release") as refused:
        store.load(8)
    assert refused.value.code == "UNSUPPORTED_VERSION"
    assert store.load_newest() is None


def test_snapshot_with_a_part_of_another_release_is_passed_over(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1")
    store.create(image_after(batches([kept])))
    monkeypatch.delitem(parts._DECODERS, "configs")
    with pytest.raises(RequestError, match="part 'configs' that this release cannot read"):
        store.load(1)
    assert store.load_newest() is None


class _ForeignTopic(msgspec.Struct):
    topic: Topic
    partition_count: int
    body: bytes

    @classmethod
    def of(cls, entry: TopicEntry) -> Self:
        """Return a topic with partitions as no release writes them."""
        return cls(entry.topic, entry.partition_count, msgspec.msgpack.encode(["no columns"]))


def test_snapshot_with_topics_of_another_release_is_passed_over(
    store: SnapshotStore, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(parts, "StoredTopic", _ForeignTopic)
        store.create(image_of(topic("a"), partition("a", 0)))
    with pytest.raises(RequestError, match="part 'topics' that this release cannot read"):
        store.load(2)
    assert snapshots.load_newest() is None


def test_snapshot_of_an_older_format_is_replaced(store: SnapshotStore, engine: Engine) -> None:
    store.create(TWO)
    with writing(engine) as connection:
        connection.execute(update(snapshot).values(format=0))
    store.create(TWO)
    assert store.load(8) == TWO
    assert len(store.list()) == 1


def test_replay_goes_on_from_a_loaded_image(store: SnapshotStore) -> None:
    store.create(TWO)
    replayer = Replayer(store.load(8))
    replayer.replay(batch(8, change("topic-1", 2, leader=3)))
    changed = replayer.image().partition(uid("topic-1"), 2)
    assert changed is not None and changed.leader == 3
