"""Encoding and decoding of batches."""

import struct
from collections.abc import Callable

import google_crc32c
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_log.kraft_format.batch import HEADER_SIZE, KraftBatch, parse_header
from metadata_log.kraft_format.batch_codec import decode_batch, encode_batch
from records.base import Record
from records.control import LeaderChangeMessage, NoOpRecord, NoOpRunRecord, UnknownRecord
from records.envelope import Envelope, Extra, UnknownTag
from records.errors import CorruptLogError, RequestError
from records.kafka import codec
from records.kafka.layout import Layout
from records.registry import CONTROL_TYPES
from records.topics import NamespaceRecord
from records.varint import LONGS, encode_long
from tests.metadata_log.kraft.logs import TOPIC_ID, leader_change, partition_change, rows, topic
from tests.real_logs import binary_vectors, needs_reference
from tests.records.kafka.strategies import all_layouts, records

pytestmark = pytest.mark.usefixtures("either_codec")

_HEADER = struct.Struct(">qiibIhiqqqhii")


def _decode(data: bytes) -> KraftBatch:
    return decode_batch(data, parse_header(data), 0)


def _wrap(records: bytes, count: int, *, attributes: int = 0) -> bytes:
    """Add a valid batch header to raw records."""
    rest = struct.pack(">hiqqqhii", attributes, count - 1, 5, 5, -1, -1, -1, count) + records
    crc = google_crc32c.value(rest)
    return struct.pack(">qiibI", 7, 49 + len(records), 2, 2, crc) + rest


def _record(value: bytes, *, offset_delta: int = 0, **parts: bytes) -> bytes:
    """Return a raw record; `parts` replace its default parts."""
    body = b"".join(
        [
            parts.get("attributes", b"\0"),
            parts.get("timestamp_delta", b"\0"),
            parts.get("delta", LONGS[offset_delta]),
            parts.get("key", b"\1"),
            parts.get("length", LONGS[len(value)]) + value,
            parts.get("headers", b"\0"),
        ]
    )
    return parts.get("size", encode_long(len(body))) + body


_NOOP = codec.encode_value(NoOpRecord(), 0)


@st.composite
def _any_rows(draw: st.DrawFn) -> list[Envelope]:
    is_control = draw(st.booleans())
    layouts = [of for of in all_layouts() if (of.cls in CONTROL_TYPES) is is_control]
    chosen: list[Layout] = draw(st.lists(st.sampled_from(layouts), min_size=1, max_size=5))
    base_offset = draw(st.integers(0, 1 << 62))
    leader_epoch, timestamp = draw(st.integers(0, 1 << 30)), draw(st.integers(-1, 1 << 62))
    return [
        Envelope(
            offset=base_offset + index,
            leader_epoch=leader_epoch,
            timestamp=timestamp,
            batch_offset=base_offset,
            record_version=of.version,
            payload=draw(records(of)),
        )
        for index, of in enumerate(chosen)
    ]


@settings(max_examples=200)
@given(_any_rows())
def test_rows_come_back(given_rows: list[Envelope]) -> None:
    data = encode_batch(given_rows)
    batch = _decode(data)
    assert list(batch.rows) == given_rows
    assert batch.size == len(data)
    assert batch.end_offset == given_rows[-1].offset + 1
    assert batch.is_control is (type(given_rows[0].payload) in CONTROL_TYPES)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_batches_of_many_records_come_back(count: int) -> None:
    given_rows = rows(3, 1, *[partition_change(n) for n in range(count)])
    assert list(_decode(encode_batch(given_rows)).rows) == given_rows


@pytest.mark.parametrize("length", [1, 40, 60, 100, 8_150, 8_300, 100_000])
def test_long_values_come_back(length: int) -> None:
    given_rows = rows(3, 1, topic("x" * length), NoOpRecord())
    assert list(_decode(encode_batch(given_rows)).rows) == given_rows


