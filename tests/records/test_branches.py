"""The check of union branches walks over values of all Avro types."""

import io
from typing import Any

import fastavro
import pytest

from records.avro.branches import check_branches

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Row",
    "fields": [
        {"name": "before", "type": {"type": "map", "values": {"type": "array", "items": "int"}}},
        {"name": "fixed", "type": {"type": "fixed", "name": "Id", "size": 3}},
        {"name": "same", "type": "Id"},
        {"name": "double", "type": "double"},
        {"name": "float", "type": "float"},
        {"name": "flag", "type": "boolean"},
        {"name": "word", "type": {"type": "enum", "name": "Word", "symbols": ["a", "b"]}},
        {"name": "text", "type": "string"},
        {"name": "last", "type": ["null", "string"]},
    ],
}
ROW = {
    "before": {"one": [1, -300], "two": [], "": [7]},
    "fixed": b"abc",
    "same": b"xyz",
    "double": 1.5,
    "float": 0.5,
    "flag": True,
    "word": "b",
    "text": "word",
    "last": None,
}


def _encoded(row: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, SCHEMA, row)
    return out.getvalue()


def test_a_wrong_branch_behind_values_of_every_type_is_found() -> None:
    data = _encoded(ROW) + _encoded({**ROW, "last": "end"})
    check_branches(data, 2, SCHEMA)
    first = len(_encoded(ROW)) - 1
    wrong = data[:first] + b"\1" + data[first + 1 :]
    with pytest.raises(ValueError, match=f"byte {first}: branch -1 is unknown"):
        check_branches(wrong, 2, SCHEMA)
