"""A shared log made of a log that starts from a checkpoint: new nodes start from it, too."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from api.nodes import stores
from metadata_log.care import shared_upload
from metadata_log.care.shared_copy import compare_with_folder
from metadata_log.files.fs import OsFs
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.shared_log import EntryKind
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.errors import CorruptLogError
from replay.care.fork import fork_log
from replay.care.retain import retain
from replay.image.digest import image_digest
from replay.timeline import Timeline
from tests.metadata_log.conftest import topics
from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import CLUSTER_ID, Node
from tests.simulated_disk.crash import LOST_ALL, LOST_NEWEST, PowerLosses
from tests.simulated_disk.disk import DiskState, SimulatedDisk

DIRECTORY = Path("/disk/log")


@pytest.fixture
async def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of another life, whose first records were dropped; its checkpoint has several parts."""
    monkeypatch.setattr(shared_upload, "_GROUP_BYTES", 500)
    directory = tmp_path / "source"
    create_log(directory, CLUSTER_ID)
    for first in (0, 40, 80):
        log = await MetadataLog.open(directory)
        await log.append(topics(first, 30))
        await log.append(topics(first + 30, 3, request_id=f"r{first}"))
        end_offset = log.end_offset
        await log.close()
    retain(directory, end_offset - 40, check_dropped=lambda segments: None)
    with LogReader.open(directory) as reader:
        assert reader.base is not None
        assert 0 < reader.start_offset == reader.base.end_offset < end_offset
    return directory


async def _uploaded(source: Path) -> MemoryStore:
    store, sent = MemoryStore(), [0]
    await stores.upload(MemorySharedLog(store), source, sent.append)
    assert sent[-1] == stores.upload_size(source)
    parts = [g for g in store.groups if any(e.kind is EntryKind.BASE for e in g.entries)]
    assert len(parts) > 2
    return store


def _files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.glob("*.avro")}


def _digest(directory: Path) -> str:
    with LogReader.open(directory) as reader:
        return image_digest(Timeline.of(reader).image())


async def test_a_new_node_has_the_files_and_the_state(source: Path, tmp_path: Path) -> None:
    store = await _uploaded(source)
    node = Node(tmp_path / "node", MemorySharedLog(store), 2)
    await node.start()
    await node.follow()
    assert node.files() == _files(source)
    assert _digest(node.directory) == _digest(source)
    log = await node.lead()
    repeated = await log.append(topics(110, 3, request_id="r80"))
    with LogReader.open(source) as reader:
        assert repeated.end_offset == reader.end_offset
        start = reader.start_offset
    await node.append(5)
    await node.stop()
    found = await compare_with_folder(node.log, OsFs(), node.directory)
    assert (found.difference, found.from_offset, found.missing) == (None, start, 0)


async def test_the_folder_it_was_made_of_goes_on(source: Path, tmp_path: Path) -> None:
    store = await _uploaded(source)
    first = Node(source, MemorySharedLog(store), 1)
    second = Node(tmp_path / "second", MemorySharedLog(store), 2)
    await first.start()
    await first.lead()
    await first.append(3)
    await second.start()
    await second.follow()
    assert second.files() == first.files()
    await second.lead()
    await second.append()
    await first.stop()
    await first.start()
    await first.follow()
    assert second.files() == first.files()
    await first.stop()
    await second.stop()


async def test_a_fork_without_records_of_its_own(source: Path, tmp_path: Path) -> None:
    fork = tmp_path / "fork"
    with LogReader.open(source) as reader:
        fork_log(reader, fork, reader.end_offset - 1, progress=lambda offset: None)
        end_offset = reader.end_offset
    store = await _uploaded(fork)
    first = Node(fork, MemorySharedLog(store), 1)
    second = Node(tmp_path / "second", MemorySharedLog(store), 2)
    await second.start()
    await second.follow()
    with LogReader.open(second.directory) as reader:
        assert reader.start_offset == reader.end_offset == end_offset
    assert second.files() == _files(fork)
    await second.lead()
    assert (await second.append()).base_offset == end_offset + 1
    await first.start()
    await first.follow()
    assert first.files() == second.files()
    await first.stop()
    await second.stop()


async def test_epochs_that_only_the_folder_knows_are_not_used_again(source: Path) -> None:
    (source / "epoch-1001").touch()
    store = await _uploaded(source)
    node = Node(source, MemorySharedLog(store), 1)
    await node.start()
    assert (await node.lead()).leader_epoch == 1002
    await node.stop()


async def test_a_base_that_is_damaged_or_not_whole_is_refused(source: Path, tmp_path: Path) -> None:
    for number, damage in enumerate((b"", b"another end of it")):
        store = await _uploaded(source)
        last = max(g.number for g in store.groups if EntryKind.BASE in [e.kind for e in g.entries])
        (entry,) = store.groups[last].entries
        part = replace(entry, content=entry.content[:-17] + damage)
        store.groups[last] = replace(store.groups[last], entries=(part,))
        node = Node(tmp_path / f"node-{number}", MemorySharedLog(store), 2)
        await node.start()
        with pytest.raises(CorruptLogError):
            await node.follow()
        node.crash()


async def _comes_back(state: DiskState, store: MemoryStore, source: Path) -> None:
    node = Node(DIRECTORY, MemorySharedLog(store), 2, SimulatedDisk(state))
    await node.start()
    await node.follow()
    assert node.files() == _files(source)
    await node.stop()


async def test_a_start_that_was_interrupted_begins_again(source: Path) -> None:
    """At each change of the disk: killed, or without power, with what was synced or almost all."""
    store = await _uploaded(source)
    disk = SimulatedDisk()
    node = Node(DIRECTORY, MemorySharedLog(store), 2, disk)
    await node.start()
    states: list[DiskState] = []

    def look() -> None:
        losses = PowerLosses(disk, f"{disk.boundary_count}")
        states.extend(
            (disk.visible(), *(losses.state(number) for number in (LOST_ALL, LOST_NEWEST)))
        )

    disk.boundary = look
    await node.follow()
    await node.stop()
    assert len(states) > 30
    for state in states:
        await _comes_back(state, store, source)
