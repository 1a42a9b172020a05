"""Real metadata logs decoded by another program: their records and final images."""

import functools
import gzip
import json
import os
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from metadata_log.format.batch import Batch
from records.envelope import Envelope
from records.json import from_json

_BESIDE_THE_CHECKOUT = Path(__file__).parents[2].parent / "shared" / "kraft-logs"
REAL_LOGS = Path(os.environ.get("METALOG_REAL_LOGS", _BESIDE_THE_CHECKOUT))

needs_real_logs = [
    pytest.mark.real_logs,
    pytest.mark.skipif(not REAL_LOGS.is_dir(), reason=f"no real Kafka logs at {REAL_LOGS}"),
]


def final_images() -> list[Path]:
    """Return the final images of all logs."""
    return sorted(REAL_LOGS.glob("**/final-image.json"))


def decoded_logs(partition_dir: Path) -> list[Path]:
    """Return the decoded segments of a log, oldest first.

    If several nodes have the same log, only the longest was stored; it is used for all of them.
    """
    logs = sorted(partition_dir.glob("*.log.jsonl*"))
    return logs or sorted(partition_dir.parents[1].glob(f"*/{partition_dir.name}/*.log.jsonl*"))


def decoded_checkpoints() -> list[Path]:
    """Return all decoded checkpoints, except those at the start of a log."""
    return sorted(REAL_LOGS.glob("**/__cluster_metadata-0/*.checkpoint.jsonl*"))


def batches(paths: Iterable[Path]) -> Iterator[Batch]:
    """Yield the batches of decoded segments."""
    rows = (row for path in paths for row in envelopes(path))
    for _, batch in groupby(rows, key=lambda row: row.batch_offset):
        yield Batch.of(tuple(batch))


def envelopes(path: Path) -> Iterator[Envelope]:
    """Yield the rows of one decoded file."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            yield envelope(json.loads(line))


def envelope(row: dict[str, Any]) -> Envelope:
    """Return one decoded record as a row."""
    return Envelope(
        offset=row["offset"],
        leader_epoch=row["epoch"],
        timestamp=row["timestamp"],
        batch_offset=row["batchBaseOffset"],
        record_version=row["version"],
        payload=from_json(row["type"], _snake_case(row["data"])),
    )


def _snake_case(value: Any) -> Any:
    if isinstance(value, dict):
        return {_snake_case_name(key): _snake_case(item) for key, item in value.items()}
    return [_snake_case(item) for item in value] if isinstance(value, list) else value


@functools.cache
def _snake_case_name(name: str) -> str:
    return re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name)
