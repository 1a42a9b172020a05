"""Variable-length integers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.errors import CorruptLogError
from records.varint import (
    LONGS,
    UNSIGNED,
    decode_long,
    decode_unsigned,
    encode_long,
    encode_unsigned,
)
from tests.real_logs import binary_vectors, needs_reference


class TestKnownBytes:
    pytestmark = needs_reference

    def test_integers_have_their_known_bytes(self) -> None:
        vectors = binary_vectors()["varint"]
        assert vectors
        for vector in vectors:
            raw = bytes.fromhex(vector["hex"])
            if "unsigned" in vector:
                assert encode_unsigned(vector["unsigned"]) == raw
                assert decode_unsigned(raw, 0) == (vector["unsigned"], len(raw))
            else:
                assert encode_long(vector["zigzag"]) == raw
                assert decode_long(raw, 0) == (vector["zigzag"], len(raw))


@given(st.integers(0, (1 << 32) - 1))
def test_unsigned_integer_comes_back(value: int) -> None:
    raw = UNSIGNED[value]
    assert decode_unsigned(b"\xff" + raw + b"\xff", 1) == (value, 1 + len(raw))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_zigzag_integer_comes_back(value: int) -> None:
    raw = LONGS[value]
    assert decode_long(b"\xff" + raw + b"\xff", 1) == (value, 1 + len(raw))


@pytest.mark.parametrize("value", [-1, 1 << 32])
def test_integer_beyond_32_bits_is_not_encoded(value: int) -> None:
    with pytest.raises(OverflowError, match="32 bits"):
        encode_unsigned(value)


@pytest.mark.parametrize("value", [-(1 << 63) - 1, 1 << 63])
def test_integer_beyond_64_bits_is_not_encoded(value: int) -> None:
    with pytest.raises(OverflowError, match="64 bits"):
        encode_long(value)


def test_integer_that_never_ends_is_corrupt() -> None:
    with pytest.raises(CorruptLogError, match="byte 0 takes more than 5 bytes"):
        decode_unsigned(b"\xff" * 20, 0)
    with pytest.raises(CorruptLogError, match="more than 10 bytes"):
        decode_long(b"\xff" * 20, 0)


def test_integer_that_is_too_large_for_its_type_is_corrupt() -> None:
    with pytest.raises(CorruptLogError, match="does not fit in 32 bits"):
        decode_unsigned(b"\xff\xff\xff\xff\x1f", 0)
    with pytest.raises(CorruptLogError, match="more than 64 bits"):
        decode_long(b"\xff" * 9 + b"\x02", 0)
