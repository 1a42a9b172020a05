"""Hypothesis strategies for records of every type, by their Python types."""

import typing
from types import UnionType
from typing import Any

from hypothesis import strategies as st

from records import registry
from records.base import Record, Uuid
from records.envelope import Envelope, Extra, Origin

INT = st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(-3, 300)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of one field's type."""
    if typing.get_origin(hint) in (UnionType, typing.Union):
        (inner,) = [arg for arg in typing.get_args(hint) if arg is not type(None)]
        return st.none() | values(inner)
    if typing.get_origin(hint) is tuple:
        return st.lists(values(typing.get_args(hint)[0]), max_size=5).map(tuple)
    if hint is Uuid:
        return st.binary(min_size=16, max_size=16)
    if isinstance(hint, type) and issubclass(hint, Record):
        return records(hint)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        int: INT,
        bool: st.booleans(),
        str: TEXT,
        bytes: st.binary(max_size=40),
        float: st.floats(allow_nan=False),
    }
    return simple[hint]


def records(cls: type[Record]) -> st.SearchStrategy[Any]:
    """Records of one type."""
    fields = {name: values(hint) for name, hint in typing.get_type_hints(cls).items()}
    if "placeholder" in fields:
        fields["placeholder"] = st.just(0)
    return st.builds(cls, **fields)


ANY_RECORD: st.SearchStrategy[Record] = st.sampled_from(registry.RECORD_TYPES).flatmap(records)


@st.composite
def batches(draw: st.DrawFn) -> list[Envelope]:
    """The rows of one batch."""
    base = draw(st.integers(0, 1 << 40))
    epoch, timestamp = draw(st.integers(0, 1 << 20)), draw(st.integers(0, 1 << 42))
    origin = draw(st.none() | records(Origin))
    count = draw(st.integers(1, 6))
    return [
        Envelope(
            offset=base + index,
            leader_epoch=epoch,
            timestamp=timestamp,
            batch_offset=base,
            record_version=draw(st.integers(0, 4)),
            origin=origin if draw(st.integers(0, 5)) else None,
            durable_end=draw(st.none() | st.integers(0, base)) if index == 0 else None,
            previous_crc32c=draw(st.none() | st.integers(0, (1 << 32) - 1)) if index == 0 else None,
            extra=draw(st.none() | records(Extra)) if draw(st.integers(0, 3)) == 0 else None,
            payload=draw(ANY_RECORD),
        )
        for index in range(count)
    ]
