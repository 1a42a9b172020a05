"""Avro files with random records of random schemas."""

import random
from pathlib import Path
from typing import Any, NamedTuple

import fastavro
import pyarrow

from replay.audit.decoding.blocks import Segment, ranges
from replay.audit.decoding.columns import Wanted

_SYNC_MARKER = bytes(range(16))
_COLUMN_TYPES = {
    "int": pyarrow.int32(),
    "long": pyarrow.int64(),
    "boolean": pyarrow.bool_(),
    "string": pyarrow.string(),
    "bytes": pyarrow.binary(),
}


class Drawn(NamedTuple):
    """A schema, records of it, and the columns to decode."""

    schema: dict[str, Any]
    rows: list[dict[str, Any]]
    wanted: Wanted


class _Draw:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0
        self.types: dict[str, pyarrow.DataType] = {}

    def name(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def type(self, path: str, depth: int) -> Any:
        """Return a random Avro type; if it can be a column, record the column's type."""
        kinds = [*_COLUMN_TYPES, "double", "float", "null", "fixed", "ints", "fixeds", "nullable"]
        kind = self.rng.choice(kinds + ["array", "map", "record", "union"] * (depth < 3))
        if kind in _COLUMN_TYPES:
            self.types[path] = _COLUMN_TYPES[kind]
            return kind
        match kind:
            case "fixed":
                self.types[path] = pyarrow.binary()
                return self.fixed()
            case "ints":
                items = self.rng.choice(["int", "long"])
                if items == "int":
                    self.types[path] = pyarrow.list_(pyarrow.int32())
                return {"type": "array", "items": items}
            case "fixeds":
                self.types[path] = pyarrow.list_(pyarrow.binary())
                return {"type": "array", "items": self.fixed()}
            case "nullable":
                return ["null", self.rng.choice([*_COLUMN_TYPES, "double"])]
            case "array":
                return {"type": "array", "items": self.type("", depth + 1)}
            case "map":
                return {"type": "map", "values": self.type("", depth + 1)}
            case "union":
                return [self.record("", depth + 1), "string", self.record("", depth + 1)]
            case "record":
                return self.record(path, depth + 1)
        return kind

    def fixed(self) -> dict[str, Any]:
        return {"type": "fixed", "name": self.name(), "size": self.rng.randint(1, 20)}

    def record(self, path: str, depth: int, name: str | None = None) -> dict[str, Any]:
        fields = []
        for _ in range(self.rng.randint(0, 5)):
            field = self.name()
            inner = f"{path}.{field}" if path else ""
            fields.append({"name": field, "type": self.type(inner, depth)})
        return {"type": "record", "name": name or self.name(), "fields": fields}

    def value(self, schema: Any) -> Any:
        rng = self.rng
        if isinstance(schema, list):
            branch = rng.choice(schema)
            value = self.value(branch)
            return (branch["name"], value) if isinstance(branch, dict) else value
        kind = schema["type"] if isinstance(schema, dict) else schema
        match kind:
            case "null":
                return None
            case "boolean":
                return rng.random() < 0.5
            case "int" | "long":
                bits = rng.randint(1, 31 if kind == "int" else 63)
                return rng.choice([-(2**bits), 2**bits - 1, rng.randrange(-(2**bits), 2**bits)])
            case "float" | "double":
                return rng.choice([0.0, -1.5, 1e300 if kind == "double" else 1.0])
            case "string":
                return "".join(rng.choices("aé€😀 \0", k=rng.choice([0, 1, 5, 200])))
            case "bytes":
                return rng.randbytes(rng.choice([0, 1, 70]))
            case "fixed":
                return rng.randbytes(schema["size"])
            case "array":
                return [self.value(schema["items"]) for _ in range(rng.choice([0, 1, 3, 70]))]
            case "map":
                return {f"k{n}": self.value(schema["values"]) for n in range(rng.choice([0, 2]))}
        return {field["name"]: self.value(field["type"]) for field in schema["fields"]}


def drawn(rng: random.Random, rows: int) -> Drawn:
    """Draw a schema with a union of records, and records of that schema."""
    draw = _Draw(rng)
    draw.types = {}
    before = [
        {"name": name, "type": draw.type(name, 0)}
        for name in (draw.name() for _ in range(rng.randint(0, 4)))
    ]
    members = [draw.record(f"payload.M{n}", 1, f"M{n}") for n in range(rng.randint(2, 4))]
    fields = [*before, {"name": "payload", "type": members}]
    schema = {"type": "record", "name": "Row", "fields": fields}
    chosen = {path: type_ for path, type_ in draw.types.items() if path and rng.random() < 0.7}
    names = [member["name"] for member in members]
    kept = frozenset(name for name in names if rng.random() < 0.8)
    wanted = Wanted(
        types=pyarrow.schema(list(chosen.items())),
        paths={path: (path,) for path in chosen},
        union="payload",
        kept=kept,
        in_json=frozenset(name for name in kept if rng.random() < 0.5),
        schema=schema,
    )
    return Drawn(schema, [draw.value(schema) for _ in range(rows)], wanted)


def write(path: Path, schema: Any, rows: list[Any], codec: str, block_size: int = 500) -> Path:
    """Write records as an Avro file."""
    with path.open("wb") as file:
        fastavro.writer(file, schema, rows, codec, block_size, sync_marker=_SYNC_MARKER)
    return path


def decoded(decoder: Any, path: Path, size_max: int = 2**40) -> pyarrow.Table:
    """Decode a file, in ranges of at most `size_max` bytes."""
    parts = ranges((str(path), path.stat().st_size), size_max)
    batches = [batch for part in parts for batch in decoder.batches(Segment(part))]
    assert batches, "the file has records"
    return pyarrow.Table.from_batches(batches)
