"""Segments of later releases, whose header names the content of the blocks."""

import shutil
from pathlib import Path

import google_crc32c
import pytest

from metadata_log.care.inspection import inspect_log
from metadata_log.files.fs import OsFs
from metadata_log.format import segment
from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError
from records.varint import LONGS
from replay.loader import load_image
from tests.golden import release_directory

MIRROR = release_directory("0.2.0.dev1") / "mirror"


def with_block_key(data: bytes, value: str) -> bytes:
    """The bytes of a segment whose header has the key `metalog.block`."""
    header, end = segment.decode_header(data)
    values, _, _ = segment._read_map(data, len(segment.MAGIC))
    entries = {**values, "metalog.block": value}
    del entries["metalog.header_crc32c"]
    before = segment.MAGIC + LONGS[len(entries) + 1]
    before += b"".join(segment._entry(key, text.encode()) for key, text in entries.items())
    before += segment._text(b"metalog.header_crc32c") + LONGS[8]
    after = b"\0" + header.sync_marker
    crc32c = b"%08x" % google_crc32c.value(before + after)
    return before + crc32c + after + data[end:]


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    copy = tmp_path / "mirror"
    shutil.copytree(MIRROR, copy)
    return copy


def test_segment_whose_blocks_hold_one_batch_each_is_read(mirror: Path) -> None:
    path = max(mirror.glob("*9.avro"))
    data = with_block_key(path.read_bytes(), "batch")
    header, end = segment.decode_header(data)
    assert header == segment.decode_header(path.read_bytes())[0]
    assert data[end - 16 : end] == header.sync_marker


def test_segment_whose_blocks_are_of_a_later_release_is_refused_by_all_that_read_it(
    mirror: Path,
) -> None:
    path = min(mirror.glob("*9.avro"))
    path.write_bytes(with_block_key(path.read_bytes(), "epochs"))
    with pytest.raises(RequestError, match="use a newer release") as refused:
        inspect_log(OsFs(), mirror)
    assert refused.value.code == "UNSUPPORTED_VERSION"
    with pytest.raises(RequestError, match="blocks of 'epochs'"), LogReader.open(mirror) as reader:
        load_image(reader)
