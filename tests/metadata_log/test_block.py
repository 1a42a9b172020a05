"""The frame of a block: validity, and where it ends."""

import google_crc32c
import pytest

from metadata_log.format.block import SYNC_SIZE, block_size, parse_block
from metadata_log.limits import BLOCK_STORED_BYTES_MAX
from records.errors import CorruptLogError
from records.varint import encode_long

SYNC = bytes(range(SYNC_SIZE))


def block(count: int, size: int, body: bytes = b"") -> bytes:
    return encode_long(count) + encode_long(size) + body + SYNC


@pytest.mark.parametrize(
    ("count", "size"),
    [
        (0, 5),
        (-1, 5),
        (3, 0),
        (3, -1),
        (3, BLOCK_STORED_BYTES_MAX + 1),
        (0, 0),
        (-1, BLOCK_STORED_BYTES_MAX + 1),
    ],
)
def test_block_without_rows_or_of_an_impossible_size_is_damage(count: int, size: int) -> None:
    data = block(count, size, bytes(max(size, 0) if size < 100 else 100))
    with pytest.raises(CorruptLogError, match=f"a block of {count} rows and {size} bytes"):
        parse_block(data, 0, 0, SYNC)


def test_block_of_one_row_and_one_byte_can_be() -> None:
    assert parse_block(block(1, 1, b"x"), 0, 0, SYNC) is not None


def test_largest_block_may_go_on_behind_what_was_read() -> None:
    assert parse_block(block(1, BLOCK_STORED_BYTES_MAX, bytes(100)), 0, 0, SYNC) is None


def test_block_is_found_wherever_it_begins() -> None:
    data = block(300, 5, b"later")
    found = parse_block(b"before" + data + b"after", 6, 1_006, SYNC)
    assert found is not None
    assert (found.position, found.end_position) == (1_006, 1_006 + len(data))
    assert (found.count, found.compressed) == (300, b"later")
    assert found.crc32c == google_crc32c.value(data)
    assert block_size(b"before" + data, 6) == len(data)


def test_every_shorter_piece_of_a_block_ends_inside_it() -> None:
    data = block(300, 5, b"later")
    for length in range(len(data)):
        assert parse_block(data[:length], 0, 0, SYNC) is None
    # Its size is known as soon as both numbers were read.
    assert [block_size(data[:length], 0) for length in (0, 1, 2, 3, 4)] == [
        None,
        None,
        None,
        len(data),
        len(data),
    ]


def test_wrong_sync_marker_is_damage() -> None:
    data = block(1, 1, b"x")[:-1] + b"?"
    with pytest.raises(
        CorruptLogError, match=f"sync marker .*3f, but the header says {SYNC.hex()}"
    ):
        parse_block(data, 0, 0, SYNC)
