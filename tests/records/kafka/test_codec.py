"""Encoding and decoding of record values."""

import struct
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.base import Record, Uuid
from records.brokers import BrokerEndpoint, RegisterBrokerRecord
from records.configs import ConfigRecord, FeatureLevelRecord
from records.control import (
    BeginTransactionRecord,
    LeaderChangeMessage,
    NoOpRecord,
    SnapshotFooterRecord,
    UnknownRecord,
)
from records.envelope import UnknownTag
from records.errors import CorruptLogError, RequestError
from records.kafka.codec import (
    Decoded,
    decode_control,
    decode_value,
    encode_control,
    encode_value,
)
from records.kafka.layout import Layout, control_types
from records.partitions import PartitionChangeRecord, PartitionRecord
from records.topics import NamespaceRecord, TopicRecord
from tests.records.kafka.strategies import all_layouts, records
from tests.samples import drawn

_CONTROL = set(control_types().values())
_LAYOUTS = [of for of in all_layouts() if of.cls not in _CONTROL]
_CONTROL_LAYOUTS = [of for of in all_layouts() if of.cls in _CONTROL]
_ID = Uuid(bytes(range(16)))


def _name(of: Layout) -> str:
    return f"{of.cls.__name__}-{of.version}"


@pytest.mark.parametrize("of", _LAYOUTS, ids=_name)
@drawn(25, 8)
@given(data=st.data())
def test_any_metadata_record_comes_back(of: Layout, data: st.DataObject) -> None:
    record = data.draw(records(of))
    assert decode_value(encode_value(record, of.version)) == Decoded(record, of.version)


@pytest.mark.parametrize("of", _CONTROL_LAYOUTS, ids=_name)
@drawn(25, 8)
@given(data=st.data())
def test_any_control_record_comes_back(of: Layout, data: st.DataObject) -> None:
    record = data.draw(records(of))
    assert decode_control(*encode_control(record)) == Decoded(record, of.version)


@st.composite
def _damaged(draw: st.DrawFn, value: bytes) -> bytes:
    """Return bytes that differ from `value` in a few places."""
    damaged = bytearray(value)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(damaged)))
        kind = draw(st.sampled_from(["change", "insert", "remove", "cut"]))
        if kind == "insert":
            damaged[at:at] = draw(st.binary(min_size=1, max_size=4))
        elif kind == "cut":
            del damaged[at:]
        elif at < len(damaged):
            damaged[at : at + 1] = draw(st.binary(max_size=1)) if kind == "change" else b""
    return bytes(damaged)


@given(data=st.data())
def test_damaged_bytes_are_a_record_or_corrupt(data: st.DataObject) -> None:
    of = data.draw(st.sampled_from(_LAYOUTS))
    value = data.draw(_damaged(encode_value(data.draw(records(of)), of.version)))
    _check(lambda: decode_value(value), value)


@given(data=st.data())
def test_damaged_control_records_are_a_record_or_corrupt(data: st.DataObject) -> None:
    key, value = encode_control(data.draw(st.sampled_from(_CONTROL_LAYOUTS).flatmap(records)))
    key, value = data.draw(_damaged(key)), data.draw(_damaged(value))
    try:
        decoded = decode_control(key, value)
    except CorruptLogError:
        return
    assert (encode_control(decoded.record, decoded.unknown_tags) == (key, value)) is (
        decoded.canonical
    )


@given(st.binary(max_size=60))
def test_any_bytes_are_a_record_or_corrupt(value: bytes) -> None:
    _check(lambda: decode_value(value), value)


def _check(decode: Callable[[], Decoded], value: bytes) -> None:
    """Check that a decoded value states correctly whether its bytes can be made from it."""
    try:
        decoded = decode()
    except CorruptLogError:
        return
    again = encode_value(decoded.record, decoded.version, decoded.unknown_tags)
    assert (again == value) is decoded.canonical


