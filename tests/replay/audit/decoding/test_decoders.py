"""The compiled decoder and fastavro give the same columns, or both refuse the bytes."""

import io
import json
import random
from pathlib import Path
from typing import Any

import fastavro
import numba
import pyarrow
import pytest
import zstandard

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.limits import BLOCK_DECODED_BYTES_MAX, BLOCK_RECORDS_MAX
from records.avro.schema import envelope_schema
from records.errors import CorruptLogError
from replay.audit.decoding import compiled, machine, plain
from replay.audit.decoding.blocks import Range, Segment
from replay.audit.decoding.columns import Wanted
from replay.audit.record_types import BULK, RARE, wanted_records
from tests.histories import random_history
from tests.real_logs import DataSet, each_covering_data_set
from tests.replay.audit.decoding.drawn_logs import decoded, drawn, write
from tests.replay.audit.log_on_disk import write_log
from tests.samples import cases, sampled

_SYNC_MARKER = bytes(range(16))


@sampled
@pytest.mark.parametrize("seed", range(cases(400, 25)))
def test_columns_of_random_schemas_are_those_of_fastavro(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    case = drawn(rng, 80)
    path = write(tmp_path / "log.avro", case.schema, case.rows, rng.choice(["null", "zstandard"]))
    expected = decoded(plain.Decoder(case.schema, case.wanted), path)
    expected.validate(full=True)
    found = decoded(compiled.Decoder(case.schema, case.wanted), path, rng.randint(40, 4_000))
    found.validate(full=True)
    assert found.equals(expected)


def test_columns_of_every_record_type_are_those_of_fastavro(tmp_path: Path) -> None:
    files = write_log(tmp_path, random_history(random.Random(5), 250))
    wanted = wanted_records(BULK | RARE, with_origin=True)
    (path, *_) = files.segments
    expected = decoded(plain.Decoder(envelope_schema(), wanted), path)
    found = decoded(compiled.Decoder(envelope_schema(), wanted), path, 3_000)
    assert found.equals(expected)
    assert {*BULK} < {*json.loads(envelope_types(found))} | BULK
    assert found["leader_epoch"].null_count < found["partition_id"].null_count + found.num_rows


@pytest.mark.heavy
@each_covering_data_set
def test_columns_of_real_logs_are_those_of_fastavro(tmp_path: Path, data_set: DataSet) -> None:
    import_directory(open_directory(data_set.materialise(tmp_path)), tmp_path / "log")
    wanted = wanted_records(BULK | RARE, with_origin=True)
    for path in sorted((tmp_path / "log").glob("*.avro")):
        schema = json.loads(Segment(Range((str(path), path.stat().st_size), 0, 0)).schema)
        expected = decoded(plain.Decoder(schema, wanted), path)
        found = decoded(compiled.Decoder(schema, wanted), path, 100_000)
        assert found.equals(expected)


def envelope_types(found: pyarrow.Table) -> str:
    texts = found["record"].drop_null().to_pylist()
    return json.dumps(sorted({next(iter(json.loads(text))) for text in texts}))


@sampled
@pytest.mark.parametrize("seed", range(cases(100, 8)))
def test_flipped_octet_is_refused_or_read_like_fastavro(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    case = drawn(rng, 12)
    whole = write(tmp_path / "log.avro", case.schema, case.rows, "null").read_bytes()
    start = whole.index(_SYNC_MARKER) + len(_SYNC_MARKER)
    decoders = [compiled.Decoder(case.schema, case.wanted), plain.Decoder(case.schema, case.wanted)]
    path = tmp_path / "flipped.avro"
    for _ in range(60):
        data = bytearray(whole)
        data[rng.randrange(start, len(data))] ^= rng.randrange(1, 256)
        path.write_bytes(data)
        found, expected = (_rows_or_error(decoder, path) for decoder in decoders)
        if isinstance(found, str):
            assert found.startswith(f"{path} byte ")
        elif not isinstance(expected, str):
            assert found.equals(expected)


@pytest.mark.parametrize("seed", range(3))
def test_truncated_block_is_refused(tmp_path: Path, seed: int) -> None:
    """The records are cut at every byte; the block's header has the length that is left."""
    case = drawn(random.Random(seed), 1)
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, case.schema, case.rows[0])
    row = stream.getvalue()
    decoder = compiled.Decoder(case.schema, case.wanted)
    for size in range(1, len(row)):
        path = _with_block(tmp_path / "log.avro", case.schema, 1, row[:size])
        assert "byte" in str(_rows_or_error(decoder, path))
    path = _with_block(tmp_path / "log.avro", case.schema, 1, row + b"\0")
    assert "the records do not end with the block" in str(_rows_or_error(decoder, path))


def _rows_or_error(decoder: Any, path: Path) -> pyarrow.Table | str:
    try:
        return decoded(decoder, path)
    except CorruptLogError as error:
        return str(error)


def _with_block(path: Path, schema: Any, count: int, octets: bytes, codec: str = "null") -> Path:
    """Write a file with one block, whose bytes may be anything."""
    header = io.BytesIO()
    fastavro.writer(header, schema, [], codec, sync_marker=_SYNC_MARKER)
    block = _varint(count) + _varint(len(octets)) + octets
    path.write_bytes(header.getvalue() + block + _SYNC_MARKER)
    return path


def _varint(value: int) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, "long", value)
    return stream.getvalue()


