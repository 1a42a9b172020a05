"""Snapshot plus tail equals a full replay, and a snapshot of another history is never used."""

import random
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Engine, update

from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.control import NoOpRunRecord, UnknownRecord
from records.errors import RequestError, UnknownHistoryError
from replay.image.digest import image_digest
from replay.loader import load_image
from replay.snapshot.database import writing
from replay.snapshot.store import SnapshotStore
from replay.snapshot.tables import snapshot_chunk
from replay.snapshot_lifecycle import create_snapshot, prune_snapshots
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import Base, FakeLog, batch, batches, topic
from tests.replay.snapshot.conftest import CLUSTER


@dataclass(frozen=True)
class Log(FakeLog):
    """A log in memory that also knows which part is durable."""

    confirmed_end: int = 0


TEN_TOPICS = Log(batches(*([topic(f"t{number}")] for number in range(10))))


@pytest.mark.parametrize("seed", range(10))
def test_snapshot_plus_tail_equals_full_replay(store: SnapshotStore, seed: int) -> None:
    rng = random.Random(seed)
    log = Log(random_history(rng, 60))
    for at in rng.sample(range(log.end_offset), 6):
        info = create_snapshot(log, store, at)
        assert info.digest == image_digest(load_image(log, at))
    points: list[int | None] = [None, log.end_offset - 1, *rng.sample(range(log.end_offset), 20)]
    for point in points:
        found, expected = Timeline(log, store).image(point), load_image(log, point)
        assert found == expected
        assert image_digest(found) == image_digest(expected)


def test_snapshots_do_not_change_what_was_not_understood(store: SnapshotStore) -> None:
    unknown = UnknownRecord(api_key=99, record_version=0, value=b"?")
    groups = [[topic(f"t{number}")] for number in range(8)]
    log = Log(batches(*groups[:4], [unknown], *groups[4:], [unknown, unknown]))
    for at in (2, 5, 9):
        create_snapshot(log, store, at)
    for at in range(log.end_offset):
        assert Timeline(log, store).not_understood(at) == Timeline(log).not_understood(at)
    assert Timeline(log, store).not_understood(3) is None


def test_images_that_were_read_do_not_change_what_was_not_understood() -> None:
    unknown = UnknownRecord(api_key=99, record_version=0, value=b"?")
    groups = [[topic(f"t{number}")] for number in range(8)]
    log = Log(batches(*groups[:4], [unknown], *groups[4:], [unknown, unknown]))
    for read in range(log.end_offset):
        timeline = Timeline(log)
        timeline.image(read)
        for at in range(log.end_offset):
            assert timeline.not_understood(at) == Timeline(log).not_understood(at), read


def test_only_the_tail_is_replayed(store: SnapshotStore) -> None:
    create_snapshot(TEN_TOPICS, store, 6)
    replayed: list[int] = []
    Timeline(TEN_TOPICS, store).image(8, progress=replayed.append)
    assert replayed == [8, 9]


def test_without_a_snapshot_the_whole_log_is_replayed(store: SnapshotStore) -> None:
    create_snapshot(TEN_TOPICS, store, 6)
    replayed: list[int] = []
    assert Timeline(TEN_TOPICS, store).image(2, progress=replayed.append) == load_image(
        TEN_TOPICS, 2
    )
    assert replayed == [1, 2, 3]


def test_snapshots_of_a_longer_copy_take_no_place_of_ones_own(store: SnapshotStore) -> None:
    for at in (3, 5):
        create_snapshot(TEN_TOPICS, store, at)
    copy = Log(batches(*([topic(f"t{number}")] for number in range(12))))
    for at in (10, 11):
        create_snapshot(copy, store, at)
    assert prune_snapshots(TEN_TOPICS, store, 1) == 1
    assert [info.end_offset for info in store.list()] == [6, 11, 12]
    replayed: list[int] = []
    Timeline(TEN_TOPICS, store).image(progress=replayed.append)
    assert replayed == [7, 8, 9, 10]
    assert prune_snapshots(TEN_TOPICS, store, 0) == 1
    assert [info.end_offset for info in store.list()] == [11, 12]


def test_damaged_snapshots_only_cost_time(store: SnapshotStore, engine: Engine) -> None:
    create_snapshot(TEN_TOPICS, store, 6)
    with writing(engine) as connection:
        connection.execute(update(snapshot_chunk).values(content=b""))
    assert Timeline(TEN_TOPICS, store).image() == load_image(TEN_TOPICS)


