"""Mutations of a Kafka frame, as a broken or hostile client may send them."""

import random
from collections.abc import Callable, Sequence

from api.kafka.frames import LENGTH

Mutation = Callable[[random.Random, bytearray, Sequence[bytes]], None]

_EDGES = (-1, 0, 1, 0x7FFF, 0xFFFF, 0x7FFFFFFF, -0x80000000)
_SLICE_MAX = 40
_HOW_MANY = (1, 1, 1, 1, 2, 3)
_WRONG_LENGTHS = 0.05


def mutated(rng: random.Random, frame: bytes, others: Sequence[bytes]) -> tuple[bytes, bool]:
    """Return a mutated frame, and whether its length prefix fits its content.

    Args:
        frame: A valid frame with its length prefix.
        others: Frames of which pieces may be inserted.
    """
    content = bytearray(frame[LENGTH.size :])
    for _ in range(rng.choice(_HOW_MANY)):
        rng.choice(_MUTATIONS)(rng, content, others)
    if rng.random() < _WRONG_LENGTHS:
        length = rng.choice((*_EDGES, max(len(content) + rng.randint(-9, 9), 0)))
        return LENGTH.pack(length) + content, length == len(content)
    return LENGTH.pack(len(content)) + content, True


def _flip(rng: random.Random, content: bytearray, _: Sequence[bytes]) -> None:
    if content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def _set(rng: random.Random, content: bytearray, _: Sequence[bytes]) -> None:
    if content:
        content[rng.randrange(len(content))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))


def _cut(rng: random.Random, content: bytearray, _: Sequence[bytes]) -> None:
    at = rng.randint(0, len(content))
    del content[at : at + rng.randint(1, _SLICE_MAX)]


def _truncate(rng: random.Random, content: bytearray, _: Sequence[bytes]) -> None:
    del content[rng.randint(0, len(content)) :]


def _insert(rng: random.Random, content: bytearray, _: Sequence[bytes]) -> None:
    at = rng.randint(0, len(content))
    content[at:at] = rng.randbytes(rng.randint(1, _SLICE_MAX))


def _repeat(rng: random.Random, content: bytearray, _: Sequence[bytes]) -> None:
    at = rng.randint(0, len(content))
    content[at:at] = content[at : at + rng.randint(1, _SLICE_MAX)]


def _graft(rng: random.Random, content: bytearray, others: Sequence[bytes]) -> None:
    other = rng.choice(others)
    start = rng.randrange(len(other))
    at = rng.randint(0, len(content))
    size = rng.randint(1, _SLICE_MAX)
    content[at : at + size] = other[start : start + size]


def _edge(rng: random.Random, content: bytearray, _: Sequence[bytes]) -> None:
    size = rng.choice((1, 2, 4, 8))
    at = rng.randint(0, max(len(content) - size, 0))
    value = rng.choice(_EDGES) & ((1 << 8 * size) - 1)
    content[at : at + size] = value.to_bytes(size, "big")


# Those that keep the size more often: what they make is rather read as a request.
_MUTATIONS: tuple[Mutation, ...] = (
    *(_flip, _set, _edge) * 4,
    *(_cut, _truncate, _insert, _repeat, _graft),
)
