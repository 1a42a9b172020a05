"""A damaged log, and what a command says of it."""

from pathlib import Path

from api.cli.main import run
from metadata_log.segment import decode_header


def damaged_log(log: Path) -> Path:
    """Make a log of one segment, in which a bit has flipped."""
    assert run(["demo", str(log), "--topics", "2", "--changes", "10", "--json"]) == 0
    (segment,) = log.glob("*.avro")
    data = bytearray(segment.read_bytes())
    _, header_end = decode_header(bytes(data))
    data[header_end + 200] ^= 0xFF
    segment.write_bytes(data)
    return log


def says_where_it_is_damaged(log: Path, error: str) -> bool:
    """True if an error names the place of the damage in one line, in our words."""
    (segment,) = log.glob("*.avro")
    return (
        error.startswith(f"error: CORRUPT: {segment} byte ")
        and ", from offset " in error
        and "org.apache" not in error
        and error.count("\n") == 1
    )
