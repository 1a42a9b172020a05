"""The compiled codec: rows in C, if the distribution `metalog-codec` is installed.

It handles the usual: exactly our classes and Python's own types, and bytes without damage. Anything
else it refuses, and the codec in Python does the work again. So the two codecs cannot differ in the
errors that they raise. METALOG_CODEC=python in the environment leaves the compiled codec unused.
"""

import functools
import os
from typing import Any

from records import registry
from records.avro.fields import Fields, Type, fields_of
from records.avro.layout import Layout, record_schema
from records.envelope import Envelope

_PLANS = 1
"""Version of the plans that this release makes; the compiled codec names that which it reads."""

VARIABLE = "METALOG_CODEC"
PYTHON = "python"

try:
    import metalog_codec
except ImportError:  # not installed, or made for another Python
    metalog_codec = None

_REFUSED = (AttributeError, OverflowError, TypeError, ValueError)
"""What the compiled codec raises for anything that it leaves to the codec in Python."""


class _Choice:
    """Whether the compiled codec is used."""

    is_compiled = (
        metalog_codec is not None
        and metalog_codec.PLANS == _PLANS
        and os.environ.get(VARIABLE) != PYTHON
    )


CHOICE = _Choice()


def name() -> str:
    """Return the name of the codec in use: `compiled` or `python`."""
    return "compiled" if CHOICE.is_compiled else PYTHON


def attempt(work: str, layout: Layout, *arguments: Any) -> Any:
    """Let the compiled codec do the work; return None if it must be done in Python.

    Args:
        work: Name of a method of the compiled codec's `Rows`.
    """
    if not CHOICE.is_compiled:
        return None
    try:
        return getattr(_rows(layout), work)(*arguments)
    except _REFUSED:
        return None


@functools.cache
def _rows(layout: Layout) -> Any:
    envelope = fields_of({**registry.schema("Envelope"), "fields": _optional_fields()}, Envelope)

    def plan_of(branch: int) -> Any:
        cls = registry.RECORD_TYPES[branch]
        return _plan(fields_of(record_schema(registry.schema(cls.__name__), layout), cls))

    return metalog_codec.Rows(
        Envelope,
        Envelope.__struct_fields__,
        tuple(map(_type, envelope.types)),
        registry.RECORD_TYPES,
        plan_of,
        layout.type_count,
        layout.has_added_fields,
    )


def _optional_fields() -> list[dict[str, Any]]:
    """Return the fields of the envelope between version and record."""
    names = Envelope.__struct_fields__
    between = names[names.index("record_version") + 1 : names.index("payload")]
    return [each for each in registry.schema("Envelope")["fields"] if each["name"] in between]


def _plan(fields: Fields) -> Any:
    return metalog_codec.Plan(fields.cls, fields.names, tuple(map(_type, fields.types)))


def _type(type_: Type) -> Any:
    items, fields = type_.items, type_.fields
    return metalog_codec.Type(
        type_.kind,
        type_.null_branch,
        None if items is None else _type(items),
        None if fields is None else _plan(fields),
    )
