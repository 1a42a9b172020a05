"""Processor time of Spark's answers, in full scans of the log: `python -m benchmarks.audit_costs`.

Not part of `make bench`, because all answers over 5,000,000 records take long. The generated log is
kept in the given directory for the next run.
"""

import argparse
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from benchmarks.generated import generated_mirror
from metadata_log.reader.log_reader import LogReader
from replay.audit.audit import Audit
from replay.audit.committed_files import committed_files
from replay.audit.digest import audit_digest
from replay.audit.history import History
from replay.audit.log_files import LogFiles
from replay.audit.log_frame import open_log
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import Range
from replay.audit.session import session

_RECORDS = 5_000_000
_MEMORY = "4g"
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")

Answer = Callable[[SparkSession, LogFiles], object]


def main() -> None:
    """Print Spark's processor time for the named answers (default: all), in seconds and scans."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit_costs", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *ANSWERS], default=[])
    parser.add_argument("--records", type=int, default=_RECORDS)
    parser.add_argument("--directory", type=Path, default=Path(), metavar="DIR")
    parser.add_argument("--log", type=Path, help="measure this log instead of a generated one")
    arguments = parser.parse_args()
    log = arguments.log or generated_mirror(arguments.directory.absolute(), arguments.records)
    with LogReader.open(log) as reader, session({"spark.driver.memory": _MEMORY}) as spark:
        files = committed_files(reader)
        _full_scan(spark, files)  # the first one compiles
        scan_s = _report("full scan", partial(_full_scan, spark, files))
        for name in arguments.names or ANSWERS:
            _report(name, partial(ANSWERS[name], spark, files), scan_s)


def _report(name: str, work: Callable[[], object], scan_s: float | None = None) -> float:
    """Run `work`; print and return the seconds of processor time that Spark used for it.

    `scan_s` is the processor time of a full scan; if given, the time is also printed in scans.
    """
    began, began_cpu = time.monotonic(), _cpu_s()
    work()
    cpu_s = _cpu_s() - began_cpu
    scans = "" if scan_s is None else f"{cpu_s / scan_s:8.2f} scans"
    print(f"{name:30} {cpu_s:8.1f} s {scans} ({time.monotonic() - began:.0f} s)", flush=True)
    return cpu_s


def _cpu_s() -> float:
    """Return the processor seconds used so far by Java and its children (the Python workers)."""
    parents, ticks = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rsplit(")", 1)[1].split()
            pid = int(stat.parent.name)
            parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    family = [SparkContext._gateway.proc.pid]
    for pid in family:
        family.extend(child for child, parent in parents.items() if parent == pid)
    return sum(ticks.get(pid, 0) for pid in family) / _TICKS_A_SECOND


def _compute(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _full_scan(spark: SparkSession, files: LogFiles) -> None:
    _compute(open_log(spark, files, show_secrets=True))


def _digest(spark: SparkSession, files: LogFiles) -> None:
    with History(spark, files, files.end_offset - 1) as history:
        audit_digest(history)


def _view(name: str) -> Answer:
    def compute(spark: SparkSession, files: LogFiles) -> None:
        with Audit(spark, files) as audit:
            _compute(audit.view(name, Range(0, files.end_offset - 1)))

    return compute


def _query(name: str) -> Answer:
    def compute(spark: SparkSession, files: LogFiles) -> None:
        with Audit(spark, files) as audit:
            _compute(audit.query(QUERIES[name], Range(0, files.end_offset - 1)))

    return compute


ANSWERS: dict[str, Answer] = {
    "digest": _digest,
    "topics": _view("topics"),
    "partitions": _view("partitions"),
    "unsorted-changes": _view("changes"),
} | {name: _query(name) for name in QUERIES}


if __name__ == "__main__":
    main()
