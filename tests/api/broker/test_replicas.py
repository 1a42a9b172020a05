"""The folders of a broker after requests of the controller."""

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from api.broker import log_directory
from api.broker.disk import Disk
from api.broker.log_directory import LogDirectory
from api.broker.replicas import Replicas
from api.broker.stale_folders import now_ms
from api.kafka.errors import name_of
from api.kafka.messages.replicas import (
    FULL,
    INCREMENTAL,
    UNSPECIFIED,
    LeaderAndIsrTopic,
    StoppedTopic,
    StopReplicaRequest,
)
from records.base import ZERO_UUID, Uuid
from records.errors import CorruptLogError, RequestError
from records.text import uuid_text
from tests.api.broker.records import batch, values
from tests.api.broker.states import leader_and_isr, state, topic_states
from tests.processes import open_descriptors

ID_1, ID_2 = Uuid(b"1" * 16), Uuid(b"2" * 16)
T1, T2 = uuid_text(ID_1), uuid_text(ID_2)
ME = 7
DESCRIPTORS = 256


def topic(
    name: str, topic_id: Uuid = ZERO_UUID, *partitions: int, **fields: Any
) -> LeaderAndIsrTopic:
    leader = fields.pop("leader", ME)
    states = [state(n, leader, isr=(ME,), replicas=(ME,), **fields) for n in partitions or (0,)]
    return topic_states(name, topic_id, *states)


class Broker:
    """The replicas of one broker, and its disk, which is kept when the broker restarts."""

    def __init__(self, path: Path, directories: int = 1) -> None:
        self.path = path
        self.names = [f"d{number}" for number in range(directories)]
        self.delay_ms = 1_000_000
        self.disk = Disk(DESCRIPTORS)
        self.start()

    async def restart(self) -> None:
        """Restart the broker with the same disk, as after a clean shutdown."""
        await self.replicas.close()
        self.start()

    def start(self) -> None:
        directories = [
            LogDirectory.open(self.path / name, cluster_id="c", broker_id=ME) for name in self.names
        ]
        self.replicas = Replicas(ME, directories, self.disk, delete_stale_delay_ms=self.delay_ms)

    async def take(self, kind: int, *topics: LeaderAndIsrTopic) -> list[str]:
        """Send a LeaderAndIsr request; return the errors other than NONE."""
        results = await self.replicas.take_over(leader_and_isr(*topics, kind=kind))
        return [name_of(r.error_code) for r in results if r.error_code]

    async def stop(self, name: str, topic_id: Uuid, *, delete: bool) -> list[str]:
        stopped = StoppedTopic(topic=name, topic_id=topic_id, partition_ids=(0,))
        results = await self.replicas.leave(
            StopReplicaRequest(
                controller_id=3000,
                controller_epoch=1,
                broker_epoch=1,
                delete_partitions=delete,
                partitions=(stopped,),
            )
        )
        return [name_of(r.error_code) for r in results if r.error_code]

    def tree(self, directory: str = "d0") -> set[str]:
        """Return the folders of partitions."""
        root = self.path / directory
        return {str(path.relative_to(root)) for path in root.rglob("*_*") if path.is_dir()}

    def file(self, folder: str) -> dict[str, str]:
        text = (self.path / "d0" / folder / "partition.metadata").read_text()
        return dict(line.split(": ", 1) for line in text.splitlines())


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(tmp_path)


async def test_partitions_get_folders_with_a_file(broker: Broker) -> None:
    assert await broker.take(FULL, topic("orders", ID_1, 0, 1, create_offset=9)) == []
    assert broker.tree() == {"orders_0", "orders_1"}
    assert broker.file("orders_1") == {
        "schema_version": "1",
        "id": T1,
        "name": "orders",
        "partition": "1",
        "create_offset": "9",
    }


async def test_folders_of_namespaces_mirror_them(broker: Broker) -> None:
    await broker.take(FULL, topic("org:apache:kafka:topic1", ID_1))
    assert broker.tree() == {"org/apache/kafka/topic1_0"}
    await broker.restart()
    assert broker.replicas.get("org:apache:kafka:topic1", 0) is not None
    await broker.take(FULL)
    assert broker.tree() == {f"deleting/{T1}_0"}
    assert not (broker.path / "d0" / "org").exists()


@pytest.mark.parametrize("name", ["../out", "..:out", "a::b", "/out", "deleting:out", "a\0b", ":"])
async def test_name_that_leads_elsewhere_gets_no_folder(broker: Broker, name: str) -> None:
    refused = await broker.take(FULL, topic(name, ID_1), topic("orders", ID_2))
    assert refused == ["KAFKA_STORAGE_ERROR"]
    assert {
        str(path.parent.relative_to(broker.path))
        for path in broker.path.rglob("partition.metadata")
    } == {"d0/orders_0"}


