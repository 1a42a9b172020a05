"""Changes as a stream: each once, over limits, restarts and transactions; after the state."""

import shutil
from pathlib import Path
from typing import Any

import fastavro
import pytest

from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record
from records.configs import ConfigRecord
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from records.envelope import Origin
from records.errors import UnknownHistoryError
from records.partitions import (
    CancelDeleteTopicPartitionsRecord,
    DeleteTopicPartitionsRecord,
    RemovePartitionsRecord,
)
from records.topics import RemoveTopicRecord
from replay.audit.log_files import LogFiles
from replay.audit.record_types import scan_tasks
from replay.audit.source import new_changes
from replay.audit.source.change_stream import SNAPSHOT
from replay.audit.source.record_stream import position_json
from replay.care.retain import retain
from tests.golden import release_directory
from tests.own_logs import write_history
from tests.replay.audit.source.reading import (
    ALL,
    Position,
    Row,
    read,
    rows_between,
    stream,
    triggers,
)
from tests.replay.builders import change, partition, topic, uid

pytestmark = pytest.mark.spark

CHANGES = {"relation": "changes"}


def streamed(log: Path, start: dict[str, Any], **options: str) -> list[Row]:
    return [row for _, rows in triggers(log, start, **CHANGES, **options) for row in rows]


def in_order(rows: list[Row]) -> list[str]:
    return sorted(map(repr, rows))


def config(name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=4, resource_name="1", name=name, value=value)


async def append(log: Path, *records: Record) -> None:
    writer = await MetadataLog.open(log)
    origin = Origin(principal="User:ada", command="alter-configs", reason="drill")
    await writer.append(NewBatch(records=records, origin=origin))
    await writer.close()


@pytest.mark.parametrize("limit", [None, "1", "40"])
async def test_triggers_read_each_change_once(tmp_path: Path, limit: str | None) -> None:
    """The log grows between them, and has transactions."""
    options = {} if limit is None else {"maxRecordsPerTrigger": limit}
    log = await write_history(tmp_path / "log", seed=3, batches=6)
    position = stream(log, **CHANGES).initialOffset()
    found: list[Row] = []
    for seed in (4, 5):
        for end, rows in triggers(log, position, **CHANGES, **options):
            found += rows
            position = end
        if seed == 4:
            await write_history(log, seed=seed, batches=6, create=False)
    assert in_order(found) == in_order(read(log, **CHANGES).to_pylist())
    assert found


