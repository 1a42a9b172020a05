"""The compiled decoder gives the rows of a batch that the one in Python gives, and stops at others.

test_batch_codec.py and its neighbours also run with it. Here it is asked directly, so that the
decoder in Python cannot answer in its place.
"""

import gc
import random
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.kraft_format import compiled_rows
from metadata_log.kraft_format.batch import HEADER_SIZE, parse_header
from metadata_log.kraft_format.batch_codec import decode_batch, encode_batch
from records.avro import compiled
from records.base import Record
from records.configs import ClientQuotaRecord, EntityData
from records.control import NoOpRecord, UnknownRecord
from records.envelope import Envelope, Extra, UnknownTag
from records.kafka import codec
from records.kafka.layout import Layout, metadata_types
from records.partitions import PartitionChangeRecord, PartitionRecord
from records.varint import encode_unsigned
from tests.metadata_log.kraft.logs import TOPIC_ID, partition_change, rows, topic
from tests.real_logs import DataSet, each_data_set
from tests.records.codecs import needs_compiled, using
from tests.records.kafka.strategies import all_layouts, records
from tests.samples import cases, drawn, sampled

pytestmark = needs_compiled

_LAYOUTS = [of for of in all_layouts() if of.cls in metadata_types().values()]

every_layout = pytest.mark.parametrize(
    "of", _LAYOUTS, ids=lambda of: f"{of.cls.__name__}-{of.version}"
)


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> Iterator[None]:
    with using("compiled"):
        yield


def of_versions(*found: tuple[Record, int], base_offset: int = 1000) -> list[Envelope]:
    """Return the rows of one batch, each with the version of its layout."""
    plain = rows(base_offset, 3, *[record for record, _ in found])
    versions = [version for _, version in found]
    return [
        replace(row, record_version=version) for row, version in zip(plain, versions, strict=True)
    ]


def alone(data: bytes, position: int = HEADER_SIZE, delta: int = 0) -> tuple[list[Envelope], int]:
    """Return what the compiled decoder itself decodes, and the position after it."""
    found = compiled_rows.decode(data, parse_header(data), position, delta)
    assert found is not None
    return found


def outcome(data: bytes) -> tuple[str, str]:
    """Return the rows of a batch as text, or the kind and text of the error."""
    try:
        return repr(decode_batch(data, parse_header(data), 0)), ""
    except Exception as error:
        return "", f"{type(error).__name__}: {error}"


def assert_as_in_python(data: bytes) -> None:
    """Check that rows or error are those of the decoder in Python, and what the compiled one takes
    is the beginning of these rows.
    """
    with using(compiled.PYTHON):
        wanted = outcome(data)
    assert outcome(data) == wanted, data.hex()
    taken, _ = alone(data)
    if wanted[0]:
        with using(compiled.PYTHON):
            all_rows = decode_batch(data, parse_header(data), 0).rows
        assert repr(taken) == repr(list(all_rows[: len(taken)])), data.hex()


@every_layout
def test_records_of_every_version_are_compiled_work(of: Layout) -> None:
    @given(st.lists(records(of), min_size=1, max_size=3))
    @drawn(60, 12)
    def check(found: list[Record]) -> None:
        given_rows = of_versions(*[(record, of.version) for record in found])
        data = encode_batch(given_rows)
        taken, end = alone(data)
        assert end == len(data)
        assert repr(taken) == repr(given_rows)
        assert_as_in_python(data)

    check()


def _with_length(data: bytes) -> bytes:
    """Return a batch whose length was changed, with the length that it has now."""
    return data[:8] + (len(data) - 12).to_bytes(4, "big") + data[12:]


@every_layout
def test_truncation_at_every_byte_is_answered_as_in_python(of: Layout) -> None:
    @given(records(of))
    @drawn(8, 2)
    def check(record: Record) -> None:
        data = encode_batch(of_versions((NoOpRecord(), 0), (record, of.version)))
        for size in range(HEADER_SIZE, len(data)):
            cut = _with_length(data[:size])
            assert len(alone(cut)[0]) < 2
            assert_as_in_python(cut)
            # A record that says that it is shorter.
            assert_as_in_python(_with_length(data[:size] + data[size + 1 :]))
        assert_as_in_python(_with_length(data + b"\0"))

    check()


