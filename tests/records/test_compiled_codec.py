"""The compiled codec gives the bytes, values and errors of that in Python, and refuses the rest.

test_avro_codec.py and test_plain_rows.py also run with it. Here it is asked directly, so that the
codec in Python cannot answer in its place.
"""

import gc
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from records import registry
from records.avro import codec, compiled
from records.avro.layout import AS_APPENDED, NEWEST, Layout, first_appended
from records.avro.plain_rows import decode_records, encode_records
from records.base import Record, Uuid
from records.brokers import FenceBrokerRecord
from records.configs import ClientQuotaRecord, EntityData
from records.control import NoOpRecord, NoteRecord
from records.envelope import Envelope, Origin
from records.errors import CorruptLogError
from records.partitions import PartitionChangeRecord, PartitionRecord, RemovePartitionsRecord
from tests.records.codecs import needs_compiled, using
from tests.records.edges import edge_records
from tests.records.strategies import batches
from tests.records.strategies import records as records_of
from tests.samples import drawn, sampled

pytestmark = needs_compiled

every_type = pytest.mark.parametrize("cls", registry.RECORD_TYPES, ids=lambda cls: cls.__name__)
_LAYOUTS = [NEWEST, AS_APPENDED, first_appended()]
_TOPIC = Uuid(bytes(range(16)))


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> Any:
    with using("compiled"):
        yield


def rows_of(*records: Record, origin: Origin | None = None) -> list[Envelope]:
    """One batch."""
    return [
        Envelope(
            offset=100 + index,
            leader_epoch=7,
            timestamp=1_763_700_000_000,
            batch_offset=100,
            record_version=1,
            origin=origin,
            payload=record,
        )
        for index, record in enumerate(records)
    ]


