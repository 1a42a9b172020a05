"""Decompression of records: data compressed by other clients, damaged data, and size limits."""

import gzip
import random
import zlib
from collections.abc import Callable
from typing import Any

import lz4.frame as lz4_frame
import pyarrow
import pytest
from backports import zstd

from api.broker.compression import decompressed
from records.errors import CorruptLogError


def snappy(plain: bytes) -> bytes:
    packed: bytes = pyarrow.Codec("snappy").compress(plain, asbytes=True)
    return packed


def lz4(plain: bytes) -> bytes:
    packed: bytes = pyarrow.Codec("lz4").compress(plain, asbytes=True)
    return packed


def snappy_java(plain: bytes) -> bytes:
    """Return the data compressed with snappy, framed like the Java client does: blocks of 32
    KiB.
    """
    blocks = [snappy(plain[at : at + 32_768]) for at in range(0, len(plain), 32_768)]
    framed = b"".join(len(block).to_bytes(4, "big") + block for block in blocks)
    return b"\x82SNAPPY\0" + (1).to_bytes(4, "big") * 2 + framed


COMPRESSIONS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("snappy", snappy),
    ("snappy", snappy_java),
    ("lz4", lz4),
    ("zstd", zstd.compress),
]


def texts(seed: int = 20261122) -> list[bytes]:
    rng = random.Random(seed)
    words = [rng.randbytes(rng.randrange(1, 30)) for _ in range(100)]
    mixed = [b"".join(rng.choice(words) for _ in range(count)) for count in (1, 10, 500, 20_000)]
    return [b"", b"a", b"a" * 70_000, bytes(5), rng.randbytes(100_000), *mixed]


@pytest.mark.parametrize(("codec", "compress"), COMPRESSIONS)
def test_everything_comes_back(codec: str, compress: Callable[[bytes], bytes]) -> None:
    for plain in texts():
        assert decompressed(compress(plain), codec, len(plain)) == plain


@pytest.mark.parametrize(("codec", "compress"), COMPRESSIONS)
def test_one_byte_too_many_is_refused(codec: str, compress: Callable[[bytes], bytes]) -> None:
    for plain in filter(None, texts()):
        with pytest.raises(CorruptLogError, match="expand to more than"):
            decompressed(compress(plain), codec, len(plain) - 1)


@pytest.mark.parametrize(("codec", "compress"), COMPRESSIONS)
def test_content_that_is_cut_or_changed_raises_nothing_else(
    codec: str, compress: Callable[[bytes], bytes]
) -> None:
    rng = random.Random(20261122)
    packed = compress(texts()[-2])
    for _ in range(300):
        damaged = bytearray(packed[: rng.randrange(len(packed))] or b"x")
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        try:
            assert len(decompressed(bytes(damaged), codec, 1 << 20)) <= 1 << 20
        except CorruptLogError:
            continue


def test_lz4_blocks_may_refer_to_earlier_ones() -> None:
    plain = texts()[-1] * 3
    linked: bytes = lz4_frame.compress(plain, block_size=lz4_frame.BLOCKSIZE_MAX64KB)
    assert decompressed(linked, "lz4", len(plain)) == plain


def test_plain_content_is_what_it_is() -> None:
    assert decompressed(b"abc", None, 1) == b"abc"


def test_unknown_compression_is_refused() -> None:
    with pytest.raises(CorruptLogError, match=r"compression unknown \(7\) is not known"):
        decompressed(b"", "unknown (7)", 1)


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_many_frames_follow_each_other(codec: str) -> None:
    compress = dict(COMPRESSIONS)[codec]
    frames = [b"", b"a" * 5_000, b"", *[b"b"] * 1_000, bytes(20_000)]
    content = b"".join(map(compress, frames))
    assert decompressed(content, codec, 30_000) == b"".join(frames)
    with pytest.raises(CorruptLogError, match="cut short"):
        decompressed(content[:-1], codec, 30_000)


def test_rest_of_the_content_is_not_copied_for_each_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    # 8 MiB of empty frames took minutes.
    sizes = []

    class Recording:
        def __init__(self, window_bits: int) -> None:
            self._real = real(window_bits)

        def decompress(self, content: bytes, size_max: int) -> bytes:
            sizes.append(len(content))
            return self._real.decompress(content, size_max)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    real = zlib.decompressobj
    monkeypatch.setattr(zlib, "decompressobj", Recording)
    content = gzip.compress(b"") * 10_000
    assert decompressed(content, "gzip", 1) == b""
    assert len(sizes) >= 10_000
    assert sum(sizes) / len(sizes) < 16_384
