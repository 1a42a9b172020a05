"""A slow reader beside a writer that is killed repeatedly; it runs until SIGTERM.

Everything it has seen once must stay, and it must never see an error. It ends with a line that says
how much it read, or with the broken promise and exit code 1.

    python -m tests.torture.killed.reader LOG
"""

import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from metadata_log.format.batch import Batch
from metadata_log.reader.log_reader import LogReader

_PAUSE_EVERY = 200
_PAUSE_SECONDS = 0.02


class _Reader:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._rng = random.Random(5)
        self._seen: list[tuple[int, int]] = []
        self._end = 0
        self._passes = 0
        self._is_asked_to_end = False

    def ask_to_end(self, *_: Any) -> None:
        self._is_asked_to_end = True

    def read_until_asked_to_end(self) -> None:
        while not self._is_asked_to_end:
            with LogReader.open(self._directory) as reader:
                assert reader.end_offset >= self._end, (
                    f"the log ended at {self._end}, now at {reader.end_offset}"
                )
                self._look_again(reader)
                self._read_on(reader)
            self._passes += 1
            time.sleep(_PAUSE_SECONDS)

    def _look_again(self, reader: LogReader) -> None:
        """Read a position that was read before."""
        if not self._seen:
            return
        at = self._rng.randrange(len(self._seen))
        offset, digest = self._seen[at]
        again = next(iter(reader.batches(offset)))
        assert (again.base_offset, _digest(again)) == (offset, digest), (
            f"the batch at {offset} is another one now"
        )

    def _read_on(self, reader: LogReader) -> None:
        for batch in reader.batches(self._end):
            assert batch.base_offset == self._end, f"{batch.base_offset} follows {self._end}"
            self._seen.append((batch.base_offset, _digest(batch)))
            self._end = batch.end_offset
            if len(self._seen) % _PAUSE_EVERY == 0:
                time.sleep(_PAUSE_SECONDS)
                if self._is_asked_to_end:
                    return

    def told(self) -> str:
        return f"{len(self._seen)} batches in {self._passes} passes"


def _digest(batch: Batch) -> int:
    return hash((batch.timestamp, batch.leader_epoch, batch.rows))


def main(directory: Path) -> int:
    """Read until a SIGTERM; return the exit code."""
    reader = _Reader(directory)
    signal.signal(signal.SIGTERM, reader.ask_to_end)
    try:
        reader.read_until_asked_to_end()
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        return 1
    print(reader.told())
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
