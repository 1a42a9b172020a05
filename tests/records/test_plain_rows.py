"""Rows with only a record and an origin: the same bytes and records as with the general codec."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from records import registry
from records.avro import codec
from records.avro.layout import AS_APPENDED, NEWEST, Layout, first_appended
from records.avro.plain_rows import Place, PlainRows, decode_records, encode_records
from records.base import Record, Uuid
from records.brokers import FenceBrokerRecord, RegisterBrokerRecord
from records.configs import ClientQuotaRecord, EntityData
from records.control import NoteRecord
from records.envelope import Envelope, Origin
from records.errors import CorruptLogError
from records.partitions import RemovePartitionsRecord
from records.varint import encode_long
from tests.records.edges import edge_records
from tests.records.strategies import batches
from tests.samples import drawn

pytestmark = pytest.mark.usefixtures("either_codec")

_LAYOUTS = pytest.mark.parametrize("layout", [NEWEST, AS_APPENDED], ids=["newest", "appended"])
_NOTES = tuple(
    [NoteRecord(at_offset=number, author="ann", text="x" * number) for number in range(200)]
)


def _payload(record: Record) -> bytes:
    return codec.encoders_of(NEWEST.field_count)[type(record)](record)


def _plain(rows: list[Envelope]) -> list[Envelope]:
    """Return the rows of one batch without their optional fields."""
    first = rows[0]
    return [
        Envelope(
            offset=row.offset,
            leader_epoch=row.leader_epoch,
            timestamp=row.timestamp,
            batch_offset=row.batch_offset,
            record_version=row.record_version,
            origin=first.origin,
            payload=row.payload,
        )
        for row in rows
    ]


def _encoded(rows: list[Envelope], layout: Layout, payloads: tuple[bytes, ...] = ()) -> bytes:
    first = rows[0]
    return encode_records(
        [row.payload for row in rows],
        [row.record_version for row in rows],
        place=Place(first.offset, first.leader_epoch, first.timestamp, first.batch_offset),
        origin=first.origin,
        layout=layout,
        payloads=payloads,
    )


@_LAYOUTS
def test_rows_are_written_and_read_as_by_the_codec(layout: Layout) -> None:
    @given(batches())
    @drawn(200, 40)
    def check(drawn_rows: list[Envelope]) -> None:
        rows = _plain(drawn_rows)
        data = codec.encode_rows(rows, layout)
        assert _encoded(rows, layout) == data
        payloads = tuple([_payload(row.payload) for row in rows])
        assert decode_records(data, len(rows), layout) == PlainRows(
            records=tuple([row.payload for row in rows]),
            versions=tuple([row.record_version for row in rows]),
            origin=rows[0].origin,
            payloads=payloads,
        )
        assert _encoded(rows, layout, payloads) == data

    check()


@given(batches(), st.data())
@drawn(300, 60)
def test_bytes_are_kept_only_as_they_would_be_written(
    drawn_rows: list[Envelope], data: st.DataObject
) -> None:
    rows = _plain(drawn_rows)
    damaged = bytearray(codec.encode_rows(rows, AS_APPENDED))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        expected = codec.decode_rows(bytes(damaged), len(rows), AS_APPENDED)
    except CorruptLogError:
        with pytest.raises(CorruptLogError):
            decode_records(bytes(damaged), len(rows), AS_APPENDED)
        return
    found = decode_records(bytes(damaged), len(rows), AS_APPENDED)
    assert repr(found.records) == repr(tuple([row.payload for row in expected]))
    assert found.versions == tuple([row.record_version for row in expected])
    assert found.origin == expected[0].origin
    if found.payloads:
        assert list(found.payloads) == [_payload(record) for record in found.records]


@pytest.mark.parametrize("cls", registry.RECORD_TYPES, ids=lambda cls: cls.__name__)
def test_bytes_of_every_type_are_kept(cls: type[Record]) -> None:
    records = edge_records(cls)
    data = encode_records(records, [0] * len(records), layout=AS_APPENDED)
    payloads = decode_records(data, len(records), AS_APPENDED).payloads
    assert list(payloads) == [_payload(record) for record in records]


def test_offsets_of_a_long_batch_are_those_of_the_codec() -> None:
    origin = Origin(principal="User:ann")
    for base in (0, 30, 63, 8_100, 1_048_500, (1 << 63) - 200):
        rows = [
            Envelope(
                offset=base + number,
                leader_epoch=3,
                timestamp=1_800_000_000_000,
                batch_offset=base,
                record_version=0,
                origin=origin,
                payload=note,
            )
            for number, note in enumerate(_NOTES)
        ]
        assert _encoded(rows, NEWEST) == codec.encode_rows(rows)


def test_offsets_beyond_64_bits_are_refused() -> None:
    with pytest.raises(OverflowError, match="64 bits"):
        encode_records(_NOTES, [0] * 200, place=Place(offset=(1 << 63) - 199))


_FENCE = FenceBrokerRecord(id=5, epoch=300)
_NOTE = NoteRecord(at_offset=0, author="ann", text="why")
_REMOVAL = RemovePartitionsRecord(topic_id=Uuid(bytes(16)), partition_ids=(1, 2))
_QUOTA = ClientQuotaRecord(
    entity=(EntityData(entity_type="user", entity_name="a"),) * 2, key="k", value=1.0, remove=False
)
_ENTITY = b"\x08user\2\2a"


@pytest.mark.parametrize(
    ("record", "usual", "unusual"),
    [
        pytest.param(_FENCE, encode_long(5), b"\x8a\0", id="a longer int"),
        pytest.param(_FENCE, encode_long(300), b"\xd8\x84\0", id="a longer long"),
        pytest.param(_FENCE, encode_long(5), encode_long(1 << 31), id="an int of 33 bits"),
        pytest.param(_NOTE, b"\6ann", b"\x86\0ann", id="a longer length"),
        pytest.param(_REMOVAL, b"\4\2\4\0", b"\2\2\2\4\0", id="two blocks of ints"),
        pytest.param(_REMOVAL, b"\4\2\4\0", b"\3\4\2\4\0", id="a block of ints with its size"),
        pytest.param(
            _QUOTA, b"\4" + _ENTITY * 2, (b"\2" + _ENTITY) * 2, id="two blocks of structures"
        ),
        pytest.param(
            _QUOTA,
            b"\4" + _ENTITY * 2,
            b"\3" + encode_long(2 * len(_ENTITY)) + _ENTITY * 2,
            id="a block of structures with its size",
        ),
    ],
)
def test_unusual_bytes_are_read_and_not_kept(record: Record, usual: bytes, unusual: bytes) -> None:
    data = encode_records([_NOTE, record], [0, 0], layout=AS_APPENDED)
    before, found, after = data.rpartition(usual)
    assert found
    other = before + unusual + after
    rows = codec.decode_rows(other, 2, AS_APPENDED)
    assert decode_records(other, 2, AS_APPENDED) == PlainRows(
        records=tuple([row.payload for row in rows]), versions=(0, 0), origin=None, payloads=()
    )
    assert len(decode_records(data, 2, AS_APPENDED).payloads) == 2


def test_branch_in_an_unusual_form_is_read_and_not_kept() -> None:
    data = encode_records([_FENCE], [0], layout=AS_APPENDED)
    start = len(data) - len(_payload(_FENCE))
    branch = data[start]
    other = data[:start] + bytes((branch | 0x80, 0)) + data[start + 1 :]
    assert decode_records(other, 1, AS_APPENDED) == PlainRows((_FENCE,), (0,), None, ())


def test_records_that_lack_a_field_of_today_are_not_kept() -> None:
    (broker, *_) = edge_records(RegisterBrokerRecord)
    broker = replace(broker, cordoned_log_dirs=None)
    data = encode_records([broker, _NOTE], [0, 0], layout=first_appended())
    found = decode_records(data, 2, first_appended())
    assert found == PlainRows((broker, _NOTE), (0, 0), None, ())
    data = encode_records([_NOTE], [0], layout=first_appended())
    assert decode_records(data, 1, first_appended()).payloads == (_payload(_NOTE),)


def test_origin_is_that_of_the_first_row() -> None:
    origin = Origin(principal="User:ann")
    data = encode_records([_NOTE], [0], origin=origin, layout=AS_APPENDED)
    data += encode_records([_NOTE], [3], layout=AS_APPENDED)
    assert decode_records(data, 2, AS_APPENDED) == PlainRows(
        (_NOTE, _NOTE), (0, 3), origin, (_payload(_NOTE),) * 2
    )
    assert decode_records(b"", 0, AS_APPENDED) == PlainRows((), (), None, ())


@pytest.mark.parametrize("branch", [-1, -3, len(registry.RECORD_TYPES)])
def test_branch_that_is_no_record_type_is_refused(branch: int) -> None:
    note = NoteRecord(at_offset=0, author="", text="")
    right = encode_long(registry.RECORD_TYPES.index(NoteRecord))
    row = encode_records([note], [0], layout=AS_APPENDED)
    before, after = row[: -3 - len(right)], row[-3:]
    assert decode_records(before + right + after, 1, AS_APPENDED).records == (note,)
    with pytest.raises(CorruptLogError, match=f"record type number {branch} is unknown$"):
        decode_records(before + encode_long(branch) + after, 1, AS_APPENDED)
