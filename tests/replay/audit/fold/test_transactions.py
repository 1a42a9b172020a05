"""Ranges of a log, each read by one task, with transactions that cross their borders."""

import random
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pyarrow
import pytest

from replay.audit.fold import partitions, workers
from replay.audit.fold.changes import CHANGES
from replay.audit.fold.objects import ABORT, BEGIN, END
from replay.audit.fold.packed_rows import OTHERS
from replay.audit.fold.partitions import PARTITION

_RAW = pyarrow.schema([("position", pyarrow.int64()), ("record", pyarrow.string()), *PARTITION])
_SAID = pyarrow.schema(
    [
        *_RAW,
        ("timestamp", pyarrow.int64()),
        *((name, pyarrow.string()) for name in ("principal", "command", "reason")),
    ]
)
_INTS = [field.name for field in PARTITION if field.type == pyarrow.list_(pyarrow.int32())]
_PARTITIONS = [(bytes([topic]) * 16, number) for topic in range(3) for number in range(4)]


@pytest.mark.parametrize("seed", range(6))
def test_ranges_fold_to_the_records_that_took_effect(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some ranges are inside one transaction, some contain several; some transactions are
    aborted.
    """
    monkeypatch.setattr(partitions, "_ROWS_KEPT_MAX", 20)
    rng = random.Random(seed)
    rows = list(_rows(rng))
    borders = [0, *sorted(rng.sample(range(len(rows)), 12)), len(rows)]
    packed = [
        batch
        for first, last in pairwise(borders)
        for batch in workers.fold_range([_batch(rows[first:last])])
    ]
    plain = _applied(_in_effect(rows))
    assert 6 < len(plain) <= len(_PARTITIONS)
    assert _state(workers.partitions_of(packed)) == plain
    assert _state(workers.partitions_of([_batch(rows[:50]), _batch(rows[50:])])) == plain


@pytest.mark.parametrize("seed", range(3))
def test_changes_found_by_topic_equal_those_of_the_whole_log(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Topics are renamed and removed, also in transactions, including aborted ones."""
    monkeypatch.setattr(workers, "_ROWS_AT_ONCE", 40)
    rng = random.Random(seed)
    rows = [{**row, "timestamp": n, "reason": str(n)} for n, row in enumerate(_rows(rng))]
    for row in rows:
        if "NoteRecord" in row.get("record", ""):
            row |= _of_topic(rng)
    pieces = [_batch(rows[first : first + 7], _SAID) for first in range(0, len(rows), 7)]
    values = sorted(
        (value for batch in workers.split_by_topic(pieces) for value in batch.to_pylist()),
        key=lambda value: (value["bucket"], value["position"], value["rank"]),
    )
    others = _values(values, OTHERS)
    (row,) = (row for batch in workers.context([others]) for row in batch.to_pylist())
    context = msgspec.json.decode(row["context"], type=workers.Context)
    of_topics = (_values(values, each) for each in sorted({v["bucket"] for v in values} - {OTHERS}))
    found = [*workers.other_changes([others]), *workers.topic_changes(of_topics, context)]
    whole = _changes(workers.changes(pieces, others=workers.other_changes))
    assert _changes(found) == whole
    assert {False, True} == {change["in_effect"] for change in whole}
    assert {"partitions", "topics"} <= {change["kind"] for change in whole}
    assert "RemoveTopicRecord" in {c["record"] for c in whole if c["kind"] == "partitions"}


def test_nothing_has_no_changes() -> None:
    assert not list(workers.changes([]))


def _of_topic(rng: random.Random) -> dict[str, Any]:
    topic_id = bytes([rng.randrange(3)]) * 16
    name = rng.choice(("TopicRecord", "MoveTopicRecord", "RemoveTopicRecord", "RemovePartitions"))
    fields: dict[str, Any] = {"topic_id": topic_id}
    if name == "RemovePartitions":
        fields["partition_ids"] = [0, 2]
        name = "RemovePartitionsRecord"
    elif name != "RemoveTopicRecord":
        fields["name"] = f"name-{rng.randrange(100)}"
    return {"topic_id": topic_id, "record": msgspec.json.encode({name: fields}).decode()}


def _values(values: list[dict[str, Any]], bucket: int) -> pyarrow.RecordBatch:
    return pyarrow.RecordBatch.from_pylist([v for v in values if v["bucket"] == bucket])


def _changes(batches: Iterable[pyarrow.RecordBatch]) -> list[dict[str, Any]]:
    found = pyarrow.Table.from_batches(batches, CHANGES).to_pylist()
    return sorted(found, key=lambda change: [str(value) for value in change.values()])


def _rows(rng: random.Random) -> Iterator[dict[str, Any]]:
    is_open = False
    for position in range(300):
        chance = 0 if position < len(_PARTITIONS) else rng.random()
        if chance > 0.9:
            name = rng.choice((END, END, ABORT)) if is_open else BEGIN
            is_open = not is_open
            yield {"position": position, "record": f'{{"{name}":{{}}}}'}
        elif chance > 0.8:
            yield {"position": position, "record": '{"NoteRecord":{"text":"EndTransactionRecord"}}'}
        else:
            key = _PARTITIONS[position % len(_PARTITIONS)]
            is_whole = position < len(_PARTITIONS) or rng.random() < 0.1
            yield {"position": position, **_record(rng, key, is_whole=is_whole)}


def _record(rng: random.Random, key: tuple[bytes, int], *, is_whole: bool) -> dict[str, Any]:
    """Return the fields of a PartitionRecord or a PartitionChangeRecord."""
    row: dict[str, Any] = {"topic_id": key[0], "partition_id": key[1]}
    for name in _INTS:
        is_null = rng.random() < (0.3 if "el" in name else 0) if is_whole else rng.random() < 0.7
        row[name] = None if is_null else [rng.randrange(5) for _ in range(rng.randrange(4))]
    row["directories"] = [bytes([n]) * 16 for n in range(rng.randrange(4))]
    if not is_whole and rng.random() < 0.5:
        row["directories"] = None
    row["mode"] = rng.randrange(2) if is_whole or rng.random() < 0.3 else None
    row["leader"] = rng.randrange(-1 if is_whole else -2, 3)
    row["leader_recovery_state"] = rng.randrange(0 if is_whole else -1, 2)
    epochs = ("leader_epoch", "partition_epoch")
    return row | {name: rng.randrange(9) if is_whole else None for name in epochs}


def _in_effect(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    open_: list[dict[str, Any]] | None = None
    for row in rows:
        name = row.get("record", "").split('"')[1] if "record" in row else None
        if name == BEGIN:
            open_ = []
        elif name in (END, ABORT):
            yield from open_ or () if name == END else ()
            open_ = None
        elif name is None and open_ is not None:
            open_.append(row)
        elif name is None:
            yield row


def _applied(records: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[tuple[bytes, int], dict[str, Any]] = {}
    for record in records:
        key = record["topic_id"], record["partition_id"]
        fields = {name: record[name] for name in PARTITION.names}
        if record["leader_epoch"] is not None:
            found[key] = fields | {
                name: fields[name] or [] for name in ("eligible_leader_replicas", "last_known_elr")
            }
            continue
        partition = found[key]
        unset = {"leader": -2, "leader_recovery_state": -1, "directories": []}
        changed = {n: v for n, v in fields.items() if v is not None and v != unset.get(n)}
        partition |= changed
        partition["partition_epoch"] += 1
        partition["leader_epoch"] += "leader" in changed
        if "replicas" in changed and len(partition["replicas"]) != len(partition["directories"]):
            partition["directories"] = partition["directories"] if "directories" in changed else []
    return sorted(found.values(), key=_key)


def _state(batches: Iterator[pyarrow.RecordBatch]) -> list[dict[str, Any]]:
    return sorted(pyarrow.Table.from_batches(batches, PARTITION).to_pylist(), key=_key)


def _key(partition: dict[str, Any]) -> tuple[bytes, int]:
    return partition["topic_id"], partition["partition_id"]


def _batch(rows: list[dict[str, Any]], schema: pyarrow.Schema = _RAW) -> pyarrow.RecordBatch:
    return pyarrow.RecordBatch.from_pylist(rows, schema=schema)
