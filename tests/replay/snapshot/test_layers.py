"""A snapshot stored as a layer on another has the same image as a whole one, in much less space."""

import random
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import URL, Engine, func, select, update

from records.errors import CorruptLogError
from replay.image.digest import image_digest, part_digests
from replay.image.metadata import MetadataImage
from replay.loader import Replayer, load_image
from replay.snapshot import layers
from replay.snapshot.database import writing
from replay.snapshot.file import SnapshotFile
from replay.snapshot.info import SnapshotInfo
from replay.snapshot.layers import Overlay
from replay.snapshot.revision import FORMAT, LAYERED_FORMAT
from replay.snapshot.store import SnapshotStore
from replay.snapshot.tables import snapshot, snapshot_chunk, snapshot_manifest
from tests.histories import random_history
from tests.replay.builders import FakeLog, batch, batches, change, partition, topic
from tests.replay.snapshot.conftest import CLUSTER, ON_BOTH
from tests.replay.snapshot.images import cluster_of

pytestmark = ON_BOTH

TOPICS = 400


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow layers on small snapshots, however large the layers are."""
    monkeypatch.setattr(layers, "LAYERED_SIZE_MIN_BYTES", 0)
    monkeypatch.setattr(layers, "OVERLAY_SHARE_MAX", 1_000)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow layers on small snapshots, up to their usual share."""
    monkeypatch.setattr(layers, "LAYERED_SIZE_MIN_BYTES", 0)


class Cluster:
    """A cluster of many topics that a test changes."""

    def __init__(self) -> None:
        groups = (
            [topic(f"t{number}"), *(partition(f"t{number}", n) for n in range(10))]
            for number in range(TOPICS)
        )
        self._replayer = Replayer()
        for each in batches(*groups):
            self._replayer.replay(each)
        self._leader = 1

    @property
    def image(self) -> MetadataImage:
        """The current image."""
        return self._replayer.image()

    def change(self, topics: int) -> MetadataImage:
        """Change one partition of each of `topics` topics."""
        self._leader = 1 + self._leader % 3
        changes = [change(f"t{number}", 3, leader=self._leader) for number in range(topics)]
        self._replayer.replay(batch(self.image.provenance.next_offset, *changes))
        return self.image


def _parts(engine: Engine, info: SnapshotInfo) -> set[str]:
    """Return the names of the parts in the manifest of a snapshot."""
    query = select(snapshot_manifest.c.part).join(snapshot)
    with engine.connect() as connection:
        return set(connection.scalars(query.where(snapshot.c.end_offset == info.end_offset)))


def _size(engine: Engine) -> int:
    """Return about how many bytes all chunks and manifests take."""
    with engine.connect() as connection:
        content = connection.scalars(select(func.sum(func.length(snapshot_chunk.c.content)))).one()
        rows = connection.scalars(select(func.count()).select_from(snapshot_manifest)).one()
    return int(content) + 100 * rows


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("seed", range(6))
def test_layers_hold_the_image_that_replay_gives(
    store: SnapshotStore, engine: Engine, url: URL, seed: int
) -> None:
    rng = random.Random(seed)
    log = FakeLog(random_history(rng, 80))
    points = rng.sample(range(log.end_offset), 8)
    made = [store.create(load_image(log, at)) for at in points]
    assert any("+" in part for info in made for part in _parts(engine, info))
    for at, info in zip(points, made, strict=True):
        replayed = load_image(log, at)
        assert info.digest == image_digest(replayed)
        # A pending transaction is not stored, it is replayed again.
        expected = msgspec.structs.replace(replayed, provenance=info.provenance)
        assert SnapshotStore(engine, CLUSTER).load(info.end_offset) == expected
        if engine.dialect.name == "sqlite":
            file = SnapshotFile(Path(str(url.database)), CLUSTER)
            assert file.load_newest(info.end_offset - 1) == expected


@pytest.mark.usefixtures("any_size")
def test_what_is_removed_and_comes_again_is_as_it_was_last(
    store: SnapshotStore, engine: Engine
) -> None:
    images = [cluster_of(topics) for topics in ([1, 2], [2, 3, 4], [1, 2, 3, 4, 5])]
    infos = [store.create(image) for image in images]
    assert _parts(engine, infos[2]) == {"topics", "topics+1", "topics-1", "topics+2", "digests"}
    for info, image in zip(infos, images, strict=True):
        assert store.load(info.end_offset) == image


