"""The generated codec agrees with fastavro, byte for byte and value for value."""

import contextlib
import io
import math
import struct

import fastavro
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from records import registry
from records.avro import arrays, codec, reference
from records.avro.arrays import INT_ARRAYS, INTS, decode_bytes, decode_count, decode_ints
from records.avro.schema import envelope_schema
from records.base import Record
from records.configs import ClientQuotaRecord, EntityData
from records.control import NoteRecord
from records.envelope import (
    Asked,
    Envelope,
    Extra,
    Kept,
    Origin,
    SecretReference,
    UnknownTag,
)
from records.errors import CorruptLogError
from records.varint import LONGS, decode_long, encode_long
from tests.records.edges import edge_records
from tests.records.strategies import batches
from tests.records.strategies import records as records_of
from tests.samples import drawn, sampled

pytestmark = pytest.mark.usefixtures("either_codec")

every_type = pytest.mark.parametrize("cls", registry.RECORD_TYPES, ids=lambda cls: cls.__name__)


def only_row(record: Record) -> Envelope:
    """The one row of a batch."""
    return Envelope(
        offset=1, leader_epoch=1, timestamp=1, batch_offset=1, record_version=0, payload=record
    )


def assert_agreed(rows: list[Envelope]) -> bytes:
    """Check that both codecs write the same bytes and read them as the same rows; return the
    bytes.
    """
    data = codec.encode_rows(rows)
    assert data == reference.encode_rows(rows)
    assert codec.decode_rows(data, len(rows)) == rows
    assert reference.decode_rows(data, len(rows), envelope_schema()) == rows
    return data


@given(batches())
@drawn(300, 60)
def test_codec_and_fastavro_write_the_same_bytes_and_read_the_same_rows(
    rows: list[Envelope],
) -> None:
    assert_agreed(rows)


@sampled
@every_type
def test_each_record_type_is_encoded_as_fastavro_does(cls: type[Record]) -> None:
    @given(records_of(cls))
    @drawn(30, 10)
    def check(record: Record) -> None:
        assert_agreed([only_row(record)])

    check()


@every_type
def test_edges_of_each_record_type_are_encoded_as_fastavro_does(cls: type[Record]) -> None:
    assert_agreed([only_row(record) for record in edge_records(cls)])


def test_envelope_at_its_edges_is_encoded_as_fastavro_does() -> None:
    least, most = -(1 << 63), (1 << 63) - 1
    text = "\x00 \u65e5\u672c\u8a9e \U0001f680"
    origin = Origin(
        principal=text,
        request_id="",
        request_hash=bytes(32),
        command=text,
        reason=text,
        trace_parent=text,
        client=text,
    )
    tag = UnknownTag(path=text, tag=most, value=bytes(300))
    extra = Extra(unknown_tags=(tag, tag), batch_header=b"", raw_record=bytes(70_000))
    asked = Asked(
        command=text,
        version=(1 << 31) - 1,
        request=bytes(300),
        seed=least,
        observed=b"",
        response=bytes(9_000),
        omitted_bytes=most,
        secrets=(
            SecretReference(path=text),
            SecretReference(path="", record_index=-(1 << 31), field=text),
        ),
    )
    rows = [
        Envelope(
            offset=number,
            leader_epoch=epoch,
            timestamp=number,
            batch_offset=number,
            record_version=epoch,
            origin=owner,
            durable_end=end,
            previous_crc32c=end,
            extra=more,
            asked=question,
            kept=position,
            payload=NoteRecord(at_offset=number, author="", text=""),
        )
        for number, epoch in ((least, -(1 << 31)), (most, (1 << 31) - 1))
        for owner in (None, Origin(), origin)
        for end in (None, least, 0, most)
        for more in (None, Extra(), extra)
        for question in (None, Asked(command="", version=0), asked)
        for position in (None, Kept(version=least), Kept(version=most, created=most))
    ]
    assert_agreed(rows)


