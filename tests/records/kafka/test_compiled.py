"""The compiled codec and the reference codec give the same results."""

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.base import Record
from records.errors import CorruptLogError, RequestError
from records.kafka import compiled_decoder, compiled_encoder, reference
from records.kafka.layout import Layout
from tests.records.kafka.strategies import all_layouts, records
from tests.samples import drawn


def _name(of: Layout) -> str:
    return f"{of.cls.__name__}-{of.version}"


_decoder = functools.cache(compiled_decoder.decoder)
_encoder = functools.cache(compiled_encoder.encoder)


@pytest.mark.parametrize("of", all_layouts(), ids=_name)
@drawn(25, 8)
@given(data=st.data())
def test_compiled_and_reference_agree_on_records(of: Layout, data: st.DataObject) -> None:
    record = data.draw(records(of))
    raw = reference.encode(of, record)
    assert _encoder(of)(record) == raw
    assert reference.decode(of, raw, 0) == (record, ())
    if _has_long_tag(of, record):
        with pytest.raises(compiled_decoder.NOT_PLAIN):
            _decoder(of)(raw, 0)
    else:
        assert _decoder(of)(b"frame" + raw, 5) == record


def _has_long_tag(of: Layout, record: Record) -> bool:
    """True if the length of a tagged string needs more than one byte."""
    values = [getattr(record, field.name) for field in of.tagged]
    return any(isinstance(value, str) and len(value.encode()) > 126 for value in values)


@given(data=st.data())
def test_what_the_compiled_decoder_takes_is_plain(data: st.DataObject) -> None:
    of = data.draw(st.sampled_from(all_layouts()))
    raw = bytearray(reference.encode(of, data.draw(records(of))))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        record = _decoder(of)(bytes(raw), 0)
    except compiled_decoder.NOT_PLAIN:
        return
    assert reference.encode(of, record) == raw


@pytest.mark.parametrize("count", [126, 127, 128, 200])
def test_arrays_and_strings_longer_than_a_byte_can_count_are_read(count: int) -> None:
    (of,) = [of for of in all_layouts() if _name(of) == "DelegationTokenRecord-0"]
    token = of.cls(
        owner="o" * count,
        requester="r",
        renewers=("x",) * count,
        issue_timestamp=1,
        max_timestamp=2,
        expiration_timestamp=3,
        token_id="t",
    )
    raw = reference.encode(of, token)
    assert _decoder(of)(raw, 0) == token


@pytest.mark.parametrize("count", [126, 127, 200])
def test_long_replica_lists_are_read_by_one_of_the_two(count: int) -> None:
    (of,) = [of for of in all_layouts() if _name(of) == "PartitionRecord-1"]
    partition = of.cls(
        topic_id=bytes(16),
        replicas=tuple(range(count)),
        isr=(),
        removing_replicas=(),
        adding_replicas=(),
        directories=(bytes(16),) * count,
    )
    raw = reference.encode(of, partition)
    assert reference.decode(of, raw, 0) == (partition, ())
    if count < 127:
        assert _decoder(of)(raw, 0) == partition
    else:
        with pytest.raises(compiled_decoder.NOT_PLAIN):
            _decoder(of)(raw, 0)


def test_reference_refuses_what_is_no_record_of_the_layout() -> None:
    first, second = all_layouts()[0], all_layouts()[-1]
    with pytest.raises(CorruptLogError):
        reference.decode(first, b"", 0)
    with pytest.raises(RequestError, match=f"is not a {first.cls.__name__}"):
        reference.encode(first, second.cls(version=0, voters=()))
