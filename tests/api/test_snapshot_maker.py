"""A service makes snapshots of its log by itself, each in a separate process."""

import shutil
import sys
from pathlib import Path

import pytest

from metadata_log.reader.log_reader import LogReader
from replay.image.digest import image_digest
from replay.loader import load_image
from replay.snapshot.ports import SNAPSHOTS_NAME
from replay.timeline import Timeline
from tests.api.conftest import Metalog
from tests.stories.processes import Process, soon

LONG_S = 60.0
"""Two starts of Python, one of them at the lowest priority."""


@pytest.fixture
def log(demo_log: Path, tmp_path: Path) -> Path:
    """A log of more than 1,000 records and no snapshot."""
    return Path(shutil.copytree(demo_log, tmp_path / "log"))


async def serve(log: Path, started: list[Process], *options: object) -> Process:
    arguments = ("serve", log, "--kafka", ":0", "--session-timeout-ms", 600_000, *options)
    # Started, not forked: `running_on` finds it by its command line.
    command = (sys.executable, "-m", "api.cli")
    process = await Process.start(log.parent / "service.txt", *arguments, command=command)
    started.append(process)
    return await process.is_ready()


def newest(log: Path) -> int:
    """Return the end offset of the newest snapshot, 0 without one."""
    with LogReader.open(log) as reader:
        return Timeline.of(reader).newest_snapshot_end()


def running_on(log: Path) -> list[str]:
    """Return the commands of all processes that have the log in their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if str(log).encode() in command:
            found.append(b" ".join(command).decode())
    return found


async def test_a_snapshot_is_made_once_enough_was_written(
    log: Path, started: list[Process]
) -> None:
    service = await serve(log, started, "--snapshot-every", 1_000)
    await soon(lambda: "made a snapshot" in service.errors, LONG_S)
    end = newest(log)
    assert end >= 1_000
    assert f"made a snapshot of {log} at end offset {end}" in service.errors
    with LogReader.open(log) as reader:
        found = Timeline.of(reader).newest_snapshot(end - 1)
        assert found is not None
        assert image_digest(found) == image_digest(load_image(reader, end - 1))
    assert await service.stop() == 0
    assert running_on(log) == []


async def test_old_snapshots_of_the_service_are_deleted_and_those_made_by_hand_stay(
    metalog: Metalog, log: Path, started: list[Process]
) -> None:
    for at, options in ((100, ("--rotate", 5)), (150, ()), (200, ("--rotate", 5))):
        assert metalog("snapshot", "create", log, "--at", at, *options).code == 0
    service = await serve(log, started, "--snapshot-every", 100, "--snapshot-keep", 1)
    await soon(lambda: "made a snapshot" in service.errors, LONG_S)
    assert await service.stop() == 0
    listed = metalog("snapshot", "list", log, "--json").json["snapshots"]
    assert [(info["end_offset"], info["rotated"]) for info in listed] == [
        (151, False),
        (newest(log), True),
    ]


async def test_a_snapshot_that_is_there_counts(log: Path, started: list[Process]) -> None:
    first = await serve(log, started, "--snapshot-every", 1_000)
    await soon(lambda: "made a snapshot" in first.errors, LONG_S)
    assert await first.stop() == 0
    made = first.errors
    second = await serve(log, started, "--snapshot-every", 1_000)
    assert [command for command in running_on(log) if "snapshot create" in command] == []
    assert await second.stop() == 0
    assert second.errors.count("made a snapshot") == made.count("made a snapshot")


async def test_a_snapshot_in_the_making_ends_with_the_service(
    log: Path, started: list[Process]
) -> None:
    service = await serve(log, started, "--snapshot-every", 1)
    await soon(lambda: any("snapshot create" in command for command in running_on(log)))
    assert await service.stop() == 0
    assert running_on(log) == []


async def test_what_keeps_a_snapshot_from_being_made_is_logged_and_nothing_more(
    log: Path, started: list[Process]
) -> None:
    (log / SNAPSHOTS_NAME).write_bytes(b"no database" * 200)
    service = await serve(log, started, "--snapshot-every", 1)
    await soon(lambda: f"no snapshot of {log}: " in service.errors, LONG_S)
    assert service.is_running
    assert await service.stop() == 0


async def test_no_snapshots_are_made_when_none_are_wanted(
    log: Path, started: list[Process]
) -> None:
    service = await serve(log, started, "--snapshot-every", 0)
    assert len(running_on(log)) == 1
    assert await service.stop() == 0
    assert not (log / SNAPSHOTS_NAME).exists()