def in_python(work: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """Return what the codec in Python returns, and the kind and text of its error."""
    with using(compiled.PYTHON):
        return outcome(work, *arguments)


def outcome(work: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """Return what a function returns, and the kind and text of its error."""
    try:
        return work(*arguments), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def assert_compiled(rows: list[Envelope], layout: Layout = NEWEST) -> None:
    """Check that the compiled codec itself writes and reads rows as the one in Python does."""
    data = compiled.attempt("encode", layout, rows)
    found = compiled.attempt("decode", layout, data, len(rows))
    with using(compiled.PYTHON):
        assert data == codec.encode_rows(rows, layout)
        assert repr(found) == repr(codec.decode_rows(data, len(rows), layout))


@given(batches(), st.sampled_from(_LAYOUTS))
@drawn(300, 60)
def test_any_rows_are_compiled_work(rows: list[Envelope], layout: Layout) -> None:
    if layout.type_count < len(registry.RECORD_TYPES):
        rows = [row for row in rows if layout.lacks(row.payload) is None] or rows_of(NoOpRecord())
    assert_compiled(rows, layout)


@sampled
@every_type
def test_any_record_is_compiled_work(cls: type[Record]) -> None:
    @given(st.lists(records_of(cls), min_size=1, max_size=3))
    @drawn(40, 10)
    def check(records: list[Record]) -> None:
        assert_compiled(rows_of(*records, origin=Origin(principal="User:\u00e4")))
        plain = compiled.attempt("encode_records", NEWEST, records, [0] * len(records), 0, b"", b"")
        assert plain is not None

    check()


@every_type
def test_plain_records_are_compiled_work(cls: type[Record]) -> None:
    records, origin = edge_records(cls), Origin(principal="ann", reason="\U0001f680")
    versions = [0, 1, 2]
    data = encode_records(records, versions, origin=origin, layout=AS_APPENDED)
    found = compiled.attempt("decode_records", AS_APPENDED, data, 3)
    with using(compiled.PYTHON):
        assert data == encode_records(records, versions, origin=origin, layout=AS_APPENDED)
        wanted = decode_records(data, 3, AS_APPENDED)
    assert repr(found) == repr((wanted.records, wanted.versions, origin, wanted.payloads))
    assert codec.payload_size(records[2]) == len(wanted.payloads[2])


def _damaged(data: bytes, rng: random.Random) -> bytes:
    """Change, remove or insert a few bytes."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(changed))
        match rng.randrange(4):
            case 0:
                changed[at] = rng.randrange(256)
            case 1:
                changed[at] ^= 1 << rng.randrange(8)
            case 2:
                changed[at : at + rng.randint(1, 4)] = b""
            case _:
                changed[at:at] = rng.choice((b"\x80", b"\xff" * 9, b"\0", rng.randbytes(2)))
        if not changed:
            break
    return bytes(changed)


@every_type
@pytest.mark.parametrize("seed", range(3))
def test_damage_is_answered_as_in_python(cls: type[Record], seed: int) -> None:
    rng = random.Random(f"{cls.__name__} {seed}")
    origin = Origin(principal="ann", request_hash=bytes(32))
    record = edge_records(cls)[seed]
    rows = rows_of(record, record, NoteRecord(at_offset=1, author="a", text="b"), origin=origin)
    encoded = codec.encode_rows(rows)
    plain = encode_records([row.payload for row in rows], [0, 1, 1], layout=AS_APPENDED)
    for _ in range(150):
        data, also = _damaged(encoded, rng), _damaged(plain, rng)
        for work, arguments in (
            (codec.decode_rows, (data, 3, NEWEST)),
            (decode_records, (also, 3, AS_APPENDED)),
        ):
            wanted, error = in_python(work, *arguments)
            found = outcome(work, *arguments)
            assert (repr(found[0]), found[1]) == (repr(wanted), error), f"seed {seed}: {arguments}"
            # What is damaged is refused, not read otherwise.
            name = "decode" if work is codec.decode_rows else "decode_records"
            itself = compiled.attempt(name, arguments[2], *arguments[:2])
            assert itself is None or not error, f"seed {seed}: {arguments}"


@every_type
def test_every_truncation_is_refused(cls: type[Record]) -> None:
    for record in edge_records(cls):
        data = codec.encode_rows(rows_of(record))
        for size in range(len(data)):
            assert compiled.attempt("decode", NEWEST, data[:size], 1) is None
        assert compiled.attempt("decode", NEWEST, data + b"\0", 1) is None
        assert compiled.attempt("decode", NEWEST, data, 2) is None


class _Text(str):
    pass


@pytest.mark.parametrize(
    "record",
    [
        NoteRecord(at_offset=1 << 63, author="", text=""),
        NoteRecord(at_offset=True, author="", text=""),
        NoteRecord(at_offset="1", author="", text=""),  # type: ignore[arg-type]
        NoteRecord(at_offset=1, author=_Text("ann"), text=""),
        NoteRecord(at_offset=1, author="\ud800", text=""),
        NoteRecord(at_offset=1, author=None, text=""),  # type: ignore[arg-type]
        FenceBrokerRecord(id=1 << 31, epoch=0),
        PartitionChangeRecord(topic_id=Uuid(bytes(15))),
        PartitionChangeRecord(topic_id=Uuid(bytes(17))),
        PartitionChangeRecord(topic_id=Uuid(bytearray(16))),  # type: ignore[arg-type]
        PartitionChangeRecord(topic_id=_TOPIC, isr=[1, 2]),  # type: ignore[arg-type]
        PartitionChangeRecord(topic_id=_TOPIC, isr=(1, 1 << 31)),
        PartitionChangeRecord(topic_id=_TOPIC, isr=(1, "2")),  # type: ignore[arg-type]
        PartitionChangeRecord(topic_id=_TOPIC, directories=(bytes(3),)),  # type: ignore[arg-type]
        RemovePartitionsRecord(topic_id=_TOPIC, partition_ids=None),  # type: ignore[arg-type]
        ClientQuotaRecord(entity=(), key="", value=1, remove=False),
        ClientQuotaRecord(entity=(), key="", value=1.0, remove=0),  # type: ignore[arg-type]
        ClientQuotaRecord(entity=("user",), key="", value=1.0, remove=True),  # type: ignore[arg-type]
        ClientQuotaRecord(
            entity=(EntityData(entity_type="user", entity_name=7),),  # type: ignore[arg-type]
            key="",
            value=1.0,
            remove=True,
        ),
        "a record",
    ],
    ids=repr,
)
def test_unusual_values_are_left_to_the_codec_in_python(record: Record) -> None:
    rows = rows_of(record)
    assert compiled.attempt("encode", NEWEST, rows) is None
    assert compiled.attempt("encode_records", NEWEST, [record], [0], 0, b"", b"") is None
    assert compiled.attempt("encode_record", NEWEST, record) is None
    assert outcome(codec.encode_rows, rows) == in_python(codec.encode_rows, rows)
    assert outcome(encode_records, [record], [0]) == in_python(encode_records, [record], [0])
    assert outcome(codec.payload_size, record) == in_python(codec.payload_size, record)


@pytest.mark.parametrize(
    "changed",
    [
        {"offset": 1 << 63},
        {"leader_epoch": 1 << 31},
        {"record_version": -(1 << 31) - 1},
        {"timestamp": 1.0},
        {"origin": "ann"},
        {"durable_end": "9"},
        {"payload": None},
    ],
    ids=repr,
)
def test_unusual_rows_are_left_to_the_codec_in_python(changed: dict[str, Any]) -> None:
    (row,) = rows_of(NoOpRecord())
    rows = [row, replace(row, **changed)]
    assert compiled.attempt("encode", NEWEST, rows) is None
    assert outcome(codec.encode_rows, rows) == in_python(codec.encode_rows, rows)


@pytest.mark.parametrize(
    ("records", "versions", "offset", "payloads"),
    [
        ([NoOpRecord()], [0, 1], 0, ()),
        ([NoOpRecord()], [1 << 31], 0, ()),
        ([NoOpRecord()], [0], -1, ()),
        ([NoOpRecord()] * 2, [0, 0], (1 << 63) - 1, ()),
        ([NoOpRecord()], [0], 0, (b"", b"")),
        ([NoOpRecord()], [0], 0, ("text",)),
    ],
)
def test_unusual_batches_are_refused(
    records: list[Record], versions: list[int], offset: int, payloads: tuple[Any, ...]
) -> None:
    arguments = (records, versions, offset, b"", b"", payloads)
    assert compiled.attempt("encode_records", NEWEST, *arguments) is None


def test_arrays_of_replicas_and_directories_are_shared() -> None:
    record = PartitionRecord(
        topic_id=_TOPIC,
        replicas=(1, 2, 300),
        isr=(1, 2),
        removing_replicas=(),
        adding_replicas=(),
        directories=(_TOPIC, _TOPIC),
    )
    data = codec.encode_rows(rows_of(record, replace(record, partition_id=2)))
    first, other = [row.payload for row in codec.decode_rows(data, 2)]
    for field in ("replicas", "isr", "directories"):
        assert getattr(first, field) is getattr(other, field)


def test_ints_are_not_taken_for_ids_of_the_same_bytes() -> None:
    # One id, encoded, and the same bytes as an array of ints in nine blocks.
    same = b"\2\2" * 8
    with_ids = PartitionChangeRecord(topic_id=_TOPIC, directories=(Uuid(same),))
    data = codec.encode_rows(rows_of(with_ids))
    assert codec.decode_rows(data, 1)[0].payload == with_ids
    with_ints = PartitionChangeRecord(topic_id=_TOPIC, isr=())
    data = codec.encode_rows(rows_of(with_ints)).replace(
        _TOPIC + b"\2\0", _TOPIC + b"\2\2" + same + b"\0"
    )
    found, error = in_python(codec.decode_rows, data, 1)
    assert outcome(codec.decode_rows, data, 1) == (found, error)


def test_rows_of_a_batch_share_their_origin() -> None:
    first, *others = rows_of(*[NoOpRecord()] * 3, origin=Origin(principal="ann"))
    data = codec.encode_rows([replace(first, durable_end=1, previous_crc32c=2), *others])
    found = codec.decode_rows(data, 3)
    assert found[0].origin is found[1].origin is found[2].origin == Origin(principal="ann")


def test_neither_work_nor_damage_leaves_memory_behind() -> None:
    rng = random.Random(5)
    rows = rows_of(*[edge_records(cls)[2] for cls in registry.RECORD_TYPES], origin=Origin())
    data = codec.encode_rows(rows)
    damaged = [_damaged(data, rng) for _ in range(200)]
    unusual = [*rows, rows_of(NoteRecord(at_offset=0, author="", text=None))[0]]  # type: ignore[arg-type]

    def work() -> int:
        for each in damaged:
            compiled.attempt("decode", NEWEST, each, len(rows))
            compiled.attempt("decode_records", NEWEST, each, len(rows))
            assert compiled.attempt("encode", NEWEST, unusual) is None
        gc.collect()
        return sys.getallocatedblocks()

    work()
    before = work()
    # A leak of one object each time would be 600.
    assert work() - before < 100


def test_damaged_row_names_its_fault_as_in_python() -> None:
    data = codec.encode_rows(rows_of(NoOpRecord()))
    with pytest.raises(CorruptLogError, match="record type number 99 is unknown"):
        codec.decode_rows(data[:-2] + b"\xc6\x01", 1)
