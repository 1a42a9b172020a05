"""Needles: which blocks may hold a record whose first fields are known."""

from metadata_log.needles import Needles
from records.avro.codec import encode_rows
from records.base import Record
from records.brokers import RegisterBrokerRecord
from records.varint import LONGS
from tests.replay.builders import batch, broker, partition


def body(*records: Record) -> bytes:
    return encode_rows(batch(0, *records).rows)


def needles_of_broker(broker_id: int) -> Needles:
    needles = Needles()
    needles.add_type(RegisterBrokerRecord, LONGS[broker_id])
    return needles


def test_block_with_the_record_is_found_and_others_are_not() -> None:
    needles = needles_of_broker(2)
    assert needles.found_in(body(partition("orders", 0), broker(2)))
    assert not needles.found_in(body(partition("orders", 0), broker(3)))


def test_bytes_that_only_look_like_the_record_are_not_found() -> None:
    """Before the leader of a new partition stand the same zeros as before a registration."""
    block = body(*[partition("orders", n, leader=2) for n in range(5)])
    assert b"\0\0\0" + LONGS[2] in block
    assert not needles_of_broker(2).found_in(block)
