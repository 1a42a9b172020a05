"""A log on a network file system is refused unless an option allows it."""

from collections import namedtuple
from pathlib import Path

import psutil
import pytest

from metadata_log.files.network_file_systems import ALLOW, file_system_type
from metadata_log.writer.log import MetadataLog
from records.errors import RequestError

Mount = namedtuple("Mount", "mountpoint fstype")


@pytest.fixture
def _on_nfs(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = [Mount("/", "ext4"), Mount(str(directory.parent), "nfs4")]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: mounts)


def test_this_machine_says_on_what_the_tests_run(tmp_path: Path) -> None:
    assert file_system_type(tmp_path)


@pytest.mark.usefixtures("_on_nfs")
async def test_network_file_system_is_refused_for_writing(directory: Path) -> None:
    with pytest.raises(RequestError, match=rf"network file system \(nfs4\).*set {ALLOW}=1"):
        await MetadataLog.open(directory)


@pytest.mark.usefixtures("_on_nfs")
async def test_network_file_system_is_allowed_by_option(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ALLOW, "1")
    await (await MetadataLog.open(directory)).close()
