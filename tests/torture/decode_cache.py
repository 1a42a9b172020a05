"""Caches decoding in a process, because a million crash states share most of their bytes.

Only results that depend on nothing but the given bytes are cached: the header of a segment, the
content of a block's frame, the rows in it. Everything that interprets these in their context runs
again for each state, and so does all encoding.
"""

from functools import lru_cache
from types import ModuleType

from metadata_log.format import segment_scan
from records.avro import uniform_rows

# Each takes immutable bytes, and returns what is immutable but for the list of rows, of which its
# one caller makes a tuple.
REMEMBERED: tuple[tuple[ModuleType, str], ...] = (
    (segment_scan, "decode_header"),
    (segment_scan, "decompress"),
    (uniform_rows, "decode_rows"),
)
_RESULTS_MAX = 1_024


def remember_decoding() -> None:
    """Cache decoding in this process from now on; errors are not cached."""
    for module, name in REMEMBERED:
        setattr(module, name, lru_cache(_RESULTS_MAX)(getattr(module, name)))
