"""Logged answer of a request with an id: the response, and the versions of changed objects.

Without versions, the answer is only the response as MessagePack in the form of the log
(`controller.wire`), as in all releases. With versions, a MessagePack extension contains both.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from controller.results.changed_versions import ObjectVersion

_WITH_VERSIONS = 1
"""Code of the MessagePack extension that holds a response and versions."""

_VERSIONS = tuple[ObjectVersion, ...]


class _Both(msgspec.Struct, frozen=True, array_like=True):
    response: msgspec.Raw
    versions: tuple[tuple[str, int | None], ...]


def encode_answer(response: Any, versions: Sequence[ObjectVersion] | None) -> bytes:
    """Encode a response as returned by `plain_of`, with the versions of the changed objects."""
    raw = msgspec.msgpack.encode(response)
    if versions is None:
        return raw
    pairs = tuple([(each.object, each.version) for each in versions])
    both = msgspec.msgpack.encode(_Both(msgspec.Raw(raw), pairs))
    return msgspec.msgpack.encode(msgspec.msgpack.Ext(_WITH_VERSIONS, both))


def decode_answer(raw: bytes) -> tuple[bytes, _VERSIONS | None]:
    """Return the encoded response, and the versions; None if they were not logged."""
    found = msgspec.msgpack.decode(raw)
    if not isinstance(found, msgspec.msgpack.Ext):
        return raw, None
    both = msgspec.msgpack.decode(found.data, type=_Both)
    return bytes(both.response), tuple([ObjectVersion(*pair) for pair in both.versions])