async def test_full_stages_what_it_does_not_name(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    await broker.take(FULL, topic("a", ID_1), topic("b", ID_2))
    await broker.restart()
    await broker.take(FULL, topic("b", ID_2))
    assert broker.tree() == {f"deleting/{T1}_0", "b_0"}
    assert "a_0 (topic id" in caplog.text
    assert "it will be deleted at 20" in caplog.text
    assert broker.replicas.get("a", 0) is None


async def test_incremental_leaves_what_it_does_not_name(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1))
    await broker.take(INCREMENTAL, topic("b", ID_2))
    assert broker.tree() == {"a_0", "b_0"}


@pytest.mark.parametrize("kind", [FULL, INCREMENTAL])
async def test_another_id_under_the_name_makes_the_old_data_stale(
    broker: Broker, kind: int
) -> None:
    await broker.take(FULL, topic("a", ID_1))
    await broker.take(kind, topic("a", ID_2))
    assert broker.tree() == {f"deleting/{T1}_0", "a_0"}
    assert broker.file("a_0")["id"] == T2


async def test_unspecified_neither_stages_nor_takes_another_id(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1), topic("b", ID_2))
    assert await broker.take(UNSPECIFIED, topic("a", ID_2)) == ["INCONSISTENT_TOPIC_ID"]
    assert broker.tree() == {"a_0", "b_0"}
    assert await broker.take(UNSPECIFIED, topic("a")) == []


async def test_another_life_of_the_partition_makes_the_old_one_stale(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1, create_offset=5))
    await broker.take(INCREMENTAL, topic("a", ID_1, create_offset=5, leader_epoch=1))
    assert broker.tree() == {"a_0"}
    await broker.restart()
    await broker.take(FULL, topic("a", ID_1, create_offset=80))
    assert broker.tree() == {f"deleting/{T1}_0", "a_0"}
    # A third life finds the first one still waiting.
    await broker.take(FULL, topic("a", ID_1, create_offset=90))
    assert broker.tree() == {f"deleting/{T1}_0", f"deleting/{T1}_0.2", "a_0"}


async def test_unknown_creation_is_no_difference(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1, create_offset=5))
    await broker.take(FULL, topic("a", ID_1))
    assert broker.tree() == {"a_0"}
    assert broker.file("a_0")["create_offset"] == "5"


async def test_folder_without_the_file_adopts_the_id(broker: Broker) -> None:
    folder = broker.path / "d0" / "a_0"
    folder.mkdir()
    await broker.restart()
    await broker.take(FULL, topic("a", ID_1, create_offset=3))
    assert broker.tree() == {"a_0"}
    assert (broker.file("a_0")["id"], broker.file("a_0")["create_offset"]) == (T1, "3")


async def test_folder_without_the_file_whose_name_is_not_named_is_staged(broker: Broker) -> None:
    folder = broker.path / "d0" / "a_0"
    folder.mkdir()
    await broker.restart()
    await broker.take(FULL, topic("b", ID_1))
    assert broker.tree() == {"b_0", f"deleting/{uuid_text(ZERO_UUID)}_0"}


async def test_moved_topic_is_renamed_and_never_staged(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1))
    await broker.restart()
    await broker.take(FULL, topic("org:b", ID_1))
    assert broker.tree() == {"org/b_0"}
    assert broker.file("org/b_0")["name"] == "org:b"
    assert broker.replicas.get("a", 0) is None


async def test_topics_may_swap_their_names(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1), topic("b", ID_2))
    await broker.take(INCREMENTAL, topic("a", ID_2), topic("b", ID_1))
    assert (broker.file("a_0")["id"], broker.file("b_0")["id"]) == (T2, T1)
    assert broker.tree() == {"a_0", "b_0"}


async def test_topic_may_take_the_name_that_another_one_leaves(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1), topic("b", ID_2))
    await broker.take(INCREMENTAL, topic("b", ID_1), topic("c", ID_2))
    assert (broker.file("b_0")["id"], broker.file("c_0")["id"]) == (T1, T2)
    assert broker.tree() == {"b_0", "c_0"}


async def test_rename_that_a_crash_cut_in_two_is_finished(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1), topic("b", ID_2))
    directory = LogDirectory.open(broker.path / "d0", cluster_id="c", broker_id=ME)
    replica = broker.replicas.get("a", 0)
    assert replica is not None
    directory.step_aside(replica.path, replica.metadata)
    await broker.restart()
    await broker.take(FULL, topic("a", ID_2), topic("b", ID_1))
    assert (broker.file("a_0")["id"], broker.file("b_0")["id"]) == (T2, T1)
    assert broker.tree() == {"a_0", "b_0"}


