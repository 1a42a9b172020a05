"""Folding the records of partitions gives the same result in one go and in pieces."""

import random
from collections.abc import Iterable
from typing import Any

import pyarrow
import pytest

from replay.audit.fold import partitions
from replay.audit.fold.objects import Ends
from replay.audit.fold.partitions import PARTITION, SCHEMA, Fold, ended

_LISTS = [field.name for field in SCHEMA if field.type == pyarrow.list_(pyarrow.int32())]


def test_fold_in_pieces_equals_the_fold_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(4)
    rows = [_row(rng, position) for position in range(600)]
    whole = _state(_folded([_batch(rows)]))
    assert 10 < len(whole) <= 40
    assert any(not row["directories"] for row in whole)
    pieces = [_batch(rows[first : first + 50]) for first in range(0, len(rows), 50)]
    by_task = (
        batch for piece in pieces for batch in _folded([piece]).sort_by("position").to_batches()
    )
    assert _state(_folded(by_task)) == whole
    monkeypatch.setattr(partitions, "_ROWS_KEPT_MAX", 30)
    assert _state(_folded(pieces)) == whole


def test_rows_out_of_order_are_refused() -> None:
    rng = random.Random(4)
    later, earlier = _batch([_row(rng, 7)]), _batch([_row(rng, 5)])
    with pytest.raises(AssertionError, match="not in order"):
        _folded([later, earlier])


def _folded(batches: Iterable[pyarrow.RecordBatch]) -> pyarrow.Table:
    fold = Fold()
    for batch in batches:
        fold.add(batch)
    return fold.table()


def _row(rng: random.Random, position: int) -> dict[str, Any]:
    """Return a PartitionRecord or a PartitionChangeRecord of one of 40 partitions."""
    is_whole = rng.random() < 0.2
    row: dict[str, Any] = {"position": position, "topic_id": bytes([rng.randrange(10)]) * 16}
    row |= {"partition_id": rng.randrange(4), "born": position if is_whole else None}
    row |= {name: _maybe(rng, is_whole, _ints(rng)) for name in _LISTS}
    row["directories"] = _maybe(rng, is_whole, [bytes([n]) * 16 for n in _ints(rng)])
    for name in ("leader", "mode", "leader_recovery_state"):
        row[name] = _maybe(rng, is_whole, rng.randrange(3))
    for name in ("leader_epoch", "partition_epoch"):
        row[name] = rng.randrange(9) if is_whole else None
    row |= {"changes": int(not is_whole), "elections": int(not is_whole and row["leader"] == 1)}
    is_refit = not is_whole and row["directories"] is None and row["replicas"] is not None
    row |= dict.fromkeys(
        ("least_replicas", "most_replicas"), len(row["replicas"]) if is_refit else None
    )
    for name in ("eligible_leader_replicas", "last_known_elr"):
        row[f"{name}_at"] = None if row[name] is None else position
    return row


def _maybe(rng: random.Random, is_set: bool, value: Any) -> Any:
    return value if is_set or rng.random() < 0.3 else None


def _ints(rng: random.Random) -> list[int]:
    return [rng.randrange(5) for _ in range(rng.randrange(1, 4))]


def _batch(rows: list[dict[str, Any]]) -> pyarrow.RecordBatch:
    return pyarrow.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _state(rows: pyarrow.Table) -> list[dict[str, Any]]:
    ends = Ends(cleared_everywhere=400)
    found = pyarrow.Table.from_batches(ended(rows, ends), PARTITION).to_pylist()
    return sorted(found, key=lambda row: (row["topic_id"], row["partition_id"]))
