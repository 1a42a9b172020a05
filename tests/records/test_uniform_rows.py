"""The fast decoder of uniform rows reads what `codec.decode_rows` reads, and refuses the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from records import registry
from records.avro import codec, uniform_rows
from records.avro.layout import AS_APPENDED, NEWEST, Layout
from records.base import Record, Uuid
from records.control import NoOpRecord
from records.envelope import Envelope, Origin
from records.errors import CorruptLogError
from records.partitions import PartitionChangeRecord, PartitionRecord
from tests.records.edges import edge_records
from tests.records.strategies import ANY_RECORD, parts
from tests.records.strategies import records as records_of
from tests.samples import drawn

pytestmark = pytest.mark.usefixtures("codec_in_python")

_ALIKE = (
    PartitionChangeRecord(topic_id=Uuid(b"a" * 16), isr=(1, 2)),
    PartitionChangeRecord(topic_id=Uuid(b"b" * 16), leader=-1),
    PartitionRecord(
        topic_id=Uuid(b"c" * 16), replicas=(1,), isr=(1,), removing_replicas=(), adding_replicas=()
    ),
)
_OF_PARTITIONS = st.builds(
    lambda record, number, topic: replace(record, partition_id=number, topic_id=topic),
    st.sampled_from(_ALIKE) | records_of(PartitionRecord) | records_of(PartitionChangeRecord),
    st.sampled_from([0, 1, 63, 64, 8_191, 8_192, 1 << 30, -1, -64, -65]),
    st.binary(min_size=16, max_size=16),
)
_BASES = st.sampled_from([0, 60, 64, 8_190, 1_000_000, (1 << 62) + 5, (1 << 63) - 20])


def rows_of(
    records: list[Record], base: int = 500, origin: Origin | None = None, version: int = 0
) -> list[Envelope]:
    """A batch as the log writes it: its first row has more than the others."""
    rows = [
        Envelope(
            offset=base + index,
            leader_epoch=3,
            timestamp=1_700_000_000_000,
            batch_offset=base,
            record_version=version,
            origin=origin,
            payload=record,
        )
        for index, record in enumerate(records)
    ]
    return [replace(rows[0], durable_end=base, previous_crc32c=7), *rows[1:]]


@st.composite
def uniform(draw: st.DrawFn) -> list[Envelope]:
    """A batch that the fast decoder is for."""
    records = draw(st.lists(_OF_PARTITIONS | ANY_RECORD, min_size=4, max_size=9))
    origin = draw(st.none() | parts("origin", Origin))
    return rows_of(records, draw(_BASES), origin, draw(st.integers(0, 4)))


def is_fast(rows: list[Envelope], layout: Layout = NEWEST) -> bool:
    """True if no row of a batch was decoded by itself but the first."""
    decoded: list[int] = []

    def counted(data: bytes, count: int, of: Layout) -> list[Envelope]:
        decoded.append(count)
        return _WHOLE(data, count, of)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "decode_rows", counted)
        assert uniform_rows.decode_rows(codec.encode_rows(rows, layout), len(rows), layout) == rows
    return not decoded


_WHOLE = codec.decode_rows


@pytest.mark.parametrize("layout", [NEWEST, AS_APPENDED])
def test_uniform_rows_are_read_as_by_the_codec(layout: Layout) -> None:
    @given(uniform())
    @drawn(300, 25)
    def check(rows: list[Envelope]) -> None:
        data = codec.encode_rows(rows, layout)
        # Twice: the second time, all records of partitions were read before.
        for _ in range(2):
            found = uniform_rows.decode_rows(data, len(rows), layout)
            assert found == codec.decode_rows(data, len(rows), layout) == rows

    check()


@pytest.mark.parametrize("cls", registry.RECORD_TYPES, ids=lambda cls: cls.__name__)
def test_all_rows_of_a_usual_batch_are_read_fast(cls: type[Record]) -> None:
    record = edge_records(cls)[1]
    for origin in (None, Origin(principal="User:ann", reason="a" * 300)):
        assert is_fast(rows_of([NoOpRecord(), NoOpRecord(), NoOpRecord(), record], origin=origin))


def test_rows_that_differ_in_more_are_read_one_by_one() -> None:
    rows = rows_of([NoOpRecord()] * 6)
    assert is_fast(rows)
    for changed in (
        {"timestamp": 1},
        {"leader_epoch": 4},
        {"batch_offset": 501},
        {"offset": 9},
        {"origin": Origin(principal="User:ann")},
        {"durable_end": 4},
        {"record_version": 64},
    ):
        assert not is_fast([*rows[:4], replace(rows[4], **changed), rows[5]]), changed
    assert not is_fast([replace(row, timestamp=63) for row in rows]), "too short to search for"


@given(uniform(), st.data())
@drawn(600, 50)
def test_damaged_rows_are_read_or_refused_as_by_the_codec(
    rows: list[Envelope], data: st.DataObject
) -> None:
    encoded = bytearray(codec.encode_rows(rows))
    uniform_rows.decode_rows(bytes(encoded), len(rows))  # what is remembered must not hide damage
    at = data.draw(st.integers(0, len(encoded) - 1))
    encoded[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(encoded)))
    for damaged in (bytes(encoded), bytes(encoded[:cut]), bytes(encoded) + b"\0"):
        assert _outcome(uniform_rows.decode_rows, damaged, len(rows)) == _outcome(
            codec.decode_rows, damaged, len(rows)
        )


def _outcome(decode, data: bytes, count: int) -> str:  # type: ignore[no-untyped-def]
    try:
        return repr(decode(data, count))
    except CorruptLogError as error:
        return str(error)


def test_record_that_is_too_long_is_refused_each_time() -> None:
    rows = rows_of([_ALIKE[0]] * 5)
    data = codec.encode_rows(rows)
    extra = data[:-1] + b"\0\0"
    for _ in range(3):
        with pytest.raises(CorruptLogError, match="5 rows end at byte"):
            uniform_rows.decode_rows(extra, len(rows))


def test_few_records_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniform_rows, "_TEMPLATES_MAX", 8)
    records = [replace(_ALIKE[0], isr=(number, 1)) for number in range(100)]
    rows = rows_of([*records])
    assert uniform_rows.decode_rows(codec.encode_rows(rows), len(rows)) == rows
    _, templates = uniform_rows._decoder_of(
        registry.RECORD_TYPES.index(PartitionChangeRecord), NEWEST
    )
    assert templates is not None
    assert 0 < len(templates) <= 8