class TestOddities:
    """Unusual encodings, which our writer never makes, are read, kept, and written back byte for
    byte.
    """

    @pytest.mark.parametrize(
        "raw",
        [
            pytest.param(_record(_NOOP, attributes=b"\1"), id="attributes"),
            pytest.param(_record(_NOOP, timestamp_delta=b"\x08"), id="timestamp delta"),
            pytest.param(_record(_NOOP, headers=b"\4\2a\2b\2c\1"), id="headers"),
            pytest.param(_record(_NOOP, size=b"\x94\0"), id="length of two bytes for one"),
            pytest.param(_record(_NOOP, delta=b"\x80\0"), id="offset delta of two bytes"),
            pytest.param(_record(_NOOP, length=b"\x88\0"), id="value length of two bytes"),
            pytest.param(_record(b"\1\x14\x80\0\0"), id="frame"),
            pytest.param(_record(_NOOP, key=b"\x03"), id="null key, otherwise said"),
        ],
    )
    def test_unusual_record_is_kept(self, raw: bytes) -> None:
        data = _wrap(raw + _record(_NOOP, offset_delta=1), 2)
        first, second = _decode(data).rows
        assert first.payload == NoOpRecord()
        assert first.extra == Extra(raw_record=raw)
        assert second.extra is None
        assert encode_batch([first, second]) == data

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("attributes", 8),
            ("attributes", 0x10),
            ("max_timestamp", 6),
            ("producer_id", 0),
            ("producer_epoch", 0),
            ("base_sequence", 0),
        ],
    )
    def test_unusual_header_is_kept_on_the_first_row(self, field: str, value: int) -> None:
        data = _wrap(_record(_NOOP) + _record(_NOOP, offset_delta=1), 2)
        header = msgspec.structs.replace(parse_header(data), **{field: value})
        data = _HEADER.pack(*msgspec.structs.astuple(header)) + data[HEADER_SIZE:]
        data = data[:17] + google_crc32c.value(data[21:]).to_bytes(4, "big") + data[21:]
        first, second = _decode(data).rows
        assert first.extra == Extra(batch_header=data[:HEADER_SIZE])
        assert second.extra is None
        assert encode_batch([first, second]) == data

    def test_unusual_header_and_record_are_kept_together(self) -> None:
        raw = _record(_NOOP, attributes=b"\1")
        data = _wrap(raw, 1, attributes=8)
        (row,) = _decode(data).rows
        assert row.extra == Extra(batch_header=data[:HEADER_SIZE], raw_record=raw)
        assert encode_batch([row]) == data

    def test_unknown_tags_are_kept(self) -> None:
        value = codec.encode_value(topic(), 0, (UnknownTag(path="", tag=9, value=b"?"),))
        data = _wrap(_record(value), 1)
        (row,) = _decode(data).rows
        assert row.extra == Extra(unknown_tags=(UnknownTag(path="", tag=9, value=b"?"),))
        assert row.payload == topic()
        assert encode_batch([row]) == data

    def test_unknown_records_are_kept(self) -> None:
        data = _wrap(_record(b"\1\x63\7anything"), 1)
        (row,) = _decode(data).rows
        assert row.payload == UnknownRecord(api_key=99, record_version=7, value=b"\1\x63\7anything")
        assert (row.record_version, row.extra) == (7, None)
        assert encode_batch([row]) == data

    def test_unknown_control_records_are_kept(self) -> None:
        key = b"\0\0\0\x09"
        data = _wrap(_record(b"value", key=b"\x08" + key), 1, attributes=0x20)
        (row,) = _decode(data).rows
        assert isinstance(row.payload, UnknownRecord)
        assert row.payload.control_key == key
        assert row.extra is None
        assert encode_batch([row]) == data


