"""Opens a log in Spark, for the commands that query it."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
def spark_and_parts(*readers: LogReader) -> "Iterator[tuple[SparkSession, list[LogFiles]]]":
    """Start Spark and yield the committed files of logs, safe to read while they are being written.

    At a terminal, prints how long the start took.

    Raises:
        UnavailableError: PySpark or Java is missing, or Spark fails.
        CorruptLogError: Spark fails in the body, and a log is damaged.
    """
    began = time.monotonic()
    with ExitStack() as opened:
        spark = opened.enter_context(session(quick=is_small(*readers), makes_archive=True))
        scratch = opened.enter_context(copies_folder(spark))
        note(f"Spark started in {time.monotonic() - began:.1f} s")
        from replay.audit.committed_files import readable_files

        for each in readers:
            opened.enter_context(explained(each.directory, each.fs))
        yield spark, [readable_files(each, scratch, _note_fetching) for each in readers]


@contextmanager
def spark_and_files(reader: LogReader) -> "Iterator[tuple[SparkSession, LogFiles]]":
    """Do the same for one log."""
    with spark_and_parts(reader) as (spark, (files,)):
        yield spark, files


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
