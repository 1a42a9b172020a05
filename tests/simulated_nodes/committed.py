"""What a store has committed, as the segment files that each folder must be a copy of."""

from pathlib import Path

import google_crc32c

from metadata_log.files.names import segment_name, segment_offsets
from metadata_log.format.segment import decode_header
from metadata_log.format.segment_scan import SegmentScan
from metadata_log.shared.shared_log import EntryKind, Group
from tests.simulated_disk.disk import SimulatedDisk
from tests.simulated_nodes.history import Truth
from tests.simulated_nodes.machine import DIRECTORY, Store


class CommittedFiles:
    """The files, which grow with the groups that a store has confirmed.

    Attributes:
        files: Content of each segment by its base offset, in their order.
        groups: Number of the groups that they have.
        written_s: Virtual time at which each end offset was seen first.
        truth: What their batches say.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.files: dict[int, bytearray] = {}
        self.groups = 0
        self.end_offset = 0
        self.written_s: list[tuple[int, float]] = []
        self.truth = Truth()
        self._last_crc32c = 0
        # Headers of empty segments that were replaced: a folder may have them for a while.
        self._replaced: dict[int, list[bytes]] = {}

    def grow(self, now_s: float) -> None:
        """Take in what the store has confirmed."""
        while self.groups < self._store.confirmed:
            group = self._store.groups[self.groups]
            self._take(group)
            self.groups += 1
            self.end_offset = group.end_offset
            self.written_s.append((group.end_offset, now_s))

    def _take(self, group: Group) -> None:
        for entry in group.entries:
            if entry.kind is EntryKind.SEGMENT:
                base = decode_header(entry.content)[0].base_offset
                if base in self.files:
                    self._replaced.setdefault(base, []).append(bytes(self.files.pop(base)))
                self.files[base] = bytearray(entry.content)
            else:
                self._take_block(entry.content)

    def _take_block(self, content: bytes) -> None:
        base = next(reversed(self.files))
        file = self.files[base]
        header, size = decode_header(bytes(file))
        scan = SegmentScan(
            _Block(content, len(file)),
            Path(segment_name(base)),
            header,
            position=len(file),
            limit=len(file) + len(content),
            next_offset=base if len(file) == size else self.truth.ends[-1],
            last_crc32c=header.previous_crc32c if len(file) == size else self._last_crc32c,
        )
        for block in scan.blocks():
            for batch in block.batches:
                self.truth.add(batch)
        self._last_crc32c = google_crc32c.value(content)
        file += content

    def problem(self, disk: SimulatedDisk) -> str | None:
        """Return in what a folder is not a prefix of what is committed, or the rest of one."""
        found = segments(disk)
        bases = [base for base, _ in found]
        known = [base for base in self.files if found and base >= bases[0]]
        if bases != known[: len(found)]:
            what = f"it has segments {bases} of {list(self.files)}"
            return None if self._is_new(found) else what
        for index, (base, content) in enumerate(found):
            wanted, is_last = self.files[base], index == len(found) - 1
            if wanted.startswith(content) and (is_last or len(content) == len(wanted)):
                continue
            if is_last and content in self._replaced.get(base, ()):
                continue
            if not self._is_new(found):
                return f"segment {base} has {len(content)} bytes that are not those committed"
        return None

    def _is_new(self, found: list[tuple[int, bytes]]) -> bool:
        """Return whether a folder is as it was made, before anything came."""
        return len(found) == 1 and found[0][0] == 0 and _is_empty(found[0][1])


def segments(disk: SimulatedDisk) -> list[tuple[int, bytes]]:
    """Return the segments of a folder with their base offsets, in their order."""
    files, prefix = disk.names.current, f"{DIRECTORY}/"
    names = [name[len(prefix) :] for name in files if name.startswith(prefix)]
    return [(base, files[prefix + segment_name(base)].content) for base in segment_offsets(names)]


def _is_empty(segment: bytes) -> bool:
    return len(segment) == decode_header(segment)[1]


class _Block:
    """The bytes of one block, read like the file that has it."""

    def __init__(self, content: bytes, position: int) -> None:
        self._content = content
        self._position = position

    def pread(self, size: int, position: int) -> bytes:
        start = position - self._position
        return self._content[start : start + size]

    def size(self) -> int:
        return self._position + len(self._content)

    def close(self) -> None:
        """Do nothing."""
