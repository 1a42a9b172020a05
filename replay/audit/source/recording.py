"""All parts of a recording, for batches with a row for each record: their bounds, and the gaps."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple, Self

from metadata_log.files.names import MANIFEST
from metadata_log.format.parts import Gap, earlier_parts
from metadata_log.reader.log_reader import LogReader
from records.errors import UnknownHistoryError


class Stretch(NamedTuple):
    """The offsets [first, end) of a part, or of a gap.

    Attributes:
        log: The folder of an earlier part; None: the newest one.
        is_kept: False for a gap.
    """

    first: int
    end: int
    log: str | None = None
    is_kept: bool = True

    @property
    def is_empty(self) -> bool:
        return self.first >= self.end


class Recording:
    """What a `LogReader` tells about its bounds, told about all parts of a recording.

    Earlier parts are read up to the gap after each. One that was moved away, and those before it,
    are left out, as if the history began after it.
    """

    def __init__(self, newest: LogReader, earlier: Sequence[tuple[LogReader, Gap]]) -> None:
        """Use open readers; `earlier` has the parts before, oldest first."""
        self._newest = newest
        self._earlier = earlier
        oldest = earlier[0][0] if earlier else newest
        self.start_offset = oldest.start_offset
        self.history_start = oldest.history_start
        self.end_offset = newest.end_offset
        self.confirmed_end = newest.confirmed_end
        # Its list names the part that is missing, if one is.
        self.fs, self.local_directory = oldest.fs, oldest.local_directory
        self.kind = newest.kind

    @classmethod
    @contextmanager
    def of(cls, newest: LogReader) -> Iterator[Self]:
        """Open the earlier parts that are beside the newest one.

        Raises:
            CorruptLogError: the list of the parts, or a part, is damaged.
        """
        directory, found = newest.local_directory, list[tuple[LogReader, Gap]]()
        with ExitStack() as opened:
            parts = () if directory is None else earlier_parts(newest.fs, directory)
            for part in reversed(parts):
                folder = newest.directory.resolve().with_name(part.folder)
                if not (folder / MANIFEST).exists():
                    break
                reader = opened.enter_context(LogReader.open(folder, fs=newest.fs))
                found.insert(0, (reader, part.gap))
            yield cls(newest, found)

    def first_offset_at(self, time_ms: int) -> int:
        """Return the first offset at or after a time; as `LogReader.first_offset_at`."""
        try:
            return self._newest.first_offset_at(time_ms)
        except UnknownHistoryError:
            for reader, gap in reversed(self._earlier):
                try:
                    return min(reader.first_offset_at(time_ms), gap.from_offset)
                except UnknownHistoryError:
                    continue
            raise

    def last_offset_at(self, time_ms: int) -> int:
        """Return the last offset at or before a time; as `LogReader.last_offset_at`."""
        try:
            return self._newest.last_offset_at(time_ms)
        except UnknownHistoryError:
            for reader, gap in reversed(self._earlier):
                try:
                    return min(reader.last_offset_at(time_ms), gap.from_offset - 1)
                except UnknownHistoryError:
                    continue
            raise

    def stretches(self, first: int, end: int) -> list[Stretch]:
        """Return the offsets [first, end) of each part, and of each gap between parts."""
        found: list[Stretch] = []
        for reader, gap in self._earlier:
            begin, stop = max(first, gap.from_offset), min(end, gap.to_offset)
            found.append(Stretch(first, min(end, gap.from_offset), str(reader.directory)))
            found.append(Stretch(begin, stop, is_kept=False))
            first = max(first, gap.to_offset)
        return [each for each in [*found, Stretch(first, end)] if not each.is_empty]
