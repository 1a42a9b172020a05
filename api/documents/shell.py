"""JSON form of results of the shell, which shows the state as a tree of folders."""

from typing import Any

import msgspec


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a folder; names of subfolders end in a slash."""

    path: str
    names: tuple[str, ...]


class Objects(msgspec.Struct, frozen=True, kw_only=True):
    """Objects with their fields."""

    objects: tuple[dict[str, Any], ...]


class FieldValue(msgspec.Struct, frozen=True, kw_only=True):
    """One field of an object."""

    object: str
    field: str
    value: Any


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """The shell's current folder."""

    path: str
