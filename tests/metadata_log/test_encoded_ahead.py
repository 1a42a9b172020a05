"""A batch that was encoded and checked before its append: the log writes the same bytes."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from metadata_log.format.batch import EncodedRows, NewBatch
from metadata_log.format.block import encode_ahead
from metadata_log.limits import BATCH_SIZE_BYTES_MAX
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record
from records.control import NoteRecord
from records.envelope import Asked, Envelope, Origin
from records.errors import RequestError
from tests.metadata_log.conftest import StepClock, topics

_ORIGIN = Origin(principal="User:alice")
_TIME = 1_800_000_000_000


def _note(text: str) -> NoteRecord:
    return NoteRecord(at_offset=0, author="alice", text=text)


def _rows(log: MetadataLog, *records: Record) -> tuple[Envelope, ...]:
    """Return records as rows at the end of a log."""
    base = log.end_offset
    return tuple(
        [
            Envelope(
                offset=base + index,
                leader_epoch=log.leader_epoch,
                timestamp=_TIME,
                batch_offset=base,
                record_version=0,
                origin=_ORIGIN,
                payload=record,
            )
            for index, record in enumerate(records)
        ]
    )


def _encoded(log: MetadataLog, *records: Record) -> EncodedRows:
    """Encode records for the end of a log."""
    return encode_ahead(_rows(log, *records))


async def _segments(directory: Path, *, ahead: str = "") -> list[bytes]:
    """Return the bytes of the segments of a log of three batches.

    Args:
        ahead: Letters for what was done with the batches in advance.
    """
    create_log(directory, "test-cluster")
    log = await MetadataLog.open(directory, clock=StepClock(), sync_mark_in_time=False)
    for count in (1, 2, 300):
        records = tuple([_note(str(number)) for number in range(count)])
        asked = Asked(command="records append", version=1)
        first, *others = _rows(log, *records)
        batch = NewBatch(
            records=records,
            record_versions=(0,) * count,
            origin=_ORIGIN,
            timestamp=_TIME,
            asked=asked,
            rows=(replace(first, asked=asked), *others) if "rows" in ahead else (),
            encoded=_encoded(log, *records) if "encoded" in ahead else None,
        )
        await log.append(batch)
    await log.close()
    return [path.read_bytes() for path in sorted(directory.glob("*.avro"))]


@pytest.mark.parametrize("ahead", ["rows", "encoded", "rows and encoded"])
async def test_log_has_the_same_bytes_whatever_was_made_ahead(tmp_path: Path, ahead: str) -> None:
    plain = await _segments(tmp_path / "plain")
    assert plain == await _segments(tmp_path / "ahead", ahead=ahead)


async def test_bytes_encoded_ahead_are_the_ones_written(directory: Path) -> None:
    log = await MetadataLog.open(directory, clock=StepClock())
    encoded = _encoded(log, _note("a"), _note("checked"))
    records = (_note("a"), _note("given"))
    await log.append(
        NewBatch(records=records, origin=_ORIGIN, timestamp=_TIME, encoded=encoded),
    )
    await log.close()
    with LogReader.open(directory) as reader:
        *_, batch = reader.batches()
    assert [row.payload for row in batch.rows] == [_note("a"), _note("checked")]


@pytest.mark.parametrize(
    "elsewhere", [{"base_offset": 7}, {"leader_epoch": 9}, {"timestamp": _TIME + 1}]
)
async def test_batch_made_for_another_place_is_made_again(
    directory: Path, elsewhere: dict[str, int]
) -> None:
    log = await MetadataLog.open(directory, clock=StepClock())
    encoded = replace(_encoded(log, _note("a"), _note("b")), **elsewhere)
    moved = {name.replace("base_offset", "offset"): value for name, value in elsewhere.items()}
    rows = tuple([replace(row, **moved) for row in _rows(log, _note("a"), _note("b"))])
    records = (_note("a"), _note("b"))
    await log.append(NewBatch(records=records, timestamp=_TIME, rows=rows, encoded=encoded))
    await log.close()
    with LogReader.open(directory) as reader:
        *_, batch = reader.batches()
    assert [(row.offset, row.timestamp, row.payload) for row in batch.rows] == [
        (1, _TIME, records[0]),
        (2, _TIME, records[1]),
    ]


def test_what_the_log_would_refuse_is_refused_ahead() -> None:
    row = Envelope(
        offset=0, leader_epoch=0, timestamp=0, batch_offset=0, record_version=0, payload=_note("")
    )
    (unencodable,) = topics(0, 1).records
    with pytest.raises(RequestError, match="cannot be encoded") as refused:
        encode_ahead([row, replace(row, payload=replace(unencodable, name=5))])
    assert refused.value.code == "INVALID_RECORD"
    large = replace(row, payload=_note("x" * (BATCH_SIZE_BYTES_MAX // 2)))
    with pytest.raises(RequestError, match="are allowed") as refused:
        encode_ahead([large, large])
    assert refused.value.code == "POLICY_VIOLATION"
