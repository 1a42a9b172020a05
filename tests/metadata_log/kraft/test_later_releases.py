"""Additions of Kafka 4.3 and 4.4 to the metadata log, built from the layouts: they are imported
with their meaning, and nothing else is mistaken for them.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.kraft.recorder import Recorder
from metadata_log.kraft.segment_export import export_segments
from metadata_log.kraft_format.batch_codec import encode_batch
from metadata_log.reader.log_reader import LogReader
from records.base import Record, Uuid
from records.brokers import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterControllerRecord,
)
from records.configs import FeatureLevelRecord
from records.control import UnknownRecord
from replay.image.digest import image_digest
from replay.image.metadata import MetadataImage
from replay.loader import load_image
from tests.metadata_log.kraft.logs import LogFiles, batch, checkpoint, leader_change, rows

pytestmark = pytest.mark.usefixtures("either_codec")

DIRECTORIES = tuple(Uuid(bytes([n]) * 16) for n in (1, 2))
CONTROLLER = RegisterControllerRecord(
    controller_id=3,
    incarnation_id=DIRECTORIES[0],
    zk_migration_ready=False,
    end_points=(),
    features=(),
)
REMOVAL = UnregisterControllerRecord(controller_id=3)


def level(number: int) -> FeatureLevelRecord:
    return FeatureLevelRecord(name="metadata.version", feature_level=number)


def imported(files: LogFiles, log: Path) -> tuple[list[Record], MetadataImage]:
    import_directory(open_directory(files.directory), log)
    with LogReader.open(log) as reader:
        found = [row.payload for each in reader.batches() for row in each.rows]
        return found, load_image(reader)


def in_versions(base_offset: int, *records: tuple[Record, int]) -> bytes:
    """Return a batch of records, each with the version of its layout."""
    versions = [version for _, version in records]
    plain = rows(base_offset, 1, *(record for record, _ in records))
    return encode_batch(
        [
            msgspec.structs.replace(row, record_version=version)
            for row, version in zip(plain, versions, strict=True)
        ]
    )


@pytest.mark.parametrize("finalized", [32, 33])
@pytest.mark.parametrize("in_base", [False, True])
def test_key_29_is_a_controller_s_removal_from_level_33_on(
    tmp_path: Path, finalized: int, in_base: bool
) -> None:
    files = LogFiles(tmp_path / "node")
    first = [] if in_base else [level(finalized)]
    if in_base:  # the records of a new cluster are in the checkpoint at offset 0 (KIP-1170)
        files.checkpoint(0, 0, checkpoint(0, level(finalized)))
    files.segment(0, batch(0, 1, leader_change()), batch(1, 1, *first, CONTROLLER, REMOVAL))
    found, image = imported(files, tmp_path / "log")
    assert image.feature("metadata.version") == finalized
    if finalized == 33:
        assert found[-1] == REMOVAL
        assert image.controller(3) is None
        assert image.provenance.not_understood is None
    else:
        value = bytes([1, 29, 0, 0, 0, 0, 3, 0])
        assert found[-1] == UnknownRecord(api_key=29, record_version=0, value=value)
        assert image.controller(3) is not None
        assert image.provenance.not_understood is not None


def test_a_second_import_goes_on_with_the_level_of_the_first(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "node")
    first = (batch(0, 1, leader_change()), batch(1, 1, level(33), CONTROLLER))
    files.segment(0, *first)
    imported(files, tmp_path / "log")
    files.segment(0, *first, batch(3, 1, REMOVAL))
    with Recorder(files.directory, tmp_path / "log") as recorder:
        recorder.step()
    with LogReader.open(tmp_path / "log") as reader:
        image = load_image(reader)
    assert image.provenance.next_offset == 4
    assert image.controller(3) is None


def test_cordoned_directories_are_set_kept_and_cleared(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "node")
    broker = RegisterBrokerRecord(
        broker_id=1,
        incarnation_id=DIRECTORIES[0],
        broker_epoch=2,
        end_points=(),
        features=(),
        rack=None,
        log_dirs=DIRECTORIES,
        cordoned_log_dirs=DIRECTORIES[:1],
    )

    def change(**fields: Any) -> tuple[Record, int]:
        return BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=2, **fields), 3

    files.segment(
        0,
        batch(0, 1, leader_change()),
        in_versions(1, (level(30), 0), (broker, 4)),
        in_versions(3, change(fenced=-1)),
        in_versions(4, change(cordoned_log_dirs=DIRECTORIES[1:])),
        in_versions(5, change(cordoned_log_dirs=())),
    )
    _, image = imported(files, tmp_path / "log")
    assert image.provenance.not_understood is None
    with LogReader.open(tmp_path / "log") as reader:
        cordoned = []
        for at in range(2, 6):
            state = load_image(reader, at).broker(1)
            assert state is not None
            cordoned.append(state.cordoned_log_dirs)
        assert cordoned == [DIRECTORIES[:1], DIRECTORIES[:1], DIRECTORIES[1:], ()]
        # A digest changes only while there is one.
        digests = [image_digest(load_image(reader, at)) for at in (3, 4, 5)]
    assert len(set(digests)) == 3


def test_the_zero_checkpoint_is_exported_again(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "node")
    files.checkpoint(0, 0, checkpoint(0, level(33)))
    files.segment(0, batch(0, 1, leader_change()), batch(1, 1, CONTROLLER))
    import_directory(open_directory(files.directory), tmp_path / "log", collapse_noops=False)
    with LogReader.open(tmp_path / "log") as reader:
        image = load_image(reader)
        end = reader.end_offset
        export_segments(reader, tmp_path / "out", end, progress=lambda _: None)
    (written,) = (tmp_path / "out").rglob("*.checkpoint")
    assert written.name == "00000000000000000000-0000000000.checkpoint"
    again = open_directory(tmp_path / "out")
    import_directory(again, tmp_path / "again")
    with LogReader.open(tmp_path / "again") as reader:
        assert image_digest(load_image(reader)) == image_digest(image)