_HUGE = bytes.fromhex("ffffffff0f")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"\1\2\0" + _HUGE, id="string"),
        pytest.param(b"\1\3\0" + bytes(20) + _HUGE + bytes(8), id="array of integers"),
        pytest.param(b"\1\0\0" + bytes(28) + _HUGE + bytes(8), id="array of structures"),
        pytest.param(b"\1\x14\0" + _HUGE, id="number of tags"),
        pytest.param(b"\1\x14\0\1\0" + _HUGE, id="size of a tag"),
        pytest.param(b"\1\x0b\0\1\0" + _HUGE, id="bytes"),
    ],
)
def test_huge_length_allocates_nothing(value: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(CorruptLogError, match="byte"):
            decode_value(value)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


class TestUnknown:
    @pytest.mark.parametrize(
        ("value", "api_key", "version"),
        [
            (b"\1\x06\0\0", 6, 0),
            (b"\1\xe8\7\x2a\1\2\3", 1_000, 42),
            (b"\1\2\x09\0", 2, 9),
            (b"\0\2\0\0", -1, -1),
            (b"\2", -1, -1),
        ],
    )
    def test_unknown_type_version_or_frame_is_kept(
        self, value: bytes, api_key: int, version: int
    ) -> None:
        record = UnknownRecord(api_key=api_key, record_version=version, value=value)
        assert decode_value(value) == Decoded(record, version)
        assert encode_value(record, version) == value

    @pytest.mark.parametrize(
        ("key", "value", "api_key", "version"),
        [
            (b"\0\0\0\1", b"\0\0\0\0\0\7", 1, -1),
            (b"\0\0\0\x09more", b"", 9, -1),
            (b"\0\0\0\2", b"\0\x09rest", 2, 9),
        ],
    )
    def test_unknown_control_type_or_version_is_kept(
        self, key: bytes, value: bytes, api_key: int, version: int
    ) -> None:
        record = UnknownRecord(
            api_key=api_key, record_version=version, value=value, control_key=key
        )
        assert decode_control(key, value) == Decoded(record, version)
        assert encode_control(record) == (key, value)

    def test_unknown_tags_are_kept_where_they_stood(self) -> None:
        broker = RegisterBrokerRecord(
            broker_id=1,
            incarnation_id=_ID,
            broker_epoch=7,
            end_points=(
                BrokerEndpoint(name="a", host="h", port=1, security_protocol=0),
                BrokerEndpoint(name="b", host="h", port=2, security_protocol=0),
            ),
            features=(),
            rack=None,
            log_dirs=(_ID,),
        )
        tags = (
            UnknownTag(path="end_points/1", tag=3, value=b"nested"),
            UnknownTag(path="", tag=2, value=b"\2" + _ID),
            UnknownTag(path="", tag=300, value=b""),
        )
        value = encode_value(broker, 4, tags)
        assert decode_value(value) == Decoded(broker, 4, tags)
        assert value.startswith(b"\1\0\4")
        # The known tag, then the unknown ones: tags ascend.
        assert value.endswith(b"\3\0\x11\2" + _ID + b"\2\x11\2" + _ID + b"\xac\2\0")

    def test_unknown_tags_of_a_control_record_are_kept(self) -> None:
        tags = (UnknownTag(path="", tag=5, value=b"x"),)
        key, value = encode_control(SnapshotFooterRecord(version=0), tags)
        assert decode_control(key, value) == Decoded(SnapshotFooterRecord(version=0), 0, tags)


class TestNotCanonical:
    @pytest.mark.parametrize(
        ("value", "record"),
        [
            # A record version of two bytes that needs one.
            (b"\1\x14\x80\0\0", NoOpRecord()),
            # The count of tags.
            (b"\1\x14\0\x80\0", NoOpRecord()),
            # The length of a string.
            (b"\1\x0c\0\x82\0a\0\1\0", FeatureLevelRecord(name="a", feature_level=1)),
            # A tagged field that is there with its default: leader -2.
            (
                b"\1\5\0\0\0\0\1" + _ID + b"\1\1\4\xff\xff\xff\xfe",
                PartitionChangeRecord(partition_id=1, topic_id=_ID),
            ),
            # The ISR, null.
            (
                b"\1\5\0\0\0\0\1" + _ID + b"\1\0\1\0",
                PartitionChangeRecord(partition_id=1, topic_id=_ID),
            ),
            # Tags that do not ascend.
            (
                b"\1\5\0\0\0\0\1" + _ID + b"\2\1\4\0\0\0\7\0\1\1",
                PartitionChangeRecord(partition_id=1, topic_id=_ID, leader=7, isr=()),
            ),
        ],
    )
    def test_unusual_encoding_is_read_and_reported(self, value: bytes, record: Record) -> None:
        decoded = decode_value(value)
        assert (decoded.record, decoded.canonical) == (record, False)

    def test_truth_value_other_than_1_is_true(self) -> None:
        quota = b"\1\x0e\0\1\2k" + bytes(8)
        assert decode_value(quota + b"\1\0").canonical
        decoded = decode_value(quota + b"\2\0")
        assert decoded.record == decode_value(quota + b"\1\0").record
        assert not decoded.canonical

    def test_control_key_with_more_in_it_is_not_canonical(self) -> None:
        footer = SnapshotFooterRecord(version=0)
        for key in (b"\0\0\0\4more", b"\0\1\0\4"):
            decoded = decode_control(key, b"\0\0\0")
            assert (decoded.record, decoded.canonical) == (footer, False)


class TestCorrupt:
    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (b"", "byte 0: the value ends in its frame version"),
            (b"\1", "byte 1: the value ends in its API key"),
            (b"\1\x14", "byte 2: the value ends in its record version"),
            (b"\1\x80\x80\2\0", "byte 1 of the value: API key 32768 is above 32767"),
            (b"\1\xff\xff\xff\xff\xff\xff\0", "byte 1 of the value, API key: the integer at"),
            (b"\1\x14\0\0\0", "byte 4 of the value: 1 bytes follow the last field"),
            (b"\1\2\0\x09foo", "byte 4 of the value, field name: 8 bytes wanted, 3 are left"),
            (b"\1\2\0\0" + _ID + b"\0", "byte 3 of the value, field name: null"),
            (b"\1\2\0\3\xc3\x28" + _ID + b"\0", "byte 4 of the value, field name: not UTF-8"),
            (b"\1\2\0\4foo" + _ID[:9], "byte 7 of the value, field topic_id: 16 bytes wanted"),
            (
                b"\1\5\0\0\0\0\1" + _ID + b"\2\1\4\0\0\0\7\1\4\0\0\0\7",
                "byte 30 of the value: tag 1 occurs twice",
            ),
            (
                b"\1\5\0\0\0\0\1" + _ID + b"\1\1\5\0\0\0\7\0",
                r"byte 24 of the value: the value of tag 1 \(leader\) does not fill its 5 bytes",
            ),
        ],
    )
    def test_damage_is_named_by_byte_and_field(self, value: bytes, message: str) -> None:
        with pytest.raises(CorruptLogError, match=message):
            decode_value(value)

    def test_nested_field_is_named(self) -> None:
        # The second of two endpoints ends inside its port.
        value = b"\1\0\0" + bytes(28) + b"\3\2a\2b\0\1\0\0\0" + b"\2c\2d\0"
        with pytest.raises(CorruptLogError, match="field end_points/1/port: 2 bytes wanted, 1 are"):
            decode_value(value)

    @pytest.mark.parametrize(
        ("key", "value", "message"),
        [
            (b"\0\0\0", b"\0\0\0", "a control record's key has 3 bytes, fewer than 4"),
            (b"\0\0\0\2", b"\0", "field version: the value ends inside it"),
            (b"\0\0\0\4", b"\0\0", "byte 2 of the value: the value ends inside an integer"),
        ],
    )
    def test_damaged_control_record_is_named(self, key: bytes, value: bytes, message: str) -> None:
        with pytest.raises(CorruptLogError, match=message):
            decode_control(key, value)


