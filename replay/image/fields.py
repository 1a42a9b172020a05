"""Copies fields of equal names between records and objects of an image."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def copied(source: msgspec.Struct, target: type[S], **others: Any) -> S:
    """Return a new `target`; each field is copied by name from `others`, else from `source`."""
    made: S = _copier(type(source), target, tuple(others))(source, **others)
    return made


@functools.cache
def _copier(
    source: type[msgspec.Struct], target: type[msgspec.Struct], others: tuple[str, ...]
) -> Callable[..., Any]:
    # Compiled, because an image is copied object by object.
    shared = set(source.__struct_fields__).intersection(target.__struct_fields__)
    fields = ", ".join(f"{name}=source.{name}" for name in shared - {*others})
    names: dict[str, Any] = {"target": target}
    exec(f"def copy(source, **others): return target({fields}, **others)", names)
    copy: Callable[..., Any] = names["copy"]
    return copy
