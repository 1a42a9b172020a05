"""Opens a log in Spark, for the commands that query it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from api.cli.terminal.output import bytes_size_text, note
from metadata_log.reader.log_reader import LogReader
from replay.audit.failures import explained
from replay.audit.session import copies_folder, is_small, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from replay.audit.log_files import LogFiles


@contextmanager
def spark_and_files(reader: LogReader) -> "Iterator[tuple[SparkSession, LogFiles]]":
    """Start Spark and yield the committed files of a log, safe to read while it is being written.

    At a terminal, prints how long the start took.

    Raises:
        UnavailableError: PySpark or Java is missing, or Spark fails.
        CorruptLogError: Spark fails in the body, and the log is damaged.
    """
    began = time.monotonic()
    with (
        session(quick=is_small(reader), makes_archive=True) as spark,
        copies_folder(spark) as scratch,
    ):
        note(f"Spark started in {time.monotonic() - began:.1f} s")
        from replay.audit.committed_files import readable_files

        with explained(reader.directory, reader.fs):
            yield spark, readable_files(reader, scratch, _note_fetching)


def _note_fetching(path: Path, size: int) -> None:
    note(f"fetching {path}, {bytes_size_text(size)}, for Spark")


@contextmanager
def local_time_is_utc() -> Iterator[None]:
    """Use UTC as the local time zone in the body, because PySpark returns local times."""
    before = os.environ.get("TZ")
    _set_time_zone("UTC")
    try:
        yield
    finally:
        _set_time_zone(before)


def _set_time_zone(name: str | None) -> None:
    if name is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = name
    time.tzset()
