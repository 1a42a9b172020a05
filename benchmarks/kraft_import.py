"""Import of a Kafka log, compared with only decoding its batches by the decoder in Python.

That decoder is the peer, also where the compiled one is installed and imports: the ratio then does
not fall when decoding becomes faster, too.
"""

import shutil
from pathlib import Path

from benchmarks.codecs import each_codec, python_codec
from benchmarks.generated import RECORDS, generated_kraft
from benchmarks.harness import Result, rate, time_in_turn
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from records.avro import compiled

_TARGETS = {compiled.PYTHON: 0.3, "compiled": 0.6}


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
        with python_codec():
            return sum(len(batch.rows) for batch in open_directory(source).batches())

    results: list[Result] = []
    usual = compiled.name()
    for codec in each_codec():
        timed = time_in_turn(bring_in, decode)
        results.append(
            Result(
                name=f"import {RECORDS:,} records ({codec}) / decoding them in Python",
                ours=rate(RECORDS, timed.ours),
                peer=rate(RECORDS, timed.peer),
                ratio=timed.speed,
                target=_TARGETS[codec] if codec == usual else None,
            )
        )
    return results