@pytest.mark.parametrize("length", [0, 63, 64, 8_191, 8_192, 1_048_575, 1_048_576, 3_000_000])
def test_strings_of_any_length_are_encoded_as_fastavro_does(length: int) -> None:
    half = "\u00e9" * (length // 2) + "x" * (length % 2)
    assert len(half.encode()) == length
    assert_agreed([only_row(NoteRecord(at_offset=0, author="x" * length, text=half))])


_NAN_WITH_PAYLOAD = struct.unpack("<d", b"\x01\x02\x03\x04\x05\x06\xf8\xff")[0]


@pytest.mark.parametrize(
    "value",
    [0.0, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, _NAN_WITH_PAYLOAD],
)
def test_every_bit_of_a_double_is_kept(value: float) -> None:
    record = ClientQuotaRecord(
        entity=(EntityData(entity_type="user", entity_name=None),),
        key="request_percentage",
        value=value,
        remove=False,
    )
    data = codec.encode_rows([only_row(record)])
    assert data == reference.encode_rows([only_row(record)])
    for rows in (
        codec.decode_rows(data, 1),
        reference.decode_rows(data, 1, envelope_schema()),
    ):
        payload = rows[0].payload
        assert isinstance(payload, ClientQuotaRecord)
        assert struct.pack("<d", payload.value) == struct.pack("<d", value)


_BLOCKS = [[1], [2, -3], [300, -(1 << 31), (1 << 31) - 1]]


@pytest.mark.parametrize("with_sizes", [False, True])
def test_array_in_several_blocks_is_read_as_fastavro_does(with_sizes: bool) -> None:
    # We never write such an array; other writers of Avro may.
    data = b""
    for block in _BLOCKS:
        items = b"".join(encode_long(item) for item in block)
        if with_sizes:
            data += encode_long(-len(block)) + encode_long(len(items)) + items
        else:
            data += encode_long(len(block)) + items
    data += b"\0"
    wanted = tuple(item for block in _BLOCKS for item in block)
    assert decode_ints(data, 0) == (wanted, len(data))
    schema = {"type": "array", "items": "int"}
    assert tuple(fastavro.schemaless_reader(io.BytesIO(data), schema, None)) == wanted


@every_type
def test_every_truncation_of_a_record_is_refused(cls: type[Record]) -> None:
    for record in edge_records(cls):
        data = codec.encode_rows([only_row(record)])
        for size in range(len(data)):
            with pytest.raises(CorruptLogError):
                codec.decode_rows(data[:size], 1)


@given(batches(), st.data())
@drawn(300, 75)
def test_damaged_bytes_give_one_kind_of_error_or_are_read_as_fastavro_does(
    rows: list[Envelope], data: st.DataObject
) -> None:
    encoded = bytearray(codec.encode_rows(rows))
    at = data.draw(st.integers(0, len(encoded) - 1))
    encoded[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(encoded)))
    for damaged in (bytes(encoded), bytes(encoded[:cut])):
        try:
            found = codec.decode_rows(damaged, len(rows))
        except CorruptLogError:
            continue
        assert repr(found) == repr(reference.decode_rows(damaged, len(rows), envelope_schema()))


@given(st.binary(max_size=200), st.integers(1, 20))
@drawn(500, 200)
def test_garbage_gives_rows_or_one_kind_of_error(garbage: bytes, count: int) -> None:
    for decode in (
        codec.decode_rows,
        lambda data, count: reference.decode_rows(data, count, envelope_schema()),
    ):
        with contextlib.suppress(CorruptLogError):
            decode(garbage, count)


@sampled
@every_type
def test_garbage_in_each_record_type_gives_a_record_or_one_kind_of_error(
    cls: type[Record],
) -> None:
    row = codec.encode_rows([only_row(edge_records(cls)[1])])
    envelope = codec.encode_rows([only_row(NoteRecord(at_offset=0, author="", text=""))])
    # The envelope and the branch of this type, then anything.
    head = row[: len(envelope) - 4] + encode_long(registry.RECORD_TYPES.index(cls))

    @given(st.binary(max_size=120))
    @drawn(60, 15)
    def check(garbage: bytes) -> None:
        with contextlib.suppress(CorruptLogError):
            (found,) = codec.decode_rows(head + garbage, 1)
            assert type(found.payload) is cls

    check()


