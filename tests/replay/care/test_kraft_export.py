"""Export to Kafka's format: segments byte for byte, checkpoints with the whole state."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from controller.decisions.levels import record_version
from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.directory import KraftDirectory, open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.kraft.segment_export import SegmentsExport, export_segments
from metadata_log.kraft_format.names import LEADER_EPOCHS, PARTITION_DIRECTORY
from metadata_log.reader.log_reader import LogReader
from records.base import Uuid
from records.configs import ProducerIdsRecord
from records.control import (
    KRaftVersionFeature,
    KRaftVersionRecord,
    QuorumVoter,
    VoterEndpoint,
    VotersRecord,
)
from records.errors import RequestError
from replay.care.kraft_checkpoint import export_checkpoint
from replay.image.digest import image_digest
from replay.image.metadata import MetadataImage
from replay.incidents.directory_events import DirectoryLog
from replay.loader import load_image
from tests.metadata_log.kraft.logs import (
    LogFiles,
    batch,
    checkpoint,
    leader_change,
    topic,
    two_segments,
)
from tests.real_logs import DataSet, each_data_set_where

# Larger logs take seconds: `METALOG_EXPORT_POINTS=100 pytest ...` takes them all, at 100 points.
_SEGMENT_BYTES_MAX = 400_000
_POINTS = int(os.environ.get("METALOG_EXPORT_POINTS", "4"))
_TAKES_ALL = _POINTS >= 100


def _is_small(data_set: DataSet) -> bool:
    return sum(segment.size for segment in data_set.segments) <= _SEGMENT_BYTES_MAX


def _is_rolled_or_small(data_set: DataSet) -> bool:
    return len(data_set.segments) > 1 or _is_small(data_set) or _TAKES_ALL


def _export(
    source: KraftDirectory, tmp_path: Path, end_offset: int | None = None
) -> tuple[SegmentsExport, Path]:
    """Import a directory exactly, and export its segments again."""
    import_directory(source, tmp_path / "mirror", collapse_noops=False)
    with LogReader.open(tmp_path / "mirror") as reader:
        end = reader.end_offset if end_offset is None else end_offset
        result = export_segments(reader, tmp_path / "out", end, progress=lambda _: None)
    return result, tmp_path / "out" / PARTITION_DIRECTORY


def _checkpoint_of(image: MetadataImage, target: Path) -> KraftCheckpoint:
    export_checkpoint(image, "cluster", target, record_version)
    (written,) = open_directory(target).checkpoints
    return written


@each_data_set_where(_is_rolled_or_small)
def test_segments_of_an_exact_import_are_those_of_the_source(
    tmp_path: Path, data_set: DataSet
) -> None:
    source = open_directory(data_set.materialise(tmp_path))
    _, out = _export(source, tmp_path)
    written = {path.name: path.read_bytes() for path in out.glob("*.log")}
    assert written == {s.path.name: s.path.read_bytes() for s in source.segments}
    epochs = source.path / LEADER_EPOCHS
    if epochs.exists():
        assert (out / LEADER_EPOCHS).read_bytes() == epochs.read_bytes()


@each_data_set_where(lambda data_set: bool(data_set.checkpoints))
def test_checkpoints_equal_those_that_kafka_made(tmp_path: Path, data_set: DataSet) -> None:
    source = open_directory(data_set.materialise(tmp_path))
    log = DirectoryLog(source, source.checkpoints[-1].end_offset)
    image = MetadataImage.EMPTY
    for theirs in source.checkpoints if _TAKES_ALL else source.checkpoints[-1:]:
        if theirs.end_offset <= log.history_start:
            continue
        image = load_image(log, theirs.end_offset - 1, start=image)
        mine = _checkpoint_of(image, tmp_path / str(theirs.end_offset))
        assert mine.path.name == theirs.path.name
        assert mine.timestamp == theirs.timestamp
        assert _content(mine) == _content(theirs)


def _content(checkpoint: KraftCheckpoint) -> list[Any]:
    """Return versions and records without order: Kafka's order is that of hash maps."""
    rows = [row for batch in checkpoint.rows() for row in batch]
    return sorted([(row.record_version, _normal(row.payload)) for row in rows], key=repr)


def _normal(record: Any) -> Any:
    if isinstance(record, ProducerIdsRecord):
        # Kafka's checkpoints keep the next id, and -1 for the broker and its epoch.
        record = msgspec.structs.replace(record, broker_id=-1, broker_epoch=-1)
    fields = msgspec.structs.asdict(record)
    for name in ("end_points", "features"):
        if name in fields:
            fields[name] = sorted(fields[name], key=repr)
    return type(record).__name__, fields


