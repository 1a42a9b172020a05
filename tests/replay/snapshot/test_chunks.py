"""The keys determine which values share a chunk, so that growth leaves most chunks unchanged."""

import random

import msgspec
import pytest
from backports import zstd

from replay.snapshot import chunks
from replay.snapshot.chunks import Chunk, chunks_of, decompressed

SIZE_MAX = 32 * 1024


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_SIZE_BYTES_MAX", SIZE_MAX)


def _value(key: int, text: str = "x") -> dict[str, object]:
    return {"key": key, "text": text * 1_000}


def _chunks(values: list[dict[str, object]]) -> list[Chunk]:
    return list(chunks_of(values, lambda value: value["key"]))


def _hashes(values: list[dict[str, object]]) -> set[bytes]:
    return {chunk.hash for chunk in _chunks(values)}


VALUES = [_value(key) for key in range(500)]


def test_order_of_values_does_not_matter() -> None:
    shuffled = random.Random(1).sample(VALUES, len(VALUES))
    assert _chunks(shuffled) == _chunks(VALUES)


def test_chunks_hold_every_value_once_and_are_not_too_large() -> None:
    chunks = _chunks(VALUES)
    held = [value["key"] for chunk in chunks for value in msgspec.msgpack.decode(chunk.plain)]
    assert sorted(held) == list(range(500))
    assert len(chunks) > 10
    # An array's head takes up to five octets.
    assert all(len(chunk.plain) <= SIZE_MAX + 5 for chunk in chunks)


def test_no_values_give_no_chunk() -> None:
    assert _chunks([]) == []


def test_value_that_is_too_large_has_a_chunk_of_its_own() -> None:
    giant = _value(1_000, "y" * SIZE_MAX)
    alone = [chunk for chunk in _chunks([*VALUES, giant]) if len(chunk.plain) > SIZE_MAX]
    assert [msgspec.msgpack.decode(chunk.plain) for chunk in alone] == [[giant]]


@pytest.mark.parametrize("new_key", [-1, 250_000, 10**9])
def test_new_value_touches_one_chunk_or_splits_it(new_key: int) -> None:
    before, after = _hashes(VALUES), _hashes([*VALUES, _value(new_key)])
    assert len(before - after) <= 1
    assert 1 <= len(after - before) <= 2


def test_changed_value_touches_one_chunk() -> None:
    changed = [_value(key, "z" if key == 77 else "x") for key in range(500)]
    assert len(_hashes(changed) - _hashes(VALUES)) == 1


def test_compression_gives_the_content_back() -> None:
    for chunk in _chunks(VALUES):
        assert decompressed(chunk.compressed(), len(chunk.plain)) == chunk.plain


@pytest.mark.parametrize("damage", [b"", b"not a frame", b"\x28\xb5\x2f\xfd"])
def test_content_that_is_no_frame_is_refused(damage: bytes) -> None:
    with pytest.raises(ValueError, match="no whole zstandard frame"):
        decompressed(damage, 10)


def test_frame_that_is_cut_or_of_another_size_is_refused() -> None:
    chunk = _chunks(VALUES)[0]
    stored = chunk.compressed()
    with pytest.raises(ValueError, match="no whole zstandard frame"):
        decompressed(stored[:-1], len(chunk.plain))
    with pytest.raises(ValueError, match="octets"):
        decompressed(stored, len(chunk.plain) + 1)


def test_chunk_that_stands_for_far_more_than_any_objects_is_refused() -> None:
    size = 1 << 30
    bomb = zstd.compress(bytes(size >> 6)) * 64
    with pytest.raises(ValueError, match="bytes follow the frame"):
        decompressed(bomb, size)
    alone = zstd.compress(bytes(65 << 20))
    with pytest.raises(ValueError, match="frame claims 68157440 bytes, at most 67108864"):
        decompressed(alone, 65 << 20)
