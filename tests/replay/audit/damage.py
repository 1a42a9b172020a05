"""A damaged log, and a check of the error message about it."""

from pathlib import Path

from api.cli.main import run
from metadata_log.format.segment import decode_header


def damaged_log(log: Path) -> Path:
    """Write a log of one segment with a flipped bit."""
    assert run(["demo", str(log), "--topics", "2", "--changes", "10", "--json"]) == 0
    (segment,) = log.glob("*.avro")
    data = bytearray(segment.read_bytes())
    _, header_end = decode_header(bytes(data))
    data[header_end + 200] ^= 0xFF
    segment.write_bytes(data)
    return log


def says_where_it_is_damaged(log: Path, error: str) -> bool:
    """True if an error is a single line of ours that names the place of the damage."""
    (segment,) = log.glob("*.avro")
    return (
        error.startswith(f"error: CORRUPT: {segment} byte ")
        and ", from offset " in error
        and "org.apache" not in error
        and error.count("\n") == 1
    )