_INTS = {
    "type": "record",
    "name": "Row",
    "fields": [
        {"name": "skipped", "type": {"type": "array", "items": ["null", "int"]}},
        {
            "name": "payload",
            "type": [
                {
                    "type": "record",
                    "name": "A",
                    "fields": [{"name": "ints", "type": {"type": "array", "items": "int"}}],
                },
                {"type": "record", "name": "B", "fields": []},
            ],
        },
    ],
}


def _wanted(schema: Any, column: str = "ints", type_: Any = None) -> Wanted:
    type_ = pyarrow.list_(pyarrow.int32()) if type_ is None else type_
    return Wanted(
        types=pyarrow.schema([(column, type_)]),
        paths={column: (f"payload.A.{column}",)},
        union="payload",
        kept=frozenset({"A", "B"}),
        in_json=frozenset(),
        schema=schema,
    )


def test_block_of_items_with_a_negative_count_is_read(tmp_path: Path) -> None:
    skipped = b"\x03\x06\x00\x02\x0a\x00"  # -2 items in 3 octets: null, 5
    octets = skipped + b"\x00" + b"\x03\x04\x02\x03" + b"\x02\x05" + b"\x00"
    path = _with_block(tmp_path / "log.avro", _INTS, 1, octets)
    found = decoded(compiled.Decoder(_INTS, _wanted(_INTS)), path)
    assert found["ints"].to_pylist() == [[1, -2, -3]]


@pytest.mark.parametrize(
    ("octets", "what"),
    [
        (b"\x00\x04\x00", "a union has no such branch"),
        (b"\x00\x01\x00", "a union has no such branch"),
        (b"\x00\x00" + b"\x02" + b"\x80\x80\x80\x80\x10" + b"\x00", "does not fit its type"),
        (b"\x00\x00" + b"\x02" + b"\xff" * 10 + b"\x00", "longer than 64 bits"),
        (b"\x00\x00" + b"\xff" * 9 + b"\x01" + b"\x00", "a value ends after the block"),
        (b"\x00\x00\x40\x00", "a value ends after the block"),
    ],
)
def test_error_names_file_and_octet(tmp_path: Path, octets: bytes, what: str) -> None:
    good = b"\x00\x02"
    path = _with_block(tmp_path / "log.avro", _INTS, 2, good + octets)
    decoder = compiled.Decoder(_INTS, _wanted(_INTS))
    at = path.read_bytes().index(_SYNC_MARKER) + len(_SYNC_MARKER)
    with pytest.raises(CorruptLogError) as error:
        decoded(decoder, path)
    assert str(error.value).startswith(f"{path} byte {at}: octet ")
    assert what in str(error.value)
    assert int(str(error.value).split("octet ")[1].split()[0]) >= len(good)


def test_field_that_the_file_lacks_has_its_default(tmp_path: Path) -> None:
    newest = json.loads(json.dumps(_INTS))
    newest["fields"][1]["type"][0]["fields"].append({"name": "n", "type": "int", "default": -7})
    rows: list[Any] = [
        {"skipped": [], "payload": ("A", {"ints": [1]})},
        {"skipped": [], "payload": ("B", {})},
    ]
    path = write(tmp_path / "log.avro", _INTS, rows, "null")
    wanted = _wanted(newest, "n", pyarrow.int32())
    for module in (compiled, plain):
        assert decoded(module.Decoder(_INTS, wanted), path)["n"].to_pylist() == [-7, None]


