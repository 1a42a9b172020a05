"""Schemas of the rows in an append that this release reads and writes (records/avro/layout.py).

HELLO and WELCOME frames refer to schemas by fingerprint.
"""

from collections.abc import Mapping

from records.avro.layout import Layout, appended_layouts, fingerprint, first_appended
from records.base import Record
from records.errors import RequestError


def layouts() -> Mapping[str, Layout]:
    """Return a mapping from schema fingerprint to row layout, newest first."""
    return appended_layouts()


def first_schema() -> str:
    """Return the fingerprint of the only schema in version 1 of the protocol."""
    return fingerprint(first_appended())


def check_known(records: tuple[Record, ...], layout: Layout) -> None:
    """Check that a schema has the types of all records, and all fields that the records use.

    Raises:
        RequestError: UNSUPPORTED_VERSION, the schema lacks a type or a field.
    """
    if layout.is_complete:
        return
    for record in records:
        if (lacking := layout.lacks(record)) is not None:
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"the server's release has no {lacking}; upgrade the server first",
            )
