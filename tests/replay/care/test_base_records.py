"""The base checkpoint keeps object versions, and records that were not understood."""

from functools import partial
from pathlib import Path

import msgspec
import pytest

from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log_writer import LogWriter
from metadata_log.writer.mirror import MirrorBuilder
from records.configs import FeatureLevelRecord
from records.control import UnknownRecord
from records.envelope import Envelope, Extra, UnknownTag
from records.kafka.codec import decode_value
from replay.care.retain import retain
from replay.image.provenance import NotUnderstood
from replay.loader import load_image
from tests.replay.builders import batch, partition, topic, uid

FUTURE = UnknownRecord(api_key=99, record_version=0, value=b"\1\x63\0?")
TAG = UnknownTag(path="", tag=9, value=b"?")


def row_at(offset: int) -> Envelope:
    """Return the row for an offset: a topic, then feature levels, except a future record at 3 and
    an unknown tag at 5.
    """
    level = FeatureLevelRecord(name="f", feature_level=offset)
    record = {0: topic("t"), 1: partition("t", 0), 3: FUTURE}.get(offset, level)
    (row,) = batch(offset, record).rows
    extra = Extra(unknown_tags=(TAG,)) if offset == 5 else None
    return msgspec.structs.replace(row, extra=extra)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror of 60 batches in several segments."""
    small = partial(LogWriter, segment_size_bytes_max=15_000)
    monkeypatch.setattr("metadata_log.writer.mirror.LogWriter", small)
    with MirrorBuilder(tmp_path / "log", "kafka-cluster") as builder:
        for offset in range(60):
            builder.append([row_at(offset)], offset + 1)
        builder.finish(60)
    return tmp_path / "log"


def cut(log: Path) -> None:
    """Move the start of the history to the next segment."""
    with LogReader.open(log) as reader:
        following = int(reader.segment_paths[1].stem)
    assert retain(log, following, check_dropped=lambda _: None).history_start == following


def test_what_was_not_understood_goes_from_base_to_base_in_order(log: Path) -> None:
    with LogReader.open(log) as reader:
        whole = load_image(reader)
    for _ in range(2):
        cut(log)
        with LogReader.open(log) as reader:
            assert reader.base is not None
            kept = [row for rows in reader.base.rows() for row in rows]
            raw = [row for row in kept if isinstance(row.payload, UnknownRecord)]
            assert load_image(reader) == whole
        assert whole.provenance.not_understood == NotUnderstood(2, 3)
        assert [row.kept and row.kept.version for row in raw] == [3, 5]
        assert raw[0].payload == FUTURE
        tagged = raw[1].payload
        assert isinstance(tagged, UnknownRecord)
        found = decode_value(tagged.value)
        assert (found.record, found.unknown_tags) == (row_at(5).payload, (TAG,))


def test_versions_survive_the_cut(log: Path) -> None:
    cut(log)
    with LogReader.open(log) as reader:
        image = load_image(reader, reader.history_start - 1)
    assert (image.topic_version(uid("t")), image.partition_created(uid("t"), 0)) == (1, 1)
