"""The generated codec agrees with fastavro, byte for byte and value for value."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from records import registry
from records.avro import codec, reference
from records.avro.schema import envelope_schema
from records.avro.varint import decode_ints, decode_long, encode_long
from records.base import Record
from records.envelope import Envelope
from records.errors import CorruptLogError
from tests.records.strategies import batches
from tests.records.strategies import records as records_of


@given(batches())
@settings(max_examples=300, deadline=None)
def test_codec_and_fastavro_write_the_same_bytes_and_read_the_same_rows(
    rows: list[Envelope],
) -> None:
    data = codec.encode_rows(rows)
    assert data == reference.encode_rows(rows)
    assert codec.decode_rows(data, len(rows)) == rows
    assert reference.decode_rows(data, len(rows), envelope_schema()) == rows


@pytest.mark.parametrize("cls", registry.RECORD_TYPES, ids=lambda cls: cls.__name__)
def test_each_record_type_is_encoded_as_fastavro_does(cls: type[Record]) -> None:
    @given(records_of(cls))
    @settings(max_examples=20, deadline=None)
    def check(record: Record) -> None:
        row = Envelope(
            offset=1, leader_epoch=1, timestamp=1, batch_offset=1, record_version=0, payload=record
        )
        data = codec.encode_rows([row])
        assert data == reference.encode_rows([row])
        assert codec.decode_rows(data, 1) == [row]

    check()


@given(batches(), st.data())
@settings(max_examples=300, deadline=None)
def test_damaged_bytes_give_rows_or_one_kind_of_error(
    rows: list[Envelope], data: st.DataObject
) -> None:
    encoded = bytearray(codec.encode_rows(rows))
    at = data.draw(st.integers(0, len(encoded) - 1))
    encoded[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(encoded)))
    for damaged in (bytes(encoded), bytes(encoded[:cut])):
        with contextlib.suppress(CorruptLogError):
            codec.decode_rows(damaged, len(rows))


def test_bytes_left_over_are_reported() -> None:
    row = Envelope(
        offset=1,
        leader_epoch=1,
        timestamp=1,
        batch_offset=1,
        record_version=0,
        payload=registry.BY_NAME["NoOpRecord"](),
    )
    with pytest.raises(CorruptLogError, match="1 rows end at byte"):
        codec.decode_rows(codec.encode_rows([row]) + b"\0", 1)


def test_array_that_claims_more_items_than_bytes_allocates_nothing() -> None:
    with pytest.raises(CorruptLogError, match="runs past the end"):
        decode_ints(encode_long(1 << 60) + bytes(8), 0)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_long_is_read_as_written(value: int) -> None:
    data = encode_long(value)
    assert decode_long(data, 0) == (value, len(data))


def test_long_of_more_than_64_bits_is_refused() -> None:
    with pytest.raises(OverflowError):
        encode_long(1 << 63)
    with pytest.raises(CorruptLogError, match="more than 10 bytes"):
        decode_long(b"\xff" * 12, 0)
