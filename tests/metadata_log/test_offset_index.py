"""The index of a segment: lookups, when entries are added, and harmless damage."""

import logging
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from metadata_log.files.fs import OsFs
from metadata_log.files.names import index_name
from metadata_log.format.index_writer import IndexWriter
from metadata_log.format.offset_index import (
    ENTRY_SIZE,
    IndexEntry,
    OffsetIndex,
    read_index,
)
from metadata_log.limits import INDEX_INTERVAL_BYTES
from metadata_log.reader.block_search import BlockSearch
from records.control import NoteRecord
from tests.metadata_log.mirrors import new_mirror, row

ENTRIES = [
    IndexEntry(10, 100, None),
    IndexEntry(20, 200, 5),
    IndexEntry(30, 300, 5),
    IndexEntry(40, 400, 9),
]


@pytest.mark.parametrize(
    ("offset", "found"), [(9, None), (10, 0), (19, 0), (20, 1), (39, 2), (40, 3), (99, 3)]
)
def test_entry_at_an_offset_is_the_last_at_or_below_it(offset: int, found: int | None) -> None:
    expected = None if found is None else ENTRIES[found]
    assert OffsetIndex(ENTRIES).at_offset(offset) == expected


@pytest.mark.parametrize(
    ("timestamp", "found"), [(-(1 << 62), 0), (4, 0), (5, 2), (8, 2), (9, 3), (10, 3)]
)
def test_entry_at_a_time_is_the_last_before_which_nothing_is_later(
    timestamp: int, found: int
) -> None:
    assert OffsetIndex(ENTRIES).at_time(timestamp) == ENTRIES[found]


def test_first_entry_after_a_later_record_is_not_for_an_earlier_time() -> None:
    assert OffsetIndex([IndexEntry(10, 100, 5)]).at_time(4) is None
    assert OffsetIndex([]).at_time(4) is None


def test_entries_are_read_as_they_were_written(tmp_path: Path) -> None:
    data = b"".join(entry.encode() for entry in ENTRIES)
    assert len(data) == ENTRY_SIZE * len(ENTRIES)
    path = tmp_path / index_name(10)
    path.write_bytes(data)
    read = read_index(OsFs(), tmp_path, 10)
    assert [read.at_offset(entry.offset) for entry in ENTRIES] == ENTRIES
    # A torn entry, and all after a damaged one, are passed over.
    path.write_bytes(data[:-1])
    assert read_index(OsFs(), tmp_path, 10).at_offset(99) == ENTRIES[2]
    for byte in range(ENTRY_SIZE, 2 * ENTRY_SIZE):
        path.write_bytes(data[:byte] + bytes([data[byte] ^ 1]) + data[byte + 1 :])
        assert read_index(OsFs(), tmp_path, 10).at_offset(99) == ENTRIES[0]
    path.unlink()
    assert read_index(OsFs(), tmp_path, 10).at_offset(99) is None


def positions(directory: Path) -> list[int]:
    index = read_index(OsFs(), directory, 0)
    found = [index.at_offset(offset) for offset in range(100)]
    return sorted({entry.position for entry in found if entry is not None})


def test_entry_is_made_for_each_interval_once_it_is_committed(tmp_path: Path) -> None:
    writer = IndexWriter(OsFs(), tmp_path, 0)
    for offset, position in [
        (0, 1_000),
        (1, 1_000 + INDEX_INTERVAL_BYTES - 1),
        (2, 1_000 + INDEX_INTERVAL_BYTES),
        (3, 1_001 + INDEX_INTERVAL_BYTES),
        (4, 1_000 + 2 * INDEX_INTERVAL_BYTES - 1),
    ]:
        writer.maybe_add(offset, position, None)
    assert positions(tmp_path) == []
    writer.commit()
    assert positions(tmp_path) == [1_000, 1_000 + INDEX_INTERVAL_BYTES]
    writer.maybe_add(5, 1_000 + 2 * INDEX_INTERVAL_BYTES, None)
    writer.commit()
    writer.commit()
    assert len(positions(tmp_path)) == 3
    assert (tmp_path / index_name(0)).stat().st_size == 3 * ENTRY_SIZE
    writer.close()


def test_entries_of_blocks_that_were_taken_back_are_dropped(tmp_path: Path) -> None:
    writer = IndexWriter(OsFs(), tmp_path, 0)
    writer.maybe_add(0, 1_000, None)
    writer.commit()
    writer.maybe_add(1, 1_000 + INDEX_INTERVAL_BYTES, None)
    writer.forget()
    writer.commit()
    assert positions(tmp_path) == [1_000]
    # The next block stands where the one that was taken back stood.
    writer.maybe_add(1, 1_000 + INDEX_INTERVAL_BYTES, None)
    writer.commit()
    assert positions(tmp_path) == [1_000, 1_000 + INDEX_INTERVAL_BYTES]
    writer.close()


def test_kept_entries_stay_when_the_first_new_blocks_are_taken_back(tmp_path: Path) -> None:
    kept = ENTRIES[:2]
    (tmp_path / index_name(0)).write_bytes(b"".join(entry.encode() for entry in kept))
    writer = IndexWriter(OsFs(), tmp_path, 0, kept)
    writer.maybe_add(50, 200 + INDEX_INTERVAL_BYTES, None)
    writer.forget()
    writer.maybe_add(60, 200 + INDEX_INTERVAL_BYTES, None)
    writer.commit()
    writer.close()
    assert positions(tmp_path) == [100, 200, 200 + INDEX_INTERVAL_BYTES]


def test_index_of_an_earlier_try_is_replaced(tmp_path: Path) -> None:
    (tmp_path / index_name(0)).write_bytes(ENTRIES[3].encode())
    writer = IndexWriter(OsFs(), tmp_path, 0)
    writer.maybe_add(0, 7, None)
    writer.commit()
    writer.close()
    assert positions(tmp_path) == [7]


def test_index_that_cannot_be_written_is_given_up_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = IndexWriter(OsFs(), tmp_path / "gone", 0)
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            writer.maybe_add(number, number * INDEX_INTERVAL_BYTES, None)
            writer.commit()
    assert caplog.text.count("cannot be continued") == 1
    writer.close()


def test_a_search_takes_entries_that_fit_and_no_others(tmp_path: Path) -> None:
    directory = tmp_path / "log"
    texts = [Random(number).randbytes(INDEX_INTERVAL_BYTES // 2).hex() for number in range(12)]
    notes = [NoteRecord(at_offset=0, author="", text=text) for text in texts]
    new_mirror(directory, [(row(number, note), number + 1) for number, note in enumerate(notes)])
    search = BlockSearch(OsFs(), directory, [0], [])

    def found() -> list[int]:
        return [search.at_offset(offset).position for offset in range(12)]

    assert found() == sorted(found())
    assert len(set(found())) > 5
    # One byte off is no block: the search then begins at the segment's start.
    entries = [read_index(OsFs(), directory, 0).at_offset(offset) for offset in range(12)]
    shifted = [replace(entry, position=entry.position + 1) for entry in entries if entry]
    (directory / index_name(0)).write_bytes(b"".join([entry.encode() for entry in shifted]))
    assert set(found()) == {0}
