"""Campaigns decode equal bytes once; their results must be the same without this cache."""

import pytest

from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_scan import read_header
from records.errors import CorruptLogError
from tests.simulated_disk.disk import SimulatedDisk
from tests.simulated_disk.session import LOG
from tests.torture.campaign import Place
from tests.torture.campaigns import crashes
from tests.torture.decode_cache import REMEMBERED, remember_decoding

# The first operations of a workload.
_PLACE = Place(seed=0, keep=(0, 1, 2))


@pytest.fixture
def _undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the replaced functions after the test."""
    for module, name in REMEMBERED:
        monkeypatch.setattr(module, name, getattr(module, name))


@pytest.mark.usefixtures("_undone")
def test_same_is_found_when_decoding_is_remembered() -> None:
    anew = crashes.reproduce(_PLACE)
    remember_decoding()
    assert crashes.reproduce(_PLACE) == anew
    assert anew.distinct > 20


@pytest.mark.usefixtures("_undone")
def test_damage_is_noticed_however_often_it_is_read() -> None:
    remember_decoding()
    disk = SimulatedDisk()
    file = disk.open(LOG, create=True)
    header = SegmentHeader(cluster_id="c", base_offset=0, leader_epoch=1)
    stored = header.encode()
    file.pwrite(stored, 0)
    assert read_header(file, LOG)[0].sync_marker == header.sync_marker
    file.pwrite(bytes([stored[-1] ^ 1]), len(stored) - 1)
    for _ in range(2):
        with pytest.raises(CorruptLogError, match="CRC"):
            read_header(file, LOG)
