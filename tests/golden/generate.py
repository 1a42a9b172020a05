"""Writes the golden logs of a release: `python -m tests.golden.generate RELEASE`.

The logs of a release are written once, with the code of that release, and never overwritten; later
releases must read them for ever. docs/adding_a_record.md says when to run it.
"""

import asyncio
import gzip
import hashlib
import itertools
import json
import random
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from metadata_log.format.batch import Batch, NewBatch
from metadata_log.format.checkpoint import CheckpointRecord
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer import mirror
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.log_writer import LogWriter
from metadata_log.writer.mirror import MirrorBuilder
from records.avro.schema import documented_schema, envelope_schema_json
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoOpRunRecord,
)
from records.envelope import Asked, Envelope, Extra, Origin, SecretReference, UnknownTag
from records.json import fields_json
from records.registry import RECORD_TYPES
from replay.care.retain import retain
from replay.image.digest import PartDigest, part_digests
from replay.image.records import image_records
from replay.loader import Replayer, load_image
from tests.golden import MANIFEST, release_directory, schema_path
from tests.histories import random_history
from tests.metadata_log.conftest import StepClock
from tests.records.edges import edge_records

_SEGMENT_SIZE_BYTES = 20_000
_RETAINED_FROM = 180
_TRANSACTIONAL = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)
_ORIGIN = Origin(
    principal="User:zoë",
    request_hash=bytes(range(32)),
    command="golden",
    reason="",
    trace_parent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    client="metalog",
)
_ASKED = (
    Asked(command="", version=-1),
    Asked(
        command="configs alter",
        version=2**31 - 1,
        request=b"\x93\xc0",
        seed=-(2**63),
        observed=b"",
        response=bytes(range(256)),
        secrets=(
            SecretReference(path=""),
            SecretReference(path="resources/0/värde", record_index=2**31 - 1, field="value"),
        ),
    ),
    Asked(command="topics create", version=1, seed=2**63 - 1, omitted_bytes=2**40),
    None,
)


def main(release: str) -> None:
    """Write logs, expectations and schema of a release."""
    directory = release_directory(release)
    directory.mkdir(parents=True)  # fails when it is there
    asyncio.run(_write_own(directory / "own"))
    with pytest.MonkeyPatch.context() as patch:
        small = partial(LogWriter, segment_size_bytes_max=_SEGMENT_SIZE_BYTES)
        patch.setattr(mirror, "LogWriter", small)
        _write_mirror(directory / "mirror")
    _write_retained(directory / "own", directory / "retained")
    for log in ("own", "mirror", "retained"):
        _write_expected(directory / log)
    _write_schema(release)


async def _write_own(directory: Path) -> None:
    """Write a history with every record type, and every type with extreme values, by three
    writers.
    """
    history = random_history(random.Random(1), 100, times_go_back=False, noop_runs=False)
    create_log(directory, "golden-own-log")
    clock = StepClock()
    for part in (history[:30], history[30:60], history[60:]):
        log = await MetadataLog.open(
            directory, clock=clock, node_id=3, segment_size_bytes_max=_SEGMENT_SIZE_BYTES
        )
        for batch in part:
            await log.append(_new(batch))
        if log.leader_epoch == 1:
            await _append_edges(log)
        await log.close()


def _new(batch: Batch) -> NewBatch:
    return NewBatch(
        records=tuple(row.payload for row in batch.rows),
        record_versions=tuple(row.record_version for row in batch.rows),
        origin=batch.rows[0].origin,
        timestamp=batch.timestamp,
    )