async def test_stop_without_deletion_keeps_the_folder(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1))
    assert await broker.stop("a", ID_1, delete=False) == []
    replica = broker.replicas.get("a", 0)
    assert replica is not None
    assert not replica.is_leader
    assert broker.tree() == {"a_0"}


async def test_stop_with_deletion_removes_the_replica_at_once(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1), topic("b", ID_2))
    assert await broker.stop("a", ID_1, delete=True) == []
    assert broker.tree() == {"b_0"}
    # Asked again, and by the id alone: it is gone, which is what was wanted.
    assert await broker.stop("", ID_1, delete=True) == []


async def test_stop_with_deletion_removes_what_was_staged_before(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1))
    await broker.take(FULL)
    assert broker.tree() == {f"deleting/{T1}_0"}
    await broker.stop("", ID_1, delete=True)
    assert broker.tree() == set()


async def test_stop_of_another_topic_under_the_name_touches_nothing(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_2))
    assert await broker.stop("a", ID_1, delete=True) == []
    assert broker.tree() == {"a_0"}


async def test_deletion_that_fails_is_reported_and_can_be_tried_again(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1))
    # An operator has put the folder elsewhere; links are not followed when folders are removed.
    elsewhere = broker.path / "elsewhere"
    folder = broker.path / "d0" / "a_0"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    assert await broker.stop("a", ID_1, delete=True) == ["KAFKA_STORAGE_ERROR"]
    (broker.path / "d0" / "deleting" / f"{T1}_0").unlink()
    assert await broker.stop("a", ID_1, delete=True) == []
    assert elsewhere.exists()


async def test_stale_folders_go_when_their_time_has_come_also_after_a_restart(
    broker: Broker,
) -> None:
    await broker.take(FULL, topic("a", ID_1))
    await broker.take(FULL)
    await broker.restart()
    await broker.replicas.stale.purge(now_ms() + broker.delay_ms - 60_000)
    assert broker.tree() == {f"deleting/{T1}_0"}
    await broker.replicas.stale.purge(now_ms() + broker.delay_ms)
    assert broker.tree() == set()


async def test_new_partitions_go_to_the_directory_with_fewest(tmp_path: Path) -> None:
    broker = Broker(tmp_path, directories=2)
    await broker.take(FULL, topic("a", ID_1, 0, 1, 2, 3))
    assert (len(broker.tree("d0")), len(broker.tree("d1"))) == (2, 2)


async def test_folder_may_be_moved_to_another_directory(tmp_path: Path) -> None:
    broker = Broker(tmp_path, directories=2)
    await broker.take(FULL, topic("a", ID_1))
    await broker.replicas.close()
    (tmp_path / "d0" / "a_0").rename(tmp_path / "d1" / "a_0")
    await broker.restart()
    await broker.take(FULL, topic("a", ID_1))
    assert (broker.tree("d0"), broker.tree("d1")) == (set(), {"a_0"})


async def test_same_partition_in_two_directories_is_refused(tmp_path: Path) -> None:
    broker = Broker(tmp_path, directories=2)
    for name in broker.names:
        (tmp_path / name / "a_0").mkdir()
    with pytest.raises(RequestError, match="hold the same partition; keep one"):
        await broker.restart()


async def test_partition_without_a_leader_gets_no_folder_yet(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1, leader=-1))
    assert broker.tree() == set()


async def test_older_state_is_left_aside(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1, leader_epoch=4))
    await broker.take(INCREMENTAL, topic("a", ID_1, leader_epoch=3, leader=9))
    replica = broker.replicas.get("a", 0)
    assert replica is not None
    assert (replica.leader_epoch, replica.is_leader) == (4, True)


@pytest.mark.parametrize(("cluster_id", "broker_id"), [("other", ME), ("c", 8)])
def test_directory_of_another_broker_is_refused(
    broker: Broker, cluster_id: str, broker_id: int
) -> None:
    with pytest.raises(RequestError, match="is of broker 7 in cluster c") as caught:
        LogDirectory.open(broker.path / "d0", cluster_id=cluster_id, broker_id=broker_id)
    assert caught.value.code == "INCONSISTENT_CLUSTER_ID"


async def test_folder_that_an_earlier_attempt_left_is_taken(broker: Broker) -> None:
    (broker.path / "d0" / "a_0").mkdir()
    assert await broker.take(FULL, topic("a", ID_1)) == []
    assert broker.file("a_0")["id"] == T1