@each_data_set_where(lambda data_set: _is_small(data_set) or _TAKES_ALL)
def test_checkpoint_that_is_imported_again_has_the_same_digest(
    tmp_path: Path, data_set: DataSet
) -> None:
    source = open_directory(data_set.materialise(tmp_path))
    ends = [batch.end_offset for batch in source.batches()]
    log = DirectoryLog(source, ends[-1])
    image = MetadataImage.EMPTY
    for number, end in enumerate(ends[:: max(1, len(ends) // _POINTS)] + ends[-1:]):
        image = load_image(log, end - 1, start=image)
        out, mirror = tmp_path / f"out{number}", tmp_path / f"mirror{number}"
        _checkpoint_of(image, out)
        import_directory(open_directory(out), mirror)
        with LogReader.open(mirror) as reader:
            assert image_digest(load_image(reader)) == image_digest(image), end


@pytest.mark.parametrize("end_offset", [5, 7, 9, 12])
def test_export_up_to_a_point_is_the_beginning_of_the_source(
    tmp_path: Path, end_offset: int
) -> None:
    files = LogFiles(tmp_path / "node")
    two_segments(files, leader_epochs=True)
    source = open_directory(files.directory)
    result, out = _export(source, tmp_path, end_offset)
    assert (result.start_offset, result.end_offset) == (0, end_offset)
    whole = b"".join(segment.path.read_bytes() for segment in source.segments)
    part = b"".join(path.read_bytes() for path in sorted(out.glob("*.log")))
    assert whole.startswith(part)
    assert result.bytes == len(part)
    log = DirectoryLog(open_directory(out), end_offset)
    assert log.end_offset == end_offset
    last = end_offset - 1
    assert [*log.batches(last, last)] == [], "an empty range has no batches, also inside one"
    assert [batch.end_offset for batch in open_directory(out).batches()][-1] == end_offset


def test_export_up_to_a_point_inside_a_batch_is_refused(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "node")
    two_segments(files, leader_epochs=True)
    with pytest.raises(RequestError, match="offset 1 is inside the batch of offsets 1 to 3"):
        _export(open_directory(files.directory), tmp_path, 2)
    assert not (tmp_path / "out").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mirror", "node"]


def test_runs_of_noops_are_refused(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "node")
    two_segments(files, leader_epochs=True)
    import_directory(open_directory(files.directory), tmp_path / "mirror", collapse_noops=True)
    with (
        LogReader.open(tmp_path / "mirror") as reader,
        pytest.raises(RequestError, match=r"offsets 9 to 11 are NoOps .* import the source with"),
    ):
        export_segments(reader, tmp_path / "out", 12, progress=lambda _: None)


def test_base_is_exported_as_a_checkpoint_of_the_same_records(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "node")
    two_segments(files, leader_epochs=False)
    (files.partition / f"{0:020d}.log").unlink()
    files.checkpoint(7, 3, checkpoint(3, topic()))
    source = open_directory(files.directory)
    _, out = _export(source, tmp_path)
    again = open_directory(out)
    assert again.base_checkpoint is not None
    assert source.base_checkpoint is not None
    assert _content(again.base_checkpoint) == _content(source.base_checkpoint)
    (segment,) = again.segments
    assert segment.path.read_bytes() == source.segments[0].path.read_bytes()


def test_voters_stand_beside_the_header_of_an_exported_checkpoint(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "node")
    voter = QuorumVoter(
        voter_id=1,
        voter_directory_id=Uuid(bytes(range(16))),
        endpoints=(VoterEndpoint(name="CONTROLLER", host="c1", port=9093),),
        kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
    )
    quorum = (
        KRaftVersionRecord(version=0, kraft_version=1),
        VotersRecord(version=0, voters=(voter,)),
    )
    start = batch(0, 1, leader_change()), batch(1, 1, *quorum), batch(3, 1, topic())
    files.segment(0, *start)
    image = load_image(DirectoryLog(open_directory(files.directory), 4))
    written = _checkpoint_of(image, tmp_path / "out")
    first, *_ = written.batches()
    assert [row.payload for row in first.rows][1:] == list(quorum)
    import_directory(open_directory(tmp_path / "out"), tmp_path / "mirror")
    with LogReader.open(tmp_path / "mirror") as reader:
        assert image_digest(load_image(reader)) == image_digest(image)
