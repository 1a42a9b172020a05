"""Replay of a log to an image, compared with only decoding the same files by fastavro."""

from pathlib import Path

import fastavro

from benchmarks.codecs import each_codec
from benchmarks.generated import RECORDS, generated_mirror
from benchmarks.harness import Result, rate, time_in_turn
from metadata_log.reader.log_reader import LogReader
from replay.loader import load_image

_TARGETS = {"python": 0.8, "compiled": 2.0}


def run(scratch: Path) -> list[Result]:
    """Measure on a mirror of 200,000 generated records, with each of our codecs."""
    log = generated_mirror(scratch)
    return [_measured(log, name) for name in each_codec()]


def _measured(log: Path, name: str) -> Result:

    def replay() -> int:
        with LogReader.open(log) as reader:
            return load_image(reader).partition_count

    def decode() -> int:
        count = 0
        for path in sorted(log.glob("*.avro")):
            with path.open("rb") as file:
                count += sum(1 for _ in fastavro.reader(file))
        return count

    assert decode() == RECORDS
    timed = time_in_turn(replay, decode)
    return Result(
        name=f"replay {RECORDS:,} records, codec {name} / fastavro decoding them",
        ours=rate(RECORDS, timed.ours),
        peer=rate(RECORDS, timed.peer),
        ratio=timed.speed,
        target=_TARGETS[name],
    )
