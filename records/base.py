"""Base of all records: an immutable struct with keyword fields."""

from typing import NewType

import msgspec

Uuid = NewType("Uuid", bytes)
"""A 128-bit id as its 16 octets, high word first."""

ZERO_UUID = Uuid(bytes(16))
"""Reserved: means "no id"."""


# gc=False: records hold no cycles, and loading a log creates millions of them.
class Record(msgspec.Struct, frozen=True, gc=False):
    """Base of all record types and of the structures nested in them.

    Each class repeats `frozen=True, kw_only=True`: msgspec does not inherit `kw_only`, and type
    checkers do not see an inherited `frozen`. A test checks both.
    """