async def test_many_partitions_need_few_open_files(broker: Broker) -> None:
    broker.disk = Disk(16)
    await broker.restart()
    await broker.take(FULL, topic("a", ID_1, *range(200)))
    for replica in broker.replicas:
        await replica.append(batch(b"x"))
    assert open_descriptors(broker.path) == 4
    for replica in broker.replicas:
        assert values(replica.log.read(0, up_to=1, size_bytes_max=1)) == [b"x"]
    await broker.replicas.close()
    assert open_descriptors(broker.path) == 0


async def test_request_whose_sender_goes_is_carried_out(broker: Broker) -> None:
    taking = asyncio.ensure_future(broker.take(FULL, topic("a", ID_1, *range(20))))
    await asyncio.sleep(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert await broker.take(INCREMENTAL, topic("b", ID_2)) == []
    assert len(list(broker.replicas)) == 21
    assert len(broker.tree()) == 21


async def test_folder_that_cannot_be_staged_stays_known(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1))
    (broker.path / "d0" / "deleting").write_text("in the way")
    assert await broker.take(INCREMENTAL, topic("a", ID_2)) == ["KAFKA_STORAGE_ERROR"]
    assert broker.file("a_0")["id"] == T1
    (broker.path / "d0" / "deleting").unlink()
    assert await broker.take(INCREMENTAL, topic("a", ID_2)) == []
    assert broker.tree() == {f"deleting/{T1}_0", "a_0"}


async def test_folder_is_staged_on_a_full_disk(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, values: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device", str(path))

    await broker.take(FULL, topic("a", ID_1))
    with monkeypatch.context() as full:
        full.setattr(log_directory, "write_key_values", refuse)
        await broker.take(FULL)
    assert broker.replicas.get("a", 0) is None
    assert broker.tree() == {f"deleting/{T1}_0"}
    await broker.replicas.stale.purge(now_ms() + broker.delay_ms - 60_000)
    assert broker.tree() == {f"deleting/{T1}_0"}
    await broker.replicas.stale.purge(now_ms() + broker.delay_ms)
    assert broker.tree() == set()


async def test_late_read_of_a_stale_partition_touches_nothing_of_the_next(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1))
    old = broker.replicas.get("a", 0)
    assert old is not None
    await old.append(batch(b"old"))
    await broker.take(INCREMENTAL, topic("a", ID_2))
    # As a fetch that chose the replica before and reads it now.
    assert values(old.log.read(0, up_to=1, size_bytes_max=1)) == [b"old"]
    assert list((broker.path / "d0" / "a_0").glob("*.log")) == []
    await broker.stop("a", ID_1, delete=True)
    old.log.close()
    with pytest.raises(FileNotFoundError):
        old.log.read(0, up_to=1, size_bytes_max=1)


async def test_end_is_clean_only_if_everything_was_synced(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.EIO, "the disk refuses")

    await broker.take(FULL, topic("a", ID_1))
    replica = broker.replicas.get("a", 0)
    assert replica is not None
    await replica.append(batch(b"a"))
    with monkeypatch.context() as failing:
        failing.setattr(os, "fsync", refuse)
        assert not await broker.replicas.close()
    assert await broker.replicas.close()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"version: 1\ncluster_id: c\nbroker_id: 7\n", "there is no directory_id"),
        (b"version: 1\ncluster_id: c\nbroker_id: 7\ndirectory_id: x\n", "'x' is not an id"),
        (b"\xff\xfe", "can't decode"),
        (b"a: b\n" * 100_000, "larger than"),
        (b"no colon", "not `key: value`"),
    ],
)
def test_damaged_file_of_a_directory_is_reported(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    (tmp_path / "meta.properties").write_bytes(content)
    with pytest.raises(CorruptLogError, match=problem) as raised:
        LogDirectory.open(tmp_path, cluster_id="c", broker_id=ME)
    assert str(tmp_path / "meta.properties") in str(raised.value)


async def test_changed_delay_holds_for_folders_that_wait(broker: Broker) -> None:
    await broker.take(FULL, topic("a", ID_1))
    await broker.take(FULL)
    later = now_ms() + broker.delay_ms
    broker.replicas.stale.delay_ms = 10 * broker.delay_ms
    await broker.replicas.stale.purge(later)
    assert broker.tree() == {f"deleting/{T1}_0"}
    broker.replicas.stale.delay_ms = 0
    await broker.replicas.stale.purge(now_ms())
    assert broker.tree() == set()


async def test_folders_that_an_earlier_release_staged_go_at_their_time(broker: Broker) -> None:
    folder = broker.path / "d0" / "deleting" / f"{T1}_0"
    folder.mkdir(parents=True)
    (folder / "deletion").write_text("delete_at_ms: 5000\n")
    await broker.replicas.stale.purge(4_999)
    assert folder.exists()
    await broker.replicas.stale.purge(5_000)
    assert not folder.exists()