def _in_a_batch(value: bytes) -> bytes:
    """Return a batch of one record with any value."""
    return encode_batch(rows(5, 1, UnknownRecord(api_key=0, record_version=0, value=value)))


@every_layout
def test_values_of_other_lengths_are_answered_as_in_python(of: Layout) -> None:
    @given(records(of))
    @drawn(8, 2)
    def check(record: Record) -> None:
        value = codec.encode_value(record, of.version)
        for at in range(len(value)):
            if at:
                assert_as_in_python(_in_a_batch(value[:at]))
            # An integer, if it is one, in a byte more than it needs.
            longer = value[:at] + bytes([value[at] | 0x80, 0]) + value[at + 1 :]
            assert_as_in_python(_in_a_batch(longer))
        assert_as_in_python(_in_a_batch(value + b"\0"))

    check()


@every_layout
def test_every_flipped_byte_is_answered_as_in_python(of: Layout) -> None:
    @given(records(of), st.integers(1, 255))
    @drawn(8, 2)
    def check(record: Record, mask: int) -> None:
        data = encode_batch(of_versions((record, of.version), (NoOpRecord(), 0)))
        for at in range(HEADER_SIZE, len(data)):
            assert_as_in_python(data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :])

    check()


def _damaged(data: bytes, rng: random.Random) -> bytes:
    """Change, remove or insert a few bytes after the header."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(HEADER_SIZE, len(changed))
        match rng.randrange(4):
            case 0:
                changed[at] = rng.randrange(256)
            case 1:
                changed[at] ^= 1 << rng.randrange(8)
            case 2 if len(changed) > HEADER_SIZE + 8:
                changed[at : at + rng.randint(1, 4)] = b""
            case _:
                changed[at:at] = rng.choice((b"\x80", b"\xff" * 5, b"\0", rng.randbytes(2)))
    return _with_length(bytes(changed))


def _samples() -> list[bytes]:
    """Return batches that together have the richest records, fields null and not."""
    partition = PartitionRecord(
        topic_id=TOPIC_ID,
        partition_id=3,
        replicas=(1, 2, 300),
        isr=(1, 2),
        removing_replicas=(),
        adding_replicas=(7,),
        leader=1,
        directories=(TOPIC_ID, TOPIC_ID),
        eligible_leader_replicas=(300,),
    )
    change = PartitionChangeRecord(
        topic_id=TOPIC_ID, leader=-1, isr=(2, 3), replicas=(2, 3), directories=(TOPIC_ID,) * 2
    )
    return [
        encode_batch(of_versions((partition, 2), (change, 2), (topic("naïve"), 0))),
        encode_batch(of_versions((change, 1), (NoOpRecord(), 0), (partition_change(9), 0))),
    ]


@sampled
@pytest.mark.parametrize("seed", range(4))
def test_random_damage_is_answered_as_in_python(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(cases(5_000, 500)):
        assert_as_in_python(_damaged(rng.choice(_samples()), rng))


def test_it_goes_on_behind_a_record_that_is_not_plain() -> None:
    first, unusual, *others = of_versions(*[(topic(f"t{n}"), 0) for n in range(4)])
    tags = Extra(unknown_tags=(UnknownTag(path="", tag=9, value=b"?"),))
    given_rows = [first, replace(unusual, extra=tags), *others]
    data = encode_batch(given_rows)
    assert alone(data) == ([first], len(encode_batch([first])))
    assert alone(data, len(encode_batch(given_rows[:2])), 2) == (others, len(data))
    assert list(decode_batch(data, parse_header(data), 0).rows) == given_rows


@pytest.mark.parametrize(
    ("position", "delta", "changed"),
    [
        (HEADER_SIZE + 1_000, 0, {}),
        (-1, 0, {}),
        (HEADER_SIZE, -1, {}),
        (HEADER_SIZE, 2, {}),
        (HEADER_SIZE, 0, {"record_count": 1 << 31}),
        (HEADER_SIZE, 0, {"base_offset": (1 << 63) - 1}),
        (HEADER_SIZE, 0, {"base_offset": 1 << 63}),
    ],
)
def test_impossible_places_and_counts_are_left_to_python(
    position: int, delta: int, changed: dict[str, int]
) -> None:
    data = encode_batch(rows(5, 1, NoOpRecord()))
    header = replace(parse_header(data), **changed)
    assert compiled_rows.decode(data, header, position, delta) is None


def test_false_count_of_records_costs_no_memory() -> None:
    data = encode_batch(rows(5, 1, NoOpRecord()))
    header = replace(parse_header(data), record_count=(1 << 31) - 1)
    taken = compiled_rows.decode(data, header, HEADER_SIZE, 0)
    assert taken == (rows(5, 1, NoOpRecord()), len(data))


def test_false_count_of_items_costs_no_memory() -> None:
    quota = ClientQuotaRecord(entity=(), key="k", value=1.5, remove=False)
    value = codec.encode_value(quota, 0)
    data = _in_a_batch(value[:3] + encode_unsigned(10_000_001) + value[4:])
    alone(data)  # tries the decoder out
    tracemalloc.start()
    try:
        assert alone(data) == ([], HEADER_SIZE)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_lists_of_replicas_and_directories_are_shared() -> None:
    data = _samples()[0]
    first, again = [alone(data)[0][0].payload for _ in range(2)]
    for field in ("replicas", "isr", "directories"):
        assert getattr(first, field) is getattr(again, field)


def test_rows_of_a_batch_share_epoch_and_time() -> None:
    first, other, _ = alone(_samples()[0])[0]
    assert first.timestamp is other.timestamp
    assert first.leader_epoch is other.leader_epoch


def test_neither_work_nor_damage_leaves_memory_behind() -> None:
    rng = random.Random(5)
    entity = (EntityData(entity_type="user", entity_name="ann"),)
    quota = ClientQuotaRecord(entity=entity, key="k", value=1.5, remove=False)
    samples = [*_samples(), encode_batch(rows(5, 1, quota, quota))]
    damaged = [*samples * 50, *[_damaged(each, rng) for each in samples * 100]]

    def work() -> int:
        for each in damaged:
            alone(each)
        gc.collect()
        return sys.getallocatedblocks()

    work()
    before = work()
    # A leak of one object each time would be 450, of one in whole quotas 100.
    assert work() - before < 50


@each_data_set
def test_real_logs_imported_with_either_are_equal(data_set: DataSet, tmp_path: Path) -> None:
    source = data_set.materialise(tmp_path / "source")
    segments: dict[str, dict[str, bytes]] = {}
    for name in (compiled.PYTHON, "compiled"):
        with using(name):
            import_directory(open_directory(source), tmp_path / name)
        files = sorted((tmp_path / name).glob("*.avro"))
        segments[name] = {path.name: path.read_bytes() for path in files}
    assert segments[compiled.PYTHON]
    assert segments["compiled"] == segments[compiled.PYTHON]


class TestPlans:
    """What plans cannot be."""

    def test_names_are_those_of_the_fields(self) -> None:
        assert _plan(("a", "b"), "a", "b")
        for names in (("a",), ("a", "c"), ("a", "a")):
            with pytest.raises(TypeError, match="fields"):
                _plan(names, "a", "b")

    def test_tags_ascend(self) -> None:
        import metalog_kafka_codec as module

        number = module.Type("int32")
        with pytest.raises(TypeError, match="do not ascend"):
            module.Plan(NoOpRecord, ("a", "b"), (), ((2, "a", number, 0), (1, "b", number, 0)))

    @pytest.mark.parametrize(
        "arguments",
        [("array",), ("structure",), ("int32", True), ("string", False, None, "a plan")],
        ids=repr,
    )
    def test_types_are_made_of_what_their_kind_needs(self, arguments: tuple[Any, ...]) -> None:
        import metalog_kafka_codec as module

        with pytest.raises(TypeError):
            module.Type(*arguments)

    def test_no_structure_may_be_null(self) -> None:
        import metalog_kafka_codec as module

        assert module.Type("structure", False, None, _plan(()))
        with pytest.raises(TypeError, match="cannot be null"):
            module.Type("structure", True, None, _plan(()))

    @pytest.mark.parametrize("key", [(128, 0), (0, 128), (-1, 0)])
    def test_frames_have_three_bytes(self, key: tuple[int, int]) -> None:
        import metalog_kafka_codec as module

        with pytest.raises(TypeError, match="three bytes"):
            module.Rows(Envelope, {key: _plan(())})


def _plan(names: tuple[str, ...], *fields: str) -> Any:
    import metalog_kafka_codec as module

    number = module.Type("int32")
    return module.Plan(NoOpRecord, names, tuple((name, number) for name in fields), ())
