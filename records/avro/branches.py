"""Check that the union branches in rows are valid.

fastavro does not check them: it reads branch -1 as the last branch. Used only for rows whose schema
our own decoder does not know. The check visits each value of a row.
"""

from typing import Any

import fastavro

from records.avro.arrays import decode_bytes, decode_count
from records.varint import decode_long

_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}


def check_branches(data: bytes, count: int, schema: dict[str, Any]) -> None:
    """Check the union branches of rows that fastavro can read.

    Args:
        schema: The schema of one row.

    Raises:
        ValueError: a row has a branch number that its union does not have.
        CorruptLogError, IndexError: the bytes after a wrong branch number cannot be decoded.
    """
    # fastavro writes each reference to a named type with its full name.
    parsed: Any = fastavro.parse_schema(schema)
    walk, position = _Walk(data, parsed["__named_schemas"]), 0
    for _ in range(count):
        position = walk.end_of(parsed, position)


class _Walk:
    def __init__(self, data: bytes, named: dict[str, Any]) -> None:
        self._data = data
        self._named = named

    def end_of(self, type_: Any, position: int) -> int:
        """Return the position after the value that starts at `position`."""
        if isinstance(type_, list):
            branch, start = decode_long(self._data, position)
            if not 0 <= branch < len(type_):
                raise ValueError(
                    f"byte {position}: branch {branch} is unknown, the union has {len(type_)} types"
                )
            return self.end_of(type_[branch], start)
        definition = type_ if isinstance(type_, dict) else self._named.get(type_, {"type": type_})
        match definition["type"]:
            case "record" | "error":
                for field in definition["fields"]:
                    position = self.end_of(field["type"], position)
                return position
            case "array":
                return self._end_of_items([definition["items"]], position)
            case "map":
                return self._end_of_items(["string", definition["values"]], position)
            case "fixed":
                return position + int(definition["size"])
            case "int" | "long" | "enum":
                return decode_long(self._data, position)[1]
            case "bytes" | "string":
                return decode_bytes(self._data, position)[1]
            case primitive:
                return position + _SIZES[primitive]

    def _end_of_items(self, types: list[Any], position: int) -> int:
        while True:
            count, position = decode_count(self._data, position)
            if not count:
                return position
            for _ in range(count):
                for type_ in types:
                    position = self.end_of(type_, position)
