"""A base checkpoint of another cluster or of a fork is refused by every command that would start
from it.
"""

import asyncio
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from metadata_log.writer.log import MetadataLog
from records.errors import CorruptLogError
from tests.api.conftest import Metalog
from tests.exchanged_logs import forks, new_log
from tests.forked_commands import METALOG


def another_cluster(directory: Path) -> tuple[Path, Path]:
    one = new_log(directory / "one", "one")
    return one, new_log(directory / "two", "two", cluster_id="other-cluster")


def same_cluster(directory: Path) -> tuple[Path, Path]:
    """Two histories that have nothing in common except the cluster id."""
    return new_log(directory / "one", "one"), new_log(directory / "two", "two")


@pytest.fixture(params=[another_cluster, same_cluster, forks])
def exchanged(request: pytest.FixtureRequest, tmp_path: Path, metalog: Metalog) -> Path:
    """A log with the base checkpoint of another one, retained at the same offset and epoch."""
    make: Callable[[Path], tuple[Path, Path]] = request.param
    one, two = make(tmp_path)
    for log in (one, two):
        assert metalog("archive", log, tmp_path / f"{log.name}-archive").code == 0
        assert metalog("retain", log, "--before", "8").code == 0
    (base,), (other,) = (list(log.glob("*.checkpoint.avro")) for log in (one, two))
    assert base.name == other.name
    assert base.read_bytes() != other.read_bytes()
    shutil.copy(other, base)
    return one


def test_every_reading_command_refuses_it(exchanged: Path, metalog: Metalog) -> None:
    for command in ("image", "digest", "topics list", "dump", "info", "history"):
        arguments = [*command.split(), exchanged]
        if command == "history":
            arguments += ["topic:one-0009"]
        if command == "topics list":
            arguments = ["topics", "list", "--log", exchanged]
        answer = metalog(*arguments)
        assert answer.code == 5, (command, answer)
        assert ".checkpoint.avro byte 0: this checkpoint is not of this log: the " in answer.err
        assert "put the log's own checkpoint back from a backup or archive" in answer.err


def test_verify_reports_it(exchanged: Path, metalog: Metalog) -> None:
    answer = metalog("verify", exchanged, "--json")
    assert answer.code == 1
    (found,) = answer.json["damage"]
    assert found["file"].endswith(".checkpoint.avro")
    assert "is not of this log" in found["what"]


def test_restore_backup_and_repair_refuse_it(
    exchanged: Path, metalog: Metalog, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    for command in ("restore", "backup", "repair", "archive"):
        answer = metalog(command, exchanged, copy)
        assert answer.code == 5, (command, answer)
        assert not copy.exists()


def test_writer_refuses_it_and_changes_nothing(exchanged: Path) -> None:
    async def go_on() -> None:
        await MetadataLog.open(exchanged)

    before = {path.name: path.read_bytes() for path in exchanged.glob("*.avro")}
    with pytest.raises(CorruptLogError, match="this checkpoint is not of this log"):
        asyncio.run(go_on())
    assert {path.name: path.read_bytes() for path in exchanged.glob("*.avro")} == before


def test_service_does_not_start_on_it(exchanged: Path) -> None:
    arguments = ["serve", str(exchanged), "--kafka", "127.0.0.1:0"]
    done = subprocess.run([*METALOG, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 5, done.stderr
    assert "this checkpoint is not of this log" in done.stderr


def test_base_in_a_backup_is_checked_as_well(metalog: Metalog, tmp_path: Path) -> None:
    one, two = forks(tmp_path)
    for log in (one, two):
        assert metalog("retain", log, "--before", "8", "--without-archive").code == 0
        assert metalog("backup", log, tmp_path / f"{log.name}-saved").code == 0
    saved = tmp_path / "one-saved"
    (base,) = saved.glob("*.checkpoint.avro")
    shutil.copy(two / base.name, base)
    for arguments in (("restore", saved, tmp_path / "new"), ("backup", one, saved)):
        answer = metalog(*arguments)
        assert answer.code == 5
        assert f"{base} byte 0: this checkpoint is not of this log" in answer.err


def test_log_that_was_cut_twice_is_whole(metalog: Metalog, tmp_path: Path) -> None:
    one, _ = forks(tmp_path)
    digest = metalog("digest", one).out
    for before in ("4", "8"):
        assert metalog("retain", one, "--before", before, "--without-archive").code == 0
        assert metalog("verify", one, "--json").json["notes"] == []
        assert metalog("digest", one).out == digest
