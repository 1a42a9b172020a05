"""The chain of a log's files, checked by their headers and lengths, without reading the blocks.

Each header names the length of the file before it, so that a missing, exchanged or shortened file
is noticed when a log is opened. What the blocks hold is checked when they are read.
"""

from itertools import pairwise
from pathlib import Path

from metadata_log.fs import Fs
from metadata_log.names import segment_name, segment_offsets
from metadata_log.segment_scan import corrupt, read_header


def check_chain(fs: Fs, directory: Path) -> None:
    """Check the header of every segment, and that each was written after the one before it.

    Raises:
        CorruptLogError: names the file, and what was expected of the one before.
    """
    lengths: dict[int, int] = {}
    previous_lengths: dict[int, int] = {}
    bases = segment_offsets(fs.list(directory))
    for base in bases:
        path = directory / segment_name(base)
        file = fs.open(path)
        try:
            header, _ = read_header(file, path)
            lengths[base] = file.size()
        finally:
            file.close()
        if header.base_offset != base:
            raise corrupt(path, 0, f"the header is that of offset {header.base_offset}")
        previous_lengths[base] = header.previous_length
    for before, base in pairwise(bases):
        if previous_lengths[base] != lengths[before]:
            raise corrupt(
                directory / segment_name(base),
                0,
                f"was written after a segment of {previous_lengths[base]} bytes; the one before, "
                f"{segment_name(before)}, has {lengths[before]}: one is missing or was shortened",
                before,
            )