async def _append_edges(log: MetadataLog) -> None:
    """Append records that no controller would write, in a transaction that is aborted."""
    # A run of NoOps would take more offsets than one: only mirrors hold them.
    types = [cls for cls in RECORD_TYPES if cls not in (*_TRANSACTIONAL, NoOpRunRecord)]
    await log.append(NewBatch(records=(BeginTransactionRecord(name="edges"),)))
    for cls, asked in zip(types, itertools.cycle(_ASKED), strict=False):
        # The same request id twice would be the same request.
        origin = msgspec.structs.replace(_ORIGIN, request_id=f"edges of {cls.__name__}")
        batch = NewBatch(records=tuple(edge_records(cls)), origin=origin, asked=asked)
        await log.append(batch)
    await log.append(NewBatch(records=(AbortTransactionRecord(reason="edges"),)))


def _write_mirror(directory: Path) -> None:
    """Write a mirror whose start was cut, with everything that an import must preserve."""
    history = random_history(random.Random(3), 140)
    replayer = Replayer()
    cut = 0
    while cut < 50 or replayer.image().provenance.pending_transaction is not None:
        replayer.replay(history[cut])
        cut += 1
    image, last = replayer.image(), history[cut - 1]
    with MirrorBuilder(directory, "golden-mirror") as builder:
        builder.write_base(
            [CheckpointRecord(record, version) for record, version in image_records(image)],
            end_offset=last.end_offset,
            leader_epoch=last.leader_epoch,
            timestamp=image.provenance.timestamp,
        )
        for batch in history[cut:]:
            builder.append([_with_extra(row) for row in batch.rows], batch.end_offset)
        builder.finish(confirmed_end=history[-10].end_offset)


def _write_retained(own: Path, directory: Path) -> None:
    """The own log with its first two segments dropped, so that it starts at a base checkpoint."""
    shutil.copytree(own, directory)
    retain(directory, _RETAINED_FROM, check_dropped=lambda dropped: None)
    for lock in directory.glob(".*lock"):
        lock.unlink()


def _with_extra(row: Envelope) -> Envelope:
    if row.offset % 4:
        return row
    tags = tuple(
        UnknownTag(path=path, tag=tag, value=bytes(range(tag)))
        for path, tag in (("", 0), ("end_points/0", 200))
    )
    is_first = row.offset == row.batch_offset
    extra = Extra(
        unknown_tags=tags[: row.offset // 4 % 3],
        batch_header=bytes(61) if is_first else None,
        raw_record=b"\x01\x00raw" if row.offset % 8 else None,
    )
    return msgspec.structs.replace(row, extra=extra)


def _write_expected(log: Path) -> None:
    with LogReader.open(log) as reader:
        parts = part_digests(load_image(reader))
        lines = [_line(row) for row in all_rows(reader)]
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n"
    # Without a time in it the same lines give the same file.
    log.with_name(f"{log.name}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    digests = {part: digest_line(part, digest) for part, digest in parts.items()}
    image = hashlib.sha256("".join(digests.values()).encode()).hexdigest()
    document = json.dumps({"image": image, "parts": digests}, indent=1)
    log.with_name(f"{log.name}.digest.json").write_text(document + "\n")


def digest_line(part: str, digest: PartDigest) -> str:
    """Return the text that a part adds to the digest of an image (docs/digest.md)."""
    return f"{part} {digest.count} {' '.join(map(str, digest.lanes))}\n"


def all_rows(reader: LogReader) -> Iterator[Envelope]:
    """Yield the rows of the base checkpoint, if there is one, and of all batches."""
    if reader.base is not None:
        for rows in reader.base.rows():
            yield from rows
    for batch in reader.batches():
        yield from batch.rows


def _line(row: Envelope) -> dict[str, object]:
    return {"type": type(row.payload).__name__, **fields_json(row)}


def _write_schema(release: str) -> None:
    """Store the schema with its documentation under the hash of the schema in segments."""
    hash_ = hashlib.sha256(envelope_schema_json().encode()).hexdigest()
    path = schema_path(hash_)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(documented_schema(), indent=1) + "\n")
    releases = json.loads(MANIFEST.read_text()) if MANIFEST.exists() else {}
    MANIFEST.write_text(json.dumps({**releases, release: hash_}, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
