"""Needles: find the blocks that may contain a record whose first fields are known."""

import pytest
from msgspec import structs

from metadata_log.format.needles import Needles
from records.avro.codec import encode_rows
from records.base import Record
from records.brokers import FenceBrokerRecord, RegisterBrokerRecord
from records.control import UnknownRecord
from records.envelope import Asked, Origin
from records.varint import LONGS
from tests.replay.builders import batch, broker, partition


def found(needles: Needles, *records: Record, origin: Origin | None = None) -> bool:
    """True if the block of a batch with these records has to be decoded."""
    rows = [structs.replace(row, origin=origin) for row in batch(50, *records).rows]
    # As the log writes it: the first row has more fields than the others.
    asked = Asked(command="append", version=1)
    first = structs.replace(rows[0], previous_crc32c=7, durable_end=50, asked=asked)
    return needles.found_in(encode_rows([first, *rows[1:]]), len(rows))


def needles_of_broker(broker_id: int) -> Needles:
    needles = Needles()
    needles.add_type(FenceBrokerRecord, LONGS[broker_id])
    for flag in (b"\0", b"\1"):
        needles.add_type(RegisterBrokerRecord, LONGS[broker_id] + flag)
    return needles


@pytest.mark.parametrize("broker_id", [0, 2, 300])
@pytest.mark.parametrize("origin", [None, Origin(principal="User:ann")])
def test_block_with_the_record_is_found_and_others_are_not(
    broker_id: int, origin: Origin | None
) -> None:
    needles = needles_of_broker(broker_id)
    others = [partition("orders", n, leader=broker_id) for n in range(30)]
    for record in (broker(broker_id), FenceBrokerRecord(id=broker_id, epoch=1)):
        assert found(needles, record, *others, origin=origin)
        assert found(needles, *others, record, origin=origin)
    assert not found(needles, broker(broker_id + 1), *others, origin=origin)
    assert not found(needles, *others, broker(broker_id + 1), origin=origin)


def test_bytes_that_only_look_like_the_record_are_not_found() -> None:
    """The bytes before the leader of a new partition are zeros, like those before a
    registration.
    """
    records = [partition("orders", n, leader=2) for n in range(5)]
    assert b"\0\0\0" + LONGS[2] in encode_rows(batch(50, *records).rows)
    assert not found(needles_of_broker(2), *records)


def test_any_record_of_a_type_is_found() -> None:
    needles = Needles()
    needles.add_type(RegisterBrokerRecord)
    assert found(needles, partition("orders", 0), broker(7))
    assert not found(needles, partition("orders", 0), FenceBrokerRecord(id=0, epoch=0))


def test_what_cannot_be_searched_is_decoded() -> None:
    needles = Needles()
    needles.add_type(RegisterBrokerRecord)
    rows = batch(50, partition("orders", 0)).rows
    assert not needles.found_in(encode_rows(rows), 1)
    several = [*rows, *batch(51, partition("orders", 1)).rows]
    assert needles.found_in(encode_rows(several), 2)
    assert needles.found_in(encode_rows(rows)[:12], 1)
    early = batch(50, partition("orders", 0), timestamp=63).rows
    assert needles.found_in(encode_rows(early), 1)


def test_bytes_of_a_record_hide_no_record_of_a_later_batch_in_its_block() -> None:
    """Batches in a block are told apart by fields that all rows of a batch share.

    A record may contain the same bytes.
    """
    needles = Needles()
    needles.add_type(RegisterBrokerRecord)
    shared = bytes(encode_rows(batch(50, partition("orders", 0)).rows))[1:14]
    hiding = batch(50, UnknownRecord(api_key=501, record_version=0, value=shared)).rows
    block = encode_rows([*hiding, *batch(51, broker(7)).rows])
    assert needles.found_in(block, 2, holds_batches=True)
