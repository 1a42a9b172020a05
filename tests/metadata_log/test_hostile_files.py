"""Malicious files are refused quickly, with file and byte, and exit code 5."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from backports import zstd

from metadata_log.files.fs import OsFs
from metadata_log.format.commit_mark import read_mark
from metadata_log.format.segment import decode_header
from metadata_log.kraft.epoch_starts import EpochStarts
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from records.avro.schema import envelope_schema
from records.avro.stored_schema import parse_stored_schema
from records.errors import CorruptLogError
from records.varint import encode_long
from tests.forked_commands import METALOG
from tests.metadata_log.test_decompression import stored, with_last_block

DEEP = 200_000


def envelope(**changed: Any) -> dict[str, Any]:
    """Return the schema of a segment with other types for some fields; None removes a field."""
    fields = {field["name"]: field for field in envelope_schema()["fields"]}
    for name, new in changed.items():
        fields[name] = {"name": name, "type": new}
    return {
        "type": "record",
        "name": "Envelope",
        "fields": [field for field in fields.values() if field["type"] is not None],
    }


def record(name: str, *types: Any) -> dict[str, Any]:
    fields = [{"name": f"f{n}", "type": type_} for n, type_ in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


def nested_arrays(depth: int) -> Any:
    node: Any = "long"
    for _ in range(depth):
        node = {"type": "array", "items": node}
    return node


def chain(length: int) -> list[Any]:
    """Return types that each contain the one before by name: short to parse, deep to decode."""
    types: list[Any] = [record("T0", "long")]
    types += [record(f"T{n}", f"T{n - 1}") for n in range(1, length)]
    return types


NULLS = {"type": "array", "items": "null"}
HOSTILE: dict[str, tuple[str, str]] = {
    "no JSON": ("{nope", "not JSON"),
    "a number": ("17", "has 17 in place of a type"),
    "null": ("null", "None in place of a type"),
    "no envelope": (json.dumps(record("Envelope", "long")), "has no field offset, "),
    "another record": (
        json.dumps(record("Other", "long")),
        "outermost type is not the record Envelope",
    ),
    "an array of envelopes": (
        json.dumps({"type": "array", "items": envelope()}),
        "outermost type is not the record Envelope",
    ),
    "payload is a string": (json.dumps(envelope(payload="string")), "payload is not a union"),
    "payload is a union of longs": (
        json.dumps(envelope(payload=["long"])),
        "payload is not a union",
    ),
    "without offsets": (json.dumps(envelope(offset=None)), "has no field offset"),
    "array of nulls": (json.dumps(envelope(more=NULLS)), "array items of a type that takes no"),
    "array of empty records": (
        json.dumps(envelope(more={"type": "array", "items": record("Empty")})),
        "takes no bytes",
    ),
    "field of an empty fixed": (
        json.dumps(envelope(more={"type": "fixed", "name": "F", "size": 0})),
        "a fixed of 0 bytes",
    ),
    "fields of null": (json.dumps(envelope(more=record("N", "null", "null"))), "takes no bytes"),
    "a type within itself": (
        json.dumps(envelope(more=record("Loop", ["null", "Loop"]))),
        "names the type 'Loop' before defining it",
    ),
    "an unknown type": (json.dumps(envelope(more="Nowhere")), "names the type 'Nowhere'"),
    "a logical type": (
        json.dumps(envelope(timestamp={"type": "long", "logicalType": "timestamp-millis"})),
        "the logical type 'timestamp-millis'",
    ),
    "deep JSON": ("[" * DEEP, "nested too deeply"),
    "deep arrays": (json.dumps(envelope(more=nested_arrays(40))), "more than 32 levels"),
    "a long chain": (json.dumps(envelope(more=chain(2_000))), "more than 32 levels"),
    "fields of one name": (
        json.dumps({**envelope(), "fields": envelope()["fields"] * 2}),
        "a record with unnamed or equally named fields",
    ),
    "an enum without symbols": (
        json.dumps(envelope(more={"type": "enum", "name": "E"})),
        "an enum without symbols",
    ),
    "an enum of a number": (
        json.dumps(envelope(more={"type": "enum", "name": "E", "symbols": [7]})),
        "an enum without symbols",
    ),
    "fields that are no list": ('{"type":"record","name":"Envelope","fields":7}', "without fields"),
    "a type that is a list": ('{"type":["record"],"name":"Envelope"}', "the unknown type list"),
}


@pytest.mark.parametrize(("schema", "what"), HOSTILE.values(), ids=HOSTILE)
def test_schema_that_no_release_writes_is_refused(schema: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        parse_stored_schema(schema)


@pytest.mark.parametrize("types", [nested_arrays, chain], ids=["arrays", "names"])
def test_schema_of_up_to_32_levels_is_read(types: Callable[[int], Any]) -> None:
    # The envelope is a level, and so is the type in the middle; the union of names is another.
    levels = 30 if types is nested_arrays else 29
    assert parse_stored_schema(json.dumps(envelope(more=types(levels))))
    with pytest.raises(ValueError, match="more than 32 levels"):
        parse_stored_schema(json.dumps(envelope(more=types(levels + 1))))


def test_dotted_name_of_a_type_is_the_namespace_of_the_types_in_it() -> None:
    inner, outer = record("Inner", "long"), record("x.Outer", "long")
    outer["fields"].append({"name": "inner", "type": inner})
    assert parse_stored_schema(json.dumps(envelope(more=outer, other="x.Inner")))
    with pytest.raises(ValueError, match="names the type 'Inner'"):
        parse_stored_schema(json.dumps(envelope(more=outer, other="Inner")))


def with_schema(log: Path, schema: str) -> None:
    """Give the only segment another schema, with a valid CRC."""
    mark = read_mark(OsFs(), log)
    path = log / f"{mark.segment_offset:020d}.avro"
    data = path.read_bytes()
    header, start = decode_header(data)
    new = msgspec.structs.replace(header, schema_json=schema).encode()
    path.write_bytes(new + data[start:])
    moved = msgspec.structs.replace(mark, position=mark.position + len(new) - start)
    with (log / "commit.mark").open("r+b") as file:
        for sequence in (mark.sequence, mark.sequence + 1):
            slot = msgspec.structs.replace(moved, sequence=sequence)
            file.seek(slot.slot_position)
            file.write(slot.encode())


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*METALOG, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("schema", ["no JSON", "a number", "no envelope", "array of nulls"])
def test_commands_name_the_file_of_a_hostile_schema(written: Path, schema: str) -> None:
    with_schema(written, HOSTILE[schema][0])
    for command in ("image", "dump"):
        done = run(command, written)
        assert (done.returncode, done.stdout) == (5, ""), done
        assert ".avro byte 0: the schema" in done.stderr
    done = run("verify", written)
    assert done.returncode == 1, done
    assert ".avro byte 0: the schema" in done.stdout


def test_array_of_2_to_33_nulls_is_refused_before_it_is_read(written: Path) -> None:
    data = max(written.glob("*.avro")).read_bytes()
    body = zstd.compress(encode_long(1 << 33) + b"\0")
    with_last_block(written, stored(1, body, data[-16:]))
    schema = envelope()
    schema["fields"] = [{"name": "more", "type": NULLS}, *schema["fields"]]
    with_schema(written, json.dumps(schema))
    done = run("dump", written)
    assert done.returncode == 5, done
    assert "the schema has array items of a type that takes no bytes" in done.stderr


@pytest.mark.parametrize(
    "content",
    ["[" * DEEP, '{"a":' * DEEP, '{"cluster_id": ' + "[" * DEEP],
    ids=["lists", "objects", "in a field"],
)
async def test_deeply_nested_json_is_damage(written: Path, content: str) -> None:
    # A second epoch, so that there is a sealed segment to archive.
    await (await MetadataLog.open(written)).close()
    copy, archive = written.parent / "copy", written.parent / "archive"
    for command, place in (("backup", copy), ("archive", archive)):
        assert run(command, written, place).returncode == 0
        (place / "backup.json").write_text(content)
        done = run(command, written, place)
        assert done.returncode == 5, done
        assert "backup.json byte 0: " in done.stderr
    (written / "archives.json").write_text(content)
    done = run("retain", written, "--before", "31")
    assert done.returncode == 5, done
    assert "archives.json byte 0: " in done.stderr
    (written / "metalog.json").write_text(content)
    for command in ("image", "dump", "info"):
        done = run(command, written)
        assert (done.returncode, done.stdout) == (5, ""), done
        assert "metalog.json byte 0: " in done.stderr
    done = run("verify", written)
    assert done.returncode == 1
    assert "damage: metalog.json byte 0: " in done.stdout


def test_list_of_epochs_with_endless_numbers_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    for text in ("0\n1\n" + "9" * 10_000 + " 0\n", "0\n" + "9" * 10_000 + "\n"):
        path.write_text(text)
        with pytest.raises(CorruptLogError, match="no list of leader epochs"):
            EpochStarts(path)


def test_a_fifo_in_the_directory_has_no_size(written: Path) -> None:
    with LogReader.open(written) as reader:
        sizes = reader.file_sizes()
        os.mkfifo(written / "fifo")
        assert reader.file_sizes() == {**sizes, "fifo": 0}


def test_a_directory_given_as_text_is_on_this_machine(written: Path) -> None:
    with LogReader.open(str(written)) as reader:
        assert reader.local_directory == written
