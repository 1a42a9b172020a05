"""The digest, compared with the worked example of its document and with a second, plain
computation that shares no code with it.
"""

import hashlib

import pytest

from replay.image.digest import (
    FIRST_PARTS,
    PART_ROWS,
    _IntItems,
    _ListItems,
    _SetItems,
    digest_of_parts,
    digest_of_rows,
    image_digest,
    part_digests,
    row_text,
)
from replay.image.metadata import MetadataImage
from replay.image.parts import PARTS
from tests.replay.builders import (
    batch,
    broker,
    endpoint,
    image_after,
    image_of,
    partition,
    topic,
    uid,
)
from tests.replay.image.documented import documented_block, documented_image


def _plain_part_line(part: str, rows: list[str]) -> str:
    hashes = [hashlib.sha256(row.encode()).hexdigest() for row in rows]
    lanes = [
        sum(int(text[start : start + 16], 16) for text in hashes) % 2**64
        for start in (0, 16, 32, 48)
    ]
    return f"{part} {len(rows)} {lanes[0]} {lanes[1]} {lanes[2]} {lanes[3]}"


def test_documented_image_has_the_documented_rows() -> None:
    image = documented_image()
    rows = [row for part_rows in PART_ROWS.values() for row in part_rows(image)]
    assert sorted(rows) == sorted(documented_block("rows"))


def test_documented_rows_give_the_documented_lines_by_plain_arithmetic() -> None:
    rows = documented_block("rows")
    by_part = {
        part: [row for row in rows if row.startswith(f"{len(part)}:{part}")] for part in PART_ROWS
    }
    assert [_plain_part_line(part, found) for part, found in by_part.items()] == documented_block(
        "parts"
    )
    text = "".join(f"{line}\n" for line in documented_block("parts"))
    assert [hashlib.sha256(text.encode()).hexdigest()] == documented_block("digest")


def test_documented_image_has_the_documented_digest() -> None:
    image = documented_image()
    lines = [
        " ".join(map(str, (part, digest.count, *digest.lanes)))
        for part, digest in part_digests(image).items()
    ]
    assert lines == documented_block("parts")
    assert [image_digest(image)] == documented_block("digest")


def test_empty_image_has_the_documented_digest() -> None:
    assert [image_digest(MetadataImage.EMPTY)] == documented_block("empty")
    lines = "".join(f"{part} 0 0 0 0 0\n" for part in sorted(FIRST_PARTS))
    assert [hashlib.sha256(lines.encode()).hexdigest()] == documented_block("empty")


def test_documented_example_has_something_in_every_part() -> None:
    assert all(digest.count for digest in part_digests(documented_image()).values())


def test_parts_are_in_byte_order() -> None:
    assert list(PART_ROWS) == sorted(PART_ROWS)


def test_digest_does_not_depend_on_the_order_of_rows() -> None:
    rows = documented_block("rows")
    assert digest_of_rows(rows) == digest_of_rows(reversed(rows))


def test_digest_of_parts_is_that_of_the_image() -> None:
    image = documented_image()
    assert digest_of_parts(part_digests(image)) == image_digest(image)


def test_part_of_a_later_release_counts_only_when_it_is_not_empty() -> None:
    parts = part_digests(documented_image())
    assert set(parts) >= FIRST_PARTS
    for later in ("aaa", "zzz"):
        assert digest_of_parts({**parts, later: digest_of_rows([])}) == digest_of_parts(parts)
        assert digest_of_parts({**parts, later: digest_of_rows(["row"])}) != digest_of_parts(parts)


def test_order_of_sets_does_not_change_the_digest() -> None:
    one = image_of(broker(1, end_points=(endpoint("A"), endpoint("B"))))
    other = image_of(broker(1, end_points=(endpoint("B"), endpoint("A"))))
    assert one != other
    assert image_digest(one) == image_digest(other)


def test_order_of_replicas_changes_the_digest() -> None:
    one = image_of(topic("t"), partition("t", 0, replicas=(1, 2)))
    other = image_of(topic("t"), partition("t", 0, replicas=(2, 1)))
    assert image_digest(one) != image_digest(other)


def test_provenance_and_record_versions_are_not_in_the_digest() -> None:
    old = image_after([batch(0, broker(1), record_version=1)])
    new = image_after([batch(0, broker(1), record_version=3, leader_epoch=7, timestamp=9)])
    assert old != new
    assert image_digest(old) == image_digest(new)


@pytest.mark.parametrize("count", [0, 1, 70_000])
def test_lists_of_every_length_are_written_in_full(count: int) -> None:
    image = image_of(topic("t"), partition("t", 0, replicas=tuple(range(count))))
    (row,) = PART_ROWS["partitions"](image)
    numbers = "".join(f"{len(str(n))}:{n}" for n in range(count))
    assert f"1:0{len(str(count))}:{count}{numbers}" in row


@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize("count", range(5))
def test_rows_of_partitions_are_made_as_those_of_every_part(count: int, empty: bool) -> None:
    ids = tuple(range(9, 9 + count))
    lists = {} if empty else _LISTS_OF_A_PARTITION
    one = partition("t", 0, replicas=ids, isr=ids, leader=-1, leader_epoch=5_000, **lists)
    other = partition("t", 1, replicas=ids, isr=ids[1:], mode=2, partition_epoch=7, **lists)
    image = image_of(topic("t"), topic("u"), one, other, partition("u", 700))
    part = PARTS["partitions"]
    rows = list(PART_ROWS["partitions"](image))
    assert len(rows) == 3
    assert rows == list(map(row_text(part), part.rows(image)))


_LISTS_OF_A_PARTITION = {
    "removing_replicas": (1,),
    "adding_replicas": (2, 3),
    "directories": (uid("a"), uid("b"), uid("c")),
    "eligible_leader_replicas": (4,),
    "last_known_elr": (5, 6, 7, 1_000),
}


def test_items_of_lists_are_kept_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.image.digest._CACHE_SIZE_MAX", 10)
    items = _ListItems(_IntItems().__getitem__)
    for number in range(25):
        text = items[number, 70]
        assert items[number, 70] is text
        assert len(items) == number % 10 + 1
    assert items[()] == "1:0"
    assert items[-1, 1_000] == "1:22:-14:1000"


def test_items_of_sets_are_in_one_order() -> None:
    items = _SetItems(_IntItems().__getitem__)
    assert items[3, 1, 20] == items[20, 3, 1] == "1:3" + "1:1" + "1:3" + "2:20"


def test_items_of_small_integers_are_kept() -> None:
    items = _IntItems()
    found = [items[value] for value in (-2, -1, 0, 999, 1_000, 1 << 62)]
    assert found == ["2:-2", "2:-1", "1:0", "3:999", "4:1000", "19:4611686018427387904"]
    assert sorted(items) == [-1, 0, 999]
