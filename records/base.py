"""What every record is: an immutable struct whose fields are given by name."""

from typing import NewType

import msgspec

Uuid = NewType("Uuid", bytes)
"""A 128-bit id as its 16 octets, high word first."""

ZERO_UUID = Uuid(bytes(16))
"""Reserved: means "no id"."""


# gc=False: records never refer to themselves, and a load makes millions of them.
class Record(msgspec.Struct, frozen=True, gc=False):
    """Base of all record types and of the structures nested in them.

    Each class says `frozen=True, kw_only=True` for itself: msgspec does not inherit the second and
    type checkers do not see the first; a test checks both.
    """
