"""Latency of one sync of the disk: the minimum of any append that is acknowledged after a sync."""

import statistics
from pathlib import Path
from typing import Self

from benchmarks.harness import Contender, Result
from metadata_log.files.fs import OsFs

SYNC = "sync"
# About what one record takes on disk.
_APPEND_SIZE_BYTES = 100
_COUNT = 50


class SyncedFile:
    """A file that grows by small synced appends; timed in turn with the sides of a benchmark."""

    def __init__(self, scratch: Path) -> None:
        self._file = OsFs().open(scratch / "synced", create=True)
        self._size_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def contender(self) -> Contender:
        """The file as a side for `rates_in_turn`."""
        return Contender(_COUNT, self._append)

    def _append(self) -> None:
        for _ in range(_COUNT):
            self._file.pwrite(bytes(_APPEND_SIZE_BYTES), self._size_bytes)
            self._file.sync()
            self._size_bytes += _APPEND_SIZE_BYTES


def sync_result(beside: str, rates: dict[str, list[float]]) -> Result:
    """Return the latency of a small append with its sync in the same rounds; there is no target."""
    latency_us = 1_000_000 / statistics.median(rates[SYNC])
    return Result(name=f"sync of a small append, beside {beside}", ours=f"{latency_us:,.0f} us")