class TestNotEncoded:
    @pytest.mark.parametrize(
        ("record", "version", "message"),
        [
            (
                PartitionChangeRecord(topic_id=_ID, directories=(_ID,)),
                0,
                "PartitionChangeRecord version 0 has no directories",
            ),
            (PartitionChangeRecord(topic_id=_ID, mode=1), 2, "version 2 has no mode"),
            (TopicRecord(name="t", topic_id=_ID, namespace_id=_ID), 0, "has no namespace_id"),
            (TopicRecord(name="t", topic_id=_ID), 1, "Kafka has no TopicRecord of version 1"),
            (
                NamespaceRecord(namespace_id=_ID, name="n"),
                0,
                "Kafka has no NamespaceRecord of version 0",
            ),
        ],
    )
    def test_what_the_version_lacks_is_refused(
        self, record: Record, version: int, message: str
    ) -> None:
        with pytest.raises(RequestError, match=message) as caught:
            encode_value(record, version)
        assert caught.value.code == "UNSUPPORTED_VERSION"

    @pytest.mark.parametrize(
        ("record", "message"),
        [
            (FeatureLevelRecord(name="f", feature_level=40_000), "field feature_level: 40000 does"),
            (TopicRecord(name="t", topic_id=Uuid(b"short")), "field topic_id: an id has 16 bytes"),
            (TopicRecord(name="\ud800", topic_id=_ID), "field name: .* cannot be written as UTF-8"),
            (
                PartitionRecord(
                    topic_id=_ID,
                    replicas=(1 << 31,),
                    isr=(),
                    removing_replicas=(),
                    adding_replicas=(),
                ),
                "field replicas/0: 2147483648 does not fit int32",
            ),
            (
                ConfigRecord(
                    resource_type=2,
                    resource_name="t",
                    name=None,  # type: ignore[arg-type]
                    value=None,
                ),
                "field name: null, where there must be a value",
            ),
        ],
    )
    def test_what_does_not_fit_is_refused(self, record: Record, message: str) -> None:
        with pytest.raises(RequestError, match=message) as caught:
            encode_value(record, 0)
        assert caught.value.code == "INVALID_RECORD"

    @pytest.mark.parametrize(
        ("tag", "message"),
        [
            (UnknownTag(path="", tag=0, value=b""), "the unknown tag 0 is the known field name"),
            (
                UnknownTag(path="end_points/0", tag=9, value=b""),
                "unknown tagged field in 'end_points/0', a structure",
            ),
        ],
    )
    def test_unknown_tag_that_has_no_place_is_refused(self, tag: UnknownTag, message: str) -> None:
        with pytest.raises(RequestError, match=message):
            encode_value(BeginTransactionRecord(name="n"), 0, (tag,))

    def test_metadata_record_is_no_control_record(self) -> None:
        with pytest.raises(RequestError, match="Kafka has no NoOpRecord"):
            encode_control(NoOpRecord())
        with pytest.raises(RequestError, match="has no key, which a control record needs"):
            encode_control(UnknownRecord(api_key=99, record_version=0, value=b"v"))

    def test_control_record_of_an_unknown_version_is_refused(self) -> None:
        record = LeaderChangeMessage(version=7, leader_id=1, voters=(), granting_voters=())
        with pytest.raises(RequestError, match="Kafka has no LeaderChangeMessage of version 7"):
            encode_control(record)


def test_float_keeps_every_bit() -> None:
    for bits in (0x7FF8000000000001, 0x8000000000000000, 0xFFF0000000000000):
        value = b"\1\x0e\0\1\2k" + struct.pack(">Q", bits) + b"\0\0"
        assert encode_value(decode_value(value).record, 0) == value