class TestCorrupt:
    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (_wrap(_record(_NOOP), 2), "the batch ends where a record must begin"),
            (_wrap(_record(_NOOP) + b"\0", 1), "1 bytes follow the last record"),
            (_wrap(_record(_NOOP, offset_delta=1), 1), "a record has offset delta 1, not 0"),
            (_wrap(_record(b""), 1), "a record has no value"),
            (_wrap(_record(_NOOP, key=b"\2k"), 1), "offset 7: the record has a key"),
            (
                _wrap(_record(_NOOP, headers=b"\2\2a\xc8\1"), 1),
                "a key, value or header has 100 bytes, but only 0 bytes of the",
            ),
            (
                _wrap(_record(_NOOP, headers=b"\x80\x80\4"), 1),
                "a record has 32768 headers, but only 0 bytes are left",
            ),
            (_wrap(_record(_NOOP, size=b"\x7e"), 1), "a record's length is 63 bytes, but 10"),
            (_wrap(_record(_NOOP, size=b"\0"), 1), "a record's length is 0 bytes"),
            (_wrap(_record(_NOOP, size=b"\x12"), 1), "the record ends inside a number"),
            (_wrap(_record(_NOOP, headers=b"\0\0"), 1), "a record has 1 bytes after its last"),
            (
                _wrap(_record(_NOOP, length=b"\x7e"), 1),
                "a key, value or header has 63 bytes, but only 5 bytes of the",
            ),
            (_wrap(_record(_NOOP), 1, attributes=1), r"compressed \(gzip\)"),
            (_wrap(_record(_NOOP), 1, attributes=7), r"compressed \(unknown \(7\)\)"),
            (_wrap(_record(_NOOP), 1, attributes=0x20), "a control record's key has 0 bytes"),
            (_wrap(_record(b"\1\2\0\x63foo"), 1), "byte 61 of the batch, offset 7: byte 4 of the"),
        ],
    )
    def test_records_that_do_not_fill_the_batch_are_corrupt(
        self, data: bytes, message: str
    ) -> None:
        with pytest.raises(CorruptLogError, match=message):
            _decode(data)

    @given(data=st.data())
    def test_damaged_records_are_rows_or_corrupt(self, data: st.DataObject) -> None:
        damaged = bytearray(encode_batch(data.draw(_any_rows())))
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(HEADER_SIZE, len(damaged) - 1))
            damaged[at] = data.draw(st.integers(0, 255))
        damaged[17:21] = google_crc32c.value(bytes(damaged[21:])).to_bytes(4, "big")
        try:
            batch = _decode(bytes(damaged))
        except CorruptLogError:
            return
        assert encode_batch(batch.rows) == damaged

    def test_number_of_records_is_not_believed(self) -> None:
        with pytest.raises(CorruptLogError, match="where a record must begin"):
            _decode(_wrap(b"", 1 << 30))


class TestNotEncoded:
    @pytest.mark.parametrize(
        ("given_rows", "message"),
        [
            (rows(0, 1, leader_change(), topic()), "offset 1 cannot be in one batch"),
            ([*rows(0, 1, topic()), *rows(5, 1, topic())], "offset 5 cannot be in one batch"),
            (rows(4, 1, NamespaceRecord(namespace_id=TOPIC_ID, name="n")), "offset 4: Kafka has"),
            (
                rows(4, 1, NoOpRunRecord(count=3, batch_count=3, last_timestamp=0)),
                "offset 4: Kafka has no NoOpRunRecord",
            ),
            (
                rows(4, 1, msgspec.structs.replace(leader_change(), version=9)),
                "offset 4: Kafka has no LeaderChangeMessage of version 9",
            ),
        ],
    )
    def test_what_kafka_cannot_say_is_refused(
        self, given_rows: list[Envelope], message: str
    ) -> None:
        with pytest.raises(RequestError, match=message):
            encode_batch(given_rows)

    @pytest.mark.parametrize(
        "change",
        [
            lambda row: msgspec.structs.replace(row, payload=topic("other")),
            lambda row: msgspec.structs.replace(row, offset=8, batch_offset=8),
        ],
    )
    def test_stored_header_is_not_put_over_other_records(
        self, change: Callable[[Envelope], Envelope]
    ) -> None:
        value = codec.encode_value(topic(), 0)
        (row,) = _decode(_wrap(_record(value), 1, attributes=8)).rows
        with pytest.raises(RequestError, match="does not match the header it was read with"):
            encode_batch([change(row)])


class TestKnownBytes:
    pytestmark = needs_reference

    def test_header_of_a_real_checkpoint_is_read_and_written(self) -> None:
        vector = binary_vectors()["real_header_batch"]
        data = bytes.fromhex(vector["hex"])
        header = parse_header(data)
        assert (header.size, header.crc) == (vector["size"], vector["crc"])
        batch = _decode(data)
        assert type(batch.rows[0].payload).__name__ == "SnapshotHeaderRecord"
        assert encode_batch(batch.rows) == data


def test_control_batch_is_one_by_its_records() -> None:
    change: Record = leader_change()
    assert isinstance(change, LeaderChangeMessage)
    assert parse_header(encode_batch(rows(0, 1, change))).is_control
    assert not parse_header(encode_batch(rows(0, 1, topic()))).is_control