@pytest.mark.parametrize(
    "branch", [-1, -len(registry.RECORD_TYPES), len(registry.RECORD_TYPES), -(1 << 63), 1 << 31]
)
def test_branch_that_is_no_record_type_is_refused(branch: int) -> None:
    note = NoteRecord(at_offset=0, author="", text="")
    right = encode_long(registry.RECORD_TYPES.index(NoteRecord))
    row = codec.encode_rows([only_row(note)])
    before, after = row[: -3 - len(right)], row[-3:]
    assert codec.decode_rows(before + right + after, 1) == [only_row(note)]
    with pytest.raises(CorruptLogError, match=f"record type number {branch} is unknown$"):
        codec.decode_rows(before + encode_long(branch) + after, 1)
    # As a branch counted from the end the last type would be read, as Python's lists do.
    with pytest.raises(CorruptLogError, match=r"record type number -3 is unknown$"):
        codec.decode_rows(before + encode_long(-3) + after, 1)
    # fastavro reads other schemas than ours.
    with pytest.raises(CorruptLogError):
        reference.decode_rows(before + encode_long(branch) + after, 1, envelope_schema())


@pytest.mark.parametrize("field", ["timestamp", "leader_epoch", "batch_offset"])
def test_each_value_that_rows_of_a_batch_share_may_differ_alone(field: str) -> None:
    row = only_row(NoteRecord(at_offset=0, author="", text=""))
    assert_agreed([row, msgspec.structs.replace(row, **{field: 7}), row])


@pytest.mark.parametrize("version", [-2, -1, 0, 1, 63, 64, 2**31 - 1, -(2**31)])
def test_every_record_version_is_read_as_fastavro_reads_it(version: int) -> None:
    row = msgspec.structs.replace(
        only_row(NoteRecord(at_offset=0, author="", text="")), record_version=version
    )
    assert_agreed([row])


@pytest.mark.parametrize("branch", [1, 3, 4, 0xFF])
def test_branch_of_an_optional_field_is_null_or_one(branch: int) -> None:
    row = codec.encode_rows([only_row(NoteRecord(at_offset=0, author="", text=""))])
    # After offset, epoch, time, batch offset and version, one byte each here.
    for at in range(5, 11):
        damaged = bytearray(row)
        damaged[at] = branch
        with pytest.raises(
            CorruptLogError, match=f"byte {at} is 0x{branch:02x}, .* not a union branch"
        ):
            codec.decode_rows(bytes(damaged), 1)
        with pytest.raises(CorruptLogError):
            reference.decode_rows(bytes(damaged), 1, envelope_schema())


@pytest.mark.parametrize("length", [-1, -2, -64, -65, -(1 << 63)])
def test_negative_length_is_refused(length: int) -> None:
    with pytest.raises(CorruptLogError, match=f"^byte .*: a value of {length} bytes does not fit"):
        decode_bytes(b"before" + encode_long(length) + bytes(100), 6)


@pytest.mark.parametrize("count", [-3, -100, -(1 << 63)])
def test_negative_count_of_more_items_than_bytes_is_refused(count: int) -> None:
    size = encode_long(1)
    with pytest.raises(CorruptLogError, match=f"^byte .*: an array of {-count} items does not fit"):
        decode_count(encode_long(count) + size + bytes(2), 0)


def test_count_may_be_as_large_as_the_bytes_left() -> None:
    assert decode_count(encode_long(3) + bytes(3), 0) == (3, 1)
    assert decode_count(encode_long(-3) + encode_long(1) + bytes(3), 0) == (3, 2)
    with pytest.raises(CorruptLogError):
        decode_count(encode_long(4) + bytes(3), 0)


def test_bytes_left_over_are_reported() -> None:
    row = only_row(registry.BY_NAME["NoOpRecord"]())
    with pytest.raises(CorruptLogError, match="1 rows end at byte"):
        codec.decode_rows(codec.encode_rows([row]) + b"\0", 1)


def test_array_that_claims_more_items_than_bytes_allocates_nothing() -> None:
    with pytest.raises(CorruptLogError, match="does not fit in the remaining"):
        decode_ints(encode_long(1 << 60) + bytes(8), 0)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_long_is_read_as_written(value: int) -> None:
    data = encode_long(value)
    assert decode_long(data, 0) == (value, len(data))