@pytest.mark.usefixtures("small")
def test_one_percent_changed_costs_less_than_five(store: SnapshotStore, engine: Engine) -> None:
    cluster = Cluster()
    store.create(cluster.image)
    sizes = [_size(engine)]
    for _ in range(4):
        store.create(cluster.change(TOPICS // 100))
        sizes.append(_size(engine))
    growth = [after - before for before, after in pairwise(sizes)]
    # A real base has so many chunks that the digests, of a fixed size, do not count.
    digests = len(msgspec.msgpack.encode(part_digests(cluster.image)))
    assert all(size - digests <= 0.05 * sizes[0] + 500 for size in growth)
    assert store.load(cluster.image.provenance.next_offset) == cluster.image


@pytest.mark.usefixtures("small")
def test_layers_that_outgrow_a_tenth_are_folded_into_a_new_base(
    store: SnapshotStore, engine: Engine
) -> None:
    cluster = Cluster()
    store.create(cluster.image)
    layered = [
        any("+" in part for part in _parts(engine, store.create(cluster.change(TOPICS // 25))))
        for _ in range(5)
    ]
    assert layered == [True, True, False, True, True]
    assert store.load(cluster.image.provenance.next_offset) == cluster.image


@pytest.mark.usefixtures("any_size")
def test_there_are_only_so_many_layers(
    store: SnapshotStore, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "LAYERS_MAX", 2)
    found = [_parts(engine, store.create(cluster_of(range(count)))) for count in range(1, 6)]
    assert ["topics+2" in parts for parts in found] == [False, False, True, False, False]


@pytest.mark.usefixtures("any_size")
def test_layer_goes_on_from_a_loaded_snapshot(store: SnapshotStore, engine: Engine) -> None:
    store.create(cluster_of(range(2)))
    other = SnapshotStore(engine, CLUSTER)
    assert other.load_newest() == cluster_of(range(2))
    info = other.create(cluster_of(range(3)))
    assert "topics+1" in _parts(engine, info)
    assert info.format == LAYERED_FORMAT
    assert other.verify(12) == info


@pytest.mark.usefixtures("any_size")
def test_layer_needs_no_snapshot_but_its_own(store: SnapshotStore, engine: Engine) -> None:
    for count in (2, 3, 4):
        store.create(cluster_of(range(count)))
    assert store.prune(1) == 2
    assert store.load(16) == cluster_of(range(4))
    store.create(cluster_of(range(5)))
    assert store.prune(0) == 2
    with engine.connect() as connection:
        assert connection.scalars(select(func.count()).select_from(snapshot_chunk)).one() == 0


@pytest.mark.usefixtures("any_size")
def test_all_is_written_when_another_process_has_pruned_what_a_layer_would_go_on(
    store: SnapshotStore, engine: Engine
) -> None:
    store.create(cluster_of(range(2)))
    SnapshotStore(engine, CLUSTER).prune(0)
    info = store.create(cluster_of(range(3)))
    assert _parts(engine, info) == {"topics", "digests"}
    assert store.load(12) == cluster_of(range(3))


@pytest.mark.usefixtures("any_size")
def test_snapshot_of_another_tail_is_no_layer_on_the_one_it_replaces(store: SnapshotStore) -> None:
    store.create(cluster_of([0, 7]), confirmed=False)
    store.create(cluster_of(range(2)))
    assert [store.load(info.end_offset) for info in store.list()] == [cluster_of(range(2))]


@pytest.mark.usefixtures("any_size")
def test_damaged_layer_leaves_the_snapshot_before_it(store: SnapshotStore, engine: Engine) -> None:
    for count in (2, 3):
        store.create(cluster_of(range(count)))
    layer = select(snapshot_manifest.c.chunk_hash).where(snapshot_manifest.c.part == "topics+1")
    with writing(engine) as connection:
        damage = update(snapshot_chunk).where(snapshot_chunk.c.hash.in_(layer))
        connection.execute(damage.values(content=b""))
    with pytest.raises(CorruptLogError, match=r"its part 'topics\+1'"):
        store.load(12)
    assert store.load_newest() == cluster_of(range(2))


def test_small_snapshots_are_written_whole(store: SnapshotStore, engine: Engine) -> None:
    infos = [store.create(cluster_of(range(count))) for count in (20, 21)]
    assert [info.format for info in infos] == [FORMAT, FORMAT]
    assert _parts(engine, infos[1]) == {"topics"}


@pytest.mark.parametrize("seed", range(4))
def test_digests_follow_from_what_differs(seed: int, snapshots_url: URL) -> None:
    if snapshots_url.get_backend_name() != "sqlite":
        pytest.skip("no database is used")
    rng = random.Random(seed)
    log = FakeLog(random_history(rng, 60))
    old, new = (load_image(log, rng.randrange(log.end_offset)) for _ in range(2))
    for before, after in ((old, new), (new, old)):
        assert Overlay.between(before, after).digests(part_digests(before)) == part_digests(after)
