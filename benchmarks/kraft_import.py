"""Import of a Kafka log, compared with only decoding its batches with the compiled codec."""

import shutil
from pathlib import Path

from benchmarks.generated import RECORDS, generated_kraft
from benchmarks.harness import Result, rate, time_in_turn
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory


def run(scratch: Path) -> list[Result]:
    """Measure on a directory of 200,000 generated records, of which under 10 % are NoOps."""
    source = generated_kraft(scratch)
    log = scratch / "log"

    def bring_in() -> None:
        shutil.rmtree(log, ignore_errors=True)
        result = import_directory(open_directory(source), log)
        assert result.records == RECORDS
        assert result.by_type.get("NoOpRecord", 0) < RECORDS / 10

    def decode() -> int:
        return sum(len(batch.rows) for batch in open_directory(source).batches())

    timed = time_in_turn(bring_in, decode)
    return [
        Result(
            name=f"import {RECORDS:,} records / decoding them",
            ours=rate(RECORDS, timed.ours),
            peer=rate(RECORDS, timed.peer),
            ratio=timed.speed,
            target=0.3,
        )
    ]
