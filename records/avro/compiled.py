"""The compiled codec: rows in C, if the distribution `metalog-codec` is installed.

It handles the usual: exactly our classes and Python's own types, and bytes without damage. Anything
else it refuses, and the codec in Python does the work again. So the two codecs cannot differ in the
errors that they raise. METALOG_CODEC=python in the environment leaves the compiled codec unused,
and so does any error while it is tried out at first use.
"""

import functools
import importlib.util
import logging
import os
from collections.abc import Callable
from typing import Any

from records import registry
from records.avro.fields import Fields, Type, fields_of
from records.avro.layout import NEWEST, Layout, record_schema
from records.control import NoOpRecord
from records.envelope import Envelope

_PLANS = 1
"""Version of the plans that this release makes; the compiled codec names that which it reads."""

VARIABLE = "METALOG_CODEC"
PYTHON = "python"

REFUSED = (AttributeError, OverflowError, TypeError, ValueError)
"""What the compiled codec raises for anything that it leaves to the codec in Python."""

_LOG = logging.getLogger(__name__)


class _Choice:
    """Whether the compiled codec is used; decided at first use."""

    @functools.cached_property
    def is_compiled(self) -> bool:
        """True if the compiled codec is installed, wanted, and fits this release."""
        is_wanted = os.environ.get(VARIABLE) != PYTHON and _is_installed()
        return is_wanted and fits(_module, _PLANS, _try_plans)


def fits(module: Callable[[], Any], plans: int, trial: Callable[[], None]) -> bool:
    """True if a compiled module reads plans of this version, and passes a trial; else it is said.

    Args:
        module: Imports the module.
    """
    try:
        found = getattr(module(), "PLANS", None)
        if found != plans:
            raise ValueError(f"it reads plans of version {found}, this release makes {plans}")
        trial()
    except Exception as error:
        _LOG.warning(
            "metalog-codec is not used, because it does not fit this release: %r; install that of "
            "this release",
            error,
        )
        return False
    return True


def _is_installed() -> bool:
    return importlib.util.find_spec("metalog_codec") is not None


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
    except REFUSED:
        return None


@functools.cache
def _module() -> Any:
    import metalog_codec

    return metalog_codec


# A refusal must not wait for the first record of some type, and a codec must not misread columns.
def _try_plans() -> None:
    """Make the plans of all record types, and a row that has to come back as it was.

    Raises:
        Exception: any error; the compiled codec does not fit this release.
    """
    for branch in range(NEWEST.type_count):
        _record_plan(NEWEST, branch)
    row = Envelope(
        offset=1,
        leader_epoch=2,
        timestamp=3,
        batch_offset=4,
        record_version=5,
        durable_end=6,
        previous_crc32c=7,
        payload=NoOpRecord(),
    )
    rows = _rows(NEWEST)
    found = rows.decode(rows.encode([row]), 1)
    if found != [row]:
        raise ValueError(f"it encodes {row} and decodes {found}")


@functools.cache
def _rows(layout: Layout) -> Any:
    envelope = fields_of({**registry.schema("Envelope"), "fields": _optional_fields()}, Envelope)
    return _module().Rows(
        Envelope,
        Envelope.__struct_fields__,
        tuple(map(_type, envelope.types)),
        registry.RECORD_TYPES,
        functools.partial(_record_plan, layout),
        layout.type_count,
        layout.has_added_fields,
    )


@functools.cache
def _record_plan(layout: Layout, branch: int) -> Any:
    cls = registry.RECORD_TYPES[branch]
    return _plan(fields_of(record_schema(registry.schema(cls.__name__), layout), cls))


def _optional_fields() -> list[dict[str, Any]]:
    """Return the fields of the envelope between version and record."""
    names = Envelope.__struct_fields__
    between = names[names.index("record_version") + 1 : names.index("payload")]
    return [each for each in registry.schema("Envelope")["fields"] if each["name"] in between]


def _plan(fields: Fields) -> Any:
    return _module().Plan(fields.cls, fields.names, tuple(map(_type, fields.types)))


def _type(type_: Type) -> Any:
    items, fields = type_.items, type_.fields
    return _module().Type(
        type_.kind,
        type_.null_branch,
        None if items is None else _type(items),
        None if fields is None else _plan(fields),
    )