def _plainly_encoded(value: int) -> bytes:
    """Encode a zigzag integer bit by bit, as Avro's specification defines it."""
    rest = value * 2 if value >= 0 else -value * 2 - 1
    out = []
    while True:
        low, rest = rest % 128, rest // 128
        out.append(low + (128 if rest else 0))
        if not rest:
            return bytes(out)


_BIT_PATTERNS = [int(digit * 16, 16) for digit in "0123456789abcdef"]


@pytest.mark.parametrize("bits", range(64))
def test_longs_around_each_power_of_two_are_encoded_as_specified(bits: int) -> None:
    near = [(1 << bits) + more for more in (-2, -1, 0, 1)]
    patterned = [pattern & (1 << bits) - 1 for pattern in _BIT_PATTERNS]
    for value in {*near, *[-value for value in near], *patterned, *[-v for v in patterned]}:
        if -(1 << 63) <= value < 1 << 63:
            data = _plainly_encoded(value)
            assert encode_long(value) == LONGS[value] == data
            assert decode_long(b"x" + data + b"x", 1) == (value, 1 + len(data))
            if -(1 << 31) <= value < 1 << 31:
                assert INTS[value] == data


def test_int_of_more_than_32_bits_is_refused() -> None:
    for value in ((1 << 31), -(1 << 31) - 1, 1 << 62):
        with pytest.raises(OverflowError, match=f"{value} does not fit in 32 bits"):
            INTS[value]
    for value in (1 << 63, -(1 << 63) - 1):
        with pytest.raises(OverflowError, match=f"{value} does not fit in 64 bits"):
            encode_long(value)


@pytest.mark.parametrize(
    "items",
    [(), (0,), (-1, 1), (63, -64), (64,), (1, 2, 3, 4), tuple(range(200)), ((1 << 31) - 1, 0)],
)
def test_array_of_ints_is_one_block_and_is_read_back(items: tuple[int, ...]) -> None:
    data = b"".join(_plainly_encoded(item) for item in items)
    data = (_plainly_encoded(len(items)) + data if items else b"") + b"\0"
    for _ in range(2):  # the second time from the cache
        assert INT_ARRAYS[items] == data
        assert decode_ints(b"x" + data + b"x", 1) == (items, 1 + len(data))


def test_caches_of_arrays_do_not_grow_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("records.avro.arrays._CACHE_SIZE_MAX", 10)
    # What earlier tests have left may be more than that.
    INT_ARRAYS.clear()
    arrays._SMALL_INT_TUPLES.clear()
    for number in range(1_000):
        data = INT_ARRAYS[number, number + 1]
        assert decode_ints(data, 0) == ((number, number + 1), len(data))
        assert len(INT_ARRAYS) <= 10
    for number in range(60):
        decode_ints(INT_ARRAYS[number, 1], 0)
        assert len(arrays._SMALL_INT_TUPLES) <= 10


def test_long_of_more_than_64_bits_is_refused() -> None:
    with pytest.raises(OverflowError):
        encode_long(1 << 63)
    with pytest.raises(CorruptLogError, match="more than 10 bytes"):
        decode_long(b"\xff" * 12, 0)
    # Ten bytes hold 70 bits; the last may bring one only.
    with pytest.raises(CorruptLogError, match="more than 64 bits"):
        decode_long(b"\xff" * 9 + b"\x02", 0)


def test_unknown_tags_are_found_without_decoding() -> None:
    time_ms = 1_767_225_600_000
    plain = msgspec.structs.replace(
        only_row(NoteRecord(at_offset=0, author="", text="")), timestamp=time_ms
    )
    tag = UnknownTag(path="", tag=9, value=b"?")
    for extra, is_found in (
        (None, False),
        (Extra(batch_header=b"header"), False),
        (Extra(unknown_tags=(tag,)), True),
    ):
        last = msgspec.structs.replace(plain, offset=2, extra=extra)
        assert codec.holds_unknown_tags(codec.encode_rows([plain, last]), 2) is is_found
    # Not to be searched: another number of rows than the block says.
    assert codec.holds_unknown_tags(codec.encode_rows([plain]), 2)
