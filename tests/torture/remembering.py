"""Decoding equal bytes once in a process, because a million crash states share most of their bytes.

Only what depends on nothing but the bytes it is given is remembered: the header of a segment, the
content of a block's frame, the rows in it. Everything that decides what these mean where they stand
runs anew for each state, and so does all of the encoding.
"""

from functools import lru_cache
from types import ModuleType

from metadata_log import segment_scan
from records.avro import codec

# Each takes immutable bytes, and returns what is immutable but for the list of rows, of which its
# one caller makes a tuple.
REMEMBERED: tuple[tuple[ModuleType, str], ...] = (
    (segment_scan, "decode_header"),
    (segment_scan, "decompress"),
    (codec, "decode_rows"),
)
_RESULTS_MAX = 1_024


def remember_decoding() -> None:
    """From now on, in this process, return what the same bytes gave before; errors come anew."""
    for module, name in REMEMBERED:
        setattr(module, name, lru_cache(_RESULTS_MAX)(getattr(module, name)))