async def test_a_trigger_goes_on_from_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is read from its start once; a new process finds the same for each trigger."""
    whole_reads: list[int] = []

    def noted(files: LogFiles, at: int) -> Any:
        whole_reads.append(at)
        return scan_tasks(files, at)

    monkeypatch.setattr(new_changes, "scan_tasks", noted)
    monkeypatch.setattr(new_changes, "_pasts", [])
    log = await write_history(tmp_path / "log", seed=9, batches=40)
    options = {**CHANGES, "maxRecordsPerTrigger": "20"}
    start = stream(log, **options).initialOffset()
    found = list(triggers(log, start, **options))
    assert len(found) > 5
    assert len(whole_reads) == 1
    for begin, (end, rows) in zip([start, *(end for end, _ in found)], found, strict=False):
        new_changes._pasts.clear()
        assert in_order(rows_between(log, begin, end, **options)) == in_order(rows)
    # Another worker took some triggers: this one goes on from its own.
    whole_reads.clear()
    (first, _), (_, _), (third, rows) = found[:3]
    rows_between(log, start, first, **options)
    assert in_order(rows_between(log, found[1][0], third, **options)) == in_order(rows)
    assert len(whole_reads) == 1


def topic_config(name: str, value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=2, resource_name=name, name="retention.ms", value=value)


ACROSS: dict[str, tuple[tuple[Record, ...], ...]] = {
    "a reassignment": (
        (topic("a"), partition("a", 0)),
        (change("a", 0, adding_replicas=(4,), replicas=(1, 2, 3, 4)),),
        (change("a", 0, isr=(1, 2)), change("a", 0, adding_replicas=(4,))),
        (change("a", 0, adding_replicas=(), isr=(1, 2, 4)),),
    ),
    "a reassignment that is called off": (
        (topic("a"), partition("a", 0), change("a", 0, adding_replicas=(4,))),
        (change("a", 0, adding_replicas=(), removing_replicas=()),),
    ),
    "a partition that is removed and made again": (
        (topic("a"), partition("a", 0, mode=1), partition("a", 1)),
        (
            DeleteTopicPartitionsRecord(
                topic_id=uid("a"), partition_ids=(0, 1), delay_ms=5, create_time_ms=1
            ),
        ),
        (CancelDeleteTopicPartitionsRecord(topic_id=uid("a"), partition_ids=(1,)),),
        (RemovePartitionsRecord(topic_id=uid("a"), partition_ids=(0,)),),
        (partition("a", 0, leader=2), change("a", 1, leader=3)),
    ),
    "a config that waits for its topic": (
        (topic_config("a", "1"),),
        (topic_config("a", "2"),),
        (topic("a"), topic_config("a", "3")),
        (RemoveTopicRecord(topic_id=uid("a")),),
        (topic_config("a", "4"),),
    ),
}


@pytest.mark.parametrize("pieces", ACROSS.values(), ids=ACROSS.keys())
async def test_what_lasts_over_several_triggers_is_told_as_by_a_whole_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: tuple[tuple[Record, ...], ...]
) -> None:
    pasts: list[Any] = []
    monkeypatch.setattr(new_changes, "_pasts", pasts)
    create_log(log := tmp_path / "log", "test-cluster")
    options = {**CHANGES, "showSecrets": "true"}
    position = stream(log, **options).initialOffset()
    for records in pieces:
        await append(log, *records)
        position = check_trigger(log, position, pasts, **options)


def check_trigger(log: Path, start: Position, pasts: list[Any], **options: str) -> Position:
    """Compare the next trigger with what a process without a state reads; return its end."""
    ((end, rows),) = triggers(log, start, **options)
    kept = pasts[:]
    pasts.clear()
    assert in_order(rows) == in_order(rows_between(log, start, end, **options))
    assert rows
    pasts[:] = kept
    return end


def written_schema(segment: Path) -> str:
    with segment.open("rb") as file:
        return str(fastavro.reader(file).metadata["avro.schema"])


async def test_a_newer_schema_and_a_base_written_in_between_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log begins in an older release, whose schema lacks fields; then its start moves up."""
    pasts: list[Any] = []
    monkeypatch.setattr(new_changes, "_pasts", pasts)
    shutil.copytree(release_directory("0.1.0") / "own", log := tmp_path / "log")
    start = stream(log, **CHANGES).initialOffset()
    position = check_trigger(log, start, pasts, **CHANGES)
    await append(log, config("a", "1"), topic("t"), partition("t", 0))
    position = check_trigger(log, position, pasts, **CHANGES)
    assert len({written_schema(path) for path in log.glob("*.avro")}) > 1
    retain(log, position["end_offset"] - 2, check_dropped=lambda segments: None)
    await append(log, config("a", None), change("t", 0, leader=2))
    check_trigger(log, position, pasts, **CHANGES)


async def test_the_state_of_another_log_is_not_used(tmp_path: Path) -> None:
    log, other = tmp_path / "log", tmp_path / "other"
    options = {**CHANGES, "maxRecordsPerTrigger": "20"}
    await write_history(log, seed=9, batches=20)
    start = stream(log, **options).initialOffset()
    list(triggers(log, start, **options))
    shutil.move(log, other)
    await write_history(log, seed=10, batches=40)
    expected = read(log, **CHANGES).to_pylist()
    *_, (position, _) = triggers(other, start, **options)
    with LogReader.open(log) as reader:
        again = position_json(reader, position["end_offset"])
    found = streamed(log, again)
    assert in_order(found) == in_order(
        [row for row in expected if row["offset"] >= again["end_offset"]]
    )