def test_points_outside_the_log_are_refused_as_in_full_replay(store: SnapshotStore) -> None:
    create_snapshot(TEN_TOPICS, store)
    with pytest.raises(RequestError, match="past the end"):
        Timeline(TEN_TOPICS, store).image(10)
    with pytest.raises(UnknownHistoryError):
        Timeline(TEN_TOPICS, store).image(-2)
    assert Timeline(TEN_TOPICS, store).image(-1) == load_image(TEN_TOPICS, -1)


def test_snapshot_above_the_confirmed_end_is_provisional(store: SnapshotStore) -> None:
    log = Log(TEN_TOPICS.log, confirmed_end=5)
    assert [create_snapshot(log, store, at).confirmed for at in (3, 4, 5)] == [True, True, False]


@pytest.mark.parametrize(
    "other", [{"leader_epoch": 2}, {"timestamp": 99_000}], ids=["another epoch", "another time"]
)
def test_snapshot_of_a_tail_that_was_replaced_is_not_taken(
    store: SnapshotStore, other: dict[str, int]
) -> None:
    create_snapshot(TEN_TOPICS, store, 2)
    create_snapshot(TEN_TOPICS, store, 7)
    tail = [batch(number, topic(f"other-{number}"), **other) for number in range(5, 10)]
    replaced = Log([*TEN_TOPICS.log[:5], *tail])
    replayed: list[int] = []
    found = Timeline(replaced, store).image(progress=replayed.append)
    assert found == load_image(replaced)
    assert replayed[0] == 4


def test_snapshot_inside_and_at_the_end_of_a_run_of_noops_is_taken(store: SnapshotStore) -> None:
    run = NoOpRunRecord(count=4, batch_count=4, last_timestamp=9_000)
    log = Log(batches([topic("t")], [run], [topic("u")]))
    for at in (2, 4):
        create_snapshot(log, store, at)
        replayed: list[int] = []
        found = Timeline(log, store).image(at, progress=replayed.append)
        assert found == load_image(log, at)
        # The end of the first batch.
        assert 1 not in replayed


def test_snapshot_beyond_the_end_is_not_taken(store: SnapshotStore) -> None:
    create_snapshot(TEN_TOPICS, store)
    shorter = Log(TEN_TOPICS.log[:4])
    assert Timeline(shorter, store).image() == load_image(shorter)


def test_snapshot_below_the_kept_history_is_not_taken(store: SnapshotStore) -> None:
    for at in (1, 4, 6):
        create_snapshot(TEN_TOPICS, store, at)
    base = Base.of(load_image(TEN_TOPICS, 4))
    cut = Log(TEN_TOPICS.log[5:], base)
    for at, first_replayed in ((4, None), (5, 6), (6, None), (8, 8)):
        replayed: list[int] = []
        found = Timeline(cut, store).image(at, progress=replayed.append)
        assert found == load_image(cut, at)
        assert next(iter(replayed), None) == first_replayed


def test_snapshot_at_the_base_of_another_history_is_not_taken(store: SnapshotStore) -> None:
    create_snapshot(TEN_TOPICS, store, 4)
    for base in (Base(5, (topic("other"),), leader_epoch=2), Base(5, (topic("other"),))):
        assert Timeline(Log(base=base), store).image() == load_image(Log(base=base))


def test_snapshot_of_the_start_of_another_history_is_not_taken(store: SnapshotStore) -> None:
    create_snapshot(TEN_TOPICS, store, -1)
    born_with_a_state = Log(base=Base(0, (topic("first"),)))
    found = Timeline(born_with_a_state, store).image()
    assert found == load_image(born_with_a_state)
    assert found.topic_count == 1


async def test_snapshots_of_a_log_on_disk(tmp_path: Path, store: SnapshotStore) -> None:
    directory = tmp_path / "log"
    create_log(directory, CLUSTER)
    log = await MetadataLog.open(directory)
    for number in range(5):
        await log.append(NewBatch(records=(topic(f"t{number}"), topic(f"u{number}"))))
    await log.close()
    with LogReader.open(directory) as reader:
        middle = create_snapshot(reader, store, 4)
        assert (middle.end_offset, middle.confirmed, middle.mid_batch) == (5, True, False)
        assert create_snapshot(reader, store, 5).mid_batch
        for at in range(reader.end_offset):
            assert Timeline(reader, store).image(at) == load_image(reader, at)
