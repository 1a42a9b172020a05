"""The committed files of a log, for an audit."""

import dataclasses
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from metadata_log.format.parts import EarlierPart
from records.errors import RequestError, UnknownHistoryError


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogFiles:
    """The committed files of a log, as of one point in time; later appends are not included.

    Attributes:
        segments: The segment files, ascending by base offset.
        cut: The segments that contain more than is committed, each with its committed size in
            bytes.
        base: The base checkpoint, None if the log starts at offset 0.
        base_end_offset: End of the base, where replay starts; 0 without a base.
        history_start: The first offset with a known state; never below the base's end.
        end_offset: End of the committed records, exclusive.
        latest_before: By base offset of a segment, the latest time of any earlier record, in ms;
            not all segments need an entry.
        times_ascend: True if no record's time is earlier than the previous record's.
        by_ranges: The files that Spark's workers read through our reader, each with its committed
            size in bytes.
        folder: The log's folder, resolved; None if it is in a bucket.
        earlier: The earlier parts of the recording, each with the gap after it.
        local: Returns the path where Spark reads a file that is not in `by_ranges`, after fetching
            the file if necessary.
    """

    segments: tuple[Path, ...]
    cut: Mapping[Path, int] = dataclasses.field(default_factory=dict)
    base: Path | None = None
    base_end_offset: int = 0
    history_start: int = 0
    end_offset: int
    latest_before: Mapping[int, int] = dataclasses.field(default_factory=dict)
    times_ascend: bool = False
    by_ranges: Mapping[Path, int] = dataclasses.field(default_factory=dict)
    folder: Path | None = None
    earlier: tuple[EarlierPart, ...] = ()
    local: Callable[[Path], Path] = lambda path: path

    def frozen(self, scratch: Path) -> "LogFiles":
        """Return these files, with segments in `cut` replaced by copies of their committed part.

        Args:
            scratch: An empty folder that lives as long as the frames read from it; on a cluster
                every node must see it.
        """
        segments = tuple(
            _copy(path, scratch / path.name, self.cut[path]) if path in self.cut else path
            for path in self.committed
        )
        return dataclasses.replace(self, segments=segments, cut={})

    @property
    def committed(self) -> tuple[Path, ...]:
        """The segments that contain committed records."""
        return tuple(path for path in self.segments if self.cut.get(path) != 0)

    def place(self, path: Path) -> tuple[str, int]:
        """Return the path or URL where a worker reads a file, and its committed size in bytes."""
        if path in self.by_ranges:
            return str(path), self.by_ranges[path]
        local = self.local(path).absolute()
        return str(local), self.cut.get(path) or local.stat().st_size

    def in_range(self, start: int, end: int) -> list[Path]:
        """Return the segments that may contain offsets in [start, end), by their file names."""
        bases = [base_offset(path) for path in self.segments]
        ends = [*bases, self.end_offset][1:]
        return [
            path
            for path, base, next_base in zip(self.segments, bases, ends, strict=True)
            if base < end and next_base > start
        ]

    def check_known(self, at: int) -> None:
        """Check that the state at an offset is known; `history_start - 1` is before all records.

        Raises:
            UnknownHistoryError: `at` is before the kept history.
            RequestError: OFFSET_OUT_OF_RANGE: `at` is past the end.
        """
        if at < self.history_start - 1:
            raise UnknownHistoryError(
                f"offset {at} is unknown: history starts at {self.history_start}"
            )
        if at >= self.end_offset:
            raise RequestError(
                "OFFSET_OUT_OF_RANGE",
                f"offset {at} is not committed: the log ends at {self.end_offset} (exclusive)",
            )

    def offsets_of_times(self, from_ms: int, to_ms: int) -> tuple[int, int]:
        """Return a range of offsets, [start, end), that contains all records between two times."""
        early = [base for base, latest in self.latest_before.items() if latest < from_ms]
        late = [base for base, latest in self.latest_before.items() if latest > to_ms]
        start = max(early, default=0)
        end = min(late, default=self.end_offset) if self.times_ascend else self.end_offset
        return start, end


def _copy(path: Path, target: Path, size: int) -> Path:
    with path.open("rb") as source, target.open("xb") as copy:
        shutil.copyfileobj(source, copy)
        copy.truncate(size)
    return target


def base_offset(segment: Path) -> int:
    """Return a segment's base offset, from its name."""
    return int(segment.name.removesuffix(".avro"))