async def test_changes_of_an_open_transaction_wait_for_its_end(tmp_path: Path) -> None:
    create_log(log := tmp_path / "log", "test-cluster")
    await append(log, config("a", "1"))
    start = stream(log, **CHANGES).initialOffset()
    await append(log, BeginTransactionRecord(name="t"), config("a", "2"))
    reader = stream(log, **CHANGES, maxRecordsPerTrigger="1")
    *_, (position, _) = triggers(log, start, **CHANGES, maxRecordsPerTrigger="1")
    begin = position["end_offset"]
    await append(log, config("a", "3"), config("b", "1"))
    assert reader.latestOffset(position, reader.getDefaultReadLimit()) == position
    await append(log, EndTransactionRecord())
    rows = streamed(log, position, maxRecordsPerTrigger="1")
    assert [(row["field"], row["before"], row["after"]) for row in rows] == [
        ("a", "(redacted)", "(redacted)"),
        ("a", "(redacted)", "(redacted)"),
        ("b", None, "(redacted)"),
    ]
    # A query that begins inside the transaction begins with it.
    inside = stream(log, **CHANGES, startingOffset=str(begin + 1)).initialOffset()
    assert inside["end_offset"] == begin
    rows = streamed(log, inside, showSecrets="true")
    assert [(row["before"], row["after"]) for row in rows] == [("1", "2"), ("2", "3"), (None, "1")]


async def test_changes_of_an_aborted_transaction_are_not_in_effect(tmp_path: Path) -> None:
    create_log(log := tmp_path / "log", "test-cluster")
    start = stream(log, **CHANGES).initialOffset()
    await append(log, BeginTransactionRecord(name="t"), config("a", "1"))
    await append(log, AbortTransactionRecord(reason="no"))
    (row,) = [each for each in streamed(log, start) if each["kind"] == "configs"]
    assert (row["in_effect"], row["principal"], row["reason"]) == (False, "User:ada", "drill")


@pytest.mark.parametrize("starting", ["earliest", "60", "latest"])
async def test_state_and_the_changes_after_it_make_the_last_state(
    tmp_path: Path, starting: str
) -> None:
    log = await write_history(tmp_path / "log", seed=7, batches=30)
    options = {"snapshot": "true", "startingOffset": starting}
    start = stream(log, **CHANGES, **options).initialOffset()
    found = streamed(log, start, **options)
    await write_history(log, seed=8, batches=8, create=False)
    position = stream(log, **CHANGES).latestOffset(start, ALL)
    assert position != start
    before = [row for row in found if row["record"] == SNAPSHOT]
    assert all(row["before"] is None and row["offset"] < start["end_offset"] for row in before)
    assert bool(before) is (starting != "earliest")
    end = {name: each for name, each in start.items() if name != "snapshot"}
    with LogReader.open(log) as reader:
        last = reader.end_offset - 1
    later = rows_between(log, end, position, **CHANGES)
    assert state_of(before + later) == state_of(
        read(log, relation="net_changes", until=str(last)).to_pylist()
    )


def state_of(rows: list[Row]) -> dict[tuple[str, str, str], str]:
    """Return the values that changes in effect leave."""
    rows = [row for row in rows if row.get("in_effect", True)]
    last = {
        (row["kind"], row["id"], row["field"]): row["after"]
        for row in sorted(rows, key=lambda row: row["offset"])
    }
    return {key: value for key, value in last.items() if value is not None}


async def test_changes_that_are_no_longer_kept_fail_the_query(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", seed=5, batches=40)
    start = stream(log, **CHANGES).initialOffset()
    retain(log, 100, check_dropped=lambda segments: None)
    end = stream(log, **CHANGES).latestOffset(start, ALL)
    with pytest.raises(UnknownHistoryError, match="Copy the changes anew, with the option snap"):
        stream(log, **CHANGES).partitions(start, end)
    # The state of the base comes first in a new query.
    anew = stream(log, **CHANGES, snapshot="true").initialOffset()
    rows = streamed(log, anew, snapshot="true")
    assert rows[0]["record"] == SNAPSHOT
