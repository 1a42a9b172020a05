"""A full scan of a log in Spark, compared with fastavro in one process on the same file."""

from pathlib import Path

import fastavro

from benchmarks.generated import generated_mirror
from benchmarks.harness import Result, rate, time_in_turn
from metadata_log.reader.log_reader import LogReader
from replay.audit.committed_files import committed_files
from replay.audit.log_frame import open_log
from replay.audit.session import session

_RECORDS = 500_000


def run(scratch: Path) -> list[Result]:
    """Measure reading all columns of 500,000 generated records, after a warm-up.

    The columns are written to Spark's `noop` sink.
    """
    log = generated_mirror(scratch, _RECORDS)
    with LogReader.open(log) as reader, session() as spark:
        frame = open_log(spark, committed_files(reader), show_secrets=True)

        def scan() -> None:
            frame.write.format("noop").mode("overwrite").save()

        def decode() -> int:
            count = 0
            for path in reader.segment_paths:
                with path.open("rb") as file:
                    count += sum(1 for _ in fastavro.reader(file))
            return count

        assert frame.count() == decode() == _RECORDS
        timed = time_in_turn(scan, decode, rounds=3)
    return [
        Result(
            name=f"Spark full scan of {_RECORDS:,} records / fastavro",
            ours=rate(_RECORDS, timed.ours),
            peer=rate(_RECORDS, timed.peer),
            ratio=timed.speed,
            target=1.5,
        )
    ]
