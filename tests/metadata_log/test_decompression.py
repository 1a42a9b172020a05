"""A small block that would decompress to gigabytes is refused before memory is allocated."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import google_crc32c
import msgspec
import pytest
from backports import zstd

from metadata_log.files.fs import OsFs
from metadata_log.format.block import decompress, parse_block
from metadata_log.format.commit_mark import read_mark
from metadata_log.format.segment import decode_header
from metadata_log.format.zstd_frame import decompress_frame
from metadata_log.limits import BLOCK_DECODED_BYTES_MAX, BLOCK_RECORDS_MAX
from records.errors import CorruptLogError
from records.varint import encode_long

_MARKER = bytes(16)
_MEMORY_BYTES_MAX = 600 * 1024 * 1024


def stored(count: int, body: bytes, marker: bytes = _MARKER) -> bytes:
    return encode_long(count) + encode_long(len(body)) + body + marker


def of_many_frames() -> bytes:
    """Return one small frame, then frames of 64 MiB of zeros: 108 KB compressed, about 1 GB in
    all.
    """
    return zstd.compress(b"x") + zstd.compress(bytes(BLOCK_DECODED_BYTES_MAX)) * 16


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (of_many_frames(), r"bytes follow the frame"),
        (zstd.compress(b"x") + b"rest", r"4 bytes follow the frame"),
        (
            zstd.compress(bytes(BLOCK_DECODED_BYTES_MAX + 1)),
            r"frame claims 67108865 bytes, at most",
        ),
        (zstd.compress(b"x" * 1000)[:-1], r"is cut short"),
        (b"no frame", r"damaged"),
    ],
    ids=["many frames", "bytes after it", "too large", "cut", "no frame"],
)
def test_block_must_be_exactly_one_frame_of_bounded_size(body: bytes, what: str) -> None:
    block = parse_block(stored(1, body), 0, 0, _MARKER)
    assert block is not None
    with pytest.raises(CorruptLogError, match=what):
        decompress(block)


def test_frame_that_holds_more_than_it_says_is_refused() -> None:
    frame = bytearray(zstd.compress(bytes(1 << 20)))
    frame[5:9] = (100).to_bytes(4, "little")  # the content size of a single-segment frame
    assert zstd.get_frame_info(frame).decompressed_size == 100
    with pytest.raises(ValueError, match=r"damaged|holds more"):
        decompress_frame(bytes(frame), BLOCK_DECODED_BYTES_MAX)


def test_frame_of_the_largest_size_is_read() -> None:
    content = os.urandom(1000) * (BLOCK_DECODED_BYTES_MAX // 1000)
    assert decompress_frame(zstd.compress(content), BLOCK_DECODED_BYTES_MAX) == content


def test_block_of_more_rows_than_any_writer_stores_is_refused() -> None:
    with pytest.raises(CorruptLogError, match="rows and"):
        parse_block(stored(BLOCK_RECORDS_MAX + 1, b"x"), 0, 0, _MARKER)


def with_last_block(log: Path, block: bytes) -> None:
    """Replace the last block by `block`, with a commit mark that matches it."""
    mark = read_mark(OsFs(), log)
    path = log / f"{mark.segment_offset:020d}.avro"
    data = path.read_bytes()
    _, start = decode_header(data)
    while (found := parse_block(data, start, start, data[start - 16 : start])) is not None:
        last, start = start, found.end_position
        if start == mark.position:
            break
    path.write_bytes(data[:last] + block)
    mark = msgspec.structs.replace(
        mark, position=last + len(block), last_crc32c=google_crc32c.value(block)
    )
    with (log / "commit.mark").open("r+b") as file:
        for sequence in (mark.sequence, mark.sequence + 1):
            slot = msgspec.structs.replace(mark, sequence=sequence)
            file.seek(slot.slot_position)
            file.write(slot.encode())


@pytest.mark.parametrize("command", ["verify", "image", "dump"])
async def test_command_refuses_it_in_little_memory(written: Path, command: str) -> None:
    path = max(written.glob("*.avro"))
    marker = path.read_bytes()
    _, start = decode_header(marker)
    block = stored(1, of_many_frames(), marker[start - 16 : start])
    assert len(block) < 130_000
    with_last_block(written, block)
    done = subprocess.run(
        [sys.executable, "-m", "api.cli", command, str(written)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (_MEMORY_BYTES_MAX, _MEMORY_BYTES_MAX)
        ),
    )
    said = done.stdout if command == "verify" else done.stderr
    assert done.returncode == (1 if command == "verify" else 5), (done.stdout, done.stderr)
    assert f"{path.name} byte " in said
    assert "bytes follow the frame" in said
