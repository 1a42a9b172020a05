"""Logs that the questions are asked about, and the exported changes."""

from pathlib import Path

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.reader.log_reader import LogReader
from replay.audit.committed_files import committed_files
from replay.audit.duck.engine import DuckAudit
from replay.audit.queries.asking import Range
from tests.real_logs import DataSet


def imported(data_set: DataSet, folder: Path) -> Path:
    import_directory(open_directory(data_set.materialise(folder)), folder / "log")
    return folder / "log"


def end_of(log: Path) -> int:
    with LogReader.open(log) as reader:
        return reader.end_offset


def export_changes(log: Path, to: Path) -> None:
    """Write all changes to a Parquet file without Spark, which does the same in the heavy tests."""
    import pyarrow.parquet

    (to / "day=any").mkdir(parents=True)
    with LogReader.open(log) as reader, DuckAudit(committed_files(reader)) as opened:
        changes = opened.view("changes", Range(reader.history_start, reader.end_offset - 1))
    pyarrow.parquet.write_table(changes, to / "day=any" / "part.parquet")