@pytest.mark.parametrize(
    ("column", "type_", "what"),
    [("ints", pyarrow.int32(), "ints is not int32"), ("A", pyarrow.int32(), "cannot become")],
)
def test_column_of_another_type_is_refused(column: str, type_: Any, what: str) -> None:
    wanted = _wanted(_INTS, column, type_)
    if column == "A":
        wanted = Wanted(
            wanted.types, {"A": ("payload.A",)}, "payload", wanted.kept, frozenset(), _INTS
        )
    with pytest.raises(CorruptLogError, match=what):
        compiled.Decoder(_INTS, wanted)


def test_schema_without_an_end_is_refused() -> None:
    endless = {"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]}
    schema = json.loads(json.dumps(_INTS))
    schema["fields"][0]["type"] = endless
    with pytest.raises(CorruptLogError, match="without end"):
        compiled.Decoder(schema, _wanted(_INTS))


def test_each_block_is_in_one_range(tmp_path: Path) -> None:
    rows = [{"skipped": [], "payload": ("A", {"ints": [n]})} for n in range(300)]
    path = write(tmp_path / "log.avro", _INTS, rows, "zstandard", 20)
    decoder = compiled.Decoder(_INTS, _wanted(_INTS))
    file = (str(path), path.stat().st_size)
    for cut in range(0, file[1], 7):
        parts = [Range(file, 0, cut), Range(file, cut, file[1])]
        batches = [batch for part in parts for batch in decoder.batches(Segment(part))]
        found = pyarrow.Table.from_batches(batches)
        assert found["ints"].to_pylist() == [[n] for n in range(300)]


def test_file_that_ends_in_a_block_or_has_an_unknown_codec_is_refused(tmp_path: Path) -> None:
    rows: list[Any] = [{"skipped": [], "payload": ("B", {})}] * 5
    path = write(tmp_path / "log.avro", _INTS, rows, "deflate")
    decoder = compiled.Decoder(_INTS, _wanted(_INTS))
    with pytest.raises(
        CorruptLogError, match=rf"{path.name} byte 0: the file is compressed with 'deflate'"
    ):
        decoded(decoder, path)
    path = write(path, _INTS, rows, "null")
    path.write_bytes(path.read_bytes()[:-17])
    with pytest.raises(CorruptLogError, match=rf"{path.name} byte \d+: "):
        decoded(decoder, path)
    path.write_bytes(b"no log")
    with pytest.raises(CorruptLogError, match=rf"{path.name} byte 0: the file is not an Avro file"):
        decoded(decoder, path)


def _frame_of(size: int) -> bytes:
    """Return an empty frame whose header claims a size (RFC 8878, section 3.1.1)."""
    return b"\x28\xb5\x2f\xfd\xe0" + size.to_bytes(8, "little") + b"\x01\x00\x00"


@pytest.mark.parametrize(
    ("count", "frame", "what"),
    [
        (1, _frame_of(2**40), "a frame of 1099511627776 octets"),
        (1, _frame_of(BLOCK_DECODED_BYTES_MAX + 1), "a frame of"),
        (
            1,
            zstandard.ZstdCompressor(write_content_size=False).compress(b"\0\2"),
            "a frame without its size",
        ),
        (
            BLOCK_RECORDS_MAX + 1,
            zstandard.compress(bytes(2 * BLOCK_RECORDS_MAX)),
            f"{BLOCK_RECORDS_MAX + 1} records in",
        ),
        (2**40, zstandard.compress(b"\0\2"), "1099511627776 records in 2 octets"),
    ],
)
def test_block_that_asks_for_much_memory_is_refused(
    tmp_path: Path, count: int, frame: bytes, what: str
) -> None:
    path = _with_block(tmp_path / "log.avro", _INTS, count, frame, "zstandard")
    for module in (compiled, plain):
        error = _rows_or_error(module.Decoder(_INTS, _wanted(_INTS)), path)
        assert what in str(error)


def test_functions_are_compiled_where_no_folder_can_keep_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Of all places this one is left; it is only for modules in an archive.
    monkeypatch.setattr(numba.core.config, "CACHE_LOCATOR_CLASSES", "ZipCacheLocator")
    long = numba.types.int64
    assert machine._compiled(lambda value: value + 1, long, long)(41) == 42
