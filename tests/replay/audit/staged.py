"""Exports whose files are written without Spark, for tests of how they are published."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from metadata_log.files.fs import Fs
from metadata_log.reader.log_reader import LogReader
from replay.audit import export
from replay.audit.export import Exported, export_changes

_DAYS = {"day=2024-10-04": range(1, 4), "day=2024-10-05": range(4, 1_000)}
"""The offsets of each day."""


def exported(
    log: Path,
    location: Path | str,
    monkeypatch: pytest.MonkeyPatch,
    fs: Fs | None = None,
    *,
    scratch: Path | None = None,
) -> Exported:
    """Export a row for each offset from 1 on."""
    monkeypatch.setattr(export, "_stage", _stage)
    with LogReader.open(log) as reader:
        return export_changes(reader, str(location), _no_spark, fs=fs, scratch=scratch)


def _stage(spark: Any, files: Any, first: int, end: int, staging: Path, **_: Any) -> int:
    for day, offsets in _DAYS.items():
        found = [offset for offset in offsets if first <= offset < end]
        if found:
            (staging / day).mkdir(parents=True)
            table = pyarrow.table({"offset": found})
            pyarrow.parquet.write_table(table, staging / day / "part-0.parquet")
    return end


@contextmanager
def _no_spark() -> Iterator[Any]:
    yield None, None
