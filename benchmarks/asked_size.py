"""Bytes per record on disk, by origin: `python -m benchmarks.asked_size LOG`.

Each block of the segments is counted under one kind of origin: users' commands (of one record, or
of more), brokers' events, timers, or the log itself.
"""

import sys
from collections import Counter
from pathlib import Path

from controller.timers import TIMERS
from metadata_log.files.fs import OsFs
from metadata_log.format.segment_file import SegmentFile
from metadata_log.reader.log_reader import LogReader
from records.envelope import Origin

_EVENTS = ("alter partition", "heartbeat", "register", "report deletions")


def main(directory: Path) -> None:
    """Print a table of bytes per record and per batch in a log."""
    stored: Counter[str] = Counter()
    records: Counter[str] = Counter()
    batches: Counter[str] = Counter()
    fs = OsFs()
    with LogReader.open(directory, fs=fs) as reader:
        for path in reader.segment_paths:
            with SegmentFile.opened(fs, path) as segment:
                for block in segment.scan(segment.file.size()).blocks():
                    kind = _kind(block.rows[0].origin, len(block.rows))
                    for name in (kind, "all"):
                        stored[name] += block.end_position - block.position
                        records[name] += len(block.rows)
                        batches[name] += 1
    print(f"{'origin':<28} {'batches':>8} {'records':>8} {'bytes a record':>14} {'a batch':>8}")
    for name in sorted(stored):
        print(
            f"{name:<28} {batches[name]:>8} {records[name]:>8} "
            f"{stored[name] / records[name]:>14.1f} {stored[name] / batches[name]:>8.1f}"
        )


def _kind(origin: Origin | None, count: int) -> str:
    if origin is None or origin.command in (None, "activate"):
        return "the log itself"
    if origin.command in _EVENTS:
        return "brokers' events"
    if origin.command in {timer.name for timer in TIMERS}:
        return "timers"
    return "users' commands, one record" if count == 1 else "users' commands, more"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
