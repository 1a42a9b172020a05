"""The content of a log after a run, read as plain Avro files without code of the project."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import msgspec

NOTE = "NoteRecord"
CONFIG = "ConfigRecord"


class Written(msgspec.Struct, frozen=True):
    """A batch that took effect: its offsets, and what it wrote.

    Attributes:
        notes: The tokens of appended notes.
        configs: Offset, register and token of each config.
    """

    base: int
    end: int
    notes: tuple[int, ...]
    configs: tuple[tuple[int, str, int], ...]

    @property
    def tokens(self) -> list[int]:
        return [*self.notes, *dict.fromkeys(token for _, _, token in self.configs)]


def batches(directory: Path) -> Iterator[Written]:
    """Yield the batches of a closed log, without those of aborted transactions."""
    open_: list[Written] | None = None
    for rows in _batches(directory):
        types = [row["payload"][0] for row in rows]
        if "BeginTransactionRecord" in types:
            open_ = []
        found = _written(rows)
        if open_ is None:
            yield found
            continue
        open_.append(found)
        if "EndTransactionRecord" in types:
            yield from open_
            open_ = None
        elif "AbortTransactionRecord" in types:
            open_ = None


def _batches(directory: Path) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for path in sorted(directory.glob("0*.avro")):
        with path.open("rb") as file:
            for row in fastavro.reader(file, return_record_name=True):
                assert isinstance(row, dict)
                if batch and row["batch_offset"] != batch[0]["batch_offset"]:
                    yield batch
                    batch = []
                batch.append(row)
    if batch:
        yield batch


def _written(rows: list[dict[str, Any]]) -> Written:
    payloads = [(row["offset"], *row["payload"]) for row in rows]
    return Written(
        rows[0]["offset"],
        rows[-1]["offset"] + 1,
        tuple([int(data["text"]) for _, type_, data in payloads if type_ == NOTE]),
        tuple(
            [
                (offset, data["resource_name"], int(data["value"]))
                for offset, type_, data in payloads
                if type_ == CONFIG
            ]
        ),
    )
