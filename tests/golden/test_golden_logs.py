"""Logs of past releases are read with their original content, whatever has changed since."""

import functools
import gzip
import hashlib
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest

from metadata_log.care.inspection import inspect_log
from metadata_log.files.fs import OsFs
from metadata_log.format import segment
from metadata_log.format.batch import NewBatch
from metadata_log.format.block import decompress
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_file import ScanStart, SegmentFile
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from records.avro import codec, reference
from records.avro.schema import envelope_schema_json
from records.control import NoteRecord
from records.envelope import Asked, Envelope, Extra, Kept, Origin
from records.json import from_json, struct_from_json
from replay.image.digest import part_digests
from replay.loader import load_image
from tests.golden import MANIFEST, WITHOUT_EFFECT_BEFORE, release_directory, schema_path
from tests.golden.generate import all_rows, digest_line

RELEASES: dict[str, str] = json.loads(MANIFEST.read_text())
KINDS = ("own", "mirror", "retained")
LOGS = [release_directory(release) / kind for release in RELEASES for kind in KINDS]
_IDS = [f"{log.parent.name}-{log.name}" for log in LOGS]
SIZE_BYTES_MAX = 200_000

golden = pytest.mark.parametrize("log", LOGS, ids=_IDS)


@functools.cache
def expected_rows(log: Path) -> list[Envelope]:
    """Return the rows that were written; fields added later have their defaults."""
    text = gzip.decompress(log.with_name(f"{log.name}.jsonl.gz").read_bytes()).decode()
    return [_row(json.loads(line)) for line in text.splitlines()]


def _row(line: dict[str, Any]) -> Envelope:
    fields = {**line, "payload": from_json(line["type"], line["payload"])}
    for name, struct in (("origin", Origin), ("asked", Asked), ("kept", Kept), ("extra", Extra)):
        if line.get(name) is not None:
            fields[name] = struct_from_json(line[name], struct)
    del fields["type"]
    return Envelope(**fields)


def files(log: Path) -> list[Path]:
    return sorted(log.glob("*.avro"))


def blocks(path: Path) -> Iterator[tuple[SegmentHeader, bytes, int]]:
    """Yield the stored rows of each block, and their number."""
    file = OsFs().open(path)
    segment = SegmentFile.of(file, path)
    start = ScanStart(segment.first_position, 0, 0) if "checkpoint" in path.name else None
    for block in segment.scan(file.size(), start).blocks():
        yield segment.header, decompress(block.stored), block.stored.count
    file.close()


@golden
def test_records_are_read_as_they_were_written(log: Path) -> None:
    with LogReader.open(log) as reader:
        assert list(all_rows(reader)) == expected_rows(log)


@golden
def test_image_is_as_it_was(log: Path) -> None:
    with LogReader.open(log) as reader:
        parts = part_digests(load_image(reader))
    expected = json.loads(log.with_name(f"{log.name}.digest.json").read_text())
    lines = {name: digest_line(name, digest) for name, digest in parts.items()}
    known = {name: line for name, line in lines.items() if name in expected["parts"]}
    assert known == expected["parts"]
    assert hashlib.sha256("".join(known.values()).encode()).hexdigest() == expected["image"]
    # Any other part that came later is empty.
    later = {name for name in lines.keys() - known.keys() if parts[name].count}
    assert later <= WITHOUT_EFFECT_BEFORE


@golden
def test_segments_carry_the_schema_of_their_release(log: Path) -> None:
    for path in files(log):
        with path.open("rb") as file:
            header, _ = segment.decode_header(file.read())
        hash_ = hashlib.sha256(header.schema_json.encode()).hexdigest()
        assert hash_ == RELEASES[log.parent.name]


@golden
def test_blocks_are_resolved_by_fastavro_to_the_same_rows(log: Path) -> None:
    for path in files(log):
        for header, body, count in blocks(path):
            rows = reference.decode_rows(body, count, json.loads(header.schema_json))
            assert segment.row_decoder(header.schema_json)(body, count) == rows
            if header.schema_json == envelope_schema_json():
                assert codec.decode_rows(body, count) == rows
                assert codec.encode_rows(rows) == body


@golden
def test_any_avro_reader_reads_the_files(log: Path) -> None:
    found = [row for path in files(log) for row in fastavro.reader(io.BytesIO(path.read_bytes()))]
    rows = expected_rows(log)
    framing = sum(2 for path in files(log) if "checkpoint" in path.name)
    assert len(found) == len(rows) + framing


@pytest.mark.parametrize("log", [log for log in LOGS if log.name == "own"], ids=list(RELEASES))
async def test_own_log_is_appended_to_in_a_new_segment(log: Path, tmp_path: Path) -> None:
    copy = tmp_path / "log"
    shutil.copytree(log, copy)
    writer = await MetadataLog.open(copy)
    note = NoteRecord(at_offset=0, author="test", text="by a later release")
    await writer.append(NewBatch(records=(note,)))
    await writer.close()
    assert {path.name for path in files(log)} < {path.name for path in files(copy)}
    for path in files(log):
        assert (copy / path.name).read_bytes() == path.read_bytes()
    with LogReader.open(copy) as reader:
        rows = list(all_rows(reader))
        assert reader.header(reader.segment_paths[-1]).has_newest_schema
        load_image(reader)
    assert rows[:-2] == expected_rows(log)
    assert rows[-1].payload == note


@pytest.mark.parametrize("release", RELEASES)
def test_every_record_type_of_the_release_is_in_its_logs(release: str) -> None:
    logs = [log for log in LOGS if log.parent.name == release]
    found = {type(row.payload).__name__ for log in logs for row in expected_rows(log)}
    schema = json.loads(schema_path(RELEASES[release]).read_text())
    (payload,) = [field["type"] for field in schema["fields"] if field["name"] == "payload"]
    assert found == {branch["name"] for branch in payload}


@golden
def test_log_is_small_and_has_several_segments(log: Path) -> None:
    assert sum(path.stat().st_size for path in log.iterdir()) < SIZE_BYTES_MAX
    with LogReader.open(log) as reader:
        assert len(reader.segment_paths) >= (2 if log.name == "retained" else 3)


@pytest.mark.parametrize("release", RELEASES)
def test_retained_log_is_whole_and_unproven_only_where_its_release_wrote_no_proof(
    release: str,
) -> None:
    found = inspect_log(OsFs(), release_directory(release) / "retained")
    assert found.damage == []
    notes = [note.what for note in found.notes if "did not record" in note.what]
    assert len(notes) == (release == "0.1.0")
